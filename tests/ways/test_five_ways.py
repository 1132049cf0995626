"""A decision means the same, and is refused alike, whichever of the five ways it comes by."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest
from temporalio.client import Client as Temporal

from activities.agents import Agent
from surefoot.client import Client
from surefoot.job import Job
from tests.conftest import Host
from tests.waiting import until
from tests.ways.ways import NAMES, Way, open_way
from tests.workflows.gated import Ledger, call, ended, results, started, waiting, writer
from workflows.contracts import Pending

Open = Callable[..., AbstractAsyncContextManager[tuple[Client, Way]]]
SAVES = [[call("save", key=key)] for key in ("a", "b", "c")]
BIG = "x" * 900_000


@pytest.fixture(params=NAMES)
def opened(request: pytest.FixtureRequest, host: Host, temporal: Temporal, tmp_path: Path) -> Open:
    """`async with opened(agent) as (client, way):` a worker for the agent, and one of the five ways to its jobs."""

    @asynccontextmanager
    async def start(agent: Agent) -> AsyncIterator[tuple[Client, Way]]:
        async with host(agent) as client, AsyncExitStack() as stack:
            yield client, await open_way(request.param, client, temporal, tmp_path, stack)

    return start


async def taken(way: Way, job: Job, pending: Pending, choice: str, **more: object) -> None:
    """Send a decision that has to be taken."""
    assert await way.send(job.id, pending.call, pending.digest, choice, **more) is None  # type: ignore[arg-type]


async def next_one(job: Job, before: Pending) -> Pending:
    """The one call that waits behind another one."""
    view = await until(job.view, lambda view: [each.call for each in view.pending] not in ([], [before.call]))
    assert len(view.pending) == 1
    return view.pending[0]


async def still_waits(job: Job, pending: Pending) -> None:
    """The job went past whatever was sent, and the call waits as before: a message sent later has been taken."""
    await job.pause(by="later")
    await until(job.audit, lambda audit: any(entry.by == "later" for entry in audit))
    assert [(each.call, each.digest) for each in await job.all_pending()] == [(pending.call, pending.digest)]
    await job.resume(by="later")


async def test_the_first_the_second_and_the_third_gate_of_a_job_are_passed_and_each_call_runs_once(
    opened: Open,
) -> None:
    ledger = Ledger()
    async with opened(writer("w", *SAVES, tools=[ledger.tool()])) as (client, way):
        job, (first,) = await started(client, "w")
        await taken(way, job, first, "approve")
        second = await next_one(job, first)
        await taken(way, job, second, "approve")
        third = await next_one(job, second)
        await taken(way, job, third, "approve")
        view = await ended(job)

    assert ledger.written == ["save a", "save b", "save c"]
    assert [(each.choice, each.performed) for each in view.decided] == [("approve", True)] * 3
    assert len({each.by for each in view.decided}) == 1


async def test_a_decision_on_other_arguments_than_those_that_wait_changes_nothing(opened: Open) -> None:
    ledger = Ledger()
    async with opened(writer("w", SAVES[0], tools=[ledger.tool()])) as (client, way):
        job, (pending,) = await started(client, "w")
        said = await way.send(job.id, pending.call, "0" * 32, "approve")
        await still_waits(job, pending)
        await job.cancel()
        await ended(job)

    assert ledger.written == []
    if way.answers:
        assert said is not None
        assert "nothing" in said.lower() or "read the inbox again" in said


@pytest.mark.parametrize("word", ["null", '"no"', "0", '"false"', "[]", "{}", '{"choice": null}', "true"])
async def test_what_is_no_decision_executes_nothing(opened: Open, word: str) -> None:
    ledger = Ledger()
    async with opened(writer("w", SAVES[0], tools=[ledger.tool()])) as (client, way):
        job, (pending,) = await started(client, "w")
        said = await way.send_raw(job.id, pending.call, word)
        await still_waits(job, pending)
        await job.cancel()
        await ended(job)

    assert ledger.written == []
    assert (said is not None) == way.answers


async def test_a_decision_on_a_call_that_is_not_there_changes_nothing(opened: Open) -> None:
    ledger = Ledger()
    async with opened(writer("w", SAVES[0], tools=[ledger.tool()])) as (client, way):
        job, (pending,) = await started(client, "w")
        said = await way.send(job.id, "c9-9", pending.digest, "approve")
        await still_waits(job, pending)
        await job.cancel()
        await ended(job)

    assert ledger.written == []
    if way.answers:
        assert said is not None
        assert "c9-9" in said


async def test_a_denied_call_never_runs_and_is_not_asked_again(opened: Open) -> None:
    ledger = Ledger()
    rounds = [SAVES[0], [*SAVES[0], *SAVES[1]]]
    async with opened(writer("w", *rounds, tools=[ledger.tool()])) as (client, way):
        job, (first,) = await started(client, "w")
        await taken(way, job, first, "deny", text="over the budget")
        other = await next_one(job, first)
        await taken(way, job, other, "deny")
        await ended(job)
        told = results(await job.transcript())

    assert ledger.written == []
    assert [result.status for result in told] == ["denied"] * 3
    assert "over the budget" in told[0].content


async def test_an_answer_takes_the_place_of_the_tool(opened: Open) -> None:
    ledger = Ledger()
    async with opened(writer("w", SAVES[0], tools=[ledger.tool()])) as (client, way):
        job, (pending,) = await started(client, "w")
        await taken(way, job, pending, "answer", text="it is saved already")
        await ended(job)
        (told,) = results(await job.transcript())

    assert ledger.written == []
    assert told.status == "answered"
    assert told.content.endswith("in the tool's place: it is saved already")


async def test_edited_arguments_run_in_place_of_the_models_and_it_is_told_so(opened: Open) -> None:
    ledger = Ledger()
    async with opened(writer("w", SAVES[0], tools=[ledger.tool()])) as (client, way):
        job, (pending,) = await started(client, "w")
        await taken(way, job, pending, "approve", arguments={"key": "z"})
        await ended(job)
        (told,) = results(await job.transcript())
        edits = [entry for entry in await job.audit() if entry.edited_digest]

    assert ledger.written == ["save z"]
    assert told.edited
    assert [(entry.digest, entry.edited_digest != entry.digest) for entry in edits] == [(pending.digest, True)]


@pytest.mark.parametrize("arguments", [{}, {"key": 1}, {"key": "a", "tool": "drop"}, {"name": "a"}])
async def test_edited_arguments_that_the_tool_does_not_take_change_nothing(
    opened: Open, arguments: dict[str, object]
) -> None:
    ledger = Ledger()
    async with opened(writer("w", SAVES[0], tools=[ledger.tool()])) as (client, way):
        job, (pending,) = await started(client, "w")
        said = await way.send(job.id, pending.call, pending.digest, "approve", arguments=arguments)
        await still_waits(job, pending)
        await job.cancel()
        await ended(job)

    assert ledger.written == []
    assert (said is not None) == way.answers


async def test_an_approval_that_comes_again_after_the_call_ran_does_not_run_it_again(opened: Open) -> None:
    ledger = Ledger()
    async with opened(writer("w", *SAVES[:2], tools=[ledger.tool()])) as (client, way):
        job, (first,) = await started(client, "w")
        await taken(way, job, first, "approve")
        second = await next_one(job, first)
        again = await way.send(job.id, first.call, first.digest, "deny")
        await still_waits(job, second)
        await job.cancel()
        await ended(job)

    assert ledger.written == ["save a"]
    if way.answers:
        assert again is not None
        assert "already" in again


async def test_a_decision_after_the_jobs_end_is_refused_with_a_reason(opened: Open) -> None:
    ledger = Ledger()
    async with opened(writer("w", SAVES[0], tools=[ledger.tool()])) as (client, way):
        job, (pending,) = await started(client, "w")
        await job.cancel()
        await ended(job)
        said = await way.send(job.id, pending.call, pending.digest, "approve")

    assert ledger.written == []
    assert said is not None
    assert any(word in said for word in ("ended", "already completed", "already been"))


async def test_of_two_calls_the_decided_one_leaves_the_inbox_and_both_run_once_in_their_order(opened: Open) -> None:
    ledger = Ledger()
    async with opened(writer("w", [*SAVES[0], *SAVES[1]], tools=[ledger.tool()])) as (client, way):
        job, (first, second) = await started(client, "w", 2)
        await taken(way, job, second, "approve")
        left = await waiting(job)
        before = list(ledger.written)
        await taken(way, job, first, "approve")
        await ended(job)

    assert [each.call for each in left] == [first.call]
    assert before == []
    assert ledger.written == ["save a", "save b"]


async def test_the_same_approval_twice_at_once_runs_the_call_once(opened: Open) -> None:
    ledger = Ledger()
    async with opened(writer("w", SAVES[0], tools=[ledger.tool()])) as (client, way):
        job, (pending,) = await started(client, "w")
        send = [way.send(job.id, pending.call, pending.digest, "approve") for _ in range(2)]
        said = await asyncio.gather(*send)
        await ended(job)

    assert ledger.written == ["save a"]
    assert None in said


async def test_a_call_with_almost_a_megabyte_of_arguments_can_be_approved(opened: Open) -> None:
    ledger = Ledger()
    async with opened(writer("w", [call("save", key=BIG)], tools=[ledger.tool()])) as (client, way):
        job, (pending,) = await started(client, "w")
        await taken(way, job, pending, "approve")
        await ended(job)

    assert [len(each) for each in ledger.written] == [len(BIG) + len("save ")]
