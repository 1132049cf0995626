"""The loop, on a real server: what is asked, what runs, and how it ends."""

import pytest

from activities.agents import Agent
from activities.providers.scripted import Script
from activities.tools.tool import tool
from tests.conftest import Host
from workflows.contracts import Limits, Message, Result, Turn

pytestmark = pytest.mark.cold


@tool(read_only=True)
async def look_up(key: str) -> str:
    """Look something up."""
    return f"value of {key}"


@tool
async def save(key: str) -> str:
    """Save something."""
    return f"saved {key}"


def call(name: str, **arguments: object) -> dict[str, object]:
    return {"tool": name, "arguments": arguments}


async def test_a_job_reads_in_parallel_and_answers(host: Host) -> None:
    script = Script([{"calls": [call("look_up", key="a"), call("look_up", key="b")]}, {"text": "a and b"}])
    async with host(Agent("reader", script, tools=[look_up])) as client:
        job = await client.start("reader", "look at a and b")
        outcome = await job.outcome()
        transcript = await job.transcript()

    assert outcome.status == "complete"
    assert outcome.answer == "a and b"
    assert [type(entry) for entry in transcript] == [Message, Turn, Result, Result, Turn]
    assert [e.content for e in transcript if isinstance(e, Result)] == ["value of a", "value of b"]
    assert outcome.usage.tool_calls == 2
    assert outcome.usage.model_calls == 2


async def test_a_write_waits_for_a_decision_and_runs_once_approved(host: Host) -> None:
    script = Script([{"calls": [call("save", key="a")], "text": "I must save a"}, {"text": "done"}])
    async with host(Agent("writer", script, tools=[save])) as client:
        job = await client.start("writer", "save a")
        async for view in job.follow():
            if view.state == "waiting":
                break
        assert [p.why for p in view.pending] == ["I must save a"]
        inbox = await client.inbox()
        applied = await job.approve(view.pending[0].call, by="ann")
        outcome = await job.outcome()

    assert [(item.job, item.tool, item.arguments) for item in inbox if item.job == job.id] == [
        (job.id, "save", {"key": "a"})
    ]
    assert applied.decided is not None
    assert (applied.status, applied.decided.by, applied.decided.choice) == ("applied", "ann", "approve")
    assert outcome.status == "complete"
    assert [f.content for f in outcome.findings] == ["saved a"]


async def test_the_step_limit_yields_a_closing_answer_and_a_reply_goes_on(host: Host) -> None:
    script = Script(
        [
            {"calls": [call("look_up", key="a")]},
            {"calls": [call("look_up", key="b")]},
            {"text": "not reached: the closing call comes first"},
            {"text": "all done"},
        ],
        closing={"text": "I looked at a. Go on?"},
    )
    async with host(Agent("reader", script, tools=[look_up], limits=Limits(rounds=1))) as client:
        job = await client.start("reader", "look at all")
        outcome = await job.outcome()
        await client.reply(job.id, "yes")
        final = await job.outcome()
        transcript = await job.transcript()

    assert outcome.status == "hit_iteration_cap"
    assert outcome.answer == "I looked at a. Go on?"
    assert outcome.requires_human
    assert [n.tool for n in outcome.not_done] == ["look_up"]
    assert final.status == "complete"
    assert final.answer == "all done"
    assert [e.kind for e in transcript] == [
        "message", "turn", "result", "turn", "result", "turn", "message", "turn",
    ]  # fmt: skip
