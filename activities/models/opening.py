"""What a call of a model begins with: the agent as this worker has it, the transcript, and what is seen of it.

Asking at once, summing up and provider batches all begin here, so that a model is told the same in each way.
"""

from dataclasses import dataclass

from temporalio import activity
from temporalio.client import Client

from activities.agents import Agent
from activities.apps import App
from activities.attempts import Attempt
from activities.errors import UnknownAgent
from activities.mcp.servers import McpServers
from activities.models.asker import ModelAsker
from activities.models.context import Context
from activities.models.context_limits import overhead
from activities.transcripts import Transcripts
from workflows.contracts import Audit, CallModel, Entry


@dataclass(frozen=True)
class Opened:
    """A call that can be made: `agent` has the tools of its MCP servers, `context` is as the call's epoch has it."""

    agent: Agent
    context: Context

    @property
    def told(self) -> list[Entry]:
        """All that was said before, in no epoch's short form."""
        return [entry for entry in self.context.log if not isinstance(entry, Audit)]


class CallOpener:
    """What one worker needs to open calls."""

    def __init__(self, app: App, servers: McpServers, transcripts: Transcripts) -> None:
        self._app, self._servers, self._transcripts = app, servers, transcripts

    def agent(self, call: CallModel) -> Agent:
        """The agent as the app file has it. Raises `UnknownAgent`."""
        return self._app.agent(call.agent)

    async def open(self, client: Client, job: str, run_id: str, call: CallModel) -> Opened:
        """Open a call of a run of a job. Raises `UnknownAgent`."""
        agent = self.agent(call)
        log = await self._transcripts.read(client, job, run_id, call)
        agent = (await self._servers.equip(agent)).agent
        return Opened(agent, Context(log, call.epoch, overhead(agent)))

    async def open_for(self, attempt: Attempt, asker: ModelAsker, call: CallModel) -> Opened:
        """Open the call that this attempt is for; without its agent the attempt ends, and another one may follow."""
        info = attempt.info
        try:
            return await self.open(activity.client(), info.workflow_id or "", info.workflow_run_id or "", call)
        except UnknownAgent as error:  # while a deploy is under way, another worker may know it
            await asker.fail(attempt, "UnknownAgent", str(error), True)
