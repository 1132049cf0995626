"""What one model call is told, how many tokens that is about, and what can be done to make it fewer.

The count is the provider's own for the last turn, as far as that saw the same; what came since is estimated by its
bytes, rather too high than too low. So it holds for any model, without a tokenizer.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from activities.models.epochs import as_seen, kept_words, latest, size_of, summed_up
from workflows.contracts import Audit, Entry, Epoch, Logged, Turn

BYTES_OF_A_TOKEN = 3
"""At least: English prose has four, JSON and most other languages three."""

BYTES_OF_A_TOKEN_SAVED = 4
"""At most, so that not too much is hoped for."""

WORTH_TRIMMING = 0.1
WORTH_SUMMING_UP = 0.3
"""What has to come free, as a part of what a call takes now. A new epoch costs the provider's prompt cache, a summary a
call besides: where the latest rounds alone are above the mark, neither may be made at each of them."""

ROOM = 0.8
"""Trimming is not enough if it leaves more than this part of the mark: it would be due again a round later."""


@dataclass(frozen=True)
class Context:
    """A job's entries as seen in an epoch; `overhead` is the size in bytes of what is sent beside them."""

    log: Sequence[Logged]
    epoch: Epoch | None
    overhead: int = 0

    @cached_property
    def seen(self) -> list[Entry]:
        return as_seen(self.log, self.epoch)

    @cached_property
    def tokens(self) -> int:
        """About how many input tokens a call has."""
        place, turn = self._last_turn
        if self.epoch is not None and not self.continues:
            return self.epoch.after + self._since(self.epoch.began)
        if turn is not None and turn.usage.tokens:
            return turn.usage.tokens + self._since(place + 1)
        return (self.overhead + size_of(self.seen)) // BYTES_OF_A_TOKEN

    def _since(self, place: int) -> int:
        return size_of([entry for entry in self.log[place:] if not isinstance(entry, Audit)]) // BYTES_OF_A_TOKEN

    @property
    def continues(self) -> bool:
        """Whether the last turn saw the entries as they are seen now, so that a provider's copy of them holds."""
        return self.epoch is None or self._last_turn[0] >= self.epoch.began

    @property
    def turns_summed_up(self) -> int:
        return sum(isinstance(entry, Turn) for entry in self.log[: summed_up(self.log, self.epoch)])

    @cached_property
    def old(self) -> list[Entry]:
        """What a summary would stand for; empty if there is nothing new to sum up."""
        end = latest(self.log)
        return as_seen(self.log, self.epoch, end) if end > summed_up(self.log, self.epoch) else []

    @cached_property
    def replaceable(self) -> int:
        """How many bytes a summary can take the place of; 0 if there is nothing new to sum up."""
        return size_of(self.old) - size_of(kept_words(self.log, latest(self.log))) if self.old else 0

    def trimmed(self) -> "Context":
        """With old results by their beginnings; itself if that changes nothing."""
        number, until = (self.epoch.number, self.epoch.trim_until) if self.epoch else (0, 0)
        fresh = Epoch(number=number + 1, began=len(self.log), trim_until=max(until, latest(self.log)))
        if self.epoch is not None:
            summary = {"summary_at": self.epoch.summary_at, "summary_until": self.epoch.summary_until}
            fresh = fresh.model_copy(update=summary)
        saved = size_of(self.seen) - size_of(as_seen(self.log, fresh))
        if not saved:
            return self
        counts = {"before": self.tokens, "after": max(0, self.tokens - saved // BYTES_OF_A_TOKEN_SAVED)}
        return Context(self.log, fresh.model_copy(update=counts), self.overhead)

    def fitted(self, mark: int | None) -> tuple["Context", bool]:
        """This context, trimmed if it is above `mark` tokens; and whether a summary is needed besides."""
        if mark is None or self.tokens <= mark:
            return self, False
        trimmed = self.trimmed()
        fitted = trimmed if self.tokens - trimmed.tokens >= self.tokens * WORTH_TRIMMING else self
        worth = fitted.replaceable // BYTES_OF_A_TOKEN_SAVED >= fitted.tokens * WORTH_SUMMING_UP
        return fitted, worth and fitted.tokens > mark * ROOM

    @cached_property
    def _last_turn(self) -> tuple[int, Turn | None]:
        for place in range(len(self.log) - 1, -1, -1):
            entry = self.log[place]
            if isinstance(entry, Turn):
                return place, entry
        return -1, None
