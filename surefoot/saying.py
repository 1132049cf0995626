"""What a model says while it says it, as those who watch a job learn of it: from one look at a call to the next.

A look shows the end of what was said so far (`activities/models/speech.py`). Nothing of it is part of the job: its
turn is, which comes whole or not at all.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, Field

from activities.models.speech import Kind, Speech


@dataclass(frozen=True)
class Look:
    """A model call that is under way, as the server has it: its id, which attempt it is at, what that one has said."""

    call: str
    attempt: int
    speech: Speech | None = None


class Said(BaseModel):
    """A piece of an answer that is being made. A greater `offset` than what came before reaches to: some was missed."""

    model_config = ConfigDict(frozen=True)

    turn: int = Field(description="The number that the turn will have.")
    attempt: int
    kind: Kind = Field(description="For `call` the text is the name of a tool that the model begins to call.")
    offset: int = Field(description="How many characters, of all kinds, were said before.")
    text: str

    @property
    def end(self) -> int:
        return self.offset + len(self.text)


class Forgotten(BaseModel):
    """What this attempt said is void: the model is asked again."""

    model_config = ConfigDict(frozen=True)

    turn: int
    attempt: int


class Heard:
    """How far a watcher has heard; one that kept nothing but that can go on from there."""

    def __init__(self, call: str = "", attempt: int = 0, end: int = 0) -> None:
        self._call, self._attempt, self._end, self._turn = call, attempt, end, 0

    def news(self, look: Look | None) -> Iterator[Said | Forgotten]:
        """What this look tells that earlier ones did not. One that shows less than they did tells nothing."""
        if look is None or (look.call == self._call and look.attempt < self._attempt):
            return
        if (look.call, look.attempt) != (self._call, self._attempt):
            if look.call == self._call and self._end:
                yield Forgotten(turn=self._turn, attempt=self._attempt)
            self._call, self._attempt, self._end = look.call, look.attempt, 0
        if look.speech is not None:
            self._turn = look.speech.turn
            yield from self._said(look.speech)

    def _said(self, speech: Speech) -> Iterator[Said]:
        for run in speech.runs:
            heard = max(0, self._end - run.offset)
            if heard < len(run.text):
                said = Said(
                    turn=speech.turn,
                    attempt=speech.attempt,
                    kind=run.kind,
                    offset=run.offset + heard,
                    text=run.text[heard:],
                )
                self._end = said.end
                yield said
