"""Submits batches: puts their lines where every worker can read them, then starts them.

The batch itself is started last, so a submission that breaks off leaves nothing that runs, and the same one, sent once
more, goes on from there.
"""

import asyncio
from collections.abc import Iterable
from datetime import UTC, datetime

from temporalio.client import Client as Temporal
from temporalio.common import WorkflowIDConflictPolicy, WorkflowIDReusePolicy
from temporalio.exceptions import WorkflowAlreadyStartedError
from temporalio.service import RPCError, RPCStatusCode

from surefoot.errors import JobConflict, WrongValue
from surefoot.rpc import reaching
from surefoot.texts import MARK_CHARS, can_be_asked_for
from workflows import labels
from workflows.batches.contracts import BatchLine, BatchLines, BatchNote, BatchOrder, BatchState, Budget, PartRef

PART_LINES = 1000
PART_BYTES = 1_000_000
"""Most bytes of lines in one part: it is the input of a workflow."""

UPLOADS = 4
"""How many parts are on their way at the same time."""


async def submit(
    temporal: Temporal,
    queue: str,
    lines: Iterable[BatchLine],
    order: BatchOrder,
    *,
    id: str,
    digest: str,
    concurrency: int = 20,
    budget: Budget | None = None,
) -> bool:
    """Start the batch `id` of these lines; False if it was started before. `digest` is that of all that it is made of.

    Raises `JobConflict` if the id belongs to another batch, `WrongValue` if it can't be one, or there are no lines.
    """
    if not can_be_asked_for(id):
        raise WrongValue(
            f"batch id {id[:200]!r}: give 1 to {MARK_CHARS} printable characters, no quotes or backslashes"
        )
    with reaching(id):
        if await _is_there(temporal, id, digest):
            return False
        parts = await put_parts(temporal, queue, id, digest[:12], lines)
        if not parts:
            raise WrongValue("there is no line that could be a job")
        state = BatchState(
            order=order,
            lines=sum(part.lines for part in parts),
            parts=parts,
            concurrency=concurrency,
            budget=budget or Budget(),
            digest=digest,
            submitted=datetime.now(UTC),
        )
        try:
            await temporal.start_workflow(
                labels.BATCH_WORKFLOW,
                state,
                id=id,
                task_queue=queue,
                id_reuse_policy=WorkflowIDReusePolicy.REJECT_DUPLICATE,
                id_conflict_policy=WorkflowIDConflictPolicy.FAIL,
                memo=labels.batch_memo(state),
                search_attributes=labels.batch_search_attributes(id, state),
            )
        except WorkflowAlreadyStartedError:
            return not await _is_there(temporal, id, digest)
    return True


async def _is_there(temporal: Temporal, id: str, digest: str) -> bool:
    """Whether this very batch was started before. Raises `JobConflict` if the id is taken by something else."""
    try:  # of the server itself: its lists are late, and would not show a batch that was started a moment ago
        run = await temporal.get_workflow_handle(id).describe()
    except RPCError as error:
        if error.status != RPCStatusCode.NOT_FOUND or error.message.startswith("Namespace "):
            raise
        return False
    if run.workflow_type != labels.BATCH_WORKFLOW:
        raise JobConflict(f"{id} is the id of a {run.workflow_type}: choose another one", ": --id NAME")
    note = await run.memo_value("batch", None, type_hint=BatchNote)
    if note is None or note.digest != digest:
        raise JobConflict(
            f"batch {id} exists already, of other lines or with other options: choose another id", ": --id NAME"
        )
    return True


async def put_parts(temporal: Temporal, queue: str, batch: str, name: str, lines: Iterable[BatchLine]) -> list[PartRef]:
    """Put lines of a batch with the server: `name` says which, so that they lie there once, however often this is done.

    Parts that have ended, since no batch came to use them, are put there anew.
    """
    places, refs = asyncio.Semaphore(UPLOADS), list[PartRef]()

    async def put(part: str, held: list[BatchLine]) -> None:
        try:
            await put_part(temporal, queue, part, BatchLines(lines=held, batch=batch))
        finally:
            places.release()

    async with asyncio.TaskGroup() as group:
        for number, held in enumerate(_parts(lines)):
            part = f"{batch}/{name}/{number:04d}"
            refs.append(PartRef(id=part, lines=len(held)))
            await places.acquire()  # no more parts in memory than are on their way
            group.create_task(put(part, held))
    return refs


async def put_part(temporal: Temporal, queue: str, part: str, lines: BatchLines, *, once: bool = False) -> bool:
    """Put lines with the server; False if the part is there, or with `once` if it ever was."""
    try:
        await temporal.start_workflow(
            labels.BATCH_PART,
            lines,
            id=part,
            task_queue=queue,
            id_reuse_policy=WorkflowIDReusePolicy.REJECT_DUPLICATE if once else WorkflowIDReusePolicy.ALLOW_DUPLICATE,
            id_conflict_policy=WorkflowIDConflictPolicy.FAIL,
        )
    except WorkflowAlreadyStartedError:
        return False
    return True


def _parts(lines: Iterable[BatchLine]) -> Iterable[list[BatchLine]]:
    held: list[BatchLine] = []
    size = 0
    for line in lines:
        more = len(line.model_dump_json(exclude_unset=True))
        if held and (len(held) == PART_LINES or size + more > PART_BYTES):
            yield held
            held, size = [], 0
        held.append(line)
        size += more
    if held:
        yield held
