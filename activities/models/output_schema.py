"""The form of an agent's final answer: what the model is told of it, and the check of what it wrote.

An answer that does not fit is sent back to the model, so a problem's text is written for the model.
"""

import inspect
import json
import re
from typing import Any, cast

from pydantic import JsonValue, TypeAdapter, ValidationError

from activities.errors import DefinitionError
from activities.tools import json_schema
from activities.tools.explain import first_line, problems, said
from activities.tools.json_schema_form import refuse_unusable
from activities.tools.rendering import well_formed
from activities.tools.schema import schema_of
from workflows.contracts import JsonObject
from workflows.digest import whole_numbers

_FENCED = re.compile(r"```(?:json|JSON)?[ \t]*\r?\n(.*?)\r?\n[ \t]*```", re.DOTALL)


class OutputSchema:
    """A pydantic model, any other type that pydantic reads, or a JSON schema. `schema` is it as a JSON schema."""

    def __init__(self, where: str, output: type[Any] | JsonObject) -> None:
        self._type: TypeAdapter[Any] | None = None
        if isinstance(output, dict):
            refuse_unusable(output, where)
            self.schema = output
            return
        try:
            if inspect.isroutine(output):
                raise TypeError("it is a function")
            self._type = TypeAdapter(output)
            self.schema = schema_of(self._type)
        except Exception as error:  # pydantic raises half a dozen kinds for types that it can't take
            raise DefinitionError(
                f"{where} has output={output!r}, which has no JSON form ({first_line(error)})."
                " Give a pydantic model or a JSON schema as a dict."
            ) from error

    def instructions(self) -> str:
        """The words to the model."""
        return (
            "Give your final answer as one JSON value and nothing else. It must fit this JSON schema:\n"
            + json.dumps(self.schema, ensure_ascii=False)
        )

    def check(self, text: str) -> tuple[JsonValue, str | None]:
        """The answer as a JSON value, and None or what is wrong with it."""
        try:
            value = _read(text)
        except (ValueError, RecursionError) as error:
            return None, f"The answer is not one JSON value ({error}). Answer with JSON alone, without any other text."
        value, problem = _fit(value, self._type) if self._type else (value, self._mismatch(value))
        return (value, None) if problem is None else (None, f"The answer does not fit the schema:\n{problem}")

    def _mismatch(self, value: JsonValue) -> str | None:
        try:
            return json_schema.check(value, self.schema)
        except RecursionError:
            return "- it is nested too deeply"


def _fit(value: JsonValue, expected: TypeAdapter[Any]) -> tuple[JsonValue, str | None]:
    """The value with the defaults of the type filled in, or what is wrong with it."""
    try:
        read = expected.validate_json(json.dumps(whole_numbers(value), ensure_ascii=False), strict=True)
        return cast(JsonValue, expected.dump_python(read, mode="json")), None
    except ValidationError as error:
        return None, problems(error)
    except BaseException as error:  # validators of the user's own types may raise anything, and call sys.exit
        return None, f"- {type(error).__name__}: {said(error, 300)}"


def _read(text: str) -> JsonValue:
    """The JSON of an answer: the whole of it, or its only fenced block."""
    try:
        return _parsed(text)
    except ValueError:
        blocks = _FENCED.findall(text)
        if len(blocks) != 1:
            raise
    return _parsed(blocks[0])


def _parsed(text: str) -> JsonValue:
    value = json.loads(text, parse_constant=_no_number)
    # Once more as text, since an escape may have spelled half a surrogate pair, which no store takes.
    return cast(JsonValue, json.loads(well_formed(json.dumps(value, ensure_ascii=False))))


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is no JSON number")
