"""The arguments of an MCP tool: its server's own JSON schema, for the model and to check calls by.

The schema is a stranger's. So it is checked by a library whose patterns can't run for ever, and no reference in it is
fetched; a tool whose schema can't be used that way is left out, since one bad schema gets every model call rejected.
"""

import json
import re
from typing import Any

from jsonschema_rs import FancyRegexOptions, ValidationError, validator_for

from activities.errors import InvalidArguments
from activities.tools.explain import cut, said
from activities.tools.rendering import well_formed
from workflows.contracts import JsonObject
from workflows.digest import whole_numbers

SHOWN = 10
MESSAGE_CHARS = 300
PLAIN_KEY = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
"""What Anthropic accepts as the name of an argument."""

NOT_AT_THE_TOP = ("oneOf", "anyOf", "allOf", "not", "enum")
"""Keywords that providers refuse at the root of a tool's schema. Calls are still checked by them."""

PATTERNS = FancyRegexOptions(backtrack_limit=100_000)


class UnusableSchema(ValueError):
    """A schema that no model can be given, or that no call can be checked by."""


class McpArguments:
    """What an MCP tool takes; as `activities.tools.schema.Arguments` is for a function."""

    def __init__(self, tool: str, schema: JsonObject) -> None:
        self.tool = tool
        properties = schema.get("properties")
        if schema.get("type", "object") != "object" or not isinstance(properties or {}, dict):
            raise UnusableSchema(f"its arguments are of type {schema.get('type')!r}, not an object")
        self.names = tuple(properties) if isinstance(properties, dict) else ()
        if odd := [name for name in self.names if not PLAIN_KEY.fullmatch(name)]:
            raise UnusableSchema(f"it has an argument {cut(odd[0], 80)!r}, a name that not every provider accepts")
        try:
            self._validator: Any = validator_for(schema, offline=True, pattern_options=PATTERNS)
        except (ValueError, RecursionError) as error:
            raise UnusableSchema(f"its schema can't be used: {cut(str(error).splitlines()[0], 200)}") from None
        kept = {key: value for key, value in schema.items() if key not in NOT_AT_THE_TOP}
        self.schema: JsonObject = {**kept, "type": "object", "properties": properties or {}}

    def validate(self, arguments: JsonObject) -> dict[str, Any]:
        """The arguments themselves, if they fit. Raises `InvalidArguments`."""
        try:
            text = json.dumps(whole_numbers(arguments), ensure_ascii=False, allow_nan=False)
            read: dict[str, Any] = json.loads(well_formed(text))
            found = [_line(error) for error, _ in zip(self._validator.iter_errors(read), range(SHOWN), strict=False)]
        except (ValueError, RecursionError) as error:
            raise InvalidArguments(f"The arguments of {self.tool} can't be checked: {said(error, 200)}") from None
        if found:
            raise InvalidArguments(f"The arguments do not fit the tool {self.tool}:\n" + "\n".join(found))
        return read


def _line(error: ValidationError) -> str:
    place = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in error.instance_path)
    return f"- {cut(place.removeprefix('.'), 200) or '(the whole)'}: {cut(error.message, MESSAGE_CHARS)}"
