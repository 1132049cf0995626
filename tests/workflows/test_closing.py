"""The last call of a job that may not go on, and what ends it: limits, no progress, a person."""

import asyncio
from typing import Any

import pytest

from activities.agents import Agent
from activities.errors import OutcomeUnknown
from activities.tools.tool import tool
from tests.conftest import Host
from tests.judge_transcript import judge_transcript
from tests.waiting import until
from tests.workflows.scripting import call, calls, kinds, look_up, looks, note, save, watched
from workflows.calls import Calls
from workflows.contracts import JobView, Limits, Resolution, Result, Status, Turn

ORDER = "Sum up in plain text what was found out"


@tool(read_only=True, repeatable=True)
async def poll() -> str:
    """Ask again on purpose."""
    return "not yet"


counted: dict[str, int] = {}


@tool(read_only=True)
async def count(name: str) -> str:
    """Never say the same twice."""
    counted[name] = counted.get(name, 0) + 1
    return f"{name} {counted[name]}"


@tool(policy="allow")
async def send(text: str) -> str:
    """Send something, and never learn whether it arrived."""
    await asyncio.sleep(0.4)
    raise OutcomeUnknown


async def test_the_closing_call_forbids_tools_that_stay_declared_and_has_its_own_order_and_cap(host: Host) -> None:
    script, asked = watched(looks("a"), looks("b"), {"text": "unused"}, {"text": "done"})
    agent = Agent(
        "a", script, "Be brief.", tools=[look_up, save], limits=Limits(rounds=1), max_output_tokens=5000,
        closing_tokens=300,
    )  # fmt: skip
    async with host(agent) as client:
        job = await client.start("a", "go")
        await job.outcome()
        await client.reply(job.id, "go on")
        await job.outcome()
        transcript = await job.transcript()

    assert [request.tool_choice for request in asked] == ["auto", "auto", "none", "auto"]
    assert [request.max_output_tokens for request in asked] == [5000, 5000, 300, 5000]
    assert [[declared.name for declared in request.tools] for request in asked] == [["look_up", "save"]] * 4
    assert [ORDER in request.instructions for request in asked] == [False, False, True, False]
    assert asked[2].instructions.startswith(asked[0].instructions)
    assert "the step limit for this answer was reached" in asked[2].instructions
    assert not any(ORDER in entry.model_dump_json() for entry in transcript)
    assert asked[2].transcript == transcript[:5]


async def test_closing_by_findings_makes_no_call(host: Host) -> None:
    script, asked = watched(looks("a"), looks("b"))
    async with host(Agent("a", script, tools=[look_up], limits=Limits(rounds=1), closing="findings")) as client:
        job = await client.start("a", "go")
        outcome = await job.outcome()
        transcript = await job.transcript()

    assert [request.tool_choice for request in asked] == ["auto", "auto"]
    assert (outcome.status, outcome.answer, outcome.requires_human) == ("hit_iteration_cap", None, True)
    assert [finding.content for finding in outcome.findings] == ["value of a"]
    assert [missed.arguments for missed in outcome.not_done] == [{"key": "b"}]
    assert kinds(transcript) == "MTRTR"


async def test_a_closing_call_that_asks_for_a_tool_is_answered_and_the_findings_are_the_end(host: Host) -> None:
    script, _ = watched(looks("a"), looks("b"), closing=looks("c", "d") | {"text": "Let me look at c and d."})
    async with host(Agent("a", script, tools=[look_up], limits=Limits(rounds=1))) as client:
        job = await client.start("a", "go")
        outcome = await job.outcome()
        transcript = await job.transcript()

    assert (outcome.status, outcome.answer) == ("hit_iteration_cap", None)
    assert [finding.content for finding in outcome.findings] == ["value of a"]
    assert kinds(transcript) == "MTRTRTRR"
    assert [entry.content for entry in transcript[-2:] if isinstance(entry, Result)] == [
        "Not executed: the step limit for this answer was reached."
    ] * 2


@pytest.mark.parametrize(
    "closing",
    [
        {"error": {"kind": "Rejected", "message": "no"}},
        {"error": {"kind": "Overloaded", "message": "full"}},
        {"text": ""},
        {"text": "I can't.", "stop": "refusal"},
        {"text": "I", "stop": "content_filter"},
        {"text": "I", "stop": "unknown"},
    ],
)
async def test_a_closing_call_that_fails_leaves_the_findings(host: Host, closing: dict[str, Any]) -> None:
    script, _ = watched(looks("a"), looks("b"), closing=closing)
    async with host(Agent("a", script, tools=[look_up], limits=Limits(rounds=1))) as client:
        outcome = await (await client.start("a", "go")).outcome()

    assert (outcome.status, outcome.answer, outcome.error) == ("hit_iteration_cap", None, None)
    assert [finding.content for finding in outcome.findings] == ["value of a"]


