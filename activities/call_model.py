"""Asks the model once: reads the transcript, builds the request, and plans the calls of the turn that comes back.

The provider's SDK does not retry; this activity counts the provider's failures, and Temporal repeats it.
"""

import asyncio
import logging
import random
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta
from typing import NoReturn

from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities import citations
from activities.agents import Agent
from activities.apps import App
from activities.attempts import Attempt, took
from activities.errors import UnknownAgent
from activities.explain import said
from activities.mcp.servers import McpServers
from activities.models import Models
from activities.plans import plan_calls
from activities.prompts import instructions
from activities.providers.advice import setting_advice
from activities.providers.errors import ModelError, TimedOut
from activities.providers.prices import price
from activities.providers.protocol import ModelRequest, Provider
from activities.providers.schema_mode import SchemaMode
from activities.providers.thinking_room import closing_output
from activities.stand_ins import OUT_OF_ORDER, Model, StandIns, shown
from activities.transcripts import Transcripts, fetch_page
from workflows.contracts import (
    AgentSpec,
    Audit,
    CallModel,
    Entry,
    LoadAgent,
    ModelReply,
    ReadSegment,
    TranscriptPage,
    Turn,
)

log = logging.getLogger(__name__)
LONGEST_DELAY = 300.0
"""Longest wait that a provider may ask for, in seconds."""

TROUBLE_CHARS = 300
NO_TIME = 0.001
"""Seconds; none at all would mean the retry policy's own interval."""

AT_ONCE = "; the next one is asked at once"

OUTPUT_BYTES = 500_000
"""Largest answer by an output schema: a job's result has to fit into one payload (2 MB) with all else that it holds."""


@dataclass(frozen=True)
class Timing:
    """What the worker's operator may set for all its agents: fields of `AgentSpec`, by the same names."""

    heartbeat_seconds: float = 8.0
    retry_seconds: float = 1.0
    model_attempts: int = 6
    history_events: int = 4000
    adopt_seconds: float = 43_200.0


@dataclass(frozen=True)
class Answer:
    """A turn, and in place of which models of the list it came, with what was wrong with them."""

    turn: Turn
    instead_of: list[str]


