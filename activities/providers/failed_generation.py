"""Makes a turn of a tool call that the server could not read (Groq's 400 `tool_use_failed`).

That 400 is a mistake of the model: as a turn with one malformed call, it is answered by an error result and the model
corrects itself, where a failed request would end the job. Nothing of such a call ever runs.
"""

import json
import re

from pydantic import JsonValue

from activities.providers.errors import ToolUseFailed
from activities.providers.json_text import clean_text
from activities.providers.protocol import ModelRequest, call_id
from activities.providers.tool_names import UNKNOWN
from workflows.contracts import CallPart, Turn, Usage

_NAME_IN_TEXT = re.compile(r'<function[=(]"?([\w.-]+)|"name"\s*:\s*"([\w.-]+)"')


def turn_of_failed_generation(failure: ToolUseFailed, request: ModelRequest) -> Turn:
    """A turn with no native items: the provider never gave out this answer. Its tokens are not known."""
    call = CallPart(id=call_id(request.turn, 0), tool=tool_in(failure.generation), raw=clean_text(failure.generation))
    return Turn(
        number=request.turn,
        parts=[call],
        stop="tool_calls",
        stop_detail=str(failure),
        model=request.model,
        usage=Usage(model_calls=1, unmeasured=1),
    )


def tool_in(generation: str) -> str:
    """The name of the tool that was meant, as far as the text shows one."""
    try:
        name = _name(json.loads(generation))
    except (ValueError, RecursionError):
        found = _NAME_IN_TEXT.search(generation)
        name = found[1] or found[2] if found else None
    return clean_text(name) if name else UNKNOWN


def _name(value: JsonValue) -> str | None:
    if isinstance(value, list):
        return _name(value[0]) if value else None
    name = value.get("name") if isinstance(value, dict) else None
    return name if isinstance(name, str) else None
