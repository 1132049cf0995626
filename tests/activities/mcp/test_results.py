"""Odd results: what a server sends that is not what its type says."""

from types import SimpleNamespace
from typing import Any

from activities.mcp.results import errors, shown


def result(*content: Any, structured: Any = None) -> Any:
    return SimpleNamespace(content=list(content), structured_content=structured)


def part(kind: str, **fields: Any) -> Any:
    return SimpleNamespace(type=kind, **fields)


def test_nothing_is_empty() -> None:
    assert (shown(result()).text, shown(result()).whole) == ("", "")


def test_a_picture_that_is_no_base64_says_so() -> None:
    odd = shown(result(part("image", mime_type=None, data="%%%")))

    assert odd.text == "[image: application/octet-stream, 3 characters that are no base64, not shown]"


def test_a_part_of_an_unknown_type_is_named() -> None:
    assert shown(result(part("hologram"))).text == "[a part of type hologram, which is not shown]"


def test_an_error_without_words_has_some() -> None:
    assert errors(result()) == "it said that the call failed, and not why"


def test_half_a_surrogate_pair_is_replaced() -> None:
    assert shown(result(part("text", text="\ud800"), structured={"a": "\ud800"})).text == '\ufffd\n{"a": "\ufffd"}'
