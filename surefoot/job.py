"""One job, seen from outside: its state, what was said, and what people can send it.

A decision is sent as an update, which answers; the server may lose an update that no worker has seen, so after a
time-out the state is read again, and without a worker the signal of the same meaning is sent, which the server keeps.
"""

import asyncio
import hashlib
import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal

from temporalio.client import Client as Temporal
from temporalio.client import (
    WorkflowExecutionDescription,
    WorkflowExecutionStatus,
    WorkflowFailureError,
    WorkflowHandle,
    WorkflowQueryFailedError,
    WorkflowQueryRejectedError,
    WorkflowUpdateFailedError,
    WorkflowUpdateRPCTimeoutOrCancelledError,
)
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError, RPCStatusCode

from surefoot.errors import (
    DecisionRefused,
    JobEnded,
    JobRunning,
    NoSuchJob,
    NoWorker,
    ServerNotReached,
    SurefootError,
    TooLarge,
)
from surefoot.rpc import reaching
from workflows.contracts import (
    Decided,
    Decision,
    Entry,
    JobEnd,
    JobState,
    JobView,
    JsonObject,
    Outcome,
    Pending,
    Record,
    Resolution,
    Segment,
    Steer,
    TranscriptPage,
)

ANSWER_WITHIN = timedelta(seconds=10)
"""How long a worker may take to answer a query or an update before it counts as absent."""

DECISION_BYTES = 1_000_000
POLL_SECONDS = 0.25


@dataclass(frozen=True)
class Applied:
    """What became of a decision: `applied` at once, or `sent`, kept by the server until a worker is up."""

    status: Literal["applied", "sent"]
    decided: Decided | None = None


@dataclass(frozen=True)
class Ended:
    """The end of a job's last run, and what a reply needs to know of it."""

    outcome: Outcome
    carry: JobState
    task_queue: str
    print: str


