"""Asks the model once: reads the transcript, builds the request, and plans the calls of the turn that comes back.

What an attempt can fail by, and what then, is in `asker.py`.
"""

from dataclasses import fields
from datetime import timedelta

from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities.agents import Agent
from activities.apps import App
from activities.attempts import Attempt
from activities.errors import UnknownAgent
from activities.models.asker import Answer, ModelAsker, lost_before, models_of
from activities.models.context import Context
from activities.models.context_limits import context_mark, no_room
from activities.models.opening import CallOpener
from activities.models.replies import Replies
from activities.models.requests import model_request
from activities.models.speaking import Pace, speaking
from activities.providers.errors import ContextTooLong
from activities.providers.protocol import Live
from activities.timing import Timing
from activities.tools.explain import said
from activities.transcripts import fetch_page
from workflows.contracts import (
    AgentSpec,
    CallModel,
    LoadAgent,
    ModelReply,
    ReadSegment,
    TranscriptPage,
    Turn,
)

OUTPUT_BYTES = 500_000
"""Largest answer by an output schema: a job's result has to fit into one payload (2 MB) with all else that it holds."""


class ModelCaller:
    """The activities that know agents and models."""

    def __init__(self, app: App, opener: CallOpener, asker: ModelAsker, replies: Replies, timing: Timing) -> None:
        self._app, self._opener, self._asker, self._replies, self._timing = app, opener, asker, replies, timing
        self._pace = Pace()

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
            opened = await self._opener.open_for(attempt, self._asker, request)
            agent, lost = opened.agent, lost_before(attempt.info.attempt)
            async with speaking(attempt, request.turn, self._pace, live=agent.stream) as live:
                answer, context = await self._ask_with_room(attempt, agent, request, opened.context, live)
            begun = {"epoch": context.epoch} if context.epoch != request.epoch else {}
            if answer is None:
                return ModelReply(turn=Turn(), too_long=True, **begun, **lost)
            reply = await self._replies.reply(agent, answer.turn, opened.told, closing=request.closing is not None)
            instead = {"instead_of": answer.instead_of} if answer.instead_of else {}
            return reply.model_copy(update={**begun, **lost, **instead})

    async def _ask_with_room(
        self, attempt: Attempt, agent: Agent, request: CallModel, context: Context, live: Live | None
    ) -> tuple[Answer | None, Context]:
        """The answer and what it was given to, with old results cut short if need be; no answer if a summary is due."""
        models = models_of(agent, request)
        may_trim = request.compaction is not None and agent.compact_at != 0
        may_sum_up = may_trim and request.compaction == "summarize"
        if may_trim:
            context, crowded = context.fitted(await context_mark(agent, models))
            if crowded and may_sum_up:
                return None, context
        while True:
            try:
                return await self._asker.ask(
                    attempt, agent, models, model_request(agent, request, context, live)
                ), context
            except ContextTooLong as error:
                # The request was refused and cost nothing, so the shorter one is not a retry.
                smaller = context.trimmed() if may_trim else context
                if smaller is not context:
                    context = smaller
                elif may_sum_up and context.replaceable:
                    return None, context
                else:
                    told = said(error) + (no_room(agent, context) if request.compaction else "")
                    await self._asker.fail(attempt, type(error).__name__, told, error.retryable)
