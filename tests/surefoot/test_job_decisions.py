"""Decisions while no worker is up: kept by the server, applied once, and never reported as what they are not."""

from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest
from temporalio.client import WorkflowUpdateRPCTimeoutOrCancelledError
from temporalio.service import RPCError, RPCStatusCode

from surefoot import deciding
from surefoot.client import Client
from surefoot.deciding import Applied
from surefoot.errors import DecisionRefused, JobEnded, NoSuchJob, NoWorker
from surefoot.job import Job
from tests.conftest import Host
from tests.workflows.gated import Ledger, call, ended, started, writer
from workflows.contracts import Decided, Decision, JobView, Pending, Resolution, Segment

AT = datetime(2026, 1, 1, tzinfo=UTC)
TIMED_OUT = WorkflowUpdateRPCTimeoutOrCancelledError()
TASK_FAILED = RPCError(
    "Unable to perform workflow execution update due to unexpected workflow task failure.",
    RPCStatusCode.FAILED_PRECONDITION,
    b"",
)
RUN_ENDED = RPCError("workflow update was aborted by closing workflow", RPCStatusCode.NOT_FOUND, b"")
WORD = Decision(call="c1-1", digest="d", choice="approve", by="ann")
EDIT = Decision(call="c1-1", digest="d", choice="approve", by="ann", arguments={"key": "b"})


def impatient(client: Client, job: Job) -> Job:
    """The same job, seen by somebody who does not wait long for a worker."""
    return Job(client.temporal, job.id, answer_within=timedelta(seconds=0.5))


async def test_a_decision_without_a_worker_is_sent_and_takes_effect_when_one_comes(host: Host) -> None:
    ledger = Ledger()
    agent = writer("w", [call("save", key="a")], tools=[ledger.tool()])
    async with host(agent) as client:
        job, (pending,) = await started(client, "w")
    applied = await impatient(client, job).approve(pending.call, digest=pending.digest, by="ann")
    written_before = list(ledger.written)
    async with host(agent):
        last = await ended(job)

    assert applied == Applied("sent")
    assert written_before == []
    assert ledger.written == ["save a"]
    assert [(d.choice, d.by, d.performed) for d in last.decided] == [("approve", "ann", True)]


async def test_two_people_who_decide_without_a_worker_are_not_both_right(host: Host) -> None:
    ledger = Ledger()
    agent = writer("w", [call("save", key="a")], tools=[ledger.tool()])
    async with host(agent) as client:
        job, (pending,) = await started(client, "w")
    first = await impatient(client, job).deny(pending.call, digest=pending.digest, by="ann")
    second = await impatient(client, job).approve(pending.call, digest=pending.digest, by="bob")
    async with host(agent):
        last = await ended(job)

    assert (first.status, second.status) == ("sent", "sent")
    (decided,) = last.decided
    assert ledger.written == (["save a"] if decided.choice == "approve" else [])
    assert (decided.choice, decided.by) in [("deny", "ann"), ("approve", "bob")]


async def test_what_only_a_worker_can_tell_says_that_none_is_up(host: Host) -> None:
    agent = writer("w", [call("save", key="a")], tools=[Ledger().tool()])
    async with host(agent) as client:
        job, (pending,) = await started(client, "w")
    absent = impatient(client, job)
    with pytest.raises(NoWorker, match="surefoot worker --app"):
        await absent.view()
    with pytest.raises(NoWorker):
        await absent.approve(pending.call, by="ann")
    with pytest.raises(NoWorker):
        await absent.transcript()
    await job.cancel()
    async with host(agent):
        await ended(job)


async def test_a_job_that_does_not_exist_is_named(host: Host) -> None:
    async with host(writer("w", tools=[])) as client:
        job = client.job("no-such-job")
        for ask in (job.view, job.transcript, job.outcome, job.stop, job.cancel, job.pause, job.all_pending):
            with pytest.raises(NoSuchJob, match="no job 'no-such-job'"):
                await ask()
        with pytest.raises(NoSuchJob):
            await job.decide(WORD)
        with pytest.raises(NoSuchJob):
            await job.approve("c1-1", by="ann")
        with pytest.raises(NoSuchJob):
            await client.reply("no-such-job", "go on")


async def test_what_is_meant_for_a_running_job_is_refused_after_its_end(host: Host) -> None:
    async with host(writer("w", tools=[])) as client:
        job = await client.start("w", "go")
        await ended(job)
        for ask in (job.stop, job.cancel, job.pause, job.resume):
            with pytest.raises(JobEnded, match="surefoot reply"):
                await ask()
        with pytest.raises(JobEnded):
            await job.steer("more")
        with pytest.raises(DecisionRefused) as decided:
            await job.decide(WORD)
        with pytest.raises(DecisionRefused) as resolved:
            await job.resolve(Resolution(call="c1-1", choice="give_up", by="ann"))
        nothing = await job.all_pending()

    assert (decided.value.kind, resolved.value.kind) == ("JobEnded", "JobEnded")
    assert nothing == []


