"""The way to jobs from Python: start, follow, list, decide, reply, stop.

A client needs a Temporal server and no worker; what only a worker can answer says so. It never sees an agent's code:
agents are named, and resolved where they run.
"""

import uuid
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

from temporalio.client import Client as Temporal
from temporalio.exceptions import WorkflowAlreadyStartedError

from surefoot.batches import Batches
from surefoot.copies import Copies
from surefoot.ends import ANSWER_WITHIN, fetch_end
from surefoot.errors import JobConflict, JobRunning
from surefoot.forking import forked
from surefoot.inbox import InboxItem, InboxPage, list_inbox
from surefoot.job import Job
from surefoot.leaving import let_threads_finish_at_exit
from surefoot.lists import JobFilter, JobRow, list_jobs
from surefoot.priorities import checked_priority
from surefoot.queues import Queues
from surefoot.schedules import Schedules
from surefoot.settings import DEFAULT_TASK_QUEUE
from surefoot.starting import digest, must_be_same, replied, reply_mark, request_print, start_run, started_alike
from surefoot.texts import agent_name, checked, marks, named, queue_name, quoted
from workflows import labels
from workflows.batches.contracts import LineClass
from workflows.contracts import JobStart, Limits

ID_CHARS = 100
"""So much of a job's id the id of a fork of it begins with."""


