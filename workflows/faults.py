"""How it reads, in one line, that a value does not have the form of a record.

This is the one place that words pydantic's errors for people; `activities/tools/explain.py` does it for models.
What was sent is not repeated: it may be large, and it may be a secret.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from workflows.counting import counted

FAULTS_SHOWN = 5
PLACE_CHARS = 300
OURS = "Value error, "
"""What pydantic puts before the words of our own validators."""

WHOLE_NUMBER = ("int_type", "int_parsing", "int_parsing_size", "int_from_float")
NUMBER = ("float_type", "float_parsing", "finite_number")
OBJECT = ("dict_type", "model_type", "model_attributes_type", "dataclass_type")
WORDS: Mapping[str, str] = {
    "missing": "it is missing",
    "extra_forbidden": "there is no such field",
    "string_type": "it has to be a text",
    "string_too_short": "it has to have at least {min_length}",
    "string_too_long": "it may have at most {max_length}",
    "bool_type": "it has to be true or false",
    "bool_parsing": "it has to be true or false",
    "list_type": "it has to be a list",
    "literal_error": "it has to be {expected}",
    "greater_than": "it has to be more than {gt}",
    "greater_than_equal": "it has to be {ge} or more",
    "less_than": "it has to be less than {lt}",
    "less_than_equal": "it has to be {le} or less",
    **dict.fromkeys(WHOLE_NUMBER, "it has to be a whole number"),
    **dict.fromkeys(NUMBER, "it has to be a number"),
    **dict.fromkeys(OBJECT, "it has to be a JSON object"),
}
"""pydantic's word for a fault → ours. Whatever is not here is told as pydantic tells it."""


def faults_of(error: ValidationError, whole: str = "value", kind: type[BaseModel] | None = None) -> str:
    """Each fault as `where: what`; `whole` stands for the record itself, `kind` says which fields there are."""
    faults = error.errors(include_input=False, include_url=False)
    told = [
        f"{'.'.join(map(str, each['loc']))[:PLACE_CHARS] or whole}: {worded(each)}{_known(each, kind)}"
        for each in faults[:FAULTS_SHOWN]
    ]
    more = [f"{len(faults) - FAULTS_SHOWN} more"] if len(faults) > FAULTS_SHOWN else []
    return "; ".join([*told, *more])


def worded(fault: Mapping[str, Any]) -> str:
    """What is wrong, in our words where there are some; `fault` is one of `ValidationError.errors()`."""
    words = WORDS.get(fault.get("type", ""))
    if words is None:
        return str(fault["msg"]).removeprefix(OURS)
    return words.format_map({name: _shown(name, value) for name, value in fault.get("ctx", {}).items()})


def _shown(name: str, value: object) -> str:
    if name in ("min_length", "max_length") and isinstance(value, int):
        return counted(value, "character")
    return f"{value:g}" if isinstance(value, float) else str(value)


def _known(fault: Mapping[str, Any], kind: type[BaseModel] | None) -> str:
    """The fields that there are where one stands that there is not."""
    if kind is None or fault["type"] != "extra_forbidden":
        return ""
    fields = list(_fields(kind, fault["loc"][:-1]))
    return f", but {', '.join(fields)}" if fields else ""


def _fields(kind: type[BaseModel], place: Sequence[int | str]) -> Iterator[str]:
    """The fields of the record at this place of a `kind`; none if that can't be said."""
    for step in place:
        field = kind.model_fields.get(str(step))
        options = (field.annotation, *get_args(field.annotation)) if field is not None else ()
        records = [each for each in options if isinstance(each, type) and issubclass(each, BaseModel)]
        if len(records) != 1:
            return
        kind = records[0]
    yield from kind.model_fields