async def test_a_summing_up_that_was_cut_off_is_better_than_none(host: Host) -> None:
    script, _ = watched(looks("a"), looks("b"), closing={"text": "I found", "stop": "max_tokens"})
    async with host(Agent("a", script, tools=[look_up], limits=Limits(rounds=1))) as client:
        outcome = await (await client.start("a", "go")).outcome()

    assert (outcome.status, outcome.answer) == ("hit_iteration_cap", "I found")


# --- no progress


ROUNDS: list[tuple[str, list[dict[str, Any]], int]] = [
    ("the same successful call", [calls(call("look_up", key="a"))], 3),
    ("the same successful write", [calls(call("note", text="a"))], 3),
    ("calls whose results differ", [calls(call("count", name="same"))], 3),
    ("the same unknown tool", [calls(call("nope", key="a"))], 3),
    ("the same invalid arguments", [calls(call("look_up", wrong="a"))], 3),
    ("the same malformed arguments", [calls({"tool": "look_up", "raw": "{"})], 3),
    ("the same denied call", [calls(call("save", key="a"))], 3),
    ("two rounds that alternate", [looks("a"), looks("b")], 4),
    ("a poll beside the same call", [calls(call("poll"), call("look_up", key="a"))], 3),
]


@pytest.mark.parametrize(("turns", "rounds"), [each[1:] for each in ROUNDS], ids=[each[0] for each in ROUNDS])
async def test_repeated_rounds_are_no_progress(host: Host, turns: list[dict[str, Any]], rounds: int) -> None:
    script, asked = watched(*(turns * 6)[:12])
    agent = Agent("a", script, tools=[look_up, note, save, poll, count], policy={"save": "deny"})
    async with host(agent) as client:
        outcome = await (await client.start("a", "go")).outcome()

    assert (outcome.status, outcome.answer, outcome.requires_human) == ("no_progress", "summed up", True)
    assert [request.tool_choice for request in asked] == ["auto"] * rounds + ["none"]
    assert "the same calls were repeated without progress" in asked[-1].instructions


GOING_ON: list[tuple[str, list[dict[str, Any]]]] = [
    ("a tool that polls on purpose", [calls(call("poll"))] * 5),
    ("two that alternate with other results", [calls(call("count", name="x")), calls(call("count", name="y"))] * 3),
    ("twins in one turn", [looks("a", "a", "a"), looks("b", "b", "b")]),
    ("twice, then something else", [looks("a"), looks("a"), looks("b"), looks("a")]),
    ("the same unknown tool with other arguments", [calls(call("nope", n=n)) for n in range(4)]),
]  # fmt: skip


@pytest.mark.parametrize("turns", [each[1] for each in GOING_ON], ids=[each[0] for each in GOING_ON])
async def test_what_is_no_repetition_goes_on(host: Host, turns: list[dict[str, Any]]) -> None:
    script, _ = watched(*turns, {"text": "done"})
    async with host(Agent("a", script, tools=[look_up, poll, count])) as client:
        job = await client.start("a", "go")
        outcome = await job.outcome()

    made = sum(len(turn["calls"]) for turn in turns)
    assert outcome.status == "complete"
    assert len(outcome.findings) == made


async def test_a_reply_forgets_the_repetition(host: Host) -> None:
    script, asked = watched(*[looks("a")] * 9)
    async with host(Agent("a", script, tools=[look_up])) as client:
        job = await client.start("a", "go")
        await job.outcome()
        await client.reply(job.id, "once more")
        outcome = await job.outcome()

    assert outcome.status == "no_progress"
    assert [request.tool_choice for request in asked] == (["auto"] * 3 + ["none"]) * 2


# --- ended by a person, or for good


async def test_stop_leaves_what_waits_and_sums_up(host: Host) -> None:
    script, asked = watched(calls(call("look_up", key="a"), call("save", key="b")))
    async with host(Agent("a", script, tools=[look_up, save])) as client:
        job = await client.start("a", "go")
        await until(job.view, _waiting)
        await job.stop(by="ann")
        outcome = await job.outcome()

    assert (outcome.status, outcome.answer, outcome.requires_human) == ("cancelled", "summed up", False)
    assert [(missed.tool, missed.why) for missed in outcome.not_done] == [
        ("save", "Not executed: the job was stopped by a person.")
    ]
    assert outcome.summary == "The job ended after 1 round and 1 tool call: the job was stopped by a person."
    assert "the job was stopped by a person" in asked[-1].instructions


