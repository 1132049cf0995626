"""Gives each workflow task of a job that a test starts four seconds, so that one which core loses costs no more.

Core now and then loses a task of a run that it evicts at once (`max_cached_workflows=0`); the server hands it out again
when its time is over, ten seconds by default. Less than four, and a busy machine is late with the largest transcripts.
"""

from dataclasses import replace
from datetime import timedelta
from typing import Any

from temporalio.client import Interceptor, OutboundInterceptor, StartWorkflowInput, WorkflowHandle

TASK_TIMEOUT = timedelta(seconds=4)


class ShortTasks(Interceptor):
    """For a client. A job's later runs keep what its first was started with."""

    def intercept_client(self, next: OutboundInterceptor) -> OutboundInterceptor:
        return _Starts(next)


class _Starts(OutboundInterceptor):
    async def start_workflow(self, input: StartWorkflowInput) -> WorkflowHandle[Any, Any]:
        return await super().start_workflow(replace(input, task_timeout=input.task_timeout or TASK_TIMEOUT))
