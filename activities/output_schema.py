"""The form of an agent's final answer: what the model is told of it, and the check of what it wrote.

An answer that does not fit is sent back to the model, so a problem's text is written for the model.
"""

import json
import re
from typing import Any, cast

from pydantic import JsonValue, TypeAdapter, ValidationError

from activities import json_schema
from activities.errors import DefinitionError
from activities.explain import cut, problems
from activities.json_schema_form import refuse_unusable
from activities.rendering import well_formed
from activities.schema import schema_of
from workflows.contracts import JsonObject

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
            self._type = TypeAdapter(output)
            self.schema = schema_of(self._type)
        except Exception as error:  # pydantic raises half a dozen kinds for types that it can't take
            raise DefinitionError(
                f"{where} has output={output!r}, which has no JSON form ({cut(str(error).splitlines()[0], 200)})."
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
            value = _read(well_formed(text))
        except (ValueError, RecursionError) as error:
            return None, f"The answer is not one JSON value ({error}). Answer with JSON alone, without any other text."
        problem = self._problem(value)
        if problem is not None:
            return None, f"The answer does not fit the schema:\n{problem}"
        return self._normal(value), None

    def _problem(self, value: JsonValue) -> str | None:
        if self._type is None:
            return json_schema.check(value, self.schema)
        try:
            self._type.validate_json(json.dumps(value), strict=True)
        except ValidationError as error:
            return problems(error)
        except Exception as error:  # validators of the user's own types may raise anything
            return f"- {type(error).__name__}: {cut(str(error), 300)}"
        return None

    def _normal(self, value: JsonValue) -> JsonValue:
        """The value with the defaults of the type filled in."""
        if self._type is None:
            return value
        read = self._type.validate_json(json.dumps(value), strict=True)
        return cast(JsonValue, self._type.dump_python(read, mode="json"))


def _read(text: str) -> JsonValue:
    """The JSON of an answer: the whole of it, or its only fenced block."""
    try:
        return _loads(text)
    except ValueError:
        blocks = _FENCED.findall(text)
        if len(blocks) != 1:
            raise
    return _loads(blocks[0])


def _loads(text: str) -> JsonValue:
    return cast(JsonValue, json.loads(text, parse_constant=_no_number))


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is no JSON number")
