"""What was read before a call: what a person who decides on it needs to see."""

from collections.abc import Sequence
from dataclasses import dataclass

from surefoot.console.timeline import CallLine, Round, rounds, timeline
from surefoot.console.windows import newest
from surefoot.job import Job

ENTRIES = 60


@dataclass(frozen=True)
class Read:
    """Results before a call, under a heading that says from where."""

    heading: str
    lines: Sequence[CallLine]


async def read_before(job: Job, call: str) -> Read:
    """The calls of the same round before this one; without any, those of the round before."""
    return _before(rounds(timeline((await newest(job, ENTRIES)).entries)), call)


def _before(found: Sequence[Round], call: str) -> Read:
    for place in range(len(found) - 1, -1, -1):
        ids = [line.id for line in found[place].calls]
        if call not in ids:
            continue
        if lines := found[place].calls[: ids.index(call)]:
            return Read("Before it, in this round", lines)
        if place and found[place - 1].calls:
            return Read("In the round before", found[place - 1].calls)
    return Read("Nothing was read before it", [])