def _waiting(view: JobView) -> bool:
    return view.state == "waiting"


async def test_an_unknown_outcome_that_is_given_up_ends_the_job_as_a_tool_failure(host: Host) -> None:
    script, asked = watched(calls(call("send", text="a"), call("note", text="b")))
    async with host(Agent("a", script, tools=[send, note])) as client:
        job = await client.start("a", "go")
        view = await until(job.view, _waiting)
        await job.resolve(Resolution(call=view.pending[0].call, choice="give_up", by="ann"))
        outcome = await job.outcome()
        transcript = await job.transcript()

    assert (outcome.status, outcome.requires_human, len(asked)) == ("tool_failure", True, 1)
    assert [(f.tool, f.content) for f in outcome.findings] == [
        ("send", "Outcome unknown: ann gave up finding out whether it happened.")
    ]
    assert [missed.tool for missed in outcome.not_done] == ["note"]
    assert kinds(transcript) == "MTRR"


async def test_an_unknown_outcome_is_asked_about_even_when_a_limit_was_reached_meanwhile(host: Host) -> None:
    script, _ = watched(calls(call("send", text="a"), call("note", text="b")))
    async with host(Agent("a", script, tools=[send, note], limits=Limits(seconds=0.25))) as client:
        job = await client.start("a", "go")
        view = await until(job.view, _waiting)
        await job.resolve(Resolution(call=view.pending[0].call, choice="happened", result="sent", by="ann"))
        outcome = await job.outcome()

    assert outcome.status == "hit_wall_clock"
    assert [(finding.content, finding.is_error) for finding in outcome.findings] == [
        ("sent\n[the tool's own answer was lost; ann found out that it happened]", False)
    ]
    assert [missed.tool for missed in outcome.not_done] == ["note"]


ENDS: list[tuple[dict[str, Any], Status, bool, str]] = [
    ({"text": "done"}, "complete", False, "The job is complete after 0 rounds and 0 tool calls."),
    (
        {"error": {"kind": "Unauthenticated", "message": "wrong key"}},
        "model_failure", True, "The job failed after 0 rounds and 0 tool calls: Unauthenticated: wrong key",
    ),
    (
        {"text": "no", "stop": "refusal"},
        "model_failure", True,
        "The job failed after 0 rounds and 0 tool calls: the model ended with refusal: no reason was given",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("reply", "status", "requires_human", "summary"), ENDS)
async def test_the_end_says_how_it_came_and_whether_somebody_must_look(
    host: Host, reply: dict[str, Any], status: Status, requires_human: bool, summary: str
) -> None:
    script, _ = watched(reply)
    async with host(Agent("a", script)) as client:
        outcome = await (await client.start("a", "go")).outcome()

    assert (outcome.status, outcome.requires_human, outcome.summary) == (status, requires_human, summary)


async def test_a_fault_in_the_middle_of_a_round_leaves_a_transcript_to_go_on_from(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fault(*_: object) -> None:
        raise LookupError("no such thing")

    script, _ = watched(
        calls(call("note", text="a"), call("look_up", key="b"), call("note", text="c")), {"text": "done"}
    )
    monkeypatch.setattr(Calls, "_together", fault)
    async with host(Agent("a", script, tools=[look_up, note])) as client:
        job = await client.start("a", "go")
        outcome = await job.outcome()
        first = await job.transcript()
        await client.reply(job.id, "go on")
        final = await job.outcome()
        transcript = await job.transcript()

    judge_transcript(transcript)
    assert (outcome.status, outcome.error, outcome.requires_human) == ("failed", "LookupError: no such thing", True)
    assert [entry.status for entry in first if isinstance(entry, Result)] == ["ok", "not_executed", "not_executed"]
    assert (final.status, kinds(transcript)) == ("complete", "MTRRRMT")


async def test_a_job_of_an_agent_that_does_not_exist_fails_and_can_be_replied_to_once_it_does(host: Host) -> None:
    async with host(Agent("other", watched({"text": "x"})[0])) as client:
        job = await client.start("a", "go")
        outcome = await job.outcome()
    script, _ = watched({"text": "done"})
    async with host(Agent("a", script, limits=Limits(rounds=3))) as client:
        await client.reply(job.id, "now?")
        final = await job.outcome()
        transcript = await job.transcript()

    assert (outcome.status, outcome.requires_human) == ("failed", True)
    assert "there is no agent 'a'" in (outcome.error or "").lower()
    assert (final.status, final.answer) == ("complete", "done")
    assert kinds(transcript) == "MMT"
    assert isinstance(transcript[-1], Turn)
