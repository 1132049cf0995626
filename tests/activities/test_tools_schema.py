"""The JSON schema of a tool's arguments, from its signature and docstring, for every kind of annotation."""

import collections
import datetime
import enum
import json
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Optional, Union

import pytest
from pydantic import BaseModel, Field, JsonValue
from typing_extensions import TypedDict

from activities.errors import DefinitionError
from activities.tools.tool import ToolContext, tool


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Address(BaseModel):
    """Where somebody lives."""

    street: str
    number: int = Field(default=1, ge=1, description="House number.")


@dataclass
class Point:
    x: float
    y: float = 0.0


class Options(TypedDict, total=False):
    depth: int


class Pair(NamedTuple):
    left: str
    right: int


class Cat(BaseModel):
    kind: Literal["cat"]


class Dog(BaseModel):
    kind: Literal["dog"]
    name: str


class Tree(BaseModel):
    leaf: str
    branches: list["Tree"] = []


def property_of(annotation: Any, default: Any = ...) -> JsonValue:
    """The schema of a parameter with this annotation."""

    def take(x: Any = default) -> None: ...

    take.__annotations__["x"] = annotation
    if default is ...:
        take.__defaults__ = None
    properties = tool(take).arguments.schema["properties"]
    assert isinstance(properties, dict)
    return properties["x"]


@pytest.mark.parametrize(
    ("annotation", "schema"),
    [
        (int, {"type": "integer"}),
        (float, {"type": "number"}),
        (str, {"type": "string"}),
        (bool, {"type": "boolean"}),
        (None, {"type": "null"}),
        (Any, {}),
        (JsonValue, {"$ref": "#/$defs/JsonValue"}),
        (list[int], {"type": "array", "items": {"type": "integer"}}),
        (Sequence[str], {"type": "array", "items": {"type": "string"}}),
        (set[int], {"type": "array", "items": {"type": "integer"}, "uniqueItems": True}),
        (dict[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}),
        (list, {"type": "array", "items": {}}),
        (dict, {"type": "object", "additionalProperties": True}),
        (int | None, {"anyOf": [{"type": "integer"}, {"type": "null"}]}),
        (Optional[str], {"anyOf": [{"type": "string"}, {"type": "null"}]}),  # noqa: UP045
        (Union[int, str], {"anyOf": [{"type": "integer"}, {"type": "string"}]}),  # noqa: UP007
        (Literal["a", "b"], {"enum": ["a", "b"], "type": "string"}),
        (Literal["a"], {"const": "a", "type": "string"}),
        (Literal[1, "a", None], {"enum": [1, "a", None]}),
        (Colour, {"$ref": "#/$defs/Colour"}),
        (Level, {"$ref": "#/$defs/Level"}),
        (datetime.date, {"type": "string", "format": "date"}),
        (datetime.datetime, {"type": "string", "format": "date-time"}),
        (datetime.time, {"type": "string", "format": "time"}),
        (datetime.timedelta, {"type": "string", "format": "duration"}),
        (uuid.UUID, {"type": "string", "format": "uuid"}),
        (Path, {"type": "string", "format": "path"}),
        (Decimal, {"anyOf": [{"type": "number"}, {"type": "string", "pattern": r"^-?[0-9]+(\.[0-9]+)?$"}]}),
        (Annotated[int, Field(ge=1, le=9)], {"type": "integer", "minimum": 1, "maximum": 9}),
        (Annotated[str, Field(max_length=3, pattern="^a")], {"type": "string", "maxLength": 3, "pattern": "^a"}),
        (Annotated[int, Field(description="How many.")], {"type": "integer", "description": "How many."}),
        (Address, {"$ref": "#/$defs/Address"}),
        (Point, {"$ref": "#/$defs/Point"}),
        (Options, {"$ref": "#/$defs/Options"}),
        (Tree, {"$ref": "#/$defs/Tree"}),
        (Cat | Dog, {"anyOf": [{"$ref": "#/$defs/Cat"}, {"$ref": "#/$defs/Dog"}]}),
    ],
)
def test_each_kind_of_annotation_has_its_schema(annotation: Any, schema: JsonValue) -> None:
    assert property_of(annotation) == schema


