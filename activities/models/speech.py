"""What a model has said so far in a call that is under way: the form in which a worker shows it to whoever watches.

It rides in heartbeat details (`attempts.py`), which the server keeps beside a running activity and never in history. A
version of Surefoot may watch jobs of another one's workers, so fields are only ever added, with defaults.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, ConfigDict

from activities.tools.rendering import well_formed

Kind = Literal["text", "reasoning", "call"]

MOST_CHARS = 8000
"""How much of it is shown: enough that whoever looks every second misses nothing, and far below a payload's limit."""

MOST_RUNS = 200


class Run(BaseModel):
    """A stretch of one kind; for `call` the name of a tool. `offset` counts characters of all kinds before it."""

    model_config = ConfigDict(frozen=True)

    kind: Kind
    offset: int
    text: str

    @property
    def end(self) -> int:
        return self.offset + len(self.text)


class Speech(BaseModel):
    """The last runs that were said in the model call of a turn, by the attempt of this number."""

    model_config = ConfigDict(frozen=True)

    turn: int
    attempt: int
    runs: list[Run]


@dataclass(frozen=True)
class _Piece:
    kind: Kind
    offset: int
    text: str


class Tail:
    """Collects pieces, and keeps the last `MOST_CHARS` characters of them, however many there were."""

    def __init__(self) -> None:
        self._pieces: deque[_Piece] = deque()
        self._end = 0
        self._half = ""

    def add(self, kind: Kind, text: str) -> None:
        # A pair of surrogates may come in two pieces; offsets count it as what it is, one character.
        text, self._half = self._half + text, ""
        if text and "\ud800" <= text[-1] <= "\udbff":
            text, self._half = text[:-1], text[-1]
        if not text:
            return
        piece = _Piece(kind, self._end, well_formed(text))
        self._pieces.append(piece)
        self._end += len(piece.text)
        while self._pieces[0].offset + len(self._pieces[0].text) <= self._end - MOST_CHARS:
            self._pieces.popleft()

    def runs(self) -> list[Run]:
        """What is kept, neighbours of one kind joined."""
        return list(self._runs())[-MOST_RUNS:]

    def _runs(self) -> Iterator[Run]:
        start, texts, kind = 0, list[str](), None
        for piece in self._pieces:
            cut = max(0, self._end - MOST_CHARS - piece.offset)
            if kind is not None and (piece.kind != kind or kind == "call"):
                yield Run(kind=kind, offset=start, text="".join(texts))
                kind = None
            if kind is None:
                start, texts, kind = piece.offset + cut, [], piece.kind
            texts.append(piece.text[cut:])
        if kind is not None:
            yield Run(kind=kind, offset=start, text="".join(texts))
