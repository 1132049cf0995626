"""Turns whatever a tool returned into the text that the model reads.

It never raises: by now the tool has done its work, and an output that can't be shown must not undo that. It
may run code of the tool (a property, an iterator), so it belongs where tools run, in a thread.
"""

import itertools
import re
from collections.abc import Iterator

from pydantic_core import PydanticSerializationError, SchemaSerializer, core_schema, from_json, to_json

_SURROGATE = re.compile("[\ud800-\udfff]")
_AS_PYTHON = SchemaSerializer(core_schema.any_schema())

MOST_ITEMS = 100_000
"""Most items that are taken from an iterator, which may have no end."""


def render_output(value: object) -> str:
    """The text of a tool's return value.

    A string stands as it is; None is empty; models, dataclasses and containers are JSON; what JSON would
    spell as one string (a date, a UUID, an enum) stands without quotes; bytes are described, not shown. What an
    iterator gives is a list, with a visible mark if it gives too much.
    """
    if value is None:
        return ""
    if type(value) is str:
        return well_formed(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return _describe_bytes(value)
    try:
        return _of_iterator(value) if isinstance(value, Iterator) else _unquoted(_json(value))
    except BaseException as error:  # any foreign __str__, serializer or property may run in there, and call sys.exit
        return f"(The output is a {type(value).__name__} that can't be shown as text: {type(error).__name__})"


def well_formed(text: str) -> str:
    """The text as valid Unicode: halves of surrogate pairs joined, lone ones replaced by U+FFFD."""
    if not _SURROGATE.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _of_iterator(values: Iterator[object]) -> str:
    text = _json(list(itertools.islice(values, MOST_ITEMS))).decode()
    if next(values, values) is values:
        return text
    return f"{text}\n[cut: the output is an iterator, of which the first {MOST_ITEMS} items were taken]"


def _json(value: object) -> bytes:
    try:
        return to_json(value, inf_nan_mode="strings", fallback=_stand_in)
    except (PydanticSerializationError, UnicodeError):
        # Bytes that are no text, or lone surrogates, somewhere inside: take it apart and mend the leaves.
        parts = _AS_PYTHON.to_python(value, fallback=_stand_in)
        return to_json(_mended(parts), inf_nan_mode="strings", fallback=_stand_in)


def _mended(value: object) -> object:
    if isinstance(value, str):
        return well_formed(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return _describe_bytes(value)
    if isinstance(value, dict):
        return {_mended(key): _mended(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_mended(item) for item in value]
    return value


def _unquoted(text: bytes) -> str:
    return str(from_json(text)) if text.startswith(b'"') else text.decode("utf-8")


def _describe_bytes(value: bytes | bytearray | memoryview) -> str:
    return f"({memoryview(value).nbytes} bytes of binary data, not shown)"


def _stand_in(value: object) -> str:
    return well_formed(str(value))
