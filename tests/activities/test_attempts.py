"""Attempts: the mark, the count of failures and the sign of life all go one way, in order."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta

import pytest
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError

from activities.attempts import Attempt, AttemptOver, Ledger
from tests.activities.heartbeats import CANCELLED, UNKNOWN_ATTEMPT, UNREACHED, Server, environment
from tests.waiting import until


async def test_the_mark_is_with_the_server_when_mark_started_returns() -> None:
    server = Server(delay=0.01)

    async def work() -> list[dict[str, object]]:
        await Attempt().mark_started()
        return list(server.beats)

    assert await environment(server).run(work) == [{"started": True, "failures": 0, "passed": 0}]


async def test_every_beat_carries_the_mark_and_the_count_on() -> None:
    server = Server()

    async def work() -> None:
        attempt = Attempt()
        async with attempt.beating(until_mark=True):
            await attempt.mark_started()
            await until(_count(server.held_back, 3))

    await environment(server, attempt=3, left=[{"started": False, "failures": 2, "passed": 0}], heartbeat=0.03).run(
        work
    )

    assert server.beats == [{"started": True, "failures": 2, "passed": 0}]
    assert server.held_back[:3] == [{"started": True, "failures": 2, "passed": 0}] * 3


async def test_before_the_mark_no_beat_is_left_to_the_sdk_which_would_send_it_late() -> None:
    server = Server()

    async def work() -> None:
        attempt = Attempt()
        async with attempt.beating(until_mark=True):
            await until(_count(server.beats, 3))

    await environment(server, heartbeat=0.03).run(work)

    assert server.beats[:3] == [{"started": False, "failures": 0, "passed": 0}] * 3
    assert server.held_back == []


async def test_a_beat_under_way_is_never_overtaken_by_the_mark() -> None:
    server = Server(delay=0.1)

    async def under_way() -> bool:
        return server.under_way == 1

    async def work() -> None:
        attempt = Attempt()
        async with attempt.beating(until_mark=True):
            await until(under_way)
            await attempt.mark_started()

    await environment(server, heartbeat=0.03).run(work)

    assert server.at_once == 1
    assert server.beats == [
        {"started": False, "failures": 0, "passed": 0},
        {"started": True, "failures": 0, "passed": 0},
    ]


async def test_what_has_no_mark_beats_through_the_sdk() -> None:
    server = Server()

    async def work() -> None:
        async with Attempt().beating():
            await until(_count(server.held_back, 2))

    await environment(server, heartbeat=0.03).run(work)

    assert server.beats == []


@pytest.mark.parametrize("answer", [CANCELLED, UNKNOWN_ATTEMPT], ids=["cancelled", "not found"])
async def test_an_attempt_that_is_over_is_refused_its_mark(answer: Exception) -> None:
    async def work() -> None:
        await Attempt().mark_started()

    with pytest.raises(AttemptOver):
        await environment(Server(answer)).run(work)


async def test_a_mark_that_was_refused_is_taken_back() -> None:
    server = Server(CANCELLED)

    async def work() -> None:
        await Attempt().mark_started()

    with pytest.raises(AttemptOver):
        await environment(server, left=[{"started": False, "failures": 1, "passed": 0}]).run(work)

    assert server.beats == [{"started": False, "failures": 1, "passed": 0}]


async def test_without_a_server_there_is_no_mark() -> None:
    async def work() -> None:
        await Attempt().mark_started()

    with pytest.raises(RPCError, match="no server"):
        await environment(Server(UNREACHED)).run(work)


@pytest.mark.parametrize("answer", [CANCELLED, UNKNOWN_ATTEMPT], ids=["cancelled", "not found"])
async def test_a_beat_that_learns_that_the_attempt_is_over_cancels_its_work(answer: Exception) -> None:
    attempts: list[Attempt] = []

    async def work() -> None:
        attempts.append(Attempt())
        async with attempts[0].beating(until_mark=True):
            await asyncio.sleep(60)

    with pytest.raises(AttemptOver):
        await environment(Server(None, answer), heartbeat=0.03).run(work)
    assert attempts[0].cancelled


async def test_work_goes_on_while_the_server_is_away() -> None:
    server = Server(UNREACHED, UNREACHED)

    async def work() -> str:
        async with Attempt().beating(until_mark=True):
            await until(_count(server.beats, 1))
            return "done"

    assert await environment(server, heartbeat=0.03).run(work) == "done"


async def test_a_short_step_sends_nothing() -> None:
    server = Server()

    async def work() -> None:
        async with Attempt().beating():
            pass

    await environment(server).run(work)

    assert server.beats == server.held_back == []


async def test_a_cancel_by_the_worker_stays_a_cancel() -> None:
    attempts: list[Attempt] = []
    begun = asyncio.Event()

    async def work() -> None:
        attempts.append(Attempt())
        async with attempts[0].beating():
            begun.set()
            await asyncio.sleep(60)

    env = environment(Server())
    running = asyncio.ensure_future(env.run(work))
    await begun.wait()
    env.cancel()

    with pytest.raises(asyncio.CancelledError):
        await running
    assert attempts[0].cancelled


async def test_a_failure_is_counted_before_the_attempt_ends() -> None:
    server = Server()

    async def work() -> None:
        await Attempt().fail("Overloaded", "full", allowed=3, retry=True, delay=2.5)

    with pytest.raises(ApplicationError) as raised:
        await environment(server, attempt=4, left=[{"started": True, "failures": 1, "passed": 0}]).run(work)

    assert server.beats == [{"started": True, "failures": 2, "passed": 0}]
    assert server.held_back == [{"started": True, "failures": 2, "passed": 0}]
    assert (raised.value.type, raised.value.message, raised.value.non_retryable) == ("Overloaded", "full", False)
    assert raised.value.next_retry_delay == timedelta(seconds=2.5)
    assert raised.value.details == (4,)


@pytest.mark.parametrize(("failures", "retry"), [(2, True), (0, False)], ids=["the last one", "permanent"])
async def test_a_failure_that_no_attempt_can_heal_is_final(failures: int, retry: bool) -> None:
    server = Server()

    async def work() -> None:
        await Attempt().fail("Overloaded", "full", allowed=3, retry=retry, delay=2.5)

    with pytest.raises(ApplicationError) as raised:
        await environment(server, left=[{"failures": failures}]).run(work)

    assert raised.value.non_retryable
    assert raised.value.next_retry_delay is None
    assert server.beats == []


@pytest.mark.parametrize(
    ("left", "read"),
    [
        ([], Ledger()),
        ([{"started": True, "failures": 3, "passed": 0}], Ledger(started=True, failures=3)),
        ([{"failures": 1, "of a later version": 7}], Ledger(failures=1)),
        (["something else"], Ledger()),
    ],
    ids=["nothing", "a ledger", "a later version's", "no ledger"],
)
async def test_what_an_earlier_attempt_left_is_read_leniently(left: list[object], read: Ledger) -> None:
    async def work() -> Ledger:
        return Attempt().ledger

    assert await environment(Server(), left=left).run(work) == read


def _count(beats: Sequence[object], count: int) -> Callable[[], Awaitable[bool]]:
    async def counted() -> bool:
        return len(beats) >= count

    return counted
