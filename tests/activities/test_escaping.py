"""What a text could do to its reader is spelled out, and what people write is left alone."""

import json

import pytest

from activities.escaping import escaped, escaped_json


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("pay\u202e001\u202c", r"pay\u202e001\u202c"),
        ("al\u200bice", r"al\u200bice"),
        ("a\u200db", r"a\u200db"),
        ("a\ufe0f", r"a\ufe0f"),
        ("\u3164", r"\u3164"),
        ("x\U000e0061", r"x\U000e0061"),
        ("\x1b[31m", r"\x1b[31m"),
        ("a\u2028b", r"a\u2028b"),
    ],
)
def test_what_hides_or_turns_a_text_around_is_seen(text: str, shown: str) -> None:
    assert escaped(text) == shown
    assert escaped(shown) == shown


@pytest.mark.parametrize(
    "text",
    [
        "tab\tand\nline",
        "\u2764\ufe0f 1\ufe0f\u20e3",
        "\U0001f469\u200d\U0001f467",
        "\u0645\u06cc\u200c\u062e\u0648",
        "\u05e9\u05dc",
    ],
    ids=["lines", "emoji", "a family", "Persian", "Hebrew"],
)
def test_what_scripts_and_emoji_need_is_left_alone(text: str) -> None:
    assert escaped(text) == text


def test_a_json_text_says_the_same_afterwards() -> None:
    value = {"a\u202eb": ["\U000e0061", "\x7f", "\x85", "\u2028", "\u00e9"], "c": "line\n"}
    text = escaped_json(json.dumps(value, ensure_ascii=False, indent=2))

    assert json.loads(text) == value
    assert escaped(text) == text
    assert "\u00e9" in text