def test_a_tuple_is_an_array_of_fixed_items() -> None:
    assert property_of(tuple[int, str]) == {
        "type": "array",
        "prefixItems": [{"type": "integer"}, {"type": "string"}],
        "minItems": 2,
        "maxItems": 2,
    }


def test_a_nested_model_is_described_under_its_name() -> None:
    @tool
    def move(to: Address, colour: Colour = Colour.RED) -> None:
        """Move.

        Args:
            to: The new home.
        """

    assert move.arguments.schema["$defs"] == {
        "Address": {
            "title": "Address",
            "description": "Where somebody lives.",
            "type": "object",
            "properties": {
                "street": {"type": "string"},
                "number": {"type": "integer", "minimum": 1, "default": 1, "description": "House number."},
            },
            "required": ["street"],
        },
        "Colour": {"title": "Colour", "enum": ["red", "blue"], "type": "string"},
    }
    assert move.arguments.schema["properties"] == {
        "to": {"$ref": "#/$defs/Address", "description": "The new home."},
        "colour": {"$ref": "#/$defs/Colour", "default": "red"},
    }


@pytest.mark.parametrize(
    ("annotation", "default", "shown"),
    [
        (int, 3, 3),
        (str | None, None, None),
        (datetime.date, datetime.date(2026, 1, 2), "2026-01-02"),
        (Decimal, Decimal("0.10"), "0.10"),
        (Point, Point(1.0), {"x": 1.0, "y": 0.0}),
        (Address, Address(street="A"), {"street": "A", "number": 1}),
        (list[int], [1], [1]),
        (frozenset[str], frozenset({"c", "a", "b"}), ["a", "b", "c"]),
        (dict[str, set[int]], {"k": {3, 1}}, {"k": [1, 3]}),
    ],
)
def test_a_default_is_shown_as_json(annotation: Any, default: Any, shown: JsonValue) -> None:
    schema = property_of(annotation, default)

    assert isinstance(schema, dict)
    assert schema["default"] == shown


@pytest.mark.parametrize("default", [float("inf"), float("nan"), float("-inf")])
def test_a_default_that_json_can_not_show_is_left_out_and_still_used(default: float) -> None:
    def take(x: float = default) -> None: ...

    made = tool(take)

    assert made.arguments.schema["properties"] == {"x": {"type": "number"}}
    assert repr(made.validate({})["x"]) == repr(default)


def test_a_tool_without_parameters_takes_an_empty_object() -> None:
    @tool
    def now() -> str:
        return ""

    assert now.arguments.schema == {"type": "object", "properties": {}, "additionalProperties": False}


def test_any_parameter_name_will_do() -> None:
    @tool
    def odd(schema: int, copy: int, _private: int, model_config: int, self: int, json: int, validate: int) -> None: ...

    names = ["schema", "copy", "_private", "model_config", "self", "json", "validate"]

    assert list(odd.arguments.schema["properties"]) == names  # type: ignore[arg-type]
    assert odd.validate(dict.fromkeys(names, 1)) == dict.fromkeys(names, 1)


def test_the_context_is_not_in_the_schema_wherever_and_however_it_stands() -> None:
    @tool
    def first(context: ToolContext, x: int) -> None: ...
    @tool
    def optional(x: int, context: ToolContext | None = None) -> None: ...
    @tool
    def annotated(x: int, *, context: Annotated[Optional[ToolContext], "note"] = None) -> None: ...  # noqa: UP045
    @tool
    def quoted(x: int, context: "ToolContext") -> None: ...

    for made in (first, optional, annotated, quoted):
        assert list(made.arguments.schema["properties"]) == ["x"]  # type: ignore[arg-type]
        assert made.arguments.names == ("x",)