class Job:
    """A job by its id."""

    def __init__(self, temporal: Temporal, id: str) -> None:
        self._temporal = temporal
        self.id = id

    def __repr__(self) -> str:
        return f"<Job {self.id}>"

    def _handle(self, run_id: str | None = None) -> WorkflowHandle[Any, Any]:
        return self._temporal.get_workflow_handle(self.id, run_id=run_id)

    # --- looking

    async def view(self) -> JobView:
        """The job's state now. Raises `NoSuchJob`; `NoWorker` if it runs and no worker answers."""
        description = await self._describe()
        if description.status == WorkflowExecutionStatus.RUNNING:
            try:
                view: JobView = await self._ask("progress", JobView, description.run_id)
            except JobEnded:
                return await self.view()
            return view
        return await self._ended_view(description)

    async def has_ended(self) -> bool:
        """Asked of the server alone: no worker need be up. Raises `NoSuchJob`."""
        return (await self._describe()).status != WorkflowExecutionStatus.RUNNING

    async def queue(self) -> str:
        """The task queue that the job's workers serve."""
        return (await self._describe()).task_queue

    async def _ended_view(self, description: WorkflowExecutionDescription) -> JobView:
        end = await fetch_end(self._temporal, self.id)
        spent = end.carry.overall
        return JobView(
            job=self.id,
            agent=end.carry.agent,
            state="ended",
            rounds=spent.rounds,
            tool_calls=spent.usage.tool_calls,
            pending=[],
            decided=list(end.carry.decided.values()),
            usage=spent.usage,
            entries=end.carry.entries,
            history_events=description.history_length,
            history_bytes=description.raw_description.workflow_execution_info.history_size_bytes,
            outcome=end.outcome,
        )

    async def outcome(self) -> Outcome:
        """Wait for the job's end, however long it takes, and return how it ended."""
        await self._describe()
        with reaching(self.id):
            try:
                end: JobEnd = await self._temporal.get_workflow_handle(self.id, result_type=JobEnd).result()
            except WorkflowFailureError:
                return (await fetch_end(self._temporal, self.id)).outcome
        return end.outcome

    async def follow(self) -> AsyncIterator[JobView]:
        """The job's state whenever it changed, until it has ended; the last one has the outcome."""
        last: JobView | None = None
        while True:
            view = await self.view()
            if view != last:
                yield view
                last = view
            if view.state == "ended":
                return
            await asyncio.sleep(POLL_SECONDS)

    async def transcript(self, start: int = 0) -> list[Entry]:
        """Everything said so far, by the model, the tools and people, from entry number `start` on."""
        description = await self._describe()
        first = await self._page(description.run_id, 0)
        segments = [*first.earlier, Segment(run_id=description.run_id, entries=first.total)]
        entries: list[Entry] = []
        for segment in segments:
            entries += await self._entries(segment, min(start, segment.entries))
            start = max(0, start - segment.entries)
        return entries

    async def _entries(self, segment: Segment, start: int) -> list[Entry]:
        entries: list[Entry] = []
        while start + len(entries) < segment.entries:
            page = await self._page(segment.run_id, start + len(entries))
            if not page.entries:
                break
            entries += page.entries
        return entries[: segment.entries - start]

    async def _page(self, run_id: str, start: int) -> TranscriptPage:
        page: TranscriptPage = await self._ask("transcript", TranscriptPage, run_id, start)
        return page

    async def _describe(self) -> WorkflowExecutionDescription:
        with reaching(self.id):
            return await self._handle().describe()

    async def _ask(self, query: str, kind: type[Any], run_id: str | None, *arguments: Any) -> Any:
        with reaching(self.id):
            try:
                return await self._handle(run_id).query(
                    query, args=list(arguments), result_type=kind, rpc_timeout=ANSWER_WITHIN
                )
            except WorkflowQueryFailedError as error:
                raise NoWorker(f"job {self.id} can't be looked at: {error}") from None

    # --- deciding

    async def pending(self, call: str) -> Pending:
        """The pending call of this id. Raises `DecisionRefused` if it does not wait (any more)."""
        view = await self.view()
        for each in view.pending:
            if each.call == call:
                return each
        raise _not_pending(view, call)

    async def approve(
        self, call: str, *, digest: str | None = None, arguments: JsonObject | None = None, by: str
    ) -> Applied:
        """Let a pending call run, with `arguments` in place of its own if given.

        `digest` is that of the arguments that the person saw; without it the call is read first, and what it asks for
        now is approved.
        """
        digest = digest or (await self.pending(call)).digest
        return await self.decide(Decision(call=call, digest=digest, choice="approve", arguments=arguments, by=by))

    async def deny(self, call: str, *, reason: str | None = None, digest: str | None = None, by: str) -> Applied:
        digest = digest or (await self.pending(call)).digest
        return await self.decide(Decision(call=call, digest=digest, choice="deny", text=reason, by=by))

    async def answer(self, call: str, text: str, *, digest: str | None = None, by: str) -> Applied:
        """Answer in the tool's place; the tool does not run."""
        digest = digest or (await self.pending(call)).digest
        return await self.decide(Decision(call=call, digest=digest, choice="answer", text=text, by=by))

    async def decide(self, decision: Decision) -> Applied:
        """Send a decision. Raises `DecisionRefused` when it has no effect, saying why."""
        return await self._send("decide", decision, decision.call)

    async def resolve(self, resolution: Resolution) -> Applied:
        """Say how a call with an unknown outcome ended. Raises `DecisionRefused`."""
        return await self._send("resolve", resolution, resolution.call)

    async def _send(self, name: str, word: Record, call: str) -> Applied:
        text = word.model_dump_json(exclude_unset=True)
        if len(text) > DECISION_BYTES:
            raise TooLarge(f"the decision on {call} has {len(text)} bytes, at most {DECISION_BYTES} fit")
        update_id = f"{name}-{call}-{hashlib.sha256(text.encode()).hexdigest()[:16]}"
        try:
            with reaching(self.id):
                decided = await self._handle().execute_update(
                    name, word, id=update_id, result_type=Decided, rpc_timeout=ANSWER_WITHIN
                )
        except WorkflowUpdateFailedError as error:
            raise _refused(error) from None
        except WorkflowUpdateRPCTimeoutOrCancelledError:
            return await self._send_durably(name, word, call)
        return Applied("applied", decided)

    async def _send_durably(self, name: str, word: Record, call: str) -> Applied:
        """After a time-out: nobody knows whether the update was taken, so look, and else leave a signal."""
        try:
            view = await self.view()
        except NoWorker:
            with reaching(self.id):
                await self._handle().signal(name, word)
            return Applied("sent")
        for decided in view.decided:
            if decided.call == call:
                return Applied("applied", decided)
        raise NoWorker(f"job {self.id} did not take the decision on {call} in time; look at it and send it again")

    # --- steering

    async def steer(self, text: str, *, by: str | None = None, id: str | None = None) -> None:
        """Add a person's message to the running job, after the results of its current round."""
        from surefoot.client import checked

        await self._signal("steer", Steer(id=id or uuid.uuid4().hex, text=checked(text), by=by))

    async def stop(self, *, by: str = "a person") -> None:
        """End at the next step, with a closing call."""
        await self._signal("stop", by)

    async def pause(self) -> None:
        await self._signal("pause")

    async def resume(self) -> None:
        await self._signal("resume")

    async def cancel(self) -> None:
        """End now."""
        await self._must_run()
        with reaching(self.id):
            await self._handle().cancel()

    async def _signal(self, name: str, *arguments: Any) -> None:
        await self._must_run()
        with reaching(self.id):
            await self._handle().signal(name, args=list(arguments))

    async def _must_run(self) -> None:
        description = await self._describe()
        if description.status != WorkflowExecutionStatus.RUNNING:
            raise JobEnded(f"job {self.id} has ended; go on with: surefoot reply {self.id} TEXT")


