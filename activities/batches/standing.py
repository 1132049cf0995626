"""How the lines of a batch stand, by what the batch says of itself and what the server counts of its jobs.

Both are late, each in its own way: the server's lists show a job some time after it was begun, and the batch tells with
each beat how many it has begun. A job that is on no list though it was begun long enough ago is forgotten.
"""

from dataclasses import dataclass
from datetime import UTC, datetime

from temporalio.client import Client, WorkflowExecutionDescription, WorkflowExecutionStatus
from temporalio.service import RPCError, RPCStatusCode

from activities.batches.jobs import FRESH, Counts
from workflows.batches.contracts import BatchNote, Tended


@dataclass(frozen=True)
class Standing:
    """How many lines are how. `forgotten` ones were begun, and the server has their jobs no more.

    Of the `queued` ones so many have jobs that wait `in_queue`; the others have none yet.
    """

    queued: int
    running: int
    waiting: int
    batched: int
    done: int
    incomplete: int
    failed: int
    forgotten: int
    in_queue: int


async def last_beat(client: Client, description: WorkflowExecutionDescription) -> Tended | None:
    """How far the step has come that tends the batch now; None if there is none, or none that has said so yet."""
    for pending in description.raw_description.pending_activities:
        if pending.activity_type.name == "tend_batch" and pending.heartbeat_details.payloads:
            decoded = await client.data_converter.decode(pending.heartbeat_details.payloads, [Tended])
            tended: Tended = decoded[0]
            return tended
    return None


def standing(note: BatchNote, beat: Tended | None, counts: Counts, *, ended: bool) -> Standing:
    """How each line stands: retries are counted in place of what came before them."""
    before = note.superseded  # the server may have forgotten some of these
    done = max(0, counts.done - before.get("done", 0))
    incomplete = max(0, counts.incomplete - before.get("incomplete", 0))
    failed = max(0, counts.failed - before.get("failed", 0)) + note.refused + len(beat.refused if beat else ())
    still = counts.idle + counts.queued
    open_ = max(counts.running, still)  # those that wait were counted a moment later, and may be more
    unseen = max(0, note.lines - done - incomplete - failed - open_)
    forgotten, queued = 0, unseen
    if note.begun is not None:
        if ended or (note.begun_at is not None and datetime.now(UTC) - note.begun_at >= FRESH):
            forgotten = max(0, unseen - (note.ordered - note.begun))
        queued = min(unseen - forgotten, note.ordered - max(note.begun, beat.begun if beat else 0))
    just_begun = unseen - forgotten - queued
    return Standing(
        queued=queued + counts.queued,
        running=open_ - still + just_begun,
        waiting=counts.waiting,
        batched=counts.batched,
        done=done,
        incomplete=incomplete,
        failed=failed,
        forgotten=forgotten,
        in_queue=counts.queued,
    )


async def may_begin(client: Client, batch: str, counts: Counts) -> bool:
    """Whether jobs of this batch are still to begin, or were begun just now: nothing holds it up."""
    try:
        description = await client.get_workflow_handle(batch).describe()
    except RPCError as error:
        if error.status == RPCStatusCode.NOT_FOUND:
            return False
        raise
    if description.status != WorkflowExecutionStatus.RUNNING:
        return False
    note = await description.memo_value("batch", None, type_hint=BatchNote)
    if note is None or note.hold is not None or note.ending is not None:
        return False
    lines = standing(note, await last_beat(client, description), counts, ended=False)
    return lines.queued + lines.running > 0
