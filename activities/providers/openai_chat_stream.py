"""Puts the chunks of a streamed Chat Completions answer together into the body that the API gives without streaming.

What ends an answer differs: `finish_reason`, `[DONE]`, or both. With neither it was cut, and none of it counts. Fields
that nobody here knows are kept, since vendors want their signatures back: texts as they came last, objects joined.
"""

from collections.abc import AsyncIterator
from typing import Final

from pydantic import JsonValue

from activities.providers.classify import classify_answer
from activities.providers.errors import Overloaded, TimedOut
from activities.providers.json_text import continued
from activities.providers.openai_call_deltas import CallDeltas, joined
from activities.providers.openai_reasoning_deltas import add_content, add_details, thought_in
from activities.providers.protocol import Live
from activities.providers.sse import Event, ended_early
from workflows.contracts import JsonObject

DONE: Final = "[DONE]"
TEXTS: Final = ("refusal", "reasoning", "reasoning_content")
"""Fields of a message that come in pieces; `content` may also be a list."""


async def chat_answer(events: AsyncIterator[Event], model: str, live: Live) -> JsonObject:
    """The whole answer, shown while it comes. Raises `ModelError` for an error event and a stream that is cut off."""
    answer = _Answer(live)
    while not answer.done:
        try:
            event = await anext(events, None)
        except (Overloaded, TimedOut):
            if not answer.finish:
                raise
            break  # all was said: at most the usage is lost
        if event is None:
            break
        answer.add(event)
    if not answer.done and not answer.finish:
        raise ended_early(model, f"a finish_reason or {DONE}")
    return answer.body()


class _Answer:
    """What has come of one answer so far."""

    def __init__(self, live: Live) -> None:
        self.done, self.finish = False, ""
        self._live = live
        self._fields: JsonObject = {}
        self._message: JsonObject | None = None
        self._calls = CallDeltas(live)

    def add(self, event: Event) -> None:
        if event.data.strip() == DONE:
            self.done = True
            return
        if event.name == "error":
            raise classify_answer(None, {}, event.body)
        chunk = event.fields
        if chunk.get("error") or chunk.get("object") == "error":
            raise classify_answer(None, {}, {"error": chunk.get("error") or chunk})
        self._fields |= {key: value for key, value in chunk.items() if key != "choices" and value not in (None, {})}
        choices = chunk.get("choices")
        for choice in choices if isinstance(choices, list) else []:
            if isinstance(choice, dict) and not choice.get("index"):
                self._choose(choice)

    def body(self) -> JsonObject:
        choices: list[JsonValue] = []
        if self._message is not None:
            message = {**self._message, **self._calls.fields()}
            choices = [{"index": 0, "message": message, "finish_reason": self.finish or None}]
        return {**self._fields, "object": "chat.completion", "choices": choices}

    def _choose(self, choice: JsonObject) -> None:
        finish, delta = choice.get("finish_reason"), choice.get("delta")
        if isinstance(finish, str) and finish:
            self.finish = finish
        # Beside the pieces some servers repeat all of the message so far; others send nothing else.
        piece = delta if isinstance(delta, dict) else choice.get("message")
        if isinstance(piece, dict):
            self._message = self._message or {"role": "assistant", "content": None}
            self._add_piece(self._message, piece)

    def _add_piece(self, message: JsonObject, piece: JsonObject) -> None:
        self._show(piece)
        for key, value in piece.items():
            if value is None or key in ("role", "index"):
                continue
            old = message.get(key)
            if key == "content":
                message[key] = add_content(old, value)
            elif key == "tool_calls":
                self._calls.add_all(value)
            elif key == "function_call":
                self._calls.add_legacy(value)
            elif key == "reasoning_details":
                message[key] = add_details(old, value)
            elif key in TEXTS and isinstance(value, str):
                message[key] = continued(old if isinstance(old, str) else "", value)
            else:
                message[key] = joined(old, value)

    def _show(self, piece: JsonObject) -> None:
        if thought := thought_in(piece):
            self._live.say("reasoning", thought)
        for said in (piece.get("content"), piece.get("refusal")):
            if isinstance(said, str) and said:
                self._live.say("text", said)
            for part in said if isinstance(said, list) else []:
                if isinstance(part, dict) and isinstance(text := part.get("text"), str) and text:
                    self._live.say("text", text)
