"""Replays what really happened against the code as it is now."""

from collections.abc import Callable
from typing import Any

from temporalio import workflow
from temporalio.client import Client as Temporal
from temporalio.service import RPCError, RPCStatusCode
from temporalio.worker import (
    ExecuteWorkflowInput,
    Interceptor,
    Replayer,
    WorkflowInboundInterceptor,
    WorkflowInterceptorClassInput,
)

from activities.payloads import data_converter
from activities.sandbox import Sandbox
from worker import WORKFLOWS


async def assert_replays(temporal: Temporal, job: str, run: str | None = None) -> None:
    """Fails when today's code decides otherwise than this job's history says."""
    history = await temporal.get_workflow_handle(job, run_id=run).fetch_history()
    replayer = Replayer(workflows=WORKFLOWS, workflow_runner=Sandbox(), data_converter=data_converter())
    await replayer.replay_workflow(history)


class Ran(Interceptor):
    """For a worker: notes each run of a workflow that it worked at, by ids of workflow and run."""

    def __init__(self) -> None:
        self.runs: dict[tuple[str, str], None] = {}

    def workflow_interceptor_class(self, input: WorkflowInterceptorClassInput) -> type[WorkflowInboundInterceptor]:
        return _noting(lambda id, run: self.runs.setdefault((id, run)))

    async def end(self, temporal: Temporal) -> None:
        """Ends what still runs: a job that waits would be in the lists that later tests look at."""
        for id in dict.fromkeys(id for id, _ in self.runs):
            try:
                await temporal.get_workflow_handle(id).terminate("its test is over")
            except RPCError as error:
                if error.status != RPCStatusCode.NOT_FOUND:
                    raise


def _noting(note: Callable[[str, str], None]) -> type[WorkflowInboundInterceptor]:
    class Noting(WorkflowInboundInterceptor):
        async def execute_workflow(self, input: ExecuteWorkflowInput) -> Any:
            info = workflow.info()
            note(info.workflow_id, info.run_id)
            return await super().execute_workflow(input)

    return Noting
