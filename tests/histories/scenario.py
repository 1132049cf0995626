"""What a scenario is, and how it is played: on a real server, to its end.

Whoever adds a command to a workflow adds a scenario that meets it, in `scenarios/`.
"""

import dataclasses
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from temporalio.client import Client as Temporal

from surefoot.batches.batch import Batch
from surefoot.client import Client
from surefoot.job import Job
from tests.histories.cast import app
from worker import Settings, hosting
from workflows.contracts import JobView

QUICK = Settings(heartbeat_seconds=3.0, retry_seconds=0.01, shutdown_seconds=1.0)
Play = Callable[[Client], Awaitable[Job | Batch]]


@dataclass(frozen=True)
class Scenario:
    """What is played: `play` starts a job and brings it to its end, on a worker with `settings`."""

    name: str
    play: Play
    settings: Settings = field(default=QUICK)


SCENARIOS: list[Scenario] = []


def scenario(settings: Settings = QUICK) -> Callable[[Play], Play]:
    def add(play: Play) -> Play:
        SCENARIOS.append(Scenario(play.__name__.replace("_", "-"), play, settings))
        return play

    return add


async def played(temporal: Temporal, chosen: Scenario, *, cached: int = 1000, queue: str) -> Job | Batch:
    """The job (or batch) of a scenario that was played to its end, with all that belongs to it on the task queue."""
    settings = dataclasses.replace(chosen.settings, max_cached_workflows=cached)
    async with hosting(temporal, app(), task_queue=queue, settings=settings):
        return await chosen.play(Client(temporal, task_queue=queue))


async def ended(job: Job) -> Job:
    await job.outcome()
    return job


def waits(view: JobView) -> bool:
    return view.state == "waiting"
