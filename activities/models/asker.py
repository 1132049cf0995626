"""Asks one model of an agent's list, once, and says of a failure whether and when the next attempt may come.

The provider's SDK does not retry; an attempt that fails here is counted, and Temporal repeats the activity.
"""

import asyncio
import logging
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import NoReturn

from activities.agents import Agent
from activities.attempts import Attempt, AttemptOver, took
from activities.models.kept import KeptForModel
from activities.models.registry import Models
from activities.models.stand_ins import OUT_OF_ORDER, Model, StandIns, shown
from activities.models.trouble import key_advice, named
from activities.providers.advice import setting_advice
from activities.providers.errors import ContextTooLong, MalformedAnswer, ModelError, RateLimited, TimedOut
from activities.providers.prices import priced
from activities.providers.protocol import ModelRequest
from activities.providers.schema_mode import SchemaMode
from activities.rates.meter import RateMeter
from activities.timing import Timing
from activities.tools.explain import said
from workflows.contracts import CallModel, Turn
from workflows.policies import REFUSALS

log = logging.getLogger(__name__)
LONGEST_DELAY = 300.0
"""Longest wait that a provider may ask for, in seconds."""

TROUBLE_CHARS = 300
NO_TIME = 0.001
"""Seconds; none at all would mean the retry policy's own interval."""

AT_ONCE = "; the next one is asked at once"


@dataclass(frozen=True)
class Answer:
    """A turn, and in place of which models of the list it came, with what was wrong with them."""

    turn: Turn
    instead_of: list[str]


class ModelAsker:
    """The models of one worker, and which of them are out of order."""

    def __init__(self, models: Models, timing: Timing, meter: RateMeter) -> None:
        self._models, self._timing, self._meter, self._stand_ins = models, timing, meter, StandIns()

    async def ask(
        self, attempt: Attempt, agent: Agent, models: Sequence[Model], request: Callable[[str], ModelRequest]
    ) -> Answer:
        """The answer to `request`, which is made for a model's own name.

        Raises `ContextTooLong`, since a shorter request may be what is due; all other failures end the attempt.
        """
        place = self._stand_ins.choose(models)
        kept = KeptForModel(attempt, place, shown(models[place]))
        try:
            provider, model = await self._models.ready(models[place])
            wire = replace(request(model), kept=kept)
            if agent.tool_calling == "schema":
                answers = agent.output.schema if agent.output and wire.purpose == "turn" else None
                provider = SchemaMode(provider, answers)
            since = time.monotonic()
            async with asyncio.timeout(agent.model_timeout):
                turn = await provider.complete(wire)
        except (ContextTooLong, AttemptOver):
            raise
        except ModelError as error:
            if isinstance(error, MalformedAnswer):
                kept.forget()  # it leads to the same answer, and what helps is another one
            await self._failed(attempt, agent, models, place, error)
        except TimeoutError:
            late = TimedOut(f"no answer within {agent.model_timeout:g} seconds")
            await self._failed(attempt, agent, models, place, late)
        except Exception as error:
            # An adapter maps what it knows; what it does not must still end after a bounded number of attempts.
            log.exception("unclassified failure of a model call in job %s", attempt.info.workflow_id)
            await self.fail(attempt, type(error).__name__, named(models[place], error), True)
        if agent.rate is not None:
            self._meter.answered(agent.rate, turn.usage)
        now = datetime.now(UTC).replace(microsecond=0)
        timed = turn.model_copy(update={"at": now, "number": wire.turn, **took(since, attempt.info.attempt)})
        return Answer(priced(timed, provider.api, model), _instead_of(attempt, models, place))

    async def _failed(
        self, attempt: Attempt, agent: Agent, models: Sequence[Model], place: int, error: ModelError
    ) -> NoReturn:
        """Try again: another model of the list at once, if this one is out of order and there is one."""
        model, kind = models[place], type(error).__name__
        more = setting_advice(error, agent.settings) + key_advice(model, error)
        told = named(model, error) + more
        if agent.rate is not None and isinstance(error, RateLimited):
            self._meter.refused(agent.rate, error.delay)
            if len(models) == 1:
                # Calls that were refused together must not come again together.
                wait = max(error.delay or 0.0, self._wait(attempt.ledger.refusals)) * random.uniform(1.0, 2.0)
                await attempt.come_later(kind, told, allowed=REFUSALS, delay=min(wait, LONGEST_DELAY))
        if len(models) == 1 or not isinstance(error, OUT_OF_ORDER):
            await self.fail(attempt, kind, told, error.retryable, error.delay)
        self._stand_ins.fails(model, error)
        attempt.ledger.troubles[str(place)] = f"{kind}: {said(error)}{more}"[:TROUBLE_CHARS]
        others = self._stand_ins.has_other(models)
        log.warning("model %s is out of order (%s: %s)%s", shown(model), kind, told, AT_ONCE if others else "")
        allowed = self._timing.model_attempts * len(models)
        if others:
            await attempt.fail(kind, told, allowed=allowed, retry=True, delay=NO_TIME)
        await self.fail(attempt, kind, told, error.retryable, error.delay, allowed=allowed)

    async def fail(
        self,
        attempt: Attempt,
        kind: str,
        message: str,
        retry: bool,
        delay: float | None = None,
        *,
        allowed: int | None = None,
    ) -> NoReturn:
        """Let Temporal try again, after the provider's own delay if it named one, with jitter if it did not."""
        delay = min(delay if delay and delay > 0 else self._wait(attempt.ledger.failures), LONGEST_DELAY)
        allowed = self._timing.model_attempts if allowed is None else allowed
        await attempt.fail(kind, message, allowed=allowed, retry=retry, delay=delay)

    def _wait(self, before: int) -> float:
        """Seconds until the next attempt when `before` such ones have failed, if the provider names none."""
        doubled = float(2 ** min(before, 6))
        return self._timing.retry_seconds * doubled * random.uniform(0.5, 1.0)


def models_of(agent: Agent, request: CallModel) -> Sequence[Model]:
    """The models that may be asked: the job's own one, or else the agent's list."""
    return (request.model,) if request.model else agent.models


def lost_before(attempt: int) -> dict[str, int]:
    """How many attempts there were before, failed or interrupted: each of them may have been charged for."""
    return {"failed_attempts": attempt - 1} if attempt > 1 else {}


def _instead_of(attempt: Attempt, models: Sequence[Model], place: int) -> list[str]:
    """The models before this one in the list, each with what is known of its trouble."""
    troubles = attempt.ledger.troubles
    return [
        f"{shown(model)} ({troubles.get(str(number), 'out of order a moment before, for another call')})"
        for number, model in enumerate(models[:place])
    ]
