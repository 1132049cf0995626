"""One job, seen from outside: its state, what was said, and what people can send it."""

import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from typing import Any

from temporalio.client import (
    WorkflowExecutionDescription,
    WorkflowExecutionStatus,
    WorkflowFailureError,
)

from surefoot import deciding
from surefoot.deciding import Applied
from surefoot.delays import not_begun
from surefoot.ends import fetch_end
from surefoot.errors import DecisionRefused, JobEnded, NoWorker
from surefoot.glances import Glance, glance_at, mark_of
from surefoot.listening import News, listen
from surefoot.lists import JobRow, row_of
from surefoot.logbook import Logbook
from surefoot.rpc import job_ended, reaching
from surefoot.texts import checked, named
from surefoot.watching import watch
from workflows.contracts import (
    Choice,
    Decision,
    GrantTerms,
    JobEnd,
    JobView,
    JsonObject,
    Outcome,
    Pending,
    Resolution,
    Steer,
)
from workflows.showing import seen_of

POLL_SECONDS = 0.25


class Job(Logbook):
    """A job by its id."""

    def other(self, id: str) -> "Job":
        """Another job on the same server."""
        return Job(self._temporal, id, answer_within=self.answer_within)

    # --- looking

    async def view(self) -> JobView:
        """The job's state now. Raises `NoSuchJob`; `NoWorker` if it runs and no worker answers."""
        description = await self._describe()
        if description.status == WorkflowExecutionStatus.RUNNING:
            if (later := not_begun(description)) is not None:
                return later
            try:
                return await self._running_view(description.run_id)
            except JobEnded:
                return await self.view()
        return await self._ended_view(description)

    async def _running_view(self, run_id: str) -> JobView:
        view: JobView = await self._ask("progress", JobView, run_id)
        if view.pending and (more := await self._pending_after(run_id, view.pending[-1].call)):
            return view.model_copy(update={"pending": [*view.pending, *more]})
        return view

    async def has_ended(self) -> bool:
        """Asked of the server alone: no worker need be up. Raises `NoSuchJob`."""
        return (await self._describe()).status != WorkflowExecutionStatus.RUNNING

    async def mark(self) -> object:
        """Equal to an earlier one if nothing happened in between. Asked of the server alone; raises `NoSuchJob`."""
        return mark_of(await self._describe())

    async def glance(self) -> Glance:
        """That mark, and what the model is just saying. Asked of the server alone; raises `NoSuchJob`."""
        description = await self._describe()
        with reaching(self.id):
            return await glance_at(description)

    async def row(self) -> JobRow:
        """What the server itself knows of the job, as in a list: no worker need be up. Raises `NoSuchJob`."""
        return await row_of(await self._describe())

    async def queue(self) -> str:
        """The task queue that the job's workers serve."""
        return (await self._describe()).task_queue

    async def _ended_view(self, description: WorkflowExecutionDescription) -> JobView:
        end = await fetch_end(self._temporal, self.id, answer_within=self.answer_within)
        return JobView(
            job=self.id,
            state="ended",
            entries=end.carry.entries,
            **seen_of(end.carry),
            history_events=description.history_length,
            history_bytes=description.raw_description.workflow_execution_info.history_size_bytes,
            outcome=end.outcome,
        )

    async def outcome(self) -> Outcome:
        """Wait for the job's end, however long it takes, and return how it ended."""
        with reaching(self.id):
            try:
                end: JobEnd = await self._temporal.get_workflow_handle(self.id, result_type=JobEnd).result()
            except WorkflowFailureError:
                return (await fetch_end(self._temporal, self.id, answer_within=self.answer_within)).outcome
        return end.outcome

    def follow(self) -> AsyncIterator[JobView]:
        """The job's state whenever it changed, until it has ended; the last one has the outcome."""
        return watch(self.view, every=POLL_SECONDS)

    def listen(self, start: int = 0) -> AsyncIterator[News]:
        """Everything in it as it comes, from entry number `start` on, until it has ended.

        `Recorded` entries, a `JobView` whenever the state changed (the last one has the outcome), and while the model
        answers what it has `Said` since. Pieces are a foretaste: they are void when `Forgotten` says so, and the turn
        that follows has them and what was missed of them. Raises `NoSuchJob`, and `NoWorker` if none answers.
        """
        return listen(self, start)

    # --- deciding

    async def pending(self, call: str) -> Pending:
        """The pending call of this id, whole. Raises `DecisionRefused` if it does not wait (any more)."""
        description = await self._describe()
        if description.status == WorkflowExecutionStatus.RUNNING:
            with suppress(JobEnded):
                found: Pending | None = await self._ask("pending_call", Pending, description.run_id, call)
                if found is not None:
                    return found
        raise await deciding.not_waiting(self, call)

    async def all_pending(self) -> list[Pending]:
        """Every call that waits for a person, whole."""
        description = await self._describe()
        if description.status != WorkflowExecutionStatus.RUNNING:
            return []
        return await self._pending_after(description.run_id, "")

    async def _pending_after(self, run_id: str, call: str) -> list[Pending]:
        """The pending calls behind `call`, as many pages of them as there are."""
        found: list[Pending] = []
        while page := await self._ask("pending_calls", list[Pending], run_id, found[-1].call if found else call):
            found += page
        return found

    async def approve(
        self,
        call: str,
        *,
        digest: str | None = None,
        arguments: JsonObject | None = None,
        grant: GrantTerms | None = None,
        by: str,
        roles: Sequence[str] = (),
    ) -> Applied:
        """Let a pending call run, with `arguments` in place of its own if given.

        `grant` lets calls to come through as well, `roles` are those that the caller vouches for.
        `digest` is that of the arguments that the person saw; without it the call is read first, and what it asks for
        now is approved.
        """
        return await self._decide("approve", call, digest, by, roles, arguments=arguments, grant=grant)

    async def deny(
        self, call: str, *, reason: str | None = None, digest: str | None = None, by: str, roles: Sequence[str] = ()
    ) -> Applied:
        return await self._decide("deny", call, digest, by, roles, text=reason)

    async def answer(
        self, call: str, text: str, *, digest: str | None = None, by: str, roles: Sequence[str] = ()
    ) -> Applied:
        """Answer in the tool's place; the tool does not run."""
        return await self._decide("answer", call, digest, by, roles, text=text)

    async def _decide(
        self, choice: Choice, call: str, digest: str | None, by: str, roles: Sequence[str], **more: Any
    ) -> Applied:
        """One look at the call tells what is decided on and which question that answers."""
        asked: Pending | None
        if digest is None:
            asked = await self.pending(call)
            digest = asked.digest
        else:
            asked = await self._asked(call)
        given = {name: value for name, value in {**more, "roles": list(roles)}.items() if value not in (None, [])}
        decision = Decision(call=call, digest=digest, choice=choice, by=by, **given)
        return await deciding.send(self, "decide", decision, asked)

    async def decide(self, decision: Decision) -> Applied:
        """Send a decision. Raises `DecisionRefused` when it has no effect, saying why."""
        return await deciding.send(self, "decide", decision, await self._asked(decision.call))

    async def resolve(self, resolution: Resolution) -> Applied:
        """Say how a call with an unknown outcome ended. Raises `DecisionRefused`."""
        return await deciding.send(self, "resolve", resolution, await self._asked(resolution.call))

    async def _asked(self, call: str) -> Pending | None:
        """Which question a word on this call answers: a call can be asked about more than once."""
        with suppress(NoWorker, DecisionRefused):  # then the job itself says so, when it gets the word
            return await self.pending(call)
        return None

    # --- steering

    async def steer(self, text: str, *, by: str | None = None, id: str | None = None) -> None:
        """Add a person's message to the running job, after the results of its current round."""
        await self._signal("steer", Steer(id=id or uuid.uuid4().hex, text=checked(text), by=named(by)))

    async def stop(self, *, by: str = "a person") -> None:
        """End at the next step, with a closing call."""
        await self._signal("stop", by)

    async def pause(self, *, by: str = "a person") -> None:
        await self._signal("pause", by)

    async def resume(self, *, by: str = "a person") -> None:
        await self._signal("resume", by)

    async def cancel(self, *, by: str = "a person") -> None:
        """End now."""
        # Temporal's own cancellation names nobody: who wanted it goes before it, into the audit.
        await self._signal("cancelled_by", by)
        with reaching(self.id):
            await self.handle().cancel()

    async def _signal(self, name: str, *arguments: Any) -> None:
        await self._must_run()
        with reaching(self.id):
            await self.handle().signal(name, args=list(arguments))

    async def _must_run(self) -> None:
        description = await self._describe()
        if description.status != WorkflowExecutionStatus.RUNNING:
            raise job_ended(self.id)


__all__ = ["POLL_SECONDS", "Applied", "Job"]
