"""Which model of an agent's list is asked: the first that is not known to be out of order.

What one job learnt of a model holds for all jobs of this process for a while, so that not each of them waits for the
same outage. Nothing of it is kept: a process that has just started asks the first model.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from activities.providers.errors import ModelError, Overloaded, QuotaExhausted, RateLimited, TimedOut
from activities.providers.scripted import Script

OUT_OF_ORDER: tuple[type[ModelError], ...] = (Overloaded, RateLimited, QuotaExhausted, TimedOut)
"""Failures that another model may not have; all others are of the request, the key or the answer."""

SECONDS = 60.0
"""How long a model that failed so is passed over, unless its provider named a longer time."""

LONGEST = 600.0

Model = str | Script


@dataclass
class StandIns:
    """The models of one worker process that are out of order, each until when."""

    _until: dict[str, float] = field(default_factory=dict)

    def choose(self, models: Sequence[Model]) -> int:
        """The place of the model to ask: the first that is in order, or else the one that may be so soonest."""
        waits = [self._wait(model) for model in models]
        return waits.index(min(waits))

    def fails(self, model: Model, error: ModelError) -> None:
        """Pass this model over for a while."""
        seconds = min(max(SECONDS, error.delay or 0.0), LONGEST)
        self._until[name_of(model)] = time.monotonic() + seconds

    def has_other(self, models: Sequence[Model]) -> bool:
        """Whether one of these models is not known to be out of order."""
        return any(self._wait(model) == 0.0 for model in models)

    def _wait(self, model: Model) -> float:
        """Seconds for which this model is still passed over."""
        return max(0.0, self._until.get(name_of(model), 0.0) - time.monotonic())


def name_of(model: Model) -> str:
    """How a model is told apart from others."""
    return model if isinstance(model, str) else f"script {id(model)}"


def shown(model: Model) -> str:
    """How people read it."""
    return model if isinstance(model, str) else "a script"