class Silent:
    """A job whose update has no answer but `error`: what the state then shows is `view`; None stands for no worker."""

    id = "j"
    answer_within = timedelta(seconds=1)

    def __init__(self, view: JobView | None, error: Exception = TIMED_OUT) -> None:
        self._view, self._error = view, error
        self.signals: list[object] = []

    def handle(self) -> "Silent":
        return self

    async def execute_update(self, *_: Any, **__: Any) -> None:
        raise self._error

    async def signal(self, name: str, word: object) -> None:
        self.signals.append((name, word))

    async def view(self) -> JobView:
        if self._view is None:
            raise NoWorker("none")
        return self._view

    async def segments(self) -> list[Segment]:
        raise NoWorker("none")


def view(*decided: Decided, pending: bool = False) -> JobView:
    waits = Pending(
        call="c1-1", kind="decision", agent="w", tool="save", arguments={}, digest="d", asked_at=AT, allowed=[]
    )
    return JobView(job="j", agent="w", state="running", decided=list(decided), pending=[waits] if pending else [])


def decided(choice: str = "approve", by: str = "ann", digest: str = "d") -> Decided:
    return Decided(call="c1-1", choice=choice, by=by, at=AT, digest=digest)


async def send(job: Silent) -> Applied:
    return await deciding.send(cast(Job, job), "decide", WORD)


@pytest.mark.parametrize("error", [TIMED_OUT, TASK_FAILED, RUN_ENDED])
async def test_an_unanswered_decision_that_the_state_shows_was_applied(error: Exception) -> None:
    job = Silent(view(decided()), error)
    applied = await send(job)

    assert applied == Applied("applied", decided())
    assert job.signals == []


@pytest.mark.parametrize("other", [decided(by="bob"), decided(choice="deny"), decided(digest="e")])
async def test_an_unanswered_decision_is_not_taken_for_somebody_elses(other: Decided) -> None:
    job = Silent(view(other))
    with pytest.raises(DecisionRefused) as caught:
        await send(job)

    assert (caught.value.kind, caught.value.decided) == ("AlreadyDecided", other)
    assert job.signals == []


@pytest.mark.parametrize("error", [TIMED_OUT, TASK_FAILED, RUN_ENDED])
async def test_an_unanswered_decision_on_a_call_that_still_waits_is_left_as_a_signal(error: Exception) -> None:
    job = Silent(view(pending=True), error)
    applied = await send(job)

    assert applied == Applied("sent")
    assert job.signals == [("decide", WORD)]


@pytest.mark.parametrize(
    ("word", "changes", "counts"),
    [
        (WORD, {"approved_by": ["ann"]}, True),
        (WORD, {"approved_by": ["bob"]}, False),
        (WORD, {"approved_by": ["ann"], "digest": "e"}, False),
        (EDIT, {"approved_by": ["ann"], "digest": "e", "arguments": {"key": "b"}}, True),
        (EDIT, {"approved_by": ["ann"], "digest": "e", "arguments": {"key": "c"}}, False),
    ],
    ids=["mine", "somebody else's", "other arguments", "my edit", "somebody else's edit"],
)
async def test_an_unanswered_approval_that_counts_as_one_of_several_is_not_sent_again(
    word: Decision, changes: dict[str, object], counts: bool
) -> None:
    waits = view(pending=True).pending[0].model_copy(update=changes)
    job = Silent(view().model_copy(update={"pending": [waits]}))
    applied = await deciding.send(cast(Job, job), "decide", word)

    assert (applied.status, job.signals) == (("applied", []) if counts else ("sent", [("decide", word)]))


async def test_a_decision_that_comes_as_its_job_ends_is_told_so() -> None:
    job = Silent(view().model_copy(update={"state": "ended"}), RUN_ENDED)
    with pytest.raises(DecisionRefused) as caught:
        await send(job)

    assert caught.value.kind == "JobEnded"
    assert job.signals == []


async def test_an_unanswered_decision_on_an_unknown_call_is_refused() -> None:
    job = Silent(view())
    with pytest.raises(DecisionRefused) as caught:
        await send(job)

    assert caught.value.kind == "UnknownCall"
    assert job.signals == []


async def test_an_unanswered_resolution_is_not_taken_for_the_approval_before_it() -> None:
    job = Silent(view(decided(), pending=True))
    word = Resolution(call="c1-1", choice="not_happened", by="ann")
    applied = await deciding.send(cast(Job, job), "resolve", word)

    assert applied == Applied("sent")
    assert job.signals == [("resolve", word)]


async def test_without_a_worker_the_signal_is_left() -> None:
    job = Silent(None)
    applied = await send(job)

    assert applied == Applied("sent")
    assert job.signals == [("decide", WORD)]
