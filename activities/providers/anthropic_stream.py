"""Assembles the events of a streamed answer of Anthropic's Messages API into the answer given without streaming.

Nothing is known of a block here but how its pieces join; blocks and deltas of unknown types are kept. What an answer
means is read in `anthropic_answer.py` alone. Only `message_stop` ends one; the usage of `message_delta` is cumulative.
"""

from collections.abc import AsyncIterator
from typing import Final, Literal

from pydantic import JsonValue

from activities.providers.classify import classify_answer
from activities.providers.error_body import read_body
from activities.providers.errors import MalformedAnswer
from activities.providers.json_text import clean_text
from activities.providers.protocol import Live
from activities.providers.sse import Event, ended_early
from activities.providers.usage_counts import counts
from workflows.contracts import JsonObject

_CONTINUED: Final = {
    "text_delta": {"text": "text"},
    "thinking_delta": {"thinking": "thinking"},
    "signature_delta": {"signature": "signature"},
    "input_json_delta": {"partial_json": "input"},
}
"""What of a known delta continues which field of its block; its other fields are about the stream."""

_SAID: Final[dict[str, Literal["text", "reasoning"]]] = {"text_delta": "text", "thinking_delta": "reasoning"}


async def assemble(stream: AsyncIterator[Event], model: str, live: Live) -> JsonObject:
    """The whole answer, shown while it comes. Raises `ModelError` for an error event and a stream that is cut off."""
    message = _Message(live)
    async for event in stream:
        if message.add(event):
            return message.whole()
    raise ended_early(model, "its event message_stop")


class _Message:
    def __init__(self, live: Live) -> None:
        self._live = live
        self._answer: JsonObject | None = None
        self._blocks: list[JsonObject] = []
        self._open: dict[str, int] = {}  # the place of the block that deltas of this index continue
        self._pieces: dict[tuple[int, str], list[str]] = {}  # by block and field

    def add(self, event: Event) -> bool:
        """Take one event in; True for the one that ends the answer."""
        fields = event.fields
        kind = fields.get("type", event.name)
        if kind == "error":
            raise classify_answer(None, {}, fields)
        if kind == "message_start":
            self._answer = dict(counts(fields.get("message")))
        elif kind == "content_block_start":
            self._begin(fields)
        elif kind == "content_block_delta":
            self._continue(fields)
        elif kind == "message_delta":
            self._change(fields)
        return kind == "message_stop"

    def whole(self) -> JsonObject:
        """The answer. A block's input is its JSON, or the text if it is none, as where it was cut off."""
        for place, block in enumerate(self._blocks):
            for name in [name for begun, name in self._pieces if begun == place]:
                text = "".join(self._pieces[place, name])
                if name != "input":
                    block[name] = text
                elif text:
                    block[name] = read_body(text)
        return {**self._begun(), "content": [*self._blocks]}

    def _begun(self) -> JsonObject:
        if self._answer is None:
            raise MalformedAnswer("the stream holds no event message_start, so what came is no message")
        return self._answer

    def _begin(self, fields: JsonObject) -> None:
        block = dict(counts(fields.get("content_block")))
        self._open[str(fields.get("index"))] = len(self._blocks)
        self._blocks.append(block)
        if block.get("type") == "fallback":
            # From here on another model answers, and the whole answer would name that one.
            served = counts(block.get("to")).get("model")
            self._begun()["model"] = served or self._begun().get("model")
        if str(block.get("type")).endswith("tool_use"):
            self._live.say("call", clean_text(str(block.get("name") or "")))

    def _continue(self, fields: JsonObject) -> None:
        place = self._open.get(str(fields.get("index")))
        if place is None:
            raise MalformedAnswer(f"the stream continues block {fields.get('index')!r}, which it has not begun")
        delta = counts(fields.get("delta"))
        kind = str(delta.get("type"))
        if kind == "citations_delta":
            self._blocks[place]["citations"] = [*_list(self._blocks[place].get("citations")), delta.get("citation")]
            return
        for name, field in _CONTINUED.get(kind, {name: name for name in delta if name != "type"}).items():
            self._join(place, field, delta.get(name))
        if kind in _SAID and (said := delta.get(kind.removesuffix("_delta"))):
            self._live.say(_SAID[kind], clean_text(str(said)))

    def _join(self, place: int, field: str, piece: JsonValue) -> None:
        block = self._blocks[place]
        if isinstance(piece, str):
            before = block.get(field)
            begun = [before] if isinstance(before, str) else []
            self._pieces.setdefault((place, field), begun).append(piece)
        elif piece is not None:
            block[field] = piece

    def _change(self, fields: JsonObject) -> None:
        """What is null or left out stays as it was."""
        answer = self._begun()
        usage = {**counts(answer.get("usage")), **_given(counts(fields.get("usage")))}
        others = {name: value for name, value in fields.items() if name not in ("type", "delta", "usage")}
        self._answer = {**answer, **_given(others), **_given(counts(fields.get("delta"))), "usage": usage}


def _list(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else []


def _given(fields: JsonObject) -> JsonObject:
    return {name: value for name, value in fields.items() if value is not None}
