"""Showing an answer while it comes: rarely enough, in order, and never at the cost of the call itself."""

import asyncio
from collections.abc import Sequence

import pytest
from temporalio.exceptions import ApplicationError

from activities.attempts import Attempt
from activities.models.speaking import EVERY, Pace, speaking
from activities.models.speech import Run, Speech
from tests.activities.heartbeats import CANCELLED, UNKNOWN_ATTEMPT, UNREACHED, Server, environment
from tests.waiting import until


class Clock:
    """Time that passes only while somebody sleeps."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += seconds
        await asyncio.sleep(0)


async def _shown(server: Server, count: int) -> Sequence[Speech]:
    async def shown() -> Sequence[Speech]:
        return server.shown

    return await until(shown, lambda seen: len(seen) >= count)


async def test_all_calls_of_a_worker_together_keep_the_pace() -> None:
    clock = Clock()
    pace = Pace(40.0, clock, clock.sleep)
    passed: list[tuple[int, float]] = []

    async def call(number: int) -> None:
        for _ in range(3):
            await pace.turn()
            passed.append((number, clock.now))

    await asyncio.gather(*(call(number) for number in range(200)))

    assert len(passed) == 600
    assert passed[-1][1] - passed[0][1] == pytest.approx(599 / 40)
    assert {number for number, _ in passed[:201]} == set(range(200))


async def test_who_gives_up_waiting_takes_no_place() -> None:
    clock = Clock()
    pace = Pace(1.0, clock, clock.sleep)
    await pace.turn()
    waiting = [asyncio.create_task(pace.turn()) for _ in range(5)]
    await asyncio.sleep(0)
    for each in waiting[1:]:
        each.cancel()
    await waiting[0]
    await pace.turn()

    assert clock.now == 102.0


async def test_a_short_answer_sends_nothing() -> None:
    server = Server()

    async def work() -> None:
        attempt = Attempt()
        async with attempt.beating(), speaking(attempt, 1, Pace(), live=True) as live:
            assert live is not None
            live.say("text", "Hello.")
            await asyncio.sleep(EVERY / 3)
        await asyncio.sleep(EVERY)

    await environment(server).run(work)

    assert (server.beats, server.held_back) == ([], [])


async def test_an_agent_that_does_not_stream_has_nowhere_to_speak() -> None:
    async def work() -> bool:
        attempt = Attempt()
        async with speaking(attempt, 1, Pace(), live=False) as live:
            return live is None

    assert await environment(Server()).run(work)


async def test_beats_carry_the_ledger_and_what_was_said_so_far() -> None:
    server = Server()

    async def work() -> None:
        attempt = Attempt()
        async with speaking(attempt, 7, Pace(), live=True) as live:
            assert live is not None
            live.say("text", "Hel")
            await _shown(server, 1)
            live.say("text", "lo.")
            live.say("call", "find")
            await _shown(server, 2)

    await environment(server, attempt=3, left=[{"failures": 2}]).run(work)

    assert server.beats == [{"started": False, "failures": 2, "passed": 0}] * 2
    assert server.shown == [
        Speech(turn=7, attempt=3, runs=[Run(kind="text", offset=0, text="Hel")]),
        Speech(
            turn=7, attempt=3, runs=[Run(kind="text", offset=0, text="Hello."), Run(kind="call", offset=6, text="find")]
        ),
    ]


async def test_a_call_that_says_nothing_more_beats_no_more() -> None:
    server = Server()

    async def work() -> None:
        attempt = Attempt()
        async with speaking(attempt, 1, Pace(), live=True) as live:
            assert live is not None
            live.say("text", "Wait")
            await _shown(server, 1)
            await asyncio.sleep(3 * EVERY)

    await environment(server).run(work)

    assert len(server.beats) == 1


async def test_the_signs_of_life_carry_what_was_said_on_and_forget_it_with_the_call() -> None:
    server = Server()

    async def held(count: int) -> None:
        async def beats() -> int:
            return len(server.held_back)

        await until(beats, lambda seen: seen >= count)

    async def work() -> None:
        attempt = Attempt()
        async with attempt.beating():
            async with speaking(attempt, 1, Pace(), live=True) as live:
                assert live is not None
                live.say("text", "Hello")
                await held(2)
            shown = len(server.shown)
            await held(len(server.held_back) + 2)
            assert len(server.shown) == shown

    await environment(server, heartbeat=0.03).run(work)

    assert server.shown[0] == Speech(turn=1, attempt=1, runs=[Run(kind="text", offset=0, text="Hello")])


@pytest.mark.parametrize("refusal", [UNREACHED, UNKNOWN_ATTEMPT, CANCELLED])
async def test_a_beat_that_fails_does_not_fail_the_call(refusal: Exception) -> None:
    server = Server(refusal)

    async def work() -> tuple[str, bool]:
        attempt = Attempt()
        async with attempt.beating(), speaking(attempt, 1, Pace(), live=True) as live:
            assert live is not None
            live.say("text", "Hello")
            await asyncio.sleep(2 * EVERY)
            return "done", attempt.cancelled

    assert await environment(server).run(work) == ("done", False)


async def test_after_a_server_that_was_away_what_was_said_is_shown_again() -> None:
    server = Server(UNREACHED)

    async def work() -> None:
        attempt = Attempt()
        async with speaking(attempt, 1, Pace(), live=True) as live:
            assert live is not None
            live.say("text", "Hel")
            await asyncio.sleep(1.5 * EVERY)
            live.say("text", "lo")
            await _shown(server, 1)

    await environment(server).run(work)

    assert server.shown == [Speech(turn=1, attempt=1, runs=[Run(kind="text", offset=0, text="Hello")])]


async def test_a_beat_under_way_is_never_overtaken_by_the_count_of_failures() -> None:
    server = Server(delay=0.1)

    async def under_way() -> bool:
        return server.under_way == 1

    async def work() -> None:
        attempt = Attempt()
        async with attempt.beating():
            async with speaking(attempt, 1, Pace(), live=True) as live:
                assert live is not None
                live.say("text", "Hello")
                await until(under_way)
            await attempt.fail("Overloaded", "full", allowed=3, retry=True)

    with pytest.raises(ApplicationError, match="full"):
        await environment(server).run(work)

    assert server.at_once == 1
    assert [beat["failures"] for beat in server.beats] == [0, 1]
