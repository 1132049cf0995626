"""Odd results: what a server sends that is not what its type says."""

import json
from types import SimpleNamespace
from typing import Any

import pytest

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


def texts(*said: str) -> list[Any]:
    return [part("text", text=text) for text in said]


@pytest.mark.parametrize(
    ("said", "structured"),
    [
        (["3"], {"result": 3}),
        (["3.5"], {"result": 3.5}),
        (["went"], {"result": "went"}),
        (["null"], {"result": None}),
        (["true"], {"result": True}),
        (["[1, 2]"], {"result": [1, 2]}),
        (["[1]"], {"result": [1]}),
        (["a", "2", '{"b": 1}'], {"result": ["a", 2, {"b": 1}]}),
        (['{"b": 1, "a": [2]}'], {"a": [2], "b": 1}),
        (['{"result": 3}'], {"result": 3}),
    ],
)
def test_structured_content_that_the_texts_say_already_is_not_told_again(said: list[str], structured: Any) -> None:
    assert shown(result(*texts(*said), structured=structured)).text == "\n".join(said)


@pytest.mark.parametrize(
    ("said", "structured"),
    [
        ([], {"result": []}),
        (["4"], {"result": 3}),
        (["1"], {"result": True}),
        (["3"], {"result": 3, "unit": "cm"}),
        (["3"], {"value": 3}),
        (["a"], {"result": ["a", "b"]}),
        (["about three"], {"result": 3}),
    ],
)
def test_structured_content_that_says_more_than_the_texts_is_told_behind_them(said: list[str], structured: Any) -> None:
    told = shown(result(*texts(*said), structured=structured)).text

    assert told == "\n".join([*said, json.dumps(structured)])
