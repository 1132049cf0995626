"""From a tool's parameters to the JSON schema that the model gets, and from its arguments to Python values.

Validation reads JSON strictly: a model that writes "5" for a number, or 1 for a boolean, is told so instead of
being guessed at. 5.0 counts as the integer 5, as JSON schema has it, and as `workflows/digest.py` spells it.
"""

import inspect
import json
import math
from collections.abc import Mapping
from typing import Any, Literal, cast

from pydantic import BaseModel, ConfigDict, Field, JsonValue, TypeAdapter, ValidationError, create_model
from pydantic.errors import PydanticInvalidForJsonSchema
from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue, JsonSchemaWarningKind
from pydantic_core import PydanticSerializationError, SchemaSerializer, core_schema, to_jsonable_python

from activities.errors import DefinitionError, InvalidArguments
from activities.tools.explain import first_line, problems, said
from activities.tools.rendering import well_formed
from activities.tools.signature import REQUIRED, Parameter, Signature
from workflows.contracts import JsonObject
from workflows.digest import whole_numbers

_AS_PYTHON = SchemaSerializer(core_schema.any_schema())


class Arguments:
    """What a tool takes: `schema` for the model, `validate` for what the model sent."""

    def __init__(self, tool: str, signature: Signature, descriptions: Mapping[str, str]) -> None:
        self.tool = tool
        self.names = tuple(parameter.name for parameter in signature.parameters)
        fields = {
            # Fields have names of ours, since a parameter may be called `schema`, `copy` or `_x`.
            f"argument_{position}": _field(tool, parameter, descriptions.get(parameter.name))
            for position, parameter in enumerate(signature.parameters)
        }
        self._model = _model(tool, fields)
        self.schema = schema_of(TypeAdapter(self._model))
        self.schema.pop("title", None)
        self.schema.setdefault("properties", {})

    def validate(self, arguments: JsonObject) -> dict[str, Any]:
        """The arguments as Python values by parameter name, defaults filled in; raises `InvalidArguments`."""
        try:
            text = json.dumps(whole_numbers(arguments), ensure_ascii=False, allow_nan=False)
            read = self._model.model_validate_json(well_formed(text), strict=True)
        except ValidationError as error:
            raise InvalidArguments(
                f"The arguments do not fit the tool {self.tool}:\n{problems(error, self.names)}"
            ) from None
        except RecursionError:
            raise InvalidArguments(f"The arguments of {self.tool} are nested too deeply. Make them flatter.") from None
        except BaseException as error:  # validators of the user's own types may raise anything, and call sys.exit
            raise InvalidArguments(
                f"The arguments of {self.tool} can't be read: {type(error).__name__}: {said(error, 300)}"
            ) from error
        return {name: getattr(read, f"argument_{position}") for position, name in enumerate(self.names)}


def schema_of(adapter: TypeAdapter[Any]) -> JsonObject:
    """The JSON schema of a type: JSON values alone, and the same in every process."""
    schema = adapter.json_schema(schema_generator=_Schema)
    return cast(JsonObject, json.loads(json.dumps(schema, allow_nan=False)))


def _model(tool: str, fields: Mapping[str, Any]) -> type[BaseModel]:
    config = ConfigDict(extra="forbid", arbitrary_types_allowed=False)
    return create_model(f"{tool}_arguments", __config__=config, **fields)


def _field(tool: str, parameter: Parameter, description: str | None) -> tuple[Any, FieldInfo]:
    where = f"tool {tool!r}: parameter {parameter.name!r}"
    try:
        own = FieldInfo.from_annotation(parameter.annotation)
        if own.alias or own.validation_alias:
            raise DefinitionError(f"{where} has an alias, but the model knows it by its name. Rename the parameter.")
        alone = create_model("Alone", argument=(parameter.annotation, Field()))
        schema_of(TypeAdapter(alone))
    except DefinitionError:
        raise
    except Exception as error:  # pydantic raises half a dozen kinds for types that it can't take
        raise DefinitionError(
            f"{where} is annotated {_type_name(parameter.annotation)}, which has no JSON form"
            f" ({first_line(error)}). Use str, int, float, bool, list, dict, Literal, an enum,"
            " a date, a dataclass, a TypedDict or a pydantic model."
        ) from error
    settings: dict[str, Any] = {"alias": parameter.name}
    if parameter.default is not REQUIRED:
        _check_default(where, parameter, alone)
        settings["default"] = parameter.default
    if description and not own.description:
        settings["description"] = description
    return (parameter.annotation, Field(**settings))


def _check_default(where: str, parameter: Parameter, alone: type[BaseModel]) -> None:
    try:
        alone.model_validate({"argument": parameter.default})
    except ValidationError as error:
        name = _type_name(parameter.annotation)
        remedy = f" Write `{name} | None`." if parameter.default is None else " Change one of the two."
        raise DefinitionError(
            f"{where} has the default {parameter.default!r}, which is no {name}"
            f" ({error.errors(include_url=False)[0]['msg']}).{remedy}"
        ) from error


def _type_name(annotation: Any) -> str:
    return inspect.formatannotation(annotation)


class _Schema(GenerateJsonSchema):
    """Pydantic's generator, with what can't be JSON refused instead of left out, and sets in a fixed order."""

    def emit_warning(self, kind: JsonSchemaWarningKind, detail: str) -> None:
        if kind == "skipped-choice":
            raise PydanticInvalidForJsonSchema(detail)
        # A default that JSON can't show is left out of the schema and still filled in.

    def field_title_should_be_set(self, schema: Any) -> Literal[False]:
        return False

    def generator_schema(self, schema: core_schema.GeneratorSchema) -> JsonSchemaValue:
        raise PydanticInvalidForJsonSchema("an iterable is checked only while it is read; write a list")

    def is_subclass_schema(self, schema: core_schema.IsSubclassSchema) -> JsonSchemaValue:
        raise PydanticInvalidForJsonSchema("a class is no JSON value")

    def decimal_schema(self, schema: core_schema.DecimalSchema) -> JsonSchemaValue:
        # Pydantic's own pattern uses look-ahead, which strict modes of model APIs refuse.
        described = super().decimal_schema(schema)
        for choice in described.get("anyOf", [described]):
            if choice.get("type") == "string":
                choice["pattern"] = r"^-?[0-9]+(\.[0-9]+)?$"
        return described

    def encode_default(self, dft: Any) -> Any:
        encoded = to_jsonable_python(_ordered(_AS_PYTHON.to_python(dft)), inf_nan_mode="constants")
        if isinstance(encoded, float) and not math.isfinite(encoded):
            raise PydanticSerializationError("not a JSON number")
        return encoded


def _ordered(value: Any) -> JsonValue:
    """The value with every set as a sorted list: the order of a set differs between processes."""
    if isinstance(value, set | frozenset):
        items = [to_jsonable_python(_ordered(item)) for item in value]
        return sorted(items, key=lambda item: json.dumps(item, sort_keys=True))
    if isinstance(value, dict):
        return {key: _ordered(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_ordered(item) for item in value]
    return cast(JsonValue, value)
