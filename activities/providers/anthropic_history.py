"""Writes a transcript as the `messages` of Anthropic's Messages API.

A history that breaks one of the API's rules is rejected for ever, so each rule is kept here: a person's words
first; every tool_use answered in the very next user message, results before texts; nothing blank; no message
that ends in thinking; no server call of an older turn without its result. Blocks that the API itself produced
are sent as they came and never changed in place: a thinking block's signature covers it.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypedDict

from activities.providers.rendering import GO_ON, message_text, note_text, result_text
from activities.providers.wire_ids import wire_ids
from workflows.contracts import CallPart, Entry, JsonObject, RefusalPart, Result, TextPart, Turn

API: Final = "anthropic_messages"
THINKING: Final = frozenset({"thinking", "redacted_thinking"})
NO_RESULT: Final = "This call has no recorded result."

_LEGAL_ID = re.compile(r"[a-zA-Z0-9_-]+")
_ILLEGAL_IN_NAME = re.compile(r"[^a-zA-Z0-9_-]")
_LONGEST_NAME = 128
_SERVER_CALLS = frozenset({"server_tool_use", "mcp_tool_use"})


class WireMessage(TypedDict):
    role: Literal["user", "assistant"]
    content: list[JsonObject]


@dataclass(frozen=True)
class History:
    """The messages, and the container whose running code the next answer continues, if any."""

    messages: list[WireMessage]
    container: str | None = None


def write_history(transcript: Sequence[Entry]) -> History:
    """The whole transcript as messages."""
    writer = _Writer(transcript)
    for entry in transcript:
        if isinstance(entry, Turn):
            writer.add_turn(entry)
        elif entry.kind == "message":
            writer.add("user", [_text(message_text(entry))])
        elif entry.kind == "note":
            writer.add("user", [_text(note_text(entry))])
    writer.end_answer()
    return History(writer.messages, writer.container())


class _Writer:
    def __init__(self, transcript: Sequence[Entry]) -> None:
        self.messages: list[WireMessage] = []
        self._ids = wire_ids(transcript, _LEGAL_ID)
        self._results = {entry.call: entry for entry in transcript if isinstance(entry, Result)}
        turns = [entry for entry in transcript if isinstance(entry, Turn)]
        self._latest = turns[-1] if turns else None
        self._paired = _paired([item for turn in turns for item in _own_items(turn)])
        self._at_end = bool(turns) and transcript[-1] is self._latest
        self._paused = False

    def add(self, role: Literal["user", "assistant"], blocks: list[JsonObject]) -> None:
        if not blocks:
            return
        if self.messages and self.messages[-1]["role"] == role:
            self.messages[-1]["content"].extend(blocks)
        else:
            self.messages.append({"role": role, "content": blocks})

    def add_turn(self, turn: Turn) -> None:
        blocks = list(self._own_blocks(turn) if _own_items(turn) else self._rebuilt_blocks(turn))
        while blocks and blocks[-1].get("type") in THINKING:
            blocks.pop()
        if blocks:
            self.end_answer()
            self._paused = _is_paused(turn)
            self.add("assistant", blocks)
            self.add("user", [self._tool_result(call) for call in turn.calls])

    def end_answer(self) -> None:
        """Only a paused answer may be continued; the newest models refuse to continue any other."""
        if self.messages and self.messages[-1]["role"] == "assistant" and not self._paused:
            self.add("user", [_text(GO_ON)])

    def _tool_result(self, call: CallPart) -> JsonObject:
        result = self._results.get(call.id)
        block: JsonObject = {
            "type": "tool_result",
            "tool_use_id": self._ids[call.id],
            "content": NO_RESULT if result is None else result_text(result),
        }
        if result is None or result.is_error:
            block["is_error"] = True
        return block

    def container(self) -> str | None:
        """The API refuses to go on with code that waits for a client tool unless it is told where that code runs."""
        if self._latest is None or self._latest.native is None or not self._runs_on(self._latest):
            return None
        called = {id(item) for item in _own_items(self._latest) if item.get("type") in _SERVER_CALLS}
        return self._latest.native.response_id if called - self._paired or not self._latest.calls else None

    def _runs_on(self, turn: Turn) -> bool:
        """May server calls of this turn still be running? Only while nothing was said after it."""
        return turn is self._latest and (bool(turn.calls) or (self._at_end and _is_paused(turn)))

    def _own_blocks(self, turn: Turn) -> Iterator[JsonObject]:
        calls = iter(turn.calls)
        for item in _own_items(turn):
            kind = item.get("type")
            if kind == "tool_use":
                yield self._tool_use(item, next(calls))
            elif kind in _SERVER_CALLS:
                if id(item) in self._paired or self._runs_on(turn):
                    yield item
            elif "tool_use_id" in item:
                if id(item) in self._paired:
                    yield item
            elif kind != "text" or str(item.get("text")).strip():
                yield item

    def _rebuilt_blocks(self, turn: Turn) -> Iterator[JsonObject]:
        for part in turn.parts:
            if isinstance(part, TextPart | RefusalPart) and part.text.strip():
                yield _text(part.text)
        for call in turn.calls:
            yield self._tool_use({"type": "tool_use", "input": call.arguments}, call)

    def _tool_use(self, item: JsonObject, call: CallPart) -> JsonObject:
        given = item.get("input")
        return {
            **item,
            "id": self._ids[call.id],
            "name": _ILLEGAL_IN_NAME.sub("_", call.tool)[:_LONGEST_NAME] or "_",
            "input": given if isinstance(given, dict) else {},
        }


def _paired(items: Sequence[JsonObject]) -> set[int]:
    """The identities of those server calls that a result follows, perhaps in a later turn, and of these results."""
    paired: set[int] = set()
    waiting: dict[str, JsonObject] = {}
    for item in items:
        if item.get("type") in _SERVER_CALLS:
            waiting[str(item.get("id"))] = item
        elif "tool_use_id" in item and (call := waiting.pop(str(item["tool_use_id"]), None)):
            paired |= {id(call), id(item)}
    return paired


def _is_paused(turn: Turn) -> bool:
    return turn.stop == "pause" and bool(_own_items(turn))


def _own_items(turn: Turn) -> list[JsonObject]:
    """The turn's blocks as this API sent them; none where another API did, or where they don't fit its calls."""
    if turn.native is None or turn.native.api != API:
        return []
    items = [item for item in turn.native.items if isinstance(item, dict)]
    fits = sum(item.get("type") == "tool_use" for item in items) == len(turn.calls)
    return items if fits else []


def _text(text: str) -> JsonObject:
    return {"type": "text", "text": text}
