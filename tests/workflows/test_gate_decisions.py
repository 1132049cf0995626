"""What each decision does: once, to exactly the call and the arguments that it was made for."""

import asyncio
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest

from activities.tools.rendering import well_formed
from activities.tools.tool import tool
from surefoot.errors import DecisionRefused
from surefoot.job import Job
from tests.conftest import Host
from tests.waiting import Flag, until
from tests.workflows.gated import Ledger, call, ended, results, started, waiting, writer
from workflows.contracts import Decision, Limits, Pending

pytestmark = pytest.mark.cold


def decision(pending: Pending, choice: str = "approve", **more: object) -> Decision:
    fields = {"call": pending.call, "digest": pending.digest, "choice": choice, "by": "ann", **more}
    return Decision.model_validate(fields)


async def refused(job: Job, given: Decision) -> DecisionRefused:
    with pytest.raises(DecisionRefused) as caught:
        await job.decide(given)
    return caught.value


async def offers(job: Job, call: str) -> bool:
    return [pending.call for pending in (await job.view()).pending] == [call]


async def test_a_pending_call_shows_all_that_a_person_needs(host: Host) -> None:
    @tool(preview=lambda key: f"would save {key}")
    async def save(key: str) -> str:
        """Save something."""
        return key

    before = datetime.now(UTC)
    async with host(writer("w", [call("save", key="a")], tools=[save], text="a must be saved")) as client:
        job, _ = await started(client, "w")
        view = await until(job.view, lambda view: view.pending[0].preview is not None)
        items = await until(client.inbox, lambda items: any(i.job == job.id and i.preview for i in items))
        await job.cancel()
        await ended(job)

    (pending,) = view.pending
    assert (view.state, pending.kind, pending.agent, pending.tool) == ("waiting", "decision", "w", "save")
    assert (pending.call, pending.arguments, len(pending.digest)) == ("c1-1", {"key": "a"}, 64)
    assert (pending.why, pending.preview) == ("a must be saved", "would save a")
    assert before - timedelta(seconds=1) < pending.asked_at < datetime.now(UTC)
    assert pending.expires_at is None
    assert pending.allowed == ["approve", "edit", "answer", "deny", "grant"]
    (item,) = [item for item in items if item.job == job.id]
    assert item.model_dump(exclude={"job", "parameters"}) == pending.model_dump(exclude={"parameters"})


async def test_an_old_decision_after_execution_is_told_who_decided_what_and_when(host: Host) -> None:
    ledger = Ledger()
    agent = writer("w", [call("save", key="a")], [call("save", key="b")], tools=[ledger.tool()])
    async with host(agent) as client:
        job, (first,) = await started(client, "w")
        applied = await job.decide(decision(first))
        await until(job.view, lambda view: [p.call for p in view.pending] == ["c2-1"])
        again = await refused(job, decision(first, by="bob"))
        denied = await refused(job, decision(first, "deny", by="bob"))
        (second,) = await waiting(job)
        await job.decide(decision(second))
        await ended(job)
        after_the_end = await refused(job, decision(first, by="bob"))

    assert ledger.written == ["save a", "save b"]
    for error in (again, denied, after_the_end):
        assert error.kind == "AlreadyDecided"
        assert error.decided is not None
        assert (error.decided.by, error.decided.choice, error.decided.performed) == ("ann", "approve", True)
        assert applied.decided is not None
        assert error.decided.at == applied.decided.at
        at = applied.decided.at.isoformat(sep=" ", timespec="seconds")
        assert f"approved by ann at {at}" in str(error)


async def test_the_same_decision_sent_twice_is_applied_once_and_answered_alike(host: Host) -> None:
    ledger = Ledger()
    async with host(writer("w", [call("save", key="a")], tools=[ledger.tool()])) as client:
        job, (pending,) = await started(client, "w")
        one, two = await asyncio.gather(job.decide(decision(pending)), job.decide(decision(pending)))
        await ended(job)

    assert one == two
    assert ledger.written == ["save a"]


async def test_of_two_people_who_decide_at_the_same_moment_one_is_told_of_the_other(host: Host) -> None:
    ledger = Ledger()
    async with host(writer("w", [call("save", key="a")], tools=[ledger.tool()])) as client:
        job, (pending,) = await started(client, "w")
        answers = await asyncio.gather(
            job.decide(decision(pending, by="ann")),
            job.decide(decision(pending, "deny", by="bob")),
            return_exceptions=True,
        )
        last = await ended(job)

    (lost,) = [answer for answer in answers if isinstance(answer, DecisionRefused)]
    assert lost.kind == "AlreadyDecided"
    assert lost.decided is not None
    assert [(d.by, d.choice) for d in last.decided] == [(lost.decided.by, lost.decided.choice)]
    assert ledger.written == (["save a"] if lost.decided.choice == "approve" else [])


async def test_a_decision_for_other_arguments_is_stale_and_the_call_stays_pending(host: Host) -> None:
    ledger = Ledger()
    async with host(writer("w", [call("save", key="a")], tools=[ledger.tool()])) as client:
        job, (pending,) = await started(client, "w")
        error = await refused(job, decision(pending.model_copy(update={"digest": "0" * 64})))
        (still,) = await waiting(job)
        await job.decide(decision(still))
        await ended(job)

    assert error.kind == "StaleArguments"
    assert pending.digest in str(error)
    assert ledger.written == ["save a"]


