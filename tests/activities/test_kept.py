"""What a model adapter keeps is with the server before it goes on, and is found by the next attempt alone."""

import asyncio
from typing import Any

import pytest
from temporalio.activity import ActivityCancellationDetails
from temporalio.client import WorkflowExecutionStatus
from temporalio.service import RPCError

from activities.attempts import Attempt, AttemptOver
from activities.models.kept import KeptForModel
from tests.activities.heartbeats import CANCELLED, UNKNOWN_ATTEMPT, UNREACHED, Server, environment

FRESH = {"started": False, "failures": 0, "passed": 0}


def left() -> dict[str, Any]:
    return {**FRESH, "kept": {"0 openai:m": "resp_1"}}


class Jobs(Server):
    """A server that also tells how the job stands."""

    def __init__(self, status: WorkflowExecutionStatus | RPCError, *answers: Exception) -> None:
        super().__init__(*answers)
        self._status = status

    def get_workflow_handle(self, workflow_id: str, *, run_id: str | None) -> "Jobs":
        return self

    async def describe(self) -> "Jobs":
        return self

    @property
    def status(self) -> WorkflowExecutionStatus:
        if isinstance(self._status, RPCError):
            raise self._status
        return self._status


RUNNING, OVER = WorkflowExecutionStatus.RUNNING, WorkflowExecutionStatus.CANCELED


async def test_what_is_kept_is_with_the_server_at_once_and_no_older_beat_can_erase_it() -> None:
    server = Server(delay=0.01)

    async def work() -> str | None:
        kept = KeptForModel(Attempt(), 0, "openai:m")
        await kept.keep("resp_1")
        return kept.value

    assert await environment(server).run(work) == "resp_1"
    assert server.beats == server.held_back == [left()]


async def test_the_next_attempt_finds_it_for_the_same_model_in_the_same_place_only() -> None:
    async def work() -> list[str | None]:
        attempt = Attempt()
        models = [(0, "openai:m"), (1, "openai:m"), (0, "openai:n")]
        return [KeptForModel(attempt, place, model).value for place, model in models]

    assert await environment(Server(), attempt=2, left=[left()]).run(work) == ["resp_1", None, None]


async def test_what_is_given_up_is_found_by_nobody() -> None:
    server = Server()

    async def work() -> str | None:
        kept = KeptForModel(Attempt(), 0, "openai:m")
        await kept.keep(None)
        return kept.value

    assert await environment(server, left=[left()]).run(work) is None
    assert server.beats == [FRESH]


async def test_a_server_that_is_away_for_a_moment_costs_nothing_that_was_kept() -> None:
    server = Server(UNREACHED)

    async def work() -> str | None:
        kept = KeptForModel(Attempt(), 0, "openai:m")
        await kept.keep("resp_1")
        return kept.value

    assert await environment(server).run(work) == "resp_1"
    assert server.held_back == [left()]


@pytest.mark.parametrize(
    ("cancelled", "status", "expected"),
    [
        (ActivityCancellationDetails(cancel_requested=True), RUNNING, False),
        (ActivityCancellationDetails(worker_shutdown=True), RUNNING, True),
        (ActivityCancellationDetails(not_found=True), RUNNING, True),
        (ActivityCancellationDetails(not_found=True), OVER, False),
        (ActivityCancellationDetails(not_found=True), UNREACHED, True),
    ],
    ids=["cancelled", "worker stops", "another attempt runs", "job is over", "nobody knows"],
)
async def test_an_attempt_that_is_cut_short_knows_whether_another_may_come(
    cancelled: ActivityCancellationDetails, status: Any, expected: bool
) -> None:
    env = environment(Jobs(status))

    async def work() -> bool:
        kept = KeptForModel(Attempt(), 0, "openai:m")
        try:
            env.cancel(cancelled)
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            return await kept.wanted()
        raise AssertionError("not cancelled")

    assert await env.run(work) is expected


@pytest.mark.parametrize("answer", [CANCELLED, UNKNOWN_ATTEMPT], ids=["cancelled", "not found"])
async def test_an_attempt_that_is_over_can_keep_nothing(answer: Exception) -> None:
    async def work() -> bool:
        kept = KeptForModel(Attempt(), 0, "openai:m")
        with pytest.raises(AttemptOver):
            await kept.keep("resp_1")
        return await kept.wanted()

    assert await environment(Jobs(OVER, answer)).run(work) is False


async def test_a_call_that_only_took_too_long_is_tried_again() -> None:
    async def work() -> bool:
        return await KeptForModel(Attempt(), 0, "openai:m").wanted()

    assert await environment(Server()).run(work) is True
