"""Assembles the chunks of a streamed answer of Google's generateContent API into the answer given without streaming.

Each chunk is an answer of its own with some more parts. Parts stay as they came, since a signature belongs to exactly
its part; only plain texts in a row, which a stream cuts anywhere, become one. There is no last event: the stream
ends, and an answer without a `finishReason` by then was cut off.
"""

from collections.abc import AsyncIterator
from typing import Final

from pydantic import JsonValue

from activities.providers.classify import classify_answer
from activities.providers.errors import MalformedAnswer
from activities.providers.google_history import called
from activities.providers.google_partial_args import arguments_of
from activities.providers.json_text import clean_text
from activities.providers.protocol import Live
from activities.providers.sse import Event, ended_early
from activities.providers.usage_counts import counts
from workflows.contracts import JsonObject

_PLAIN: Final = frozenset({"text", "thought"})
_IN_PIECES: Final = frozenset({"partialArgs", "willContinue"})


async def assemble(stream: AsyncIterator[Event], model: str, live: Live) -> JsonObject:
    """The whole answer, shown while it comes. Raises `ModelError` for an error chunk and a stream that is cut off."""
    answer = _Answer(live)
    async for event in stream:
        answer.add(event.fields)
    if not answer.has_ended:
        raise ended_early(model, "a finishReason")
    return answer.whole()


class _Answer:
    def __init__(self, live: Live) -> None:
        self._fields: JsonObject = {}
        self._candidate: JsonObject = {}
        self._content: JsonObject = {}
        self._parts = _Parts(live)

    @property
    def has_ended(self) -> bool:
        """A prompt that was blocked has a reason for that, and no candidate."""
        return bool(
            self._candidate.get("finishReason") or counts(self._fields.get("promptFeedback")).get("blockReason")
        )

    def add(self, chunk: JsonObject) -> None:
        if chunk.get("error"):
            raise classify_answer(None, {}, {"error": chunk["error"]})
        usage = {**counts(self._fields.get("usageMetadata")), **counts(chunk.get("usageMetadata"))}
        others = {name: value for name, value in chunk.items() if name != "candidates"}
        self._fields |= {**others, "usageMetadata": usage} if usage else others
        for candidate in _objects(chunk.get("candidates")):
            if not candidate.get("index"):  # further ones are not read from a whole answer either
                self._add_candidate(candidate)

    def _add_candidate(self, candidate: JsonObject) -> None:
        content = counts(candidate.get("content"))
        self._candidate |= {name: value for name, value in candidate.items() if value is not None}
        self._content |= content
        for part in _objects(content.get("parts")):
            self._parts.add(part)

    def whole(self) -> JsonObject:
        if not self._candidate:
            return self._fields
        parts = self._parts.whole()
        content = {**self._content, "parts": parts} if parts else self._content
        return {**self._fields, "candidates": [{**self._candidate, "content": content}]}


class _Parts:
    """The parts so far; `_texts` are the pieces of those that are plain text, by their places."""

    def __init__(self, live: Live) -> None:
        self._live = live
        self._parts: list[JsonObject] = []
        self._texts: dict[int, list[str]] = {}
        self._open: _OpenCall | None = None

    def add(self, part: JsonObject) -> None:
        made = called(part)
        if made is not None:
            self._add_call(part, made)
        elif isinstance(text := part.get("text"), str):
            self._add_text(part, text)
        else:
            self._parts.append(part)

    def whole(self) -> list[JsonValue]:
        """The parts, without texts that are empty: only a stream has those, at its end."""
        for place, pieces in self._texts.items():
            self._parts[place]["text"] = "".join(pieces)
        return [part for place, part in enumerate(self._parts) if place not in self._texts or part["text"]]

    def _add_text(self, part: JsonObject, text: str) -> None:
        if text:
            self._live.say("reasoning" if part.get("thought") else "text", clean_text(text))
        place = len(self._parts) - 1
        is_plain = part.keys() <= _PLAIN
        if not is_plain or place not in self._texts or self._parts[place].get("thought") != part.get("thought"):
            self._parts.append(part)
            place += 1
        if is_plain:
            self._texts.setdefault(place, []).append(text)

    def _add_call(self, part: JsonObject, made: JsonObject) -> None:
        if self._open is None:
            self._live.say("call", clean_text(str(made.get("name") or "")))
            if not made.keys() & _IN_PIECES:
                self._parts.append(part)
                return
            self._open = _OpenCall()
            self._parts.append(self._open.part)
        if self._open.add(part, made):
            self._open = None


class _OpenCall:
    """A call that comes in pieces; `part` is what it is so far."""

    def __init__(self) -> None:
        self.part: JsonObject = {}
        self._arguments: list[JsonObject] = []

    def add(self, part: JsonObject, made: JsonObject) -> bool:
        """Take a piece in; True for the last one, which is the one that does not say that another follows."""
        before, name = counts(self.part.get("functionCall")), made.get("name")
        if name and before.get("name") not in (None, name):
            raise MalformedAnswer(f"the call of {before.get('name')!r} was not at its end when that of {name!r} began")
        self._arguments += _objects(made.get("partialArgs"))
        call = {**before, **made}
        call.pop("partialArgs", None)
        if has_ended := not made.get("willContinue"):
            call.pop("willContinue", None)
            call["args"] = {**counts(call.get("args")), **arguments_of(self._arguments)}
        self.part |= {**part, "functionCall": call}
        return has_ended


def _objects(value: JsonValue) -> list[JsonObject]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
