"""Spells out what a stranger's text could do to whoever reads it: act on a terminal, show itself in another order, or
hide, so that two texts that differ look alike.

Imports nothing heavy: every command of the command line comes by here.
"""

import re

HARMFUL = re.compile(
    # control characters but for newline and tab
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f]"
    # lines and directions
    r"|[\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]"
    # what is not seen at all
    r"|[\xad\u034f\u115f\u1160\u17b4\u17b5\u180e\u200b\u2060-\u2065\u206a-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb]"
    r"|[\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
    # joiners and variants, except where scripts and emoji need them
    r"|(?<=[!-~])[\u200c\u200d\ufe00-\ufe0f](?!\u20e3)|[\u200c\u200d](?=[ -~])"
)
UNIT = re.compile("....")


def escaped(text: str) -> str:
    """The text with all that spelled visibly. Escaping twice changes nothing more."""
    return HARMFUL.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def escaped_json(text: str) -> str:
    """The same for a JSON text, which stays one that says the same."""
    return HARMFUL.sub(lambda found: found[0] if found[0] < " " else _unit_by_unit(found[0]), text)


def _unit_by_unit(character: str) -> str:
    """As JSON spells it: by units of UTF-16."""
    return UNIT.sub(lambda unit: f"\\u{unit[0]}", character.encode("utf-16-be", "surrogatepass").hex())
