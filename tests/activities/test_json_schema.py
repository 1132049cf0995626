"""The check of answers against a JSON schema, and the refusal of schemas that it could not hold them to."""

from typing import Any

import pytest

from activities.errors import DefinitionError
from activities.tools.json_schema import check
from activities.tools.json_schema_form import refuse_unusable
from workflows.contracts import JsonObject


@pytest.mark.parametrize(
    ("schema", "right", "wrong"),
    [
        ({"type": "null"}, [None], [0, False, "", []]),
        ({"type": "boolean"}, [True, False], [0, 1, "true", None]),
        ({"type": "integer"}, [0, 5, 5.0, -1, 10**400], [5.5, True, "5", None]),
        ({"type": "number"}, [0, 5.5], [True, "5"]),
        ({"type": "string"}, ["", "a"], [1, None, ["a"]]),
        ({"type": "array"}, [[], [1]], [{}, "a"]),
        ({"type": "object"}, [{}, {"a": 1}], [[], None]),
        ({"type": ["string", "null"]}, ["a", None], [1]),
        ({}, [None, 1, "a", [], {}], []),
        ({"enum": ["a", 1, None]}, ["a", 1, 1.0, None], ["b", True]),
        ({"const": {"a": [1]}}, [{"a": [1.0]}], [{"a": [2]}, {}]),
        ({"minimum": 1, "maximum": 3}, [1, 3, 2.5, "not a number"], [0.9, 3.1]),
        ({"exclusiveMinimum": 1, "exclusiveMaximum": 3}, [2, 1.1], [1, 3]),
        ({"multipleOf": 0.1}, [0.3, 1, 0, 10**40, 1e-1], [0.35, 1e-9]),
        ({"minLength": 2, "maxLength": 3}, ["ab", "abc", 1], ["a", "abcd"]),
        ({"pattern": "^a.c$"}, ["abc", 1], ["xabc"]),
        ({"pattern": "b"}, ["abc"], ["ac"]),
        ({"minItems": 1, "maxItems": 2}, [[1], [1, 2], "x"], [[], [1, 2, 3]]),
        ({"uniqueItems": True}, [[1, True, "1"], [[1], [2]]], [[1, 1.0], [{"a": 1}, {"a": 1}]]),
        ({"minProperties": 1, "maxProperties": 1}, [{"a": 1}], [{}, {"a": 1, "b": 2}]),
        ({"items": {"type": "integer"}}, [[1, 2], [], "x"], [[1, "a"]]),
        ({"prefixItems": [{"type": "integer"}], "items": False}, [[1], []], [["a"], [1, 2]]),
        ({"properties": {"a": {"type": "integer"}}}, [{"a": 1}, {"b": "x"}, 5], [{"a": "x"}]),
        ({"required": ["a"]}, [{"a": None}, 5], [{}, {"b": 1}]),
        ({"properties": {"a": {}}, "additionalProperties": False}, [{}, {"a": 1}], [{"b": 1}]),
        ({"additionalProperties": {"type": "integer"}}, [{"x": 1}], [{"x": "a"}]),
        ({"allOf": [{"minimum": 1}, {"maximum": 2}]}, [1, 2], [0, 3]),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, [1, None], ["a"]),
        ({"oneOf": [{"minimum": 1}, {"maximum": 2}]}, [0, 3], [1.5]),
        ({"not": {"type": "null"}}, [1], [None]),
        ({"$ref": "#/$defs/n", "$defs": {"n": {"type": "integer"}}}, [1], ["a"]),
        ({"$ref": "#/definitions/n~1m", "definitions": {"n/m": {"type": "integer"}}}, [1], ["a"]),
        (
            {"properties": {"next": {"$ref": "#"}, "n": {"type": "integer"}}},
            [{"next": {"next": {"n": 1}}}],
            [{"next": {"next": {"n": "a"}}}],
        ),
    ],
)
def test_each_keyword(schema: JsonObject, right: list[Any], wrong: list[Any]) -> None:
    refuse_unusable(schema, "agent 'a'")

    assert [value for value in right if check(value, schema) is not None] == []
    assert [value for value in wrong if check(value, schema) is None] == []


def test_the_problem_names_each_place() -> None:
    schema: JsonObject = {
        "type": "object",
        "properties": {
            "lines": {"type": "array", "items": {"type": "object", "properties": {"n": {"type": "integer"}}}},
            "kind": {"enum": ["a", "b"]},
        },
        "required": ["kind", "total"],
        "additionalProperties": False,
    }

    assert check({"kind": "c", "lines": [{"n": 1}, {"n": "2"}], "extra": 1}, schema) == (
        "- answer.total: missing, but required\n"
        '- answer.kind: must be one of ["a", "b"], got "c"\n'
        '- answer.lines[1].n: must be of type integer, got "2"\n'
        "- answer.extra: unknown; the known keys are lines, kind"
    )


def test_the_nearest_form_says_what_to_change() -> None:
    forms: list[Any] = [
        {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
        {"type": "string"},
    ]

    assert check({"a": "x"}, {"anyOf": forms}) == (
        '- answer: fits none of its 2 forms, got {"a": "x"}\n- answer.a: must be of type integer, got "x"'
    )


def test_the_problem_is_short_whatever_the_answer() -> None:
    problem = check(["x" * 1000] * 1000, {"items": {"type": "integer"}})

    assert problem is not None
    assert len(problem) < 3000


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({"if": {}}, r"output\.if: unknown; the known keys are type, enum, "),
        ({"properties": {"a": {"patternProperties": {}}}}, r"output\.properties\.a\.patternProperties: unknown"),
        ({"type": "text"}, r'output\.type: must be one of \["null", .*\], got "text"'),
        ({"type": []}, r"output\.type: fits none of its 2 forms, got \[\]"),
        ({"$ref": "#/$defs/missing"}, "points at nothing"),
        ({"$ref": "https://example.com/schema"}, "points outside of the schema"),
        ({"pattern": "("}, "missing \\), unterminated subpattern"),
        ({"properties": []}, r"output\.properties: must be of type object, got \[\]"),
        ({"items": 5}, r"output\.items: must be of type object or boolean, got 5"),
        ({"minimum": "1"}, r'output\.minimum: must be of type number, got "1"'),
        ({"maxLength": -1}, r"output\.maxLength: must be at least 0, got -1"),
        ({"multipleOf": 0}, r"output\.multipleOf: must be more than 0, got 0"),
        ({"enum": "abc"}, r'output\.enum: must be of type array, got "abc"'),
        ({"required": "a"}, r'output\.required: must be of type array, got "a"'),
        ({"$defs": {"a": {"$ref": "#/$defs/a"}}}, "refers to itself without going deeper"),
        ({"anyOf": [{"type": "string"}, {"$ref": "#"}]}, "refers to itself without going deeper"),
        ({"minimum": float("nan")}, "not JSON compliant"),
        ({"enum": [{1, 2}]}, "not JSON serializable"),
    ],
)
def test_a_schema_that_can_not_be_checked_is_refused(schema: JsonObject, text: str) -> None:
    with pytest.raises(DefinitionError, match=text):
        refuse_unusable(schema, "agent 'a'")
