"""Starts the runs of jobs, and tells whether a run that is there already is the one that was asked for.

What a request was is noted in the run's memo, so that the same request, sent again, is known from another one.
"""

import hashlib
from datetime import UTC, datetime, timedelta

from temporalio.client import Client as Temporal
from temporalio.common import Priority, WorkflowIDConflictPolicy, WorkflowIDReusePolicy

from surefoot.charging import charged
from surefoot.describing import describe
from surefoot.errors import JobConflict, NoSuchJob
from surefoot.rpc import reaching
from surefoot.texts import quoted
from workflows import labels
from workflows.contracts import JobStart, Limits


async def start_run(
    temporal: Temporal,
    job: str,
    start: JobStart,
    memo: dict[str, str],
    queue: str,
    *,
    again: bool = False,
    delay: timedelta | None = None,
    priority: Priority | None = None,
) -> None:
    """Start a job's first run, or `again` one after its last. Raises `WorkflowAlreadyStartedError`."""
    reuse = WorkflowIDReusePolicy.ALLOW_DUPLICATE if again else WorkflowIDReusePolicy.REJECT_DUPLICATE
    # No retry policy and no timeout, on purpose: a job never runs a second time, and waits as long as people do.
    with reaching(job):
        await temporal.start_workflow(
            labels.WORKFLOW,
            await charged(temporal, start),
            id=job,
            task_queue=queue,
            id_reuse_policy=reuse,
            id_conflict_policy=WorkflowIDConflictPolicy.FAIL,
            memo={**labels.memo(start, datetime.now(UTC)), **memo},  # a reply has its job's own start in `memo`
            search_attributes=labels.search_attributes(start),
            static_summary=labels.summary(start),
            start_delay=delay,
            priority=priority or labels.priority((start.carry or start).tenant, None, None),
        )


async def must_be_same(temporal: Temporal, job: str, print_: str, key: str | None) -> None:
    """Raises `JobConflict` if the job was started with another input; with a `key` its id was made of that."""
    with reaching(job):
        description = await temporal.get_workflow_handle(job).describe()
        before = await description.memo_value("print", "", type_hint=str)
        agent = await description.memo_value("agent", "?", type_hint=str)
    if before == print_:
        return
    if key is not None:
        raise JobConflict(
            f"another request was sent with this idempotency key: it started job {job}; choose another key"
        )
    raise JobConflict(
        f"job {job} exists already, with another input (agent {agent}); choose another id",
        f", or send it a message: surefoot reply {quoted(job)} TEXT",
    )


async def started_alike(temporal: Temporal, job: str, print_: str, key: str) -> bool:
    """Whether there is such a job already, whose id was made of a `key`. Raises `JobConflict` as `must_be_same`."""
    try:
        await describe(temporal, job)
    except NoSuchJob:
        return False
    await must_be_same(temporal, job, print_, key)
    return True


def request_print(*texts: str, limits: Limits | None, model: str | None) -> str:
    """What tells a request from another one under the same key."""
    return digest(*texts, str(model), limits.model_dump_json(exclude_unset=True) if limits else "")


def reply_mark(key: str, message: str, limits: Limits | None, model: str | None) -> dict[str, str]:
    """What the memo of a run keeps of the reply that it began with."""
    return {"reply_key": digest(key), "reply_print": request_print(message, limits=limits, model=model)}


async def replied(temporal: Temporal, job: str, mark: dict[str, str]) -> bool:
    """Whether the job's last run began with this reply. Raises `JobConflict` for another one under the same key."""
    description = await describe(temporal, job)
    with reaching(job):
        seen = {name: await description.memo_value(name, "", type_hint=str) for name in mark}
    if seen["reply_key"] != mark["reply_key"]:
        return False
    if seen != mark:
        raise JobConflict(f"another reply to job {job} was sent with this idempotency key; choose another key")
    return True


def digest(*texts: str) -> str:
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()
