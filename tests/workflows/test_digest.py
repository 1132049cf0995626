"""Digests bind decisions to arguments, and stand in history: equal arguments, one spelling, for ever."""

import json
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from workflows.contracts import JsonObject
from workflows.digest import canonical, digest

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
VALUES: st.SearchStrategy[JsonValue] = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4), max_leaves=20
)
OBJECTS: st.SearchStrategy[JsonObject] = st.dictionaries(st.text(), VALUES, max_size=5)


def test_keys_are_sorted_and_nothing_is_spaced() -> None:
    assert canonical({"b": [1, {"z": None, "a": True}], "a": "ü"}) == '{"a":"\\u00fc","b":[1,{"a":true,"z":null}]}'


def test_a_whole_float_is_spelled_as_the_integer_that_json_says_it_is() -> None:
    assert canonical({"x": 1.0, "y": -0.0, "z": 1e3}) == canonical({"x": 1, "y": 0, "z": 1000})


def test_a_float_beyond_exact_integers_keeps_its_own_spelling() -> None:
    assert canonical({"x": 1e300}) == '{"x":1e+300}'
    assert canonical({"x": 2**53 + 1}) == '{"x":9007199254740993}'


@pytest.mark.parametrize(
    ("one", "other"),
    [(1, True), (0, False), (1, "1"), (None, "null"), ([], {}), ("", None), (1, 1.5), ([1, 2], [2, 1])],
)
def test_values_that_json_tells_apart_have_different_digests(one: JsonValue, other: JsonValue) -> None:
    assert digest("pay", {"x": one}) != digest("pay", {"x": other})


def test_the_tool_is_part_of_the_digest_and_can_not_run_into_the_arguments() -> None:
    assert digest("pay", {}) != digest("refund", {})
    assert digest('pay"{}', {}) != digest("pay", {})


def test_digests_never_change() -> None:
    arguments: JsonObject = {"order": "A-1", "amount": 12.5, "lines": [{"n": 1.0, "ok": True, "note": "é\x00\ud800"}]}

    assert digest("refund", arguments) == "1fb212a9e7cb26dbd421dc197c9107790114deba283fbc470feab6287263ba4e"


@given(OBJECTS)
def test_a_round_trip_through_json_keeps_the_digest(arguments: JsonObject) -> None:
    again = json.loads(json.dumps(arguments))

    assert digest("t", again) == digest("t", arguments)


@given(OBJECTS)
def test_the_order_of_keys_does_not_count(arguments: JsonObject) -> None:
    turned = dict(reversed(arguments.items()))

    assert canonical(turned) == canonical(arguments)


@given(OBJECTS)
def test_the_spelling_is_json_and_means_the_same(arguments: JsonObject) -> None:
    assert json.loads(canonical(arguments)) == arguments
    assert canonical(json.loads(canonical(arguments))) == canonical(arguments)


def test_every_process_gives_the_same_digest() -> None:
    code = "from workflows.digest import digest; print(digest('t', {'b': 1, 'a': {'d': 2.0, 'c': [None]}}))"
    found = {
        subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        ).stdout
        for seed in ("1", "2")
    }

    assert found == {digest("t", {"b": 1, "a": {"d": 2.0, "c": [None]}}) + "\n"}


def test_not_a_number_has_a_digest_too_since_a_workflow_must_not_fail_on_it() -> None:
    assert canonical({"x": float("nan"), "y": float("-inf")}) == '{"x":NaN,"y":-Infinity}'
