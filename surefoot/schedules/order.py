"""What a schedule starts, and when: checked as a whole, whether it is made or changed, and written as Temporal has it.

The server can't change the memo of a schedule. So what it was made of stays there, and what became of that since
stands in the memo of its action, which goes before.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from temporalio.client import Client as Temporal
from temporalio.client import Schedule as TemporalSchedule
from temporalio.client import ScheduleActionStartWorkflow, ScheduleDescription, ScheduleState

from surefoot.charging import charged
from surefoot.errors import NoSuchSchedule
from surefoot.priorities import checked_priority
from surefoot.schedules.terms import Terms
from surefoot.starting import digest
from surefoot.texts import agent_name, checked, marks, named, queue_name
from workflows import labels
from workflows.contracts import JobStart, Limits, Record

NOTE = "schedule"
"""Under which name a memo keeps the `ScheduleNote`."""


class ScheduleNote(Record):
    """What a schedule is made of, as its memo keeps it.

    `print` tells another one under the same id from it, `changed` is the same of what it was changed to.
    """

    agent: str
    message: str
    terms: Terms
    tenant: str | None = None
    tags: Sequence[str] = ()
    by: str | None = None
    print: str = ""
    changed: str = ""


@dataclass(frozen=True)
class Order:
    """The job that a schedule starts, the times of its firings, and which jobs go before it."""

    start: JobStart
    terms: Terms
    priority: int | None = None
    weight: float | None = None

    def print(self) -> str:
        """What tells it from another order, whoever gives it."""
        start = self.start.model_copy(update={"charged": False})  # the server's affair
        return digest(
            start.model_dump_json(exclude={"by"}), self.terms.model_dump_json(), f"{self.priority} {self.weight}"
        )

    def note(self, **prints: str) -> ScheduleNote:
        start = self.start
        return ScheduleNote(
            agent=start.agent,
            message=start.message[: labels.MESSAGE_CHARS],
            terms=self.terms,
            tenant=start.tenant,
            tags=start.tags,
            by=start.by,
            **prints,
        )

    async def scheduled(
        self, temporal: Temporal, id: str, task_queue: str, state: ScheduleState, note: ScheduleNote | None = None
    ) -> TemporalSchedule:
        """The same for Temporal; a `note` is kept in the memo of its action. Raises `WrongValue`."""
        start = await charged(temporal, self.start.model_copy(update={"charged": False}))
        action = ScheduleActionStartWorkflow(
            labels.WORKFLOW,
            start,
            id=id,
            task_queue=task_queue,
            memo={**labels.memo(start), **({NOTE: note} if note is not None else {})},
            typed_search_attributes=labels.search_attributes(start),
            static_summary=labels.summary(start),
            priority=labels.priority(start.tenant, self.priority, self.weight),
        )
        return TemporalSchedule(action=action, spec=self.terms.spec(), policy=self.terms.policy(), state=state)


def order_of(
    agent: str,
    message: str,
    terms: Terms,
    *,
    limits: Limits | None = None,
    total: Limits | None = None,
    model: str | None = None,
    tenant: str | None = None,
    tags: Sequence[str] = (),
    priority: int | None = None,
    weight: float | None = None,
    queue: str | None = None,
    by: str | None = None,
) -> Order:
    """An order of what people give. Raises `WrongValue` and `TooLarge` for what no job can have."""
    start = JobStart(
        agent=agent_name(agent),
        message=checked(message),
        by=named(by),
        limits=limits,
        total=total,
        model=model,
        **marks(tenant, tags),
        **({"queue": queue_name(queue)} if queue is not None else {}),
    )
    checked_priority(priority, weight)
    return Order(start, terms, priority, weight)


async def read_order(temporal: Temporal, description: ScheduleDescription) -> tuple[Order, ScheduleNote]:
    """What there is, by the server's own account. Raises `NoSuchSchedule` for a schedule that others made."""
    action = action_of(description)
    note = await note_of(temporal, description)
    (start,) = await temporal.data_converter.decode(action.args, [JobStart])
    rank = action.priority
    # The server keeps weights with some seven digits: 0.1 comes back as 0.10000000149.
    weight = None if rank.fairness_weight is None else float(f"{rank.fairness_weight:.6g}")
    return Order(start, note.terms, rank.priority_key, weight), note


async def note_of(temporal: Temporal, description: ScheduleDescription) -> ScheduleNote:
    """The note of a schedule that we made. Raises `NoSuchSchedule` for any other."""
    changed: Any = (action_of(description).memo or {}).get(NOTE)
    if changed is not None:
        (found,) = await temporal.data_converter.decode([changed], [ScheduleNote])
        return ScheduleNote.model_validate(found)
    note: ScheduleNote | None = await description.memo_value(NOTE, None, type_hint=ScheduleNote)
    if note is None:
        raise NoSuchSchedule(
            f"schedule {description.id} was not made by Surefoot; look at it with Temporal's own tools"
        )
    return note


def action_of(description: ScheduleDescription) -> ScheduleActionStartWorkflow:
    """The start of a job. Raises `NoSuchSchedule` for a schedule of anything else."""
    action = description.schedule.action
    if not isinstance(action, ScheduleActionStartWorkflow) or action.workflow != labels.WORKFLOW:
        raise NoSuchSchedule(f"{description.id} is a schedule of something else than jobs")
    return action
