"""When a worker ends itself because nobody needs it."""

from typing import cast

from temporalio.client import Client, WorkflowExecutionCount
from temporalio.service import RPCError, RPCStatusCode

from activities.idleness import Activity, until_idle

AWAY = RPCError("away", RPCStatusCode.UNAVAILABLE, b"")


class Counting:
    """A client that is told how many jobs are running, or what it raises instead; `asked` are its questions."""

    def __init__(self, *answers: int | RPCError) -> None:
        self._answers = list(answers)
        self.asked: list[str] = []

    async def count_workflows(self, query: str) -> WorkflowExecutionCount:
        self.asked.append(query)
        answer = self._answers.pop(0)
        if isinstance(answer, RPCError):
            raise answer
        return WorkflowExecutionCount(count=answer, groups=[])


async def test_a_worker_is_idle_only_when_the_server_says_that_no_job_is_running() -> None:
    client = Counting(AWAY, 1, 0)

    await until_idle(cast(Client, client), "q", Activity(), 0.0)

    running = "TaskQueue = 'q' AND ExecutionStatus = 'Running' AND SurefootState IN ('running', 'batched', 'queued')"
    assert client.asked == [running] * 3
