"""When a schedule fires, and what becomes of a firing that comes too late or while its last job still runs.

What a cron expression and a time zone may be, the server knows: it refuses others when the schedule is created.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Literal

from temporalio.client import ScheduleIntervalSpec, ScheduleOverlapPolicy, SchedulePolicy, ScheduleSpec

from surefoot.errors import WrongValue
from workflows.contracts import Record

Overlap = Literal["skip", "buffer_one", "buffer_all", "cancel_other", "allow_all"]
"""Temporal's words, without the one that would end a job in the middle of a step."""

POLICIES = {
    "skip": ScheduleOverlapPolicy.SKIP,
    "buffer_one": ScheduleOverlapPolicy.BUFFER_ONE,
    "buffer_all": ScheduleOverlapPolicy.BUFFER_ALL,
    "cancel_other": ScheduleOverlapPolicy.CANCEL_OTHER,
    "allow_all": ScheduleOverlapPolicy.ALLOW_ALL,
}
SHORTEST = timedelta(seconds=1)
SHORTEST_CATCH_UP = timedelta(seconds=10)


class Terms(Record):
    """When a schedule fires: at the times of `cron` in `timezone` (UTC), and `every` so long, counted from 1970.

    Each firing is late by a random time up to `jitter`. It fires from `start` until `end`, if these are given. One that
    was missed because no server ran is made up for within `catch_up`. `overlap` says what happens to a firing while the
    job of an earlier one still runs; a job that waits for a person runs.
    """

    cron: Sequence[str] = ()
    every: timedelta | None = None
    jitter: timedelta | None = None
    timezone: str | None = None
    start: datetime | None = None
    end: datetime | None = None
    overlap: Overlap = "skip"
    catch_up: timedelta = timedelta(days=1)

    def spec(self) -> ScheduleSpec:
        """The same for Temporal. Raises `WrongValue`."""
        self._check()
        return ScheduleSpec(
            cron_expressions=self.cron,
            intervals=[ScheduleIntervalSpec(every=self.every)] if self.every else [],
            jitter=self.jitter,
            time_zone_name=self.timezone,
            start_at=self.start,
            end_at=self.end,
        )

    def policy(self) -> SchedulePolicy:
        return SchedulePolicy(overlap=POLICIES[self.overlap], catchup_window=self.catch_up)

    def _check(self) -> None:
        if not self.cron and self.every is None:
            raise WrongValue(
                "nothing says when it fires: give a cron expression such as '0 6 * * 1-5', or a length of time",
                " (--cron, --every)",
            )
        if self.every is not None and self.every < SHORTEST:
            raise WrongValue(f"every={self.every} is too often; a schedule fires at most once a second")
        if self.catch_up < SHORTEST_CATCH_UP:
            raise WrongValue(f"catch_up={self.catch_up} is too short; the server makes up for 10 seconds at least")
        if self.jitter is not None and self.jitter < timedelta(0):
            raise WrongValue(f"jitter={self.jitter} is negative; a firing can only be late")
        if self.start is not None and self.end is not None and self.end <= self.start:
            raise WrongValue(f"it would end at {self.end.isoformat()}, before it starts at {self.start.isoformat()}")
