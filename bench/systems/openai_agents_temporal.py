"""The OpenAI Agents SDK on Temporal, as its guide shows it: tools are activities, the model is of our own making."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

from agents import Agent, Model, ModelProvider, ModelResponse, Runner, Usage
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText
from temporalio import activity, workflow
from temporalio.client import Client
from temporalio.openai_agents import ModelActivityParameters, OpenAIAgentsPlugin
from temporalio.openai_agents.workflow import activity_as_tool
from temporalio.worker import Worker

with workflow.unsafe.imports_passed_through():
    from bench.slices import take
    from bench.systems import Incomplete, RunJob
    from bench.systems.histories import recorded

__all__ = ["hosting", "recorded"]

QUEUE = "bench-openai-agents"
WITHIN = timedelta(seconds=60)


class Reading(Model):
    """The model: it looks as often as the job's message says, then answers."""

    async def get_response(self, system_instructions: str | None, input: Any, *_: Any, **__: Any) -> ModelResponse:
        said = [{"role": "user", "content": input}] if isinstance(input, str) else input
        turns = sum(item.get("type") == "function_call" for item in said)
        if turns < int(said[0]["content"]):
            arguments = json.dumps({"number": turns})
            call = ResponseFunctionToolCall(
                arguments=arguments, call_id=f"call-{turns}", name="look", type="function_call"
            )
            return ModelResponse(output=[call], usage=Usage(), response_id=None)
        text = ResponseOutputText(annotations=[], text="done", type="output_text")
        answer = ResponseOutputMessage(id="m", content=[text], role="assistant", status="completed", type="message")
        return ModelResponse(output=[answer], usage=Usage(), response_id=None)

    def stream_response(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError("nothing is streamed here")


class Readings(ModelProvider):
    """Has one model, whatever its name."""

    def get_model(self, model_name: str | None) -> Model:
        return Reading()


@activity.defn
async def look(number: int) -> str:
    """Read one slice."""
    return take(number)


@workflow.defn
class Read:
    """One job."""

    @workflow.run
    async def run(self, message: str) -> str:
        tool = activity_as_tool(look, start_to_close_timeout=WITHIN)
        result = await Runner.run(Agent(name="reader", tools=[tool]), input=message, max_turns=int(message) + 1)
        return str(result.final_output)


@asynccontextmanager
async def hosting(place: str) -> AsyncIterator[RunJob]:
    parameters = ModelActivityParameters(start_to_close_timeout=WITHIN)
    plugin = OpenAIAgentsPlugin(model_params=parameters, model_provider=Readings())
    client = await Client.connect(place, plugins=[plugin])

    async def run(job: str, rounds: int) -> None:
        answer = await client.execute_workflow(Read.run, str(rounds), id=job, task_queue=QUEUE)
        if answer != "done":
            raise Incomplete(f"the answer was {answer!r}")

    async with Worker(client, task_queue=QUEUE, workflows=[Read], activities=[look]):
        yield run
