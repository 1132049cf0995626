"""Puts the tool calls of a streamed Chat Completions answer together from their pieces.

`index` says which call a piece belongs to, but some servers leave it out and some give every call the same. A name and
an id that differ from what came under the same index begin another call; an id alone does not, since some servers make
a new one for each piece.
"""

import json

from pydantic import JsonValue

from activities.providers.json_text import continued
from activities.providers.protocol import Live
from workflows.contracts import JsonObject

_PIECES = ("arguments", "input")


class CallDeltas:
    """The calls so far, in the order in which they began."""

    def __init__(self, live: Live) -> None:
        self._live = live
        self._calls: list[JsonObject] = []
        self._at: dict[int, JsonObject] = {}
        self._legacy: JsonObject = {}

    def add_all(self, pieces: JsonValue) -> None:
        for piece in pieces if isinstance(pieces, list) else []:
            if isinstance(piece, dict):
                self._add(piece)

    def add_legacy(self, piece: JsonValue) -> None:
        """A piece of `function_call`, of which there is one."""
        if isinstance(piece, dict):
            self._merge(self._legacy, piece)

    def fields(self) -> JsonObject:
        """The fields of the whole message."""
        found: JsonObject = {"tool_calls": list(self._calls)} if self._calls else {}
        return {**found, "function_call": self._legacy} if self._legacy else found

    def _add(self, piece: JsonObject) -> None:
        index = piece.get("index")
        known = self._under(index, piece) if isinstance(index, int) else self._without_index(piece)
        call = known if known is not None else {}
        if known is None:
            self._calls.append(call)
        if isinstance(index, int):
            self._at[index] = call
        for key, value in piece.items():
            if key == "index" or value in (None, ""):
                continue
            if key in ("id", "type"):
                call.setdefault(key, value)
            elif isinstance(value, dict) and key in ("function", "custom"):
                self._merge(_object(call, key), value)
            else:
                call[key] = joined(call.get(key), value)

    def _under(self, index: int, piece: JsonObject) -> JsonObject | None:
        """The call of this index that the piece goes on with, if it does not begin another one."""
        known = self._at.get(index)
        if known is None or (_id(piece) and _id(known) and _id(piece) != _id(known) and _name(piece)):
            return None
        return known

    def _without_index(self, piece: JsonObject) -> JsonObject | None:
        if _id(piece):
            return next((call for call in self._calls if _id(call) == _id(piece)), None)
        last = self._calls[-1] if self._calls else None
        # The same name before any argument is the same call, told twice.
        begins = _name(piece) and last is not None and (_name(last) != _name(piece) or _said(last))
        return None if begins else last

    def _merge(self, call: JsonObject, piece: JsonObject) -> None:
        for key, value in piece.items():
            if value is None:
                continue
            old = call.get(key)
            if key in _PIECES:
                text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
                call[key] = continued(old if isinstance(old, str) else "", text)
            elif key == "name":
                if not old and isinstance(value, str) and value:
                    call[key] = value
                    self._live.say("call", value)
            else:
                call[key] = joined(old, value)


def joined(old: JsonValue, new: JsonValue) -> JsonValue:
    """A field that nobody here knows, after another piece: objects and lists are joined, else the last one counts."""
    if isinstance(old, dict) and isinstance(new, dict):
        return {**old, **{key: joined(old.get(key), value) for key, value in new.items()}}
    if isinstance(old, list) and isinstance(new, list):
        return [*old, *new]
    return old if new in (None, "") and old is not None else new


def _object(call: JsonObject, key: str) -> JsonObject:
    found = call.setdefault(key, {})
    if not isinstance(found, dict):
        found = call[key] = {}
    return found


def _id(call: JsonObject) -> str:
    found = call.get("id")
    return found if isinstance(found, str) else ""


def _named(call: JsonObject) -> JsonObject:
    return next((each for key in ("function", "custom") if isinstance(each := call.get(key), dict) and each), {})


def _name(call: JsonObject) -> str:
    found = _named(call).get("name")
    return found if isinstance(found, str) else ""


def _said(call: JsonObject) -> bool:
    """Has any of the call's arguments come?"""
    return any(_named(call).get(key) for key in _PIECES)
