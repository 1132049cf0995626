"""A new job from the middle of another one: what was said up to the end of a round, and nothing of what came after.

The new job points at the entries where they lie; like any job it adopts them before the server forgets the other one.
They are read here once, to find where the round ends.
"""

from collections.abc import Sequence
from datetime import UTC, datetime

from surefoot.errors import NoSuchRound
from surefoot.job import Job
from workflows.contracts import Audit, JobState, Logged, Message, Result, Segment, Turn
from workflows.outcomes import note_result


async def forked(job: Job, number: int) -> JobState:
    """What a job begins with that goes on after round `number` of `job`; round 0 is the message alone."""
    segments = await job.segments()
    entries = await job.entries(segments)
    view = await job.view()
    cut = _end_of_round(job.id, entries, number)
    kept = entries[:cut]
    state = JobState(
        agent=view.agent,
        earlier=_first(segments, cut, job.id),
        entries=cut,
        tenant=view.tenant,
        tags=view.tags,
        turns=max((entry.number for entry in kept if isinstance(entry, Turn)), default=0),
        epoch=next((entry.epoch for entry in reversed(kept) if isinstance(entry, Audit) and entry.epoch), None),
    )
    for entry in kept:
        if isinstance(entry, Result):
            note_result(state, entry)
    return state


def _end_of_round(job: str, entries: Sequence[Logged], number: int) -> int:
    """How many entries there are up to the last result of this round."""
    rounds = [place for place, entry in enumerate(entries) if isinstance(entry, Turn) and entry.calls]
    if not 0 <= number <= len(rounds):
        raise NoSuchRound(f"job {job} has {len(rounds)} rounds; fork after one of 0 to {len(rounds)}, not {number}")
    if number == 0:
        spoken = [place for place, entry in enumerate(entries) if not isinstance(entry, Message)]
        return spoken[0] if spoken else len(entries)
    start = rounds[number - 1]
    turn = entries[start]
    assert isinstance(turn, Turn)
    open_calls = {call.id for call in turn.calls}
    for place in range(start + 1, len(entries)):
        entry = entries[place]
        if isinstance(entry, Result):
            open_calls.discard(entry.call)
            if not open_calls:
                return place + 1
    raise NoSuchRound(
        f"round {number} of job {job} has calls without a result; fork when it is over, or an earlier one"
    )


def _first(segments: Sequence[Segment], count: int, job: str) -> list[Segment]:
    """The first `count` entries of these segments, as another job names them."""
    found: list[Segment] = []
    for segment in segments:
        taken = min(count, segment.entries)
        if taken:
            home = {"ended": segment.ended or datetime.now(UTC), "job": segment.job or job}
            found.append(segment.model_copy(update={"entries": taken, **home}))
        count -= taken
    return found
