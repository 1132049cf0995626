"""What the model says, on a terminal, while it says it; the turn that follows adds what is not on the screen yet.

Nothing on the screen is taken back: whoever reads may have scrolled, and a terminal's lines break where they like.
"""

import os
import sys
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from activities.models.speech import Kind
from surefoot.saying import Forgotten, Heard, Look, Said
from workflows.contracts import CallPart, Entry, TextPart, Turn

AGAIN = "(the model is asked again; forget the above)"


def has_one_terminal() -> bool:
    """Whether the answer and all else go to the same terminal, so that what one showed the other need not."""
    if not (sys.stdout.isatty() and sys.stderr.isatty()):
        return False
    return os.path.samestat(os.fstat(sys.stdout.fileno()), os.fstat(sys.stderr.fileno()))


class LiveText:
    """The turn in the making. `answer` is the text of the last one that the screen shows whole."""

    def __init__(self, console: Console) -> None:
        self._console, self._heard = console, Heard()
        self._turn, self._end, self._text, self._whole = 0, 0, "", True
        self._kind: Kind | None = None
        self._at_start = True
        self.answer: str | None = None

    def tell(self, look: Look | None) -> None:
        for event in self._heard.news(look):
            if isinstance(event, Forgotten):
                self.close_line()
                self._print(f"{AGAIN}\n", "dim")
                self._begin(0)
            else:
                self._say(event)

    def finish(self, entries: Sequence[Entry]) -> list[Entry]:
        """What of these entries is still to be printed."""
        return [
            self._rest(entry) if isinstance(entry, Turn) and entry.number == self._turn else entry for entry in entries
        ]

    def close_line(self) -> None:
        """Something else is about to be printed."""
        if not self._at_start:
            self._print("\n", "")
        self._kind = None

    def _say(self, said: Said) -> None:
        if said.turn != self._turn:
            self.close_line()
            self._begin(said.turn)
        if said.offset > self._end:  # some was missed: the turn will be shown anew
            self._print(" … ", "dim")
            self._whole = False
        self._end = said.end
        if said.kind == "call":
            self.close_line()
            self._print(f"  → {said.text} …\n", "dim")
            return
        self._open(said.kind)
        self._print(said.text, "dim" if said.kind == "reasoning" else "")
        self._text += said.text if said.kind == "text" else ""

    def _rest(self, turn: Turn) -> Turn:
        text = "".join(part.text for part in turn.parts if isinstance(part, TextPart))
        if not (self._text and self._whole and text.startswith(self._text)):
            self.close_line()
            return turn
        if rest := text[len(self._text) :]:
            self._open("text")
            self._print(rest, "")
        self.close_line()
        self.answer = turn.text
        return turn.model_copy(update={"parts": [part for part in turn.parts if isinstance(part, CallPart)]})

    def _begin(self, turn: int) -> None:
        self._turn, self._end, self._text, self._whole = turn, 0, "", True

    def _open(self, kind: Kind) -> None:
        if kind != self._kind:
            self.close_line()
            self._kind = kind
            if kind == "text":
                self._print("model: ", "bold")

    def _print(self, text: str, style: str) -> None:
        self._console.print(Text(text, style), end="", soft_wrap=True)
        self._at_start = text.endswith("\n")
