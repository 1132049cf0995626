"""What callers may send about schedules and named queues: what is not named stays as it is."""

from typing import Annotated

from pydantic import AwareDatetime, Field

from surefoot.http.requests import MOST, YEAR, Allowance, Id, Name, Priority, Reason, Sent, Text, Weight
from surefoot.schedules import Overlap
from workflows.queues.contracts import MOST_AT_ONCE

Cron = Annotated[str, Field(min_length=1, max_length=200)]


class NewSchedule(Sent):
    """A job to start again and again. `cron` is meant in `timezone`, UTC if there is none."""

    id: Id
    agent: Name
    message: Text
    cron: list[Cron] = Field(default=[], max_length=20)
    every_seconds: float | None = Field(default=None, ge=1, le=YEAR)
    jitter_seconds: float | None = Field(default=None, ge=0, le=YEAR)
    catch_up_seconds: float | None = Field(default=None, ge=10, le=YEAR)
    timezone: Name | None = None
    start: AwareDatetime | None = None
    end: AwareDatetime | None = None
    overlap: Overlap = "skip"
    paused: bool = False
    limits: Allowance | None = None
    total: Allowance | None = Field(default=None, description="Limits that replies don't renew.")
    model: Name | None = None
    tenant: Name | None = None
    tags: list[Name] = Field(default=[], max_length=20)
    priority: Priority = None
    weight: Weight = None
    queue: Name | None = Field(default=None, description="Its jobs begin when this queue has a place for them.")


class ChangeSchedule(Sent):
    """What of a schedule is changed: what is not named stays, and null takes something away; each limit by itself."""

    agent: Name = Field(default="", description="Who does its jobs.")
    message: Text = ""
    cron: list[Cron] | None = Field(default=None, max_length=20)
    every_seconds: float | None = Field(default=None, ge=1, le=YEAR)
    jitter_seconds: float | None = Field(default=None, ge=0, le=YEAR)
    catch_up_seconds: float | None = Field(default=None, ge=10, le=YEAR)
    timezone: Name | None = None
    start: AwareDatetime | None = None
    end: AwareDatetime | None = None
    overlap: Overlap | None = None
    limits: Allowance | None = None
    total: Allowance | None = Field(default=None, description="Limits that replies don't renew.")
    model: Name | None = None
    tenant: Name | None = None
    tags: list[Name] | None = Field(default=None, max_length=20)
    priority: Priority = None
    weight: Weight = None
    queue: Name | None = Field(default=None, description="Its jobs begin when this queue has a place for them.")


class PauseSchedule(Sent):
    """Why a schedule is held."""

    reason: Text | None = None


class SetQueue(Sent):
    """Numbers of a queue to change; what is not named stays."""

    concurrency: int | None = Field(default=None, ge=1, le=MOST_AT_ONCE, description="So many jobs run at a time.")
    rate: float | None = Field(default=None, ge=0, le=MOST, description="So many begin in a minute; 0: no such limit.")


class PauseQueue(Sent):
    """Why a queue is held."""

    reason: Reason = None
