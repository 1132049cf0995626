"""Makes the request of a model call that waits in a lane, from its job's transcript, as the job itself would.

It is made anew wherever it is needed: to see whether it fits a lane, to build a batch, and to read its answer.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

from temporalio.client import Client

from activities.agents import Agent
from activities.errors import UnknownAgent
from activities.models.asker import models_of
from activities.models.context import Context
from activities.models.context_limits import context_mark
from activities.models.opening import CallOpener
from activities.models.registry import Models
from activities.models.requests import model_request
from activities.providers.batches import BatchProvider, BatchRequest
from activities.providers.errors import ModelError
from activities.providers.protocol import ModelRequest
from activities.providers.schema_mode import SchemaMode
from activities.tools.explain import said
from workflows.contracts import CallModel, Entry, JsonObject, Turn
from workflows.lanes.contracts import LaneKey


class NotForLanes(Exception):
    """This call can't be a part of a provider batch; its job has to ask by itself."""


@dataclass(frozen=True)
class LaneRequest:
    """A call as it is made. `told` is all that was said before it, `asked` what the adapter sends."""

    agent: Agent
    provider: BatchProvider
    model: str
    context: Context
    told: Sequence[Entry]
    asked: ModelRequest
    mode: SchemaMode | None

    def written(self) -> BatchRequest:
        """Raises `NotForLanes` if the provider can't be sent this."""
        try:
            return self.provider.batch_request(self.asked)
        except ModelError as error:
            raise NotForLanes(said(error)) from None

    def key(self, request: BatchRequest, queue: str) -> LaneKey:
        """The lane of this request, on the task queue whose workers can make it: others have agents of their own."""
        return LaneKey(
            queue=queue,
            model=self.model,
            endpoint=request.endpoint,
            credential=self.provider.credential,
            betas=list(request.betas),
        )

    def read(self, answer: JsonObject) -> Turn:
        """The turn of an answer. Raises `ModelError`."""
        turn = self.provider.turn_of(answer, self.asked)
        return turn if self.mode is None else self.mode.read(turn, self.asked)


class LaneRequests:
    """What one worker needs to make requests of calls."""

    def __init__(self, opener: CallOpener, models: Models) -> None:
        self._opener, self._models = opener, models

    async def provider(self, model: str) -> tuple[BatchProvider, str]:
        """The provider of a model string, and the model's name there. Raises `NotForLanes` if it has no batches."""
        try:
            provider, name = await self._models.ready(model)
        except ModelError as error:
            raise NotForLanes(said(error)) from None
        if not hasattr(provider, "batches"):
            raise NotForLanes(f"{model} is asked by {provider.api}, which has no batches")
        return cast(BatchProvider, provider), name

    async def make(self, client: Client, job: str, run_id: str, call: CallModel, *, chains: bool = True) -> LaneRequest:
        """The request of a call of a run. Raises `NotForLanes`."""
        try:
            models = models_of(self._opener.agent(call), call)
        except UnknownAgent as error:
            raise NotForLanes(str(error)) from None
        if not isinstance(models[0], str):
            raise NotForLanes("a script has no batches")
        provider, name = await self.provider(models[0])
        opened = await self._opener.open(client, job, run_id, call)
        agent, context = opened.agent, opened.context
        if call.compaction is not None and agent.compact_at != 0:
            context, crowded = context.fitted(await context_mark(agent, models))
            if crowded and call.compaction == "summarize":
                raise NotForLanes("what was said has to be summed up first")
        asked = model_request(agent, call, context)(name)
        asked = asked if chains else replace(asked, chains=False)
        mode = None
        if agent.tool_calling == "schema":
            mode = SchemaMode(provider, agent.output.schema if agent.output else None)
            asked = mode.asked(asked)
        return LaneRequest(agent, provider, models[0], context, opened.told, asked, mode)
