"""Users' code runs beside the worker: whatever it does there, the worker goes on."""

import asyncio
import threading
from collections.abc import Iterator

import pytest

from activities import threads as module
from activities.threads import Threads
from tests.waiting import until


@pytest.fixture
def threads() -> Iterator[Threads]:
    made = Threads(2)
    yield made
    made.shutdown()


async def test_a_coroutine_that_blocks_does_not_hold_up_the_caller(threads: Threads) -> None:
    released = threading.Event()

    async def blocks() -> bool:
        return released.wait(10)

    running = asyncio.create_task(threads.run(blocks, {}))
    await asyncio.sleep(0)
    released.set()

    assert await running is True


async def test_a_blocked_coroutine_is_left_behind_when_its_time_is_up(
    threads: Threads, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CANCEL_SECONDS", 0.01)
    released = threading.Event()

    async def blocks() -> bool:
        return released.wait(30)

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await threads.run(blocks, {})
    released.set()


async def test_a_cancelled_coroutine_is_told_so_and_may_clean_up(threads: Threads) -> None:
    begun, seen = threading.Event(), []

    async def write() -> None:
        try:
            begun.set()
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            await asyncio.sleep(0.01)
            seen.append("rolled back")
            raise

    running = asyncio.create_task(threads.run(write, {}))
    await asyncio.to_thread(begun.wait, 10)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    assert seen == ["rolled back"]


async def test_what_a_cancelled_coroutine_has_done_all_the_same_is_its_result(threads: Threads) -> None:
    begun = threading.Event()

    async def write() -> str:
        try:
            begun.set()
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            pass
        return "written"

    running = asyncio.create_task(threads.run(write, {}))
    await asyncio.to_thread(begun.wait, 10)
    running.cancel()

    assert await running == "written"


async def test_a_coroutine_that_cancels_itself_does_not_cancel_its_caller(threads: Threads) -> None:
    async def gives_up() -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(30)

    with pytest.raises(asyncio.CancelledError):
        await threads.run(gives_up, {})

    current = asyncio.current_task()
    assert current is not None
    assert current.cancelling() == 0


async def test_a_loop_that_a_child_task_brought_down_is_replaced(threads: Threads) -> None:
    async def quits() -> None:
        raise SystemExit(3)

    async def spawns() -> None:
        child = asyncio.create_task(quits())
        await asyncio.sleep(30)
        del child

    async def adds(a: int, b: int) -> int:
        return a + b

    with pytest.raises(asyncio.CancelledError):
        await threads.run(spawns, {})

    async def loops() -> list[str]:
        return [thread.name for thread in threading.enumerate() if thread.name == "tool-loop"]

    await until(loops, lambda seen: not seen)
    assert await threads.run(adds, {"a": 1, "b": 2}) == 3


async def test_many_coroutines_run_side_by_side(threads: Threads) -> None:
    meet = asyncio.Barrier(5)

    async def arrives(number: int) -> int:
        await meet.wait()
        return number

    assert await asyncio.gather(*(threads.run(arrives, {"number": n}) for n in range(5))) == [0, 1, 2, 3, 4]


async def test_a_shutdown_ends_what_is_still_running() -> None:
    made, begun = Threads(1), threading.Event()

    async def waits() -> None:
        begun.set()
        await asyncio.sleep(30)

    running = asyncio.create_task(made.run(waits, {}))
    await asyncio.to_thread(begun.wait, 10)
    made.shutdown()

    with pytest.raises(asyncio.CancelledError):
        await running
