"""Pydantic AI on Temporal, as its guide shows it, with its model for functions.

`continue_as_new` is not its default. It is on here, so that long jobs get as far as they can.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import ClassVar

from pydantic_ai import Agent, ModelMessage, ModelResponse, RunContext, TextPart, ToolCallPart, UsageLimits
from pydantic_ai.durable_exec.temporal import PydanticAIPlugin, PydanticAIWorkflow, TemporalDurability
from pydantic_ai.models.function import AgentInfo, FunctionModel
from temporalio import workflow
from temporalio.client import Client
from temporalio.worker import Worker

with workflow.unsafe.imports_passed_through():
    from bench.slices import take
    from bench.systems import Incomplete, RunJob
    from bench.systems.histories import recorded

__all__ = ["hosting", "recorded"]

QUEUE = "bench-pydantic-ai"


def _reply(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """The model: it looks as often as the job's message says, then answers."""
    turns = sum(isinstance(message, ModelResponse) for message in messages)
    if turns < int(messages[0].parts[0].content):
        return ModelResponse(parts=[ToolCallPart("look", {"number": turns})])
    return ModelResponse(parts=[TextPart("done")])


async def _go_on(context: RunContext[None]) -> None:
    workflow.continue_as_new(args=["", context.messages])


reader = Agent(FunctionModel(_reply), name="reader", capabilities=[TemporalDurability(continue_as_new=_go_on)])


@reader.tool_plain
async def look(number: int) -> str:
    """Read one slice."""
    return take(number)


@workflow.defn
class Read(PydanticAIWorkflow):
    """One job."""

    __pydantic_ai_agents__: ClassVar = [reader]

    @workflow.run
    async def run(self, message: str, said: list[ModelMessage] | None = None) -> str:
        result = await reader.run(message or None, message_history=said, usage_limits=UsageLimits(request_limit=None))
        return result.output


@asynccontextmanager
async def hosting(place: str) -> AsyncIterator[RunJob]:
    client = await Client.connect(place, plugins=[PydanticAIPlugin()])

    async def run(job: str, rounds: int) -> None:
        answer = await client.execute_workflow(Read.run, args=[str(rounds)], id=job, task_queue=QUEUE)
        if answer != "done":
            raise Incomplete(f"the answer was {answer!r}")

    async with Worker(client, task_queue=QUEUE, workflows=[Read]):
        yield run
