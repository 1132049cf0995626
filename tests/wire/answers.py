"""What a model may answer, whatever its API: values that hypothesis draws, and that `bodies.py` writes for each API."""

import json
from dataclasses import dataclass
from typing import Final, Literal

from hypothesis import strategies as st

Act = Literal["cancel", "stop", "steer", "pause"]
End = Literal["done", "max_tokens", "refusal", "pause", "content_filter", "unknown"]
Trouble = Literal["overloaded", "limited", "too_long", "rejected", "cut", "page", "nonsense"]

IDS: Final = (
    "",
    "same",
    "same",
    "functions.look:0",
    "call 1",
    "c1-1",
    "é",
    "x" * 41,
    "y" * 65,
    "toolu_{n}",
    "call_{n}",
)
"""Ids of calls as recordings have them: none, repeated, with dots and colons, too long, like our own, and sound ones.
`{n}` becomes a number that no other call has."""


@dataclass(frozen=True)
class Called:
    """A call as a model wrote it: `arguments` is text, and may be no JSON."""

    tool: str
    arguments: str = "{}"
    id: str = "call_{n}"

    @property
    def fields(self) -> object:
        """The arguments as a JSON value where they are one, else the text."""
        try:
            return json.loads(self.arguments)
        except ValueError:
            return self.arguments


@dataclass(frozen=True)
class Said:
    """One answer. `act` is what a person does while it is awaited; with `trouble` there is no answer."""

    text: str = ""
    thought: bool = False
    calls: tuple[Called, ...] = ()
    end: End = "done"
    trouble: Trouble | None = None
    act: Act | None = None


DONE: Final = Said(text="Done.")

_ACTS: Final[tuple[Act, ...]] = ("cancel", "stop", "steer", "pause")
_TROUBLES: Final[tuple[Trouble, ...]] = ("overloaded", "limited", "too_long", "rejected", "cut", "page", "nonsense")
_ENDS: Final[tuple[End, ...]] = ("max_tokens", "refusal", "pause", "content_filter", "unknown")
_KEYS: Final = st.sampled_from(["a", "b", "\u00e9\x00\U0001f600", "\ud800"])


def _call(tool: str, **arguments: object) -> tuple[str, str]:
    return tool, json.dumps(arguments)


_WANTED: Final[st.SearchStrategy[tuple[str, str]]] = st.one_of(
    _KEYS.map(lambda key: _call("look", key=key)),
    st.sampled_from("abcd").map(lambda key: _call("tell_all", key=key)),
    st.sampled_from(["", " ", "a\x00b", "\ud800"]).map(lambda text: _call("echo", text=text)),
    st.sampled_from("ab").map(lambda key: _call("save", key=key)),
    st.sampled_from("ab").map(lambda key: _call("note", key=key)),
    st.just(_call("fail")),
    st.just(_call("lose", key="a")),
    st.just(_call("ask_helper", message="Help.")),
    st.sampled_from(_ACTS).map(lambda act: _call("person_reads", act=act)),
    st.sampled_from(_ACTS).map(lambda act: _call("person_writes", act=act)),
    st.sampled_from(["nope", "look<|channel|>x", "", "a.b:c", "z" * 200]).map(lambda name: _call(name, key="a")),
    st.sampled_from(["", "{", "[]", "null", '"a"', '{"wrong": 1}', '{"key": NaN}']).map(lambda raw: ("look", raw)),
)
_CALLED: Final = st.builds(lambda made, id: Called(made[0], made[1], id), _WANTED, st.sampled_from(IDS))


@st.composite
def said(draw: st.DrawFn) -> Said:
    """Mostly calls, now and then trouble, an odd end, or a person who interrupts."""
    kind = draw(st.integers(0, 19))
    if kind == 0:
        return Said(trouble=draw(st.sampled_from(_TROUBLES)))
    calls = draw(st.lists(_CALLED, min_size=kind > 5, max_size=4))
    if calls and draw(st.integers(0, 4)) == 0:
        calls.append(calls[0])  # identical calls are two calls
    return Said(
        text=draw(st.sampled_from(["", "So.", " \n", "", "\u00e9\U0001f600\x00", "\ud800 half"])),
        thought=draw(st.booleans()),
        calls=tuple(calls),
        end=draw(st.sampled_from(_ENDS)) if kind in (1, 2) else "done",
        act=draw(st.sampled_from(_ACTS)) if kind == 3 else None,
    )
