"""Writes a Responses request from a transcript, in one of three forms.

`chained` sends what came after the last turn and points to it; `whole` sends everything, this API's own items verbatim;
`plain` sends everything as new items, without reasoning and without ids, which the API always accepts. An item's id
ties it to its reasoning item: both go back, or neither, and a turn that had to be changed loses both.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Literal

from pydantic import JsonValue

from activities.providers.errors import Rejected
from activities.providers.json_text import parse_arguments
from activities.providers.openai_chat_request import wire_arguments
from activities.providers.openai_items import OUTPUTS, Output, client_calls, function_output, kind
from activities.providers.openai_responses_answer import without_reasoning
from activities.providers.protocol import Live, ModelRequest, ToolDeclaration
from activities.providers.rendering import message_text, note_text
from activities.providers.tool_names import wire_name
from activities.providers.wire_ids import wire_ids
from workflows.contracts import CallPart, Entry, JsonObject, Message, Note, RefusalPart, Result, Turn

Form = Literal["chained", "whole", "plain"]

CALL_IDS = re.compile(r"[!-~]{1,64}")
ENCRYPTED = "reasoning.encrypted_content"
NOT_OURS: Mapping[str, str] = {
    "stream": "the agent's own `stream` decides",
    "conversation": "the transcript is Surefoot's own, and would be there twice",
    "previous_response_id": "Surefoot chains by itself",
}


def responses_request(request: ModelRequest, api: str, form: Form) -> JsonObject:
    """The body for POST /responses. `chained` is only for a request whose `chain_start` is not None."""
    settings = request.settings
    for name, why in NOT_OURS.items():
        if settings.get(name):
            raise Rejected(f"the model settings hold {name}={settings[name]!r}, but {why}; remove the setting")
    if in_background(request) and settings.get("store") is False:
        raise Rejected(
            "the model settings hold background=True and store=False, but an answer is polled for where it is stored; "
            "remove one of them"
        )
    body: JsonObject = {**settings, "model": request.model}
    if streamed_to(request) is not None:
        body["stream"] = True
    if request.instructions.strip():
        body["instructions"] = request.instructions
    own_tools = settings.get("tools")
    tools = [*(own_tools if isinstance(own_tools, list) else []), *map(_tool, request.tools)]
    if tools:
        body["tools"] = tools
        if request.tool_choice == "none":
            body["tool_choice"] = "none"
    if request.max_output_tokens is not None:
        body["max_output_tokens"] = request.max_output_tokens
    return body | _history(request, api, form)


def in_background(request: ModelRequest) -> bool:
    return bool(request.settings.get("background"))


def streamed_to(request: ModelRequest) -> Live | None:
    """An answer that is made in the background is polled for, which can be gone on with after any interruption."""
    return None if in_background(request) else request.streamed_to


def chain_start(request: ModelRequest, api: str) -> int | None:
    """Where the entries begin that the last turn's response does not hold, if this request may chain to it.

    It may inside one message of a person, when storing is allowed and each output has a type and an id of its own, and
    as long as nothing was cut short since: the response holds what its own request was sent.
    """
    turns = [index for index, entry in enumerate(request.transcript) if isinstance(entry, Turn)]
    if not turns or request.settings.get("store") is False or not request.chains:
        return None
    turn, tail = request.transcript[turns[-1]], request.transcript[turns[-1] + 1 :]
    assert isinstance(turn, Turn)
    native = turn.native
    if native is None or native.api != api or not native.response_id:
        return None
    waiting = client_calls(native.items)
    ids = [call.provider_id for call in turn.calls]
    answered = [entry.call for entry in tail if isinstance(entry, Result)]
    sound = (
        all(kind(item) in OUTPUTS for item in waiting)
        and len(waiting) == len(ids) == len({each for each in ids if each})
        and sorted(answered) == sorted(call.id for call in turn.calls)
    )
    if not sound or not tail or any(isinstance(entry, Message) for entry in tail):
        return None
    return turns[-1] + 1


def _history(request: ModelRequest, api: str, form: Form) -> JsonObject:
    history = _Input(request, api, native=form != "plain")
    if form == "chained":
        start = chain_start(request, api)
        assert start is not None
        turn = request.transcript[start - 1]
        assert isinstance(turn, Turn)
        assert turn.native is not None
        history.open_calls(turn)
        return {"previous_response_id": turn.native.response_id, "input": history.of(request.transcript[start:])}
    found: JsonObject = {"input": history.of(request.transcript)}
    asked = request.settings.get("include")
    include = list(asked) if isinstance(asked, list) else []
    if request.settings.get("store") is False and form == "whole" and ENCRYPTED not in include:
        found["include"] = [*include, ENCRYPTED]
    return found


def _tool(tool: ToolDeclaration) -> JsonObject:
    # Not strict: strict mode, the API's default, rejects schemas with optional fields.
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.schema,
        "strict": False,
    }


class _Input:
    """Renders entries as input items; how a call was sent decides how its result is."""

    def __init__(self, request: ModelRequest, api: str, native: bool) -> None:
        self._api = api
        self._native = native
        self._stored = request.settings.get("store") is not False
        self._ids = wire_ids(request.transcript, CALL_IDS)
        self._declared = {tool.name for tool in request.tools}
        self._outputs: dict[str, Output] = {}

    def of(self, entries: Sequence[Entry]) -> list[JsonValue]:
        return [item for entry in entries for item in self._entry(entry)]

    def open_calls(self, turn: Turn) -> None:
        """The calls of a turn that the server holds: answered by type and under the provider's own ids."""
        for call, item in zip(turn.calls, client_calls(turn.native.items if turn.native else []), strict=True):
            self._outputs[call.id] = OUTPUTS[kind(item)]
            self._ids[call.id] = call.provider_id or call.id

    def _entry(self, entry: Entry) -> list[JsonValue]:
        match entry:
            case Message():
                return [{"role": "user", "content": message_text(entry)}]
            case Note():
                return [{"role": "user", "content": note_text(entry)}]
            case Result():
                output = self._outputs.get(entry.call, function_output)
                return [output(self._ids.get(entry.call, entry.call), entry)]
            case Turn():
                return self._sent_back(entry) if self._may_go_back(entry) else self._rebuilt(entry)

    def _may_go_back(self, turn: Turn) -> bool:
        """Are the turn's own items of this API, whole, and all of types that can be answered?"""
        native = turn.native
        if (
            not self._native
            or native is None
            or native.api != self._api
            or turn.stop in ("max_tokens", "content_filter")
        ):
            return False
        waiting = client_calls(native.items)
        return len(waiting) == len(turn.calls) and all(kind(item) in OUTPUTS for item in waiting)

    def _rebuilt(self, turn: Turn) -> list[JsonValue]:
        said = turn.text or "\n".join(part.text for part in turn.parts if isinstance(part, RefusalPart))
        message: list[JsonValue] = [{"role": "assistant", "content": said}] if said else []
        return message + [self._call(call) for call in turn.calls]

    def _call(self, call: CallPart) -> JsonObject:
        name = wire_name(call.tool, self._declared)
        arguments = wire_arguments(call)
        return {"type": "function_call", "call_id": self._ids[call.id], "name": name, "arguments": arguments}

    def _sent_back(self, turn: Turn) -> list[JsonValue]:
        assert turn.native is not None
        items = [item for item in turn.native.items if _sendable(item)]
        if not turn.calls and not turn.text and not any(_holds_more(item) for item in items):
            return []  # nothing but reasoning, which may not stand alone
        calls = iter(turn.calls)
        waiting = {id(item): next(calls) for item in client_calls(items)}
        for item in client_calls(items):
            self._outputs[waiting[id(item)].id] = OUTPUTS[kind(item)]
        edited = [self._fitted(item, waiting.get(id(item))) for item in items]
        ordered = _calls_last(edited)
        resident = self._stored and turn.native.response_id is not None
        if ordered == turn.native.items and not _dangling(items) and (resident or all(map(_self_contained, items))):
            return ordered
        return without_reasoning(ordered)

    def _fitted(self, item: JsonValue, call: CallPart | None) -> JsonValue:
        """The item; a call in it with an id, a name and arguments that the API takes."""
        if call is None or not isinstance(item, dict):
            return item
        key = "id" if item.get("type") == "mcp_approval_request" else "call_id"
        fitted = {**item, key: self._ids[call.id]}
        if item.get("type") == "function_call":
            fitted["name"] = wire_name(call.tool, self._declared)
            arguments = item.get("arguments")
            sound = isinstance(arguments, str) and arguments.strip() and parse_arguments(arguments)[0] is not None
            fitted["arguments"] = arguments if sound else wire_arguments(call)
        return fitted


def _calls_last(items: list[JsonValue]) -> list[JsonValue]:
    """Messages moved before the first call: strict servers want a call's output before anything is said."""
    waiting = [id(item) for item in client_calls(items)]
    if not waiting:
        return items
    first = next(index for index, item in enumerate(items) if id(item) == waiting[0])
    late = [item for item in items[first:] if kind(item) == "message"]
    return [*items[:first], *late, *(item for item in items[first:] if kind(item) != "message")]


def _dangling(items: list[JsonValue]) -> bool:
    """Is there reasoning with nothing after it?"""
    return bool(items) and kind(items[-1]) == "reasoning"


def _self_contained(item: JsonValue) -> bool:
    """Can the item be read without what the server stored? Reasoning can if its content, encrypted or not, is there."""
    if kind(item) != "reasoning" or not isinstance(item, dict):
        return True
    return bool(item.get("encrypted_content") or item.get("content"))


def _sendable(item: JsonValue) -> bool:
    """No request may hold what is no item, or a message without content."""
    if isinstance(item, dict) and kind(item) == "message":
        return bool(item.get("content"))
    return bool(kind(item))


def _holds_more(item: JsonValue) -> bool:
    return kind(item) != "reasoning"
