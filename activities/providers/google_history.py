"""Writes a transcript as the `contents` of Google's generateContent API.

A content that the same model produced goes back as it came: Gemini 3 answers 400 unless the signature of a call is in
the part that it came in; those of another model it may refuse ("Corrupted thought signature"). Function responses stand
alone in their content, since a text beside them is read as a turn of the model ("Requests ending with a model turn are
not supported"); such a text follows in a content of its own.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from pydantic import JsonValue

from activities.providers.google_names import google_name
from activities.providers.pairing import paired
from activities.providers.rendering import EMPTY, GO_ON, message_text, note_text
from activities.providers.wire_ids import wire_ids
from workflows.contracts import CallPart, Entry, JsonObject, Message, Note, RefusalPart, Result, TextPart, Turn

API: Final = "google_generate_content"

PLACEHOLDER: Final = "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I="
"""The signature for calls that Gemini did not make: "skip_thought_signature_validator", which Google documents."""

_LEGAL_ID: Final = re.compile(r"[!-~]{1,256}")
_UNSIGNED: Final = re.compile(r"(?:^|/)(?:gemini-[12](?!\d)|gemma)")
"""Models that do not insist on signatures, which are all before Gemini 3."""


def write_contents(transcript: Sequence[Entry], model: str) -> list[JsonObject]:
    """The whole transcript for this model, as the API accepts it."""
    writer = _Writer(paired(transcript), model)
    writer.write()
    return writer.contents


def called(part: JsonValue) -> JsonObject | None:
    """The function call in a part of a content, if it is one."""
    call = part.get("functionCall") if isinstance(part, dict) else None
    return call if isinstance(call, dict) else None


class _Writer:
    def __init__(self, entries: Sequence[Entry], model: str) -> None:
        self.contents: list[JsonObject] = []
        self._entries, self._model = entries, model
        self._signed = _UNSIGNED.search(model) is None
        self._ids = wire_ids(entries, _LEGAL_ID)
        self._results = {entry.call: entry for entry in entries if isinstance(entry, Result)}

    def write(self) -> None:
        for entry in self._entries:
            match entry:
                case Message():
                    self._say(message_text(entry))
                case Note():
                    self._say(note_text(entry))
                case Turn():
                    self._add_turn(entry)
        self._end_answer()

    def _say(self, text: str) -> None:
        last = self.contents[-1] if self.contents else {}
        parts = last.get("parts")
        if last.get("role") == "user" and isinstance(parts, list) and "text" in _fields(parts[-1]):
            parts.append({"text": text})
        else:
            self.contents.append({"role": "user", "parts": [{"text": text}]})

    def _end_answer(self) -> None:
        """The model has the word only after a person: at the start, after its own answer, and at the end."""
        if not self.contents or self.contents[-1].get("role") != "user":
            self._say(GO_ON)

    def _add_turn(self, turn: Turn) -> None:
        content = _own_content(turn, self._model) or self._rebuilt(turn)
        parts = self._signed_parts(list(self._parts(content, turn)))
        if not parts:
            return
        self._end_answer()
        self.contents.append({**content, "role": "model", "parts": [*parts]})
        made = [call for part in parts if (call := called(part)) is not None]
        if made:
            responses: list[JsonValue] = [self._response(*pair) for pair in zip(made, turn.calls, strict=True)]
            self.contents.append({"role": "user", "parts": responses})

    def _parts(self, content: JsonObject, turn: Turn) -> Iterator[JsonObject]:
        calls = iter(turn.calls)
        parts = content.get("parts")
        for part in parts if isinstance(parts, list) else []:
            if not isinstance(part, dict) or _is_empty(part):
                continue
            made = called(part)
            yield part if made is None else self._legal(part, made, next(calls))

    def _legal(self, part: JsonObject, made: JsonObject, call: CallPart) -> JsonObject:
        """The part, changed only where it would be rejected: an illegal name or id, arguments of a wrong kind."""
        mended: JsonObject = {}
        name = str(made.get("name") or "")
        if google_name(name) != name:
            mended["name"] = google_name(name)
        if made.get("id") and made["id"] != self._ids[call.id]:
            mended["id"] = self._ids[call.id]
        if not isinstance(made.get("args", {}), dict):
            mended["args"] = {}
        return {**part, "functionCall": {**made, **mended}} if mended else part

    def _signed_parts(self, parts: list[JsonObject]) -> list[JsonObject]:
        """Only the first of several calls carries a signature; where it has none, another model made it."""
        first = next((place for place, part in enumerate(parts) if called(part) is not None), None)
        if self._signed and first is not None and "thoughtSignature" not in parts[first]:
            parts[first] = {**parts[first], "thoughtSignature": PLACEHOLDER}
        return parts

    def _rebuilt(self, turn: Turn) -> JsonObject:
        """The content of a turn that another model produced: nothing of it but texts and calls may cross."""
        texts = [part.text for part in turn.parts if isinstance(part, TextPart | RefusalPart)]
        said: list[JsonValue] = [{"text": text} for text in texts if text.strip()]
        return {"parts": said + [self._rebuilt_call(call) for call in turn.calls]}

    def _rebuilt_call(self, call: CallPart) -> JsonObject:
        args: JsonObject = {"malformed_arguments": call.raw} if call.arguments is None else call.arguments
        made: JsonObject = {"id": self._ids[call.id], "name": google_name(call.tool), "args": args}
        return {"functionCall": made, **({"thoughtSignature": PLACEHOLDER} if self._signed else {})}

    def _response(self, made: JsonObject, call: CallPart) -> JsonObject:
        """Under the id of the call if it has one; without, the API goes by name and order."""
        response: JsonObject = {"name": made.get("name"), "response": _told(self._results[call.id])}
        return {"functionResponse": {"id": made["id"], **response} if made.get("id") else response}


def _told(result: Result) -> JsonObject:
    """`output` and `error` are the keys that the API's reference gives a meaning."""
    return {"error" if result.is_error else "output": result.content if result.content.strip() else EMPTY}


def _own_content(turn: Turn, model: str) -> JsonObject | None:
    """The turn's content as this model sent it; None if another did, or where it does not fit the turn's calls."""
    native = turn.native
    if native is None or (native.api, native.model, len(native.items)) != (API, model, 1):
        return None
    content = native.items[0]
    parts = content.get("parts") if isinstance(content, dict) else None
    if not isinstance(content, dict) or not isinstance(parts, list):
        return None
    return content if sum(called(part) is not None for part in parts) == len(turn.calls) else None


def _is_empty(part: JsonObject) -> bool:
    """The API rejects a part without anything in it, but may put a signature into one with an empty text."""
    return not part.get("text") and part.keys() <= {"text", "thought"}


def _fields(part: JsonValue) -> Mapping[str, JsonValue]:
    return part if isinstance(part, dict) else {}