class Client:
    """Jobs on one Temporal server. `task_queue` is the queue that the app's workers serve.

    A worker that does not answer within `answer_within` counts as absent.
    """

    def __init__(
        self, temporal: Temporal, *, task_queue: str = DEFAULT_TASK_QUEUE, answer_within: timedelta = ANSWER_WITHIN
    ) -> None:
        self.temporal = temporal
        self.task_queue = task_queue
        self.answer_within = answer_within
        self._copies = Copies()
        let_threads_finish_at_exit()

    @classmethod
    async def connect(
        cls, *, app: str | Path | None = None, task_queue: str | None = None, **overrides: Any
    ) -> "Client":
        """Connect as the command line does, with the same settings; `app` is the app file that the workers run.

        That is the server of Temporal's own settings (`TEMPORAL_ADDRESS`, profiles, TLS, API key), or else the embedded
        one in SUREFOOT_HOME, which `surefoot dev` starts. `overrides` are arguments of
        `temporalio.client.Client.connect`. Raises `ServerNotReached`, and `SettingsError` for settings that can't be
        used or leave the queue open.
        """
        from surefoot.connection import find, queue_of, settings_for

        settings = settings_for(overrides, Path(app) if app else None)
        queue = task_queue or queue_of(settings)
        return cls(await find(settings, overrides), task_queue=queue)

    @property
    def schedules(self) -> Schedules:
        """Jobs that are started again and again."""
        return Schedules(self.temporal, self.task_queue)

    @property
    def queues(self) -> Queues:
        """The app file's named queues: how they stand, and changing them while they run."""
        return Queues(self.temporal, self.task_queue)

    @property
    def batches(self) -> Batches:
        """Many jobs from one file."""
        return Batches(self.temporal, self.task_queue)

    async def start(
        self,
        agent: str,
        message: str,
        *,
        id: str | None = None,
        key: str | None = None,
        limits: Limits | None = None,
        total: Limits | None = None,
        model: str | None = None,
        tenant: str | None = None,
        tags: Sequence[str] = (),
        by: str | None = None,
        delay: timedelta | None = None,
        priority: int | None = None,
        weight: float | None = None,
        queue: str | None = None,
    ) -> Job:
        """Start a job, or find the one that was started under the same `id` with the same agent and message.

        An idempotency `key`, in place of an `id`, finds the job that was started with it and with all else the same.
        `limits` changes the fields that it was given; the agent's own stay for the others. `delay` lets the job begin
        later. `tenant` is for whom the job works, `tags` are words to find it by. Where workers are short,
        `priority` 1 goes before 5, and tenants get shares by `weight`; in a named `queue` of the app file
        the job begins when it has a place there (docs/queues.md). Raises `JobConflict` if the id
        belongs to another job, `TooLarge` if the message is over 1 MB, `WrongValue` for an agent, tenant, tag,
        priority or weight that can't be.
        """
        message = checked(message)
        checked_priority(priority, weight)
        start = JobStart(
            agent=agent_name(agent),
            message=message,
            by=named(by),
            limits=limits,
            total=total,
            model=model,
            **marks(tenant, tags),
            **({"queue": queue_name(queue)} if queue is not None else {}),
        )
        if key is not None:
            job = f"{agent}-{digest(agent, key)[:20]}"
            ranked = [f"{priority} {weight}"] if priority is not None or weight is not None else []
            print_ = digest(start.model_dump_json(exclude={"by"}), str(delay), *ranked)
        else:
            job = _new_id(agent) if id is None else id
            print_ = digest(agent, message)
        memo = {"print": print_}
        try:
            rank = labels.priority(start.tenant, priority, weight)
            await start_run(self.temporal, job, start, memo, self.task_queue, delay=delay, priority=rank)
        except WorkflowAlreadyStartedError:
            await must_be_same(self.temporal, job, print_, key)
        return self.job(job)

    def job(self, id: str) -> Job:
        """The job of this id; whether it exists is seen when it is asked for something."""
        return self._job(id)

    def _job(self, id: str, since: int = 0) -> Job:
        return Job(self.temporal, id, answer_within=self.answer_within, copies=self._copies, since=since)

    async def reply(
        self,
        id: str,
        message: str,
        *,
        key: str | None = None,
        by: str | None = None,
        limits: Limits | None = None,
        model: str | None = None,
    ) -> Job:
        """Go on with a job that has ended, in any state: everything said so far is kept, and a new allowance begins.

        Sent again with the same idempotency `key`, the job's last reply is not made twice. Raises `JobRunning` if the
        job has not ended (then `Job.steer` reaches it), `JobConflict` for another reply under that key, `NoSuchJob`,
        `TooLarge`.
        """
        message = checked(message)
        mark = {} if key is None else reply_mark(key, message, limits, model)
        if mark and await replied(self.temporal, id, mark):
            return self.job(id)
        try:
            end = await fetch_end(self.temporal, id, answer_within=self.answer_within)
            carry = end.carry
            start = JobStart(agent=carry.agent, message=message, by=named(by), limits=limits, model=model, carry=carry)
            memo = {**end.memo, **mark}
            await start_run(self.temporal, id, start, memo, end.task_queue, again=True, priority=end.priority)
        except (WorkflowAlreadyStartedError, JobRunning) as error:
            if mark and await replied(self.temporal, id, mark):  # the same request, sent twice at once
                return self.job(id)
            if isinstance(error, JobRunning):
                raise
            raise JobRunning(
                f"job {id} is running: somebody replied just now; steering reaches it",
                f": surefoot steer {quoted(id)} TEXT",
            ) from None
        return self._job(id, carry.entries)

    async def fork(
        self,
        id: str,
        number: int,
        message: str | None = None,
        *,
        new_id: str | None = None,
        key: str | None = None,
        by: str | None = None,
        limits: Limits | None = None,
        model: str | None = None,
    ) -> Job:
        """Start a new job that has said what job `id` had at the end of round `number`, and goes on from there.

        With a `message` that is said next; without one the model is asked again, perhaps another `model`. An
        idempotency `key`, in place of a `new_id`, finds the fork that was made with it and with all else the same.
        Raises `NoSuchRound`, `NoSuchJob`, `JobConflict` if there is a job `new_id` already.
        """
        source, text = self.job(id), checked(message) if message is not None else ""
        print_ = f"fork of {id} after {number}"
        if key is not None:
            new_id = f"{id[:ID_CHARS]}-fork-{digest(id, key)[:20]}"
            print_ = request_print(print_, str(message), limits=limits, model=model)
            if await started_alike(self.temporal, new_id, print_, key):
                return self.job(new_id)
        carry = (await forked(source, number)).model_copy(update={"by": named(by)})
        job = _new_id(carry.agent) if new_id is None else new_id
        start = JobStart(agent=carry.agent, message=text, by=named(by), limits=limits, model=model, carry=carry)
        try:
            await start_run(self.temporal, job, start, {"print": print_}, await source.queue())
        except WorkflowAlreadyStartedError:
            if key is None:
                raise JobConflict(f"job {job} exists already; choose another id for the fork") from None
            await must_be_same(self.temporal, job, print_, key)
        return self._job(job, carry.entries)

    async def jobs(
        self,
        *,
        agent: str | None = None,
        state: str | None = None,
        status: str | None = None,
        tenant: str | None = None,
        tag: str | None = None,
        batch: str | None = None,
        end: LineClass | None = None,
        queue: str | None = None,
        limit: int = 100,
    ) -> list[JobRow]:
        """The newest jobs, one row each, however many runs they had; `problem` says what can't be read of one."""
        wanted = JobFilter(
            agent=agent, state=state, status=status, tenant=tenant, tag=tag, batch=batch, end=end, queue=queue
        )
        return await list_jobs(self.temporal, wanted, limit=limit)

    async def inbox(self, *, limit: int = 1000) -> list[InboxItem]:
        """Every call that waits for a person, oldest first; `problem` says what can't be shown of one."""
        page = await list_inbox(self.temporal, jobs=limit)
        return sorted(page.items, key=lambda item: item.asked_at)[:limit]

    async def inbox_page(
        self, *, jobs: int = 50, after: str | None = None, agent: str | None = None, tenant: str | None = None
    ) -> InboxPage:
        """What waits in the `jobs` jobs that have waited for longest, and `after`, with which the next page begins.

        As quick for a hundred thousand jobs as for fifty. Raises `WrongValue` for an `after` that no page ended with.
        """
        return await list_inbox(self.temporal, jobs=jobs, after=after, agent=agent, tenant=tenant)


def _new_id(agent: str) -> str:
    return f"{agent}-{uuid.uuid4().hex[:8]}"
