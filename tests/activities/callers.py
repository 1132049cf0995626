"""The model caller of a worker, for tests that run its activities without a server."""

from concurrent.futures import ThreadPoolExecutor
from typing import cast

from temporalio.client import Client

from activities.apps import App
from activities.mcp.servers import McpServers
from activities.models.asker import ModelAsker
from activities.models.call_model import ModelCaller
from activities.models.opening import CallOpener
from activities.models.registry import Models
from activities.models.replies import Replies
from activities.rates.meter import RateMeter
from activities.timing import Timing
from activities.transcripts import Transcripts


def caller_of(app: App, timing: Timing) -> ModelCaller:
    unused = RateMeter(cast(Client, None), "no queue")  # no agent has a rate
    opener = CallOpener(app, McpServers(app.folder), Transcripts())
    asker = ModelAsker(Models(app), timing, unused)
    return ModelCaller(app, opener, asker, Replies(ThreadPoolExecutor(1)), timing)
