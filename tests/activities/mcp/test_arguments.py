"""The schemas of strangers: what models are told of them, and that they can do no harm."""

from typing import Any

import pytest

from activities.errors import InvalidArguments
from activities.mcp.arguments import McpArguments, UnusableSchema


def arguments(**schema: Any) -> McpArguments:
    return McpArguments("desk_find", schema)


def test_a_schema_without_a_type_or_properties_gets_them_for_the_model() -> None:
    assert arguments().schema == {"type": "object", "properties": {}}
    assert arguments().names == ()


def test_what_providers_refuse_at_the_root_is_checked_and_not_told() -> None:
    either = arguments(properties={"a": {}, "b": {}}, oneOf=[{"required": ["a"]}, {"required": ["b"]}])

    assert either.schema == {"type": "object", "properties": {"a": {}, "b": {}}}
    assert either.validate({"a": 1}) == {"a": 1}
    with pytest.raises(InvalidArguments, match="is valid under more than one"):
        either.validate({"a": 1, "b": 2})


def test_a_pattern_that_would_run_for_ever_comes_to_an_end() -> None:
    hostile = arguments(properties={"a": {"type": "string", "pattern": "^(a|a)*(?=x)$"}})

    with pytest.raises(InvalidArguments):
        hostile.validate({"a": "a" * 50_000})


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"properties": {"a": {"$ref": "http://127.0.0.1:9/schema"}}}, "Retrieval is disabled"),
        ({"properties": {"a": {"$ref": "file:///etc/hostname"}}}, "Retrieval is disabled"),
        ({"properties": {"a": {"type": "nonsense"}}}, "its schema can't be used"),
        ({"type": "array"}, "its arguments are of type 'array', not an object"),
        ({"properties": {"a b": {}}}, "it has an argument 'a b', a name that not every provider accepts"),
    ],
)
def test_a_schema_that_can_not_be_used_is_refused(schema: dict[str, Any], said: str) -> None:
    with pytest.raises(UnusableSchema) as refused:
        McpArguments("desk_find", schema)

    assert said in str(refused.value)


def test_whole_floats_are_integers_and_half_surrogates_are_replaced() -> None:
    found = arguments(properties={"n": {"type": "integer"}, "t": {"type": "string"}}).validate(
        {"n": 5.0, "t": "\ud800"}
    )

    assert found == {"n": 5, "t": "\ufffd"}
    assert type(found["n"]) is int


def test_arguments_that_are_nested_too_deeply_are_refused() -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]

    with pytest.raises(InvalidArguments, match="can't be checked"):
        arguments().validate({"a": deep})