class ModelCaller:
    """The activities that know agents and models."""

    def __init__(
        self,
        app: App,
        models: Models,
        servers: McpServers,
        transcripts: Transcripts,
        threads: ThreadPoolExecutor,
        timing: Timing,
    ) -> None:
        self._app, self._models, self._servers, self._transcripts = app, models, servers, transcripts
        self._threads, self._timing, self._stand_ins = threads, timing, StandIns()

    @activity.defn
    async def load_agent(self, request: LoadAgent) -> AgentSpec:
        try:
            agent = self._app.agent(request.agent)
        except UnknownAgent as error:  # while a deploy is under way, another worker may know it
            raise ApplicationError(
                str(error),
                type="UnknownAgent",
                non_retryable=activity.info().is_local,
                next_retry_delay=timedelta(seconds=self._timing.retry_seconds),
            ) from None
        timing = {each.name: getattr(self._timing, each.name) for each in fields(Timing)}
        return agent.spec().model_copy(update=timing)

    @activity.defn
    async def read_segment(self, request: ReadSegment) -> TranscriptPage:
        attempt = Attempt()
        async with attempt.beating():
            job = request.job or attempt.info.workflow_id or ""
            return await fetch_page(activity.client(), job, request.run_id, request.start)

    @activity.defn
    async def call_model(self, request: CallModel) -> ModelReply:
        attempt = Attempt()
        async with attempt.beating():
            info = attempt.info
            try:
                agent = self._app.agent(request.agent)
            except UnknownAgent as error:  # while a deploy is under way, another worker may know it
                await self._fail(attempt, "UnknownAgent", str(error), True, None)
            entries = await self._transcripts.read(
                activity.client(), info.workflow_id or "", info.workflow_run_id or "", request
            )
            told = [entry for entry in entries if not isinstance(entry, Audit)]
            agent = (await self._servers.equip(agent)).agent
            answer = await self._ask(attempt, agent, request, citations.marked(told) if agent.cite else told)
            reply = await self._reply(agent, request, answer, info.attempt - 1)
            return _with_citations(reply, told) if agent.cite and not answer.turn.calls else reply

    async def _ask(self, attempt: Attempt, agent: Agent, request: CallModel, entries: list[Entry]) -> Answer:
        models = (request.model,) if request.model else agent.models
        place = self._stand_ins.choose(models)
        try:
            provider, model = await self._models.ready(models[place])
            if agent.tool_calling == "schema":
                provider = SchemaMode(provider, agent.output.schema if agent.output else None)
            settings, most = agent.settings, agent.max_output_tokens
            if request.closing:
                most = closing_output(agent.closing_tokens, model, settings, entries)
            wire = ModelRequest(
                model=model,
                instructions=instructions(agent, request.closing),
                transcript=entries,
                tools=[tool.declaration() for tool in agent.all_tools],
                tool_choice="none" if request.closing else "auto",
                max_output_tokens=most,
                settings=settings,
                turn=request.turn,
            )
            since = time.monotonic()
            async with asyncio.timeout(agent.model_timeout):
                turn = await provider.complete(wire)
        except ModelError as error:
            await self._failed(attempt, agent, models, place, error)
        except TimeoutError:
            late = TimedOut(f"no answer within {agent.model_timeout:g} seconds")
            await self._failed(attempt, agent, models, place, late)
        except Exception as error:
            # An adapter maps what it knows; what it does not must still end after a bounded number of attempts.
            log.exception("unclassified failure of model call %s in job %s", request.turn, attempt.info.workflow_id)
            await self._fail(attempt, type(error).__name__, said(error), True, None)
        now = datetime.now(UTC).replace(microsecond=0)
        timed = turn.model_copy(update={"at": now, **took(since, attempt.info.attempt)})
        return Answer(self._priced(timed, request.turn, provider, model), _instead_of(attempt, models, place))

    async def _failed(
        self, attempt: Attempt, agent: Agent, models: Sequence[Model], place: int, error: ModelError
    ) -> NoReturn:
        """Try again: another model of the list at once, if this one is out of order and there is one."""
        told, kind = said(error) + setting_advice(error, agent.settings), type(error).__name__
        if len(models) == 1 or not isinstance(error, OUT_OF_ORDER):
            await self._fail(attempt, kind, told, error.retryable, error.delay)
        self._stand_ins.fails(models[place], error)
        attempt.ledger.troubles[str(place)] = f"{kind}: {told}"[:TROUBLE_CHARS]
        others = self._stand_ins.has_other(models)
        log.warning("model %s is out of order (%s: %s)%s", shown(models[place]), kind, told, AT_ONCE if others else "")
        allowed = self._timing.model_attempts * len(models)
        if others:
            await attempt.fail(kind, told, allowed=allowed, retry=True, delay=NO_TIME)
        await self._fail(attempt, kind, told, error.retryable, error.delay, allowed=allowed)

    async def _fail(
        self,
        attempt: Attempt,
        kind: str,
        message: str,
        retry: bool,
        delay: float | None,
        *,
        allowed: int | None = None,
    ) -> NoReturn:
        """Let Temporal try again, after the provider's own delay if it named one, with jitter if it did not."""
        wait = self._timing.retry_seconds * 2 ** min(attempt.ledger.failures, 6) * random.uniform(0.5, 1.0)
        delay = min(delay if delay and delay > 0 else wait, LONGEST_DELAY)
        allowed = self._timing.model_attempts if allowed is None else allowed
        await attempt.fail(kind, message, allowed=allowed, retry=retry, delay=delay)

    @staticmethod
    def _priced(turn: Turn, number: int, provider: Provider, model: str) -> Turn:
        # An adapter that knows more than the counts say has priced its turn itself.
        cost = turn.usage.cost_usd or price(turn.usage, turn.model or model, provider.api)
        usage = turn.usage.model_copy(update={"cost_usd": cost} if cost is not None else {"unmeasured": 1})
        return turn.model_copy(update={"usage": usage, "number": number})

    async def _reply(self, agent: Agent, request: CallModel, answer: Answer, lost: int) -> ModelReply:
        """`lost` counts earlier attempts, failed or interrupted: each of them may have been charged for."""
        turn = answer.turn
        plans = await plan_calls(agent, turn.calls, self._threads)
        checked: dict[str, object] = {}
        if agent.output is not None and not turn.calls and not request.closing:
            checked = _check_output(agent, turn.text)
        if lost:
            checked["failed_attempts"] = lost
        if answer.instead_of:
            checked["instead_of"] = answer.instead_of
        return ModelReply(turn=turn, plans=plans, **checked)


def _instead_of(attempt: Attempt, models: Sequence[Model], place: int) -> list[str]:
    """The models before this one in the list, each with what is known of its trouble."""
    troubles = attempt.ledger.troubles
    return [
        f"{shown(model)} ({troubles.get(str(number), 'out of order a moment before, for another call')})"
        for number, model in enumerate(models[:place])
    ]


def _with_citations(reply: ModelReply, told: Sequence[Entry]) -> ModelReply:
    calls, problem = citations.check(reply.turn.text, told)
    found = {"citations": calls, "citation_problem": problem}
    return reply.model_copy(update={name: value for name, value in found.items() if value})


def _check_output(agent: Agent, answer: str) -> dict[str, object]:
    if (size := len(answer.encode())) > OUTPUT_BYTES:
        return {"output_problem": f"It has {size} bytes, at most {OUTPUT_BYTES} fit into an outcome."}
    value, problem = agent.check_output(answer)
    return {"output": value, "output_problem": problem}
