"""Whatever a model does, the transcript stays one that every provider takes, limits hold, and the history replays."""

import asyncio
import itertools
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from temporalio.client import Client as Temporal
from temporalio.worker import Replayer

from activities.agents import Agent
from activities.apps import App
from activities.errors import ToolError
from activities.payloads import data_converter
from activities.providers.google_request import build_body
from activities.providers.protocol import ModelRequest
from activities.providers.scripted import Script
from activities.sandbox import Sandbox
from activities.tools.tool import Tool, tool
from surefoot.client import Client
from tests.conftest import QUICK
from tests.judge_google import judge_contents
from tests.judge_transcript import judge_transcript
from tests.waiting import Flag
from tests.workflows.scripting import call, calls, look_up, note
from worker import hosting
from workflows.agent_job import AgentJob
from workflows.contracts import Limits, Message, Result, Turn

QUEUE = "any-script"


@tool(pure=True)
async def double(number: int) -> int:
    """Compute."""
    return 2 * number


@tool(read_only=True)
async def fail(message: str) -> str:
    """Fail."""
    raise ToolError(message)


@tool(policy="deny")
async def destroy() -> str:
    """Be denied."""
    raise AssertionError("this never runs")


@tool(read_only=True)
async def wait_for(name: str, others: list[str]) -> str:
    """End after `others` did, in whatever order they began."""
    await asyncio.gather(*(_ended(other).wait() for other in others))
    _ended(name).set()
    return name


ended: dict[str, Flag] = {}


def _ended(name: str) -> Flag:
    return ended.setdefault(name, Flag())


seen: list[ModelRequest] = []
scripts: dict[str, str] = {}
"""Those that are too long to be the message themselves, by what the message is instead."""


def told(request: ModelRequest) -> dict[str, Any]:
    """The script is the message: turns as JSON, then "done"."""
    seen.append(request)
    first = request.transcript[0]
    assert isinstance(first, Message)
    script = json.loads(scripts.get(first.text, first.text))
    if request.tool_choice == "none":
        return dict(script["closing"])
    turns = script["turns"]
    return dict(turns[request.turn - 1]) if request.turn <= len(turns) else {"text": "done"}


@pytest.fixture(scope="module")
async def client(temporal: Temporal) -> AsyncIterator[Client]:
    tools: list[Tool] = [look_up, note, double, fail, destroy, wait_for]
    agents = [Agent("player", Script(told), tools=tools), Agent("crowded", Script(told), tools=tools, compact_at=300)]
    async with hosting(temporal, App(agents), task_queue=QUEUE, settings=QUICK):
        yield Client(temporal, task_queue=QUEUE)


async def check_replay(temporal: Temporal, job: str) -> None:
    history = await temporal.get_workflow_handle(job).fetch_history()
    replayer = Replayer(workflows=[AgentJob], workflow_runner=Sandbox(), data_converter=data_converter())
    await replayer.replay_workflow(history)


CALLS: st.SearchStrategy[dict[str, object]] = st.one_of(
    st.sampled_from("ab").map(lambda key: call("look_up", key=key)),
    st.sampled_from("ab").map(lambda text: call("note", text=text)),
    st.integers(0, 2).map(lambda number: call("double", number=number)),
    st.just(call("fail", message="no")),
    st.just(call("destroy")),
    st.just(call("nope", key="a")),
    st.just(call("look_up", wrong=1)),
    st.just({"tool": "note", "raw": '{"text": "'}),
)
STOPS = st.sampled_from([None, None, None, None, "max_tokens", "pause", "refusal", "unknown"])


@st.composite
def turns(draw: st.DrawFn) -> dict[str, object]:
    turn: dict[str, object] = {"text": draw(st.sampled_from(["", "so", "so"])), "usage": {"input_tokens": 10}}
    turn["calls"] = draw(st.lists(CALLS, max_size=4))
    if stop := draw(STOPS):
        turn["stop"] = stop
    return turn