def test_the_description_in_the_annotation_wins_over_the_docstring() -> None:
    @tool
    def find(x: Annotated[int, Field(description="From the annotation.")], y: int) -> None:
        """Find.

        Args:
            x: From the docstring.
            y: From the docstring.
        """

    assert find.arguments.schema["properties"] == {
        "x": {"type": "integer", "description": "From the annotation."},
        "y": {"type": "integer", "description": "From the docstring."},
    }


# --- string annotations -------------------------------------------------------------------------


def test_string_annotations_are_resolved_in_the_scope_of_the_definition() -> None:
    class Local(BaseModel):
        x: int

    @tool
    def plain(value: "Local", others: "list[Local] | None" = None) -> None: ...
    @tool(read_only=True)
    def with_options(value: "Local", number: "int") -> None: ...

    assert plain.validate({"value": {"x": 1}}) == {"value": Local(x=1), "others": None}
    assert with_options.validate({"value": {"x": 1}, "number": 2}) == {"value": Local(x=1), "number": 2}


def test_a_nested_forward_reference_is_resolved() -> None:
    @tool
    def take(values: list["Address"]) -> None: ...

    assert take.validate({"values": [{"street": "A"}]}) == {"values": [Address(street="A")]}


def test_a_return_annotation_may_be_unknown() -> None:
    @tool
    def take(x: int) -> "Unknown": ...  # type: ignore[name-defined] # noqa: F821

    assert take.arguments.names == ("x",)


def test_an_unknown_name_is_told_with_its_parameter() -> None:
    def take(x: int, y: "list[Missing]") -> None: ...  # type: ignore[name-defined] # noqa: F821

    with pytest.raises(DefinitionError, match=r"'take': parameter 'y' is annotated 'list\[Missing\]', but .*'Missing'"):
        tool(take)


def test_an_annotation_that_can_not_be_evaluated_is_told_with_its_parameter() -> None:
    def take(x: Any) -> None: ...

    take.__annotations__["x"] = "1 +"
    with pytest.raises(DefinitionError, match=r"'take': parameter 'x' is annotated '1 \+', which can't be evaluated"):
        tool(take)


def test_a_module_with_postponed_annotations_works(tmp_path: Path) -> None:
    code = """
from __future__ import annotations
import json
from pydantic import BaseModel
from activities.tools.tool import ToolContext, tool

class Item(BaseModel):
    n: int

@tool
def top(item: Item, context: ToolContext) -> str: ...

def make():
    class Inner(BaseModel):
        m: int
    @tool(read_only=True)
    def nested(inner: Inner | None = None, context: ToolContext | None = None) -> str: ...
    return nested

print(json.dumps([sorted(top.arguments.schema["properties"]), sorted(make().arguments.schema["properties"])]))
"""
    (tmp_path / "postponed.py").write_text(code)
    done = subprocess.run([sys.executable, tmp_path / "postponed.py"], capture_output=True, text=True, check=True)

    assert json.loads(done.stdout) == [["item"], ["inner"]]


# --- refusals -----------------------------------------------------------------------------------


class NoSchema:
    """A class that pydantic knows nothing of."""


