"""The items of the Responses API that ask the client for something, and the item that answers each.

Only function calls are ours to run. Every other client-side type gets a `CallPart` without arguments, so that the loop
answers it as an error instead of leaving the job with an open call, which the API would reject for ever.
"""

import json
from collections.abc import Callable, Mapping, Sequence

from pydantic import JsonValue

from activities.providers.json_text import clean_text, parse_arguments
from activities.providers.rendering import result_text
from activities.providers.tool_names import UNKNOWN
from workflows.contracts import CallPart, JsonObject, Result

Output = Callable[[str, Result], JsonObject]


def function_output(call_id: str, result: Result) -> JsonObject:
    return {"type": "function_call_output", "call_id": call_id, "output": result_text(result)}


def _custom_output(call_id: str, result: Result) -> JsonObject:
    return {"type": "custom_tool_call_output", "call_id": call_id, "output": result_text(result)}


def _patch_output(call_id: str, result: Result) -> JsonObject:
    status = "failed" if result.is_error else "completed"
    return {"type": "apply_patch_call_output", "call_id": call_id, "status": status, "output": result_text(result)}


def _shell_output(call_id: str, result: Result) -> JsonObject:
    text, failed = result_text(result), result.is_error
    outcome: JsonObject = {"type": "exit", "exit_code": 1 if failed else 0}
    output: JsonObject = {"stdout": "" if failed else text, "stderr": text if failed else "", "outcome": outcome}
    return {"type": "shell_call_output", "call_id": call_id, "output": [output]}


def _search_output(call_id: str, result: Result) -> JsonObject:
    # It has no place for a text: no tools found is the nearest to a refusal.
    return {"type": "tool_search_output", "call_id": call_id, "execution": "client", "status": "completed", "tools": []}


def _approval(call_id: str, result: Result) -> JsonObject:
    reason = result_text(result)
    return {"type": "mcp_approval_response", "approval_request_id": call_id, "approve": False, "reason": reason}


OUTPUTS: Mapping[str, Output] = {
    "function_call": function_output,
    "custom_tool_call": _custom_output,
    "apply_patch_call": _patch_output,
    "shell_call": _shell_output,
    "tool_search_call": _search_output,
    "mcp_approval_request": _approval,
}
"""Types that are not here (computer_call, whose answer must be a screenshot; local_shell_call; types yet to come) have
no answer that is sure to be accepted: their turn goes back as neutral function calls with function outputs."""

_HOSTED = frozenset(
    {"web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call", "mcp_call"}
)


def client_calls(items: Sequence[JsonValue]) -> list[JsonObject]:
    """The items that wait for the client, in their order."""
    answered = {
        text(item.get("call_id")) for item in items if isinstance(item, dict) and kind(item).endswith("_output")
    }
    answered.discard("")
    return [
        item for item in items if isinstance(item, dict) and _waits(item) and text(item.get("call_id")) not in answered
    ]


def _waits(item: JsonObject) -> bool:
    named = kind(item)
    if named == "tool_search_call":
        return item.get("execution") == "client"
    if named in OUTPUTS:
        return True
    return named.endswith("_call") and named not in _HOSTED and bool(text(item.get("call_id")))


def call_part(item: JsonObject, own_id: str) -> CallPart:
    """The neutral form of a client call; its tool is the function's name, or the type of the item."""
    named = kind(item)
    provider_id = text(item.get("id" if named == "mcp_approval_request" else "call_id")) or None
    if named == "function_call":
        arguments, raw = parse_arguments(item.get("arguments"))
        tool = text(item.get("name")) or UNKNOWN
        return CallPart(id=own_id, provider_id=provider_id, tool=tool, arguments=arguments, raw=raw)
    tool = text(item.get("name")) if named == "custom_tool_call" else named
    return CallPart(id=own_id, provider_id=provider_id, tool=tool or UNKNOWN, raw=_raw(item))


def _raw(item: JsonObject) -> str:
    asked = {key: value for key, value in item.items() if key not in ("id", "type", "status", "call_id")}
    given = item.get("input")
    return text(given) if isinstance(given, str) else clean_text(json.dumps(asked, ensure_ascii=False))


def kind(item: JsonValue) -> str:
    """The type of an item; messages may go without."""
    if not isinstance(item, dict):
        return ""
    return text(item.get("type")) or ("message" if "role" in item else "")


def text(value: JsonValue) -> str:
    """The string made encodable, or an empty one."""
    return clean_text(value) if isinstance(value, str) else ""
