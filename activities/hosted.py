"""The activities of one worker, and what they share: built once, and closed with it.

Among that are the SDKs' clients (`models/registry.py`), the connections to MCP servers, and the threads of tools.
"""

from collections.abc import Callable
from typing import Any

from temporalio.client import Client

from activities.apps import App
from activities.batches.end_jobs import end_jobs
from activities.batches.lines import look_for_batch
from activities.batches.tend import BatchTender
from activities.budgets.spending import TenantSpending
from activities.lanes.hand_back import BatchReturner
from activities.lanes.hand_in import LaneDesk
from activities.lanes.requests import LaneRequests
from activities.lanes.submit import BatchSubmitter
from activities.mcp.servers import McpServers
from activities.models.asker import ModelAsker
from activities.models.call_model import ModelCaller
from activities.models.opening import CallOpener
from activities.models.registry import Models
from activities.models.replies import Replies
from activities.models.summarize import Summarizer
from activities.notices.deliver import Notifier
from activities.queues.desk import QueueDesk
from activities.rates.meter import RateMeter
from activities.rates.set_rate import set_rate
from activities.run_tool import ToolRunner
from activities.settings import Settings
from activities.threads import Threads
from activities.transcripts import Transcripts


class HostedActivities:
    """`all` of them, for the app's own queue, and for queues with a rate those that ask models: `rated`."""

    def __init__(self, client: Client, app: App, task_queue: str, settings: Settings) -> None:
        self._threads = Threads(settings.max_activities)
        self._models = Models(app)
        self._servers = McpServers(app.folder)
        self._meter = RateMeter(client, task_queue)
        self._notifier = Notifier(app, settings.retry_seconds)
        opener, replies = CallOpener(app, self._servers, Transcripts()), Replies(self._threads)
        asker = ModelAsker(self._models, settings, self._meter)
        caller, summarizer = ModelCaller(app, opener, asker, replies, settings), Summarizer(opener, asker)
        runner = ToolRunner(app, self._servers, self._threads, settings.artifacts)
        tender = BatchTender(TenantSpending(app.tenant_budgets))
        queues = QueueDesk(app.queues)
        requests = LaneRequests(opener, self._models)
        desk, submitter = LaneDesk(requests, settings.lane_terms), BatchSubmitter(requests)
        returner = BatchReturner(requests, replies)
        self.rated: list[Callable[..., Any]] = [caller.call_model, summarizer.summarize]
        self.all: list[Callable[..., Any]] = [
            *self.rated,
            caller.load_agent,
            caller.read_segment,
            runner.run_tool,
            runner.compute_tool,
            runner.describe_call,
            runner.check_arguments,
            self._notifier.deliver_notice,
            tender.tend_batch,
            end_jobs,
            look_for_batch,
            queues.enter_queue,
            queues.look_at_queue,
            queues.hold_in_queue,
            desk.hand_in,
            desk.look_at_lane,
            submitter.submit_batch,
            submitter.look_at_batch,
            returner.hand_back,
            set_rate,
        ]

    async def close(self) -> None:
        """Close what they share; a tool that still runs keeps its thread."""
        await self._meter.close()
        await self._models.close()
        await self._servers.close()
        await self._notifier.close()
        self._threads.shutdown(wait=False, cancel_futures=True)