LIMITS = st.builds(
    Limits,
    rounds=st.integers(0, 4) | st.none(),
    tool_calls=st.integers(0, 6) | st.none(),
    tokens=st.integers(0, 80) | st.none(),
)
CLOSINGS = st.sampled_from(
    [{"text": "so far"}, {"calls": [call("note", text="x")]}, {"error": {"kind": "Rejected", "message": "no"}}]
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(script=st.lists(turns(), max_size=6), closing=CLOSINGS, limits=LIMITS)
async def test_any_script_leaves_an_orderly_transcript_within_its_limits(
    client: Client, script: list[dict[str, object]], closing: dict[str, object], limits: Limits
) -> None:
    job = await client.start("player", json.dumps({"turns": script, "closing": closing}), limits=limits)
    outcome = await job.outcome()
    transcript = await job.transcript()
    view = await job.view()

    judge_transcript(transcript)
    judge_contents(build_body(ModelRequest(model="gemini-3-pro", instructions="", transcript=transcript)))
    assert outcome.status != "failed"
    results = [entry for entry in transcript if isinstance(entry, Result)]
    asked = [entry for entry in transcript if isinstance(entry, Turn)]
    assert not any(result.status == "ok" for result in results if result.tool in ("destroy", "nope"))
    ran = [result for result in results if result.status == "ok" or (result.tool, result.content) == ("fail", "no")]
    assert outcome.usage.tool_calls == view.tool_calls == len(ran)
    assert limits.tool_calls is None or len(ran) <= limits.tool_calls
    assert limits.rounds is None or view.rounds <= limits.rounds
    assert limits.rounds is None or sum(bool(turn.calls) for turn in asked) <= limits.rounds + 2
    assert len({result.call for result in results}) == len(results)
    await check_replay(client.temporal, job.id)


WORDS = "so it goes " * 40
TALK = st.lists(CALLS, max_size=2)
SUMMARIES = st.sampled_from([{"text": "in short"}, {"text": "in short"}, *({"text": ""}, {"text": WORDS * 20})])


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(script=st.lists(TALK, min_size=5, max_size=8), summary=SUMMARIES)
async def test_whatever_was_cut_short_each_request_is_orderly(
    client: Client, script: list[list[dict[str, object]]], summary: dict[str, object]
) -> None:
    seen.clear()
    turns = [{**calls(*made, call("look_up", key=str(number))), "text": WORDS} for number, made in enumerate(script)]
    scripts["talk"] = json.dumps({"turns": turns, "closing": summary})
    job = await client.start("crowded", "talk")
    outcome = await job.outcome()
    summaries = sum(entry.summary is not None for entry in await job.audit())

    for request in seen:
        judge_transcript(request.transcript)
        judge_contents(build_body(request))
    judge_transcript(await job.transcript())
    assert outcome.status == "complete"
    assert any(request.purpose == "summary" for request in seen)
    assert (summaries > 0) == any(request.turns_before > 0 for request in seen) == (summary["text"] == "in short")
    await check_replay(client.temporal, job.id)


@pytest.mark.parametrize("order", list(itertools.permutations("abc")), ids="".join)
async def test_results_stand_in_the_order_of_the_calls_whatever_the_order_they_ended_in(
    client: Client, order: tuple[str, ...]
) -> None:
    run = "".join(order)
    made = [
        call("wait_for", name=f"{run}-{name}", others=[f"{run}-{other}" for other in order[: order.index(name)]])
        for name in "abc"
    ]
    job = await client.start("player", json.dumps({"turns": [calls(*made)], "closing": {}}))
    await job.outcome()
    transcript = await job.transcript()

    assert [entry.content for entry in transcript if isinstance(entry, Result)] == [f"{run}-{n}" for n in "abc"]
    judge_transcript(transcript)
    await check_replay(client.temporal, job.id)