async def fetch_end(temporal: Temporal, job: str) -> Ended:
    """How the last run of a job ended. Raises `JobRunning` if it has not, `NoSuchJob`."""
    handle = temporal.get_workflow_handle(job, result_type=JobEnd)
    with reaching(job):
        description = await handle.describe()
        if description.status == WorkflowExecutionStatus.RUNNING:
            raise JobRunning(f"job {job} has not ended; reach it with: surefoot steer {job} TEXT")
        try:
            end: JobEnd = await handle.result(follow_runs=False)
        except WorkflowFailureError as error:
            end = await _end_of_failure(temporal, job, description, error)
    print_ = await description.memo_value("print", "")
    return Ended(end.outcome, end.carry, description.task_queue, print_)


async def _end_of_failure(
    temporal: Temporal, job: str, description: WorkflowExecutionDescription, error: WorkflowFailureError
) -> JobEnd:
    """A run without a result: failed with its end in the error, or ended from outside (terminated, timed out)."""
    cause = error.cause
    if isinstance(cause, ApplicationError) and cause.details:
        return JobEnd.model_validate(cause.details[0])
    text = f"the run ended as {description.status.name if description.status else 'unknown'}: {cause}"
    carry = JobState(agent=await description.memo_value("agent", "?"))
    if not (isinstance(cause, ApplicationError) and cause.type == "BadStart"):
        handle = temporal.get_workflow_handle(job, run_id=description.run_id)
        try:
            carry = await handle.query("carry", result_type=JobState, rpc_timeout=ANSWER_WITHIN)
        except (RPCError, WorkflowQueryFailedError, WorkflowQueryRejectedError) as failed:
            raise NoWorker(f"job {job}: {text}; a worker must be up to read what it had done ({failed})") from None
    outcome = Outcome(status="failed", error=text, summary=text, requires_human=True, usage=carry.overall.usage)
    return JobEnd(outcome=outcome, carry=carry)


def _refused(error: WorkflowUpdateFailedError) -> SurefootError:
    cause = error.cause
    if not isinstance(cause, ApplicationError):
        return DecisionRefused("NotAllowed", str(cause or error))
    decided = Decided.model_validate(cause.details[0]) if cause.details else None
    return DecisionRefused(cause.type or "NotAllowed", cause.message, decided)


def _not_pending(view: JobView, call: str) -> DecisionRefused:
    for decided in view.decided:
        if decided.call == call:
            text = f"call {call} was already decided: {decided.choice} by {decided.by} at {decided.at.isoformat()}"
            return DecisionRefused("AlreadyDecided", text, decided)
    if view.state == "ended":
        return DecisionRefused("JobEnded", f"job {view.job} has ended; nothing can be decided any more")
    waiting = ", ".join(pending.call for pending in view.pending) or "none"
    return DecisionRefused("UnknownCall", f"no call {call} waits in job {view.job}; waiting: {waiting}")


__all__ = ["Applied", "Ended", "Job", "NoSuchJob", "RPCStatusCode", "ServerNotReached", "fetch_end"]