class Silent:
    """A class whose schema fails without a word."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        raise ValueError


def stars(*names: str) -> None: ...
def double_stars(**names: str) -> None: ...
def positional_only(x: int, /) -> None: ...
def bare(x) -> None: ...  # type: ignore[no-untyped-def]
def of_a_class(self, x: int) -> None: ...  # type: ignore[no-untyped-def]
def field_default(x: int = Field(default=1, ge=1)) -> None: ...
def silent(x: Silent) -> None: ...
def alias(x: Annotated[int, Field(alias="y")]) -> None: ...
def function_argument(x: Callable[[int], int]) -> None: ...
def function_or_text(x: str | Callable[[int], int]) -> None: ...
def arbitrary(x: NoSchema) -> None: ...
def list_of_arbitrary(x: list[NoSchema]) -> None: ...
def class_argument(x: type[NoSchema]) -> None: ...
def lazy(x: Iterable[int]) -> None: ...
def nested_context(x: list[ToolContext]) -> None: ...
def implicit_optional(x: str = None) -> None: ...  # type: ignore[assignment] # noqa: RUF013
def wrong_default(x: int = "many") -> None: ...  # type: ignore[assignment]


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (stars, r"tool 'stars': parameter '\*names' stands for any number .* annotated as a list"),
        (double_stars, r"tool 'double_stars': parameter '\*\*names' stands for any number .* annotated as a dict"),
        (positional_only, r"parameter 'x' is positional-only, .* Remove the '/'"),
        (bare, r"tool 'bare': parameter 'x' has no annotation\. Write its type, e\.g\. `x: str`"),
        (of_a_class, r"'self': a method can't be decorated inside its class.* tool\(instance\.of_a_class\)"),
        (field_default, r"'x' has a Field\(…\) as its default .* `x: Annotated\[<type>, Field\(…\)\] = <default>`"),
        (alias, r"'x' has an alias, .* Rename the parameter"),
        (function_argument, r"tool 'function_argument': parameter 'x' is annotated .*Callable.* has no JSON form"),
        (function_or_text, r"'x' is annotated .*Callable.* has no JSON form"),
        (silent, r"'x' is annotated .*Silent, which has no JSON form \(ValueError\)"),
        (arbitrary, r"'x' is annotated .*NoSchema, which has no JSON form"),
        (list_of_arbitrary, r"'x' is annotated list\[.*NoSchema\], which has no JSON form"),
        (class_argument, r"'x' is annotated type\[.*NoSchema\], which has no JSON form"),
        (lazy, r"'x' is annotated .*Iterable\[int\], which has no JSON form \(.*write a list"),
        (nested_context, r"'x' is annotated list\[.*ToolContext\], which has no JSON form"),
        (implicit_optional, r"'x' has the default None, which is no str .* Write `str \| None`"),
        (wrong_default, r"'x' has the default 'many', which is no int .* Change one of the two"),
    ],
)
def test_a_parameter_that_no_model_could_fill_in_is_refused_with_the_remedy(
    function: Callable[..., Any], text: str
) -> None:
    with pytest.raises(DefinitionError, match=text):
        tool(function)


def test_a_function_that_hides_its_parameters_is_refused() -> None:
    with pytest.raises(DefinitionError, match=r"'max'.*Wrap it in a function with annotated parameters"):
        tool(max)


# --- stability ----------------------------------------------------------------------------------

STABLE = """
import json
from typing import Literal
from pydantic import BaseModel
from activities.tools.tool import tool

class Inner(BaseModel):
    tags: frozenset[str] = frozenset({"one", "two", "three", "four"})

@tool
def make(kind: Literal["x", "y", "z"], inner: Inner = Inner(), tags: set[str] = {"five", "six", "seven"}) -> None: ...

print(json.dumps(make.arguments.schema))
"""


def test_the_schema_is_the_same_in_every_process() -> None:
    texts = {
        subprocess.run(
            [sys.executable, "-c", STABLE], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        ).stdout
        for seed in ("1", "2", "3")
    }

    assert len(texts) == 1
    assert '"default": ["five", "seven", "six"]' in texts.pop()


def test_a_schema_holds_json_values_alone() -> None:
    @tool
    def make(
        x: Annotated[Decimal, Field(ge=Decimal("0.5"))] = Decimal(1),
        y: Annotated[datetime.date, Field(ge=datetime.date(2020, 1, 1))] = datetime.date(2026, 1, 1),
        z: collections.deque[int] = collections.deque(),  # noqa: B006
    ) -> None: ...

    assert json.loads(json.dumps(make.arguments.schema, allow_nan=False)) == make.arguments.schema
