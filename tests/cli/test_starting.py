"""An interrupt while a job's start is under way: whoever interrupted is told what became of it."""

import asyncio
from typing import Any, cast

import pytest
from temporalio.client import Client as Temporal

from surefoot.cli import starting
from surefoot.cli.starting import Start
from surefoot.errors import JobConflict
from surefoot.job import Job

JOB = Job(cast(Temporal, None), "j 1")


async def interrupted(start: Start, answer: "asyncio.Future[Job]", *, after: Any = None) -> None:
    """The start is interrupted while its answer is awaited, which then may come."""
    begun = asyncio.Event()

    async def begin() -> Job:
        begun.set()
        return await answer

    async def command() -> None:
        with start.told():
            await start.of(begin)()

    task = asyncio.create_task(command())
    await begun.wait()
    task.cancel()
    await asyncio.sleep(0)
    if isinstance(after, Job):
        answer.set_result(after)
    elif after is not None:
        answer.set_exception(after)
    with pytest.raises(asyncio.CancelledError):
        await task


def future() -> "asyncio.Future[Job]":
    return asyncio.get_running_loop().create_future()


async def test_a_job_that_was_started_is_named_with_how_to_follow_it(capsys: pytest.CaptureFixture[str]) -> None:
    await interrupted(Start(None), future(), after=JOB)

    assert capsys.readouterr().err == "\njob j 1 was started and goes on; follow it: surefoot watch 'j 1'\n"


async def test_a_start_that_failed_started_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    await interrupted(Start("j 1"), future(), after=JobConflict("job j 1 exists already"))

    assert capsys.readouterr().err == "\nnothing was started: job j 1 exists already\n"


@pytest.mark.parametrize(("id", "see"), [("j 1", "surefoot show 'j 1'"), (None, "surefoot jobs")])
async def test_without_an_answer_it_says_where_to_look(
    id: str | None, see: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(starting, "ANSWER_SECONDS", 0.01)

    await interrupted(Start(id), future())

    assert capsys.readouterr().err == f"\nwhether it was started is not known yet; see: {see}\n"


def test_an_interrupt_before_the_start_says_so_once(capsys: pytest.CaptureFixture[str]) -> None:
    start = Start(None)

    with pytest.raises(KeyboardInterrupt), start.told(), start.told():
        raise KeyboardInterrupt

    assert capsys.readouterr().err == "\nnothing was started\n"