async def test_a_decision_on_a_call_that_is_not_there_names_those_that_wait(host: Host) -> None:
    async with host(writer("w", [call("save", key="a")], tools=[Ledger().tool()])) as client:
        job, (pending,) = await started(client, "w")
        error = await refused(job, decision(pending.model_copy(update={"call": "c7-7"})))
        with pytest.raises(DecisionRefused) as by_name:
            await job.approve("c7-7", by="ann")
        await job.cancel()
        await ended(job)

    assert (error.kind, by_name.value.kind) == ("UnknownCall", "UnknownCall")
    assert "c1-1" in str(error)
    assert "c1-1" in str(by_name.value)


async def test_a_decision_after_the_end_is_refused_with_the_reason(host: Host) -> None:
    ledger = Ledger()
    async with host(writer("w", [call("save", key="a")], tools=[ledger.tool()])) as client:
        job, (pending,) = await started(client, "w")
        await job.cancel()
        await ended(job)
        error = await refused(job, decision(pending))
        with pytest.raises(DecisionRefused) as by_name:
            await job.approve(pending.call, by="ann")

    assert (error.kind, by_name.value.kind) == ("JobEnded", "JobEnded")
    assert "has ended" in str(error)
    assert ledger.written == []


async def test_a_tool_starts_within_two_seconds_of_its_approval_and_nothing_else(host: Host) -> None:
    begun = Flag()

    @tool
    async def save(key: str) -> str:
        """Save something."""
        begun.set()
        return key

    async with host(writer("w", [call("save", key="a")], tools=[save])) as client:
        job, (pending,) = await started(client, "w")
        await job.decide(decision(pending))
        async with asyncio.timeout(2):
            await begun.wait()
        await ended(job)


async def test_decided_and_performed_are_two_visible_states(host: Host) -> None:
    go_on = Flag()

    @tool
    async def save(key: str) -> str:
        """Save something."""
        await go_on.wait()
        return key

    async with host(writer("w", [call("save", key="a")], tools=[save])) as client:
        job, (pending,) = await started(client, "w")
        applied = await job.decide(decision(pending))
        during = await job.view()
        # The server's lists follow a moment later; the tool is held until they have.
        inbox = await until(client.inbox, lambda items: all(item.job != job.id for item in items))
        go_on.set()
        last = await ended(job)

    assert applied.decided is not None
    assert not applied.decided.performed
    assert (during.state, during.pending) == ("running", [])
    assert [d.performed for d in during.decided] == [False]
    assert job.id not in [item.job for item in inbox]
    assert [d.performed for d in last.decided] == [True]


async def test_an_approved_write_that_fails_is_never_shown_as_performed(host: Host) -> None:
    @tool
    async def save(key: str) -> str:
        """Save something."""
        raise ValueError("disk full")

    async with host(writer("w", [call("save", key="a")], tools=[save])) as client:
        job, (pending,) = await started(client, "w")
        await job.decide(decision(pending))
        last = await ended(job)
        said = results(await job.transcript())

    assert [(d.choice, d.performed) for d in last.decided] == [("approve", False)]
    assert [(r.status, "disk full" in r.content) for r in said] == [("error", True)]


async def test_an_answer_stands_in_the_tools_place_and_nothing_runs(host: Host) -> None:
    ledger = Ledger()
    async with host(writer("w", [call("save", key="a")], tools=[ledger.tool()])) as client:
        job, (pending,) = await started(client, "w")
        await job.answer(pending.call, "it is saved already", by="ann")
        last = await ended(job)
        said = results(await job.transcript())

    assert ledger.written == []
    assert [(r.status, r.content) for r in said] == [
        ("answered", "Not executed. ann answered in the tool's place: it is saved already")
    ]
    assert last.outcome is not None
    assert last.outcome.status == "complete"


async def test_second_and_third_gates_of_one_job_work_like_the_first(host: Host) -> None:
    ledger = Ledger()
    agent = writer("w", *[[call("save", key=key)] for key in "abc"], tools=[ledger.tool()])
    async with host(agent) as client:
        job = await client.start("w", "go")
        for name in ("c1-1", "c2-1", "c3-1"):
            await until(partial(offers, job, name))
            await job.approve(name, by="ann")
        last = await ended(job)

    assert ledger.written == ["save a", "save b", "save c"]
    assert [(d.call, d.performed) for d in last.decided] == [("c1-1", True), ("c2-1", True), ("c3-1", True)]


async def test_waiting_for_a_person_is_no_time_of_the_job(host: Host) -> None:
    ledger = Ledger()
    agent = writer("w", [call("save", key="a")], tools=[ledger.tool()], limits=Limits(seconds=1.0))
    async with host(agent) as client:
        job, (pending,) = await started(client, "w")
        asked = pending.asked_at
        await until(client.inbox, lambda _: datetime.now(UTC) - asked > timedelta(seconds=1.3))
        await job.decide(decision(pending))
        last = await ended(job)

    assert ledger.written == ["save a"]
    assert last.outcome is not None
    assert last.outcome.status == "complete"


@pytest.mark.parametrize("text", ["", "no\x00way", "half \ud800 a character", "two \ud83d\ude00 halves", "ä😀\n" * 5])
async def test_any_text_of_a_person_reaches_the_model(host: Host, text: str) -> None:
    ledger = Ledger()
    agent = writer("w", [call("save", key="a"), call("save", key="b")], tools=[ledger.tool()])
    async with host(agent) as client:
        job, (first, second) = await started(client, "w", 2)
        await job.deny(first.call, reason=text, by="ann")
        await job.answer(second.call, text, by=f"bob {text}")
        last = await ended(job)
        denied, answered = results(await job.transcript())

    assert ledger.written == []
    assert well_formed(text).strip() in denied.content
    assert answered.content.endswith(f": {well_formed(text)}")
    assert [d.text for d in last.decided] == [well_formed(text), well_formed(text)]
