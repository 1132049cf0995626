"""Names of tools as Google's API accepts them: at most 128 characters, the first a letter or an underscore.

A declared tool that Surefoot allows and Google does not ("3d_view") goes out under another name, and a call of it comes
back under that one: whoever reads an answer has to ask `own_name`.
"""

import re
from collections.abc import Iterable

from activities.providers.tool_names import UNKNOWN

_LEGAL = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}")
_ILLEGAL = re.compile(r"[^a-zA-Z0-9_.:-]")


def google_name(name: str) -> str:
    """The name itself if it is legal, else with what is illegal replaced."""
    if _LEGAL.fullmatch(name):
        return name
    plain = _ILLEGAL.sub("_", name)[:127]
    return plain if _LEGAL.fullmatch(plain) else f"_{plain}" if plain else UNKNOWN


def own_name(name: str, declared: Iterable[str]) -> str:
    """The declared tool that goes by this name at Google; where there is none, the name itself."""
    tools = list(declared)
    return name if name in tools else next((tool for tool in tools if google_name(tool) == name), name)
