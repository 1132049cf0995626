"""What a model may answer, however oddly: nothing cut off, refused or unknown runs a tool or passes as success."""

from typing import Any

import pytest
from pydantic import BaseModel

from activities.agents import Agent
from activities.tools.tool import tool
from tests.conftest import Host
from tests.waiting import until
from tests.workflows.scripting import call, calls, kinds, look_up, looks, save, watched
from workflows.contracts import Limits, Note, Outcome, Result
from workflows.words import BAD_OUTPUT, EMPTY_ANSWER, TOO_LONG_ANSWER

ran: list[str] = []


@tool(read_only=True)
async def traced(job: str) -> str:
    """Leave a trace."""
    ran.append(job)
    return "ran"


class Price(BaseModel):
    name: str
    euros: int


# --- calls that can't be made


@pytest.mark.parametrize(
    ("made", "told"),
    [
        (call("lookup", key="a"), "There is no tool 'lookup'. Tools that exist: look_up, save."),
        (call("look_up", kee="a"), "key"),
        (call("look_up", key=5), "key"),
        ({"tool": "look_up", "raw": '{"key": '}, "The arguments of look_up are not a JSON object: '{\"key\": '."),
        ({"tool": "look_up", "raw": "[1]"}, "The arguments of look_up are not a JSON object: '[1]'."),
        (call("save", text="a"), "key"),
    ],
)
async def test_a_call_that_can_not_be_made_is_told_why_and_the_job_goes_on(
    host: Host, made: dict[str, Any], told: str
) -> None:
    script, _ = watched(calls(made, call("look_up", key="b")), {"text": "done"})
    async with host(Agent("a", script, tools=[look_up, save])) as client:
        job = await client.start("a", "go")
        outcome = await job.outcome()
        results = [entry for entry in await job.transcript() if isinstance(entry, Result)]

    assert outcome.status == "complete"
    assert [result.status for result in results] == ["error", "ok"]
    assert told in results[0].content
    assert outcome.usage.tool_calls == 1


async def test_wrong_arguments_name_each_field_and_what_is_wrong_with_it(host: Host) -> None:
    script, _ = watched(calls(call("look_up", key=5, kind="x")), {"text": "done"})
    async with host(Agent("a", script, tools=[look_up])) as client:
        job = await client.start("a", "go")
        await job.outcome()
        (result,) = [entry for entry in await job.transcript() if isinstance(entry, Result)]

    assert "key" in result.content
    assert "string" in result.content
    assert "kind" in result.content


async def test_an_agent_without_tools_says_so(host: Host) -> None:
    script, _ = watched(looks("a"), {"text": "done"})
    async with host(Agent("a", script)) as client:
        job = await client.start("a", "go")
        await job.outcome()
        (result,) = [entry for entry in await job.transcript() if isinstance(entry, Result)]

    assert result.content == "There is no tool 'look_up'. Tools that exist: none."


# --- turns that ended early


async def test_a_truncated_turn_runs_nothing_even_if_its_arguments_parse(host: Host) -> None:
    made = calls(call("traced", job="cut"), call("save", key="a"), {"tool": "save", "raw": '{"ke'}, stop="max_tokens")
    script, _ = watched(made, {"text": "done"})
    async with host(Agent("a", script, tools=[traced, save])) as client:
        job = await client.start("a", "go")
        outcome = await job.outcome()
        results = [entry for entry in await job.transcript() if isinstance(entry, Result)]

    assert outcome.status == "complete"
    assert "cut" not in ran
    assert [result.status for result in results] == ["not_executed"] * 3
    assert {result.content for result in results} == {
        "Not executed: your answer was cut off at the output limit, so this call may be incomplete."
        " Make it again, shorter."
    }
    assert outcome.usage.tool_calls == 0


async def test_turns_cut_off_again_and_again_end_the_job(host: Host) -> None:
    turns = [calls(call("traced", job="again"), call("look_up", key=f"{n}"), stop="max_tokens") for n in range(9)]
    script, asked = watched(*turns)
    async with host(Agent("a", script, tools=[traced, look_up])) as client:
        outcome = await (await client.start("a", "go")).outcome()

    assert (outcome.status, outcome.error, len(asked)) == (
        "model_failure",
        "the model's calls were cut off at the output limit",
        3,
    )
    assert "again" not in ran


@pytest.mark.parametrize("stop", ["refusal", "content_filter", "unknown"])
async def test_what_a_failed_turn_asks_for_is_not_run(host: Host, stop: str) -> None:
    script, asked = watched(calls(call("traced", job=stop), text="Let me", stop=stop), {"text": "done"})
    async with host(Agent("a", script, tools=[traced])) as client:
        job = await client.start("a", "go")
        outcome = await job.outcome()
        transcript = await job.transcript()
        await client.reply(job.id, "go on")
        final = await job.outcome()

    assert outcome.status == "model_failure"
    assert (outcome.error or "").startswith(f"the model ended with {stop}: ")
    assert stop not in ran
    assert kinds(transcript) == "MTR"
    assert isinstance(transcript[2], Result)
    assert transcript[2].content == f"Not executed: the turn that asked for it ended with {stop}."
    assert (final.status, len(asked)) == ("complete", 2)


@pytest.mark.parametrize("stop", ["refusal", "content_filter", "unknown"])
async def test_a_failed_turn_is_no_success_whatever_it_says(host: Host, stop: str) -> None:
    script, asked = watched({"text": "All is well.", "stop": stop})
    async with host(Agent("a", script)) as client:
        outcome = await (await client.start("a", "go")).outcome()

    assert (outcome.status, outcome.requires_human, len(asked)) == ("model_failure", True, 1)


async def test_a_paused_turn_is_continued(host: Host) -> None:
    script, asked = watched({"text": "searching", "stop": "pause"}, {"text": "done"})
    async with host(Agent("a", script)) as client:
        job = await client.start("a", "go")
        outcome = await job.outcome()
        transcript = await job.transcript()

    assert (outcome.status, outcome.answer, len(asked)) == ("complete", "done", 2)
    assert kinds(transcript) == "MTT"


async def test_a_model_that_pauses_for_ever_ends_the_job(host: Host) -> None:
    script, asked = watched({"text": "searching", "stop": "pause"})
    async with host(Agent("a", script)) as client:
        outcome = await (await client.start("a", "go")).outcome()

    assert (outcome.status, len(asked)) == ("model_failure", 11)
    assert outcome.error == "the model paused 10 times in a row without an answer"


# --- final answers that are none


async def _run(host: Host, agent: Agent) -> tuple[Outcome, list[str], str]:
    async with host(agent) as client:
        job = await client.start(agent.name, "go")
        outcome = await job.outcome()
        transcript = await job.transcript()
    return outcome, [entry.text for entry in transcript if isinstance(entry, Note)], kinds(transcript)


@pytest.mark.parametrize("empty", ["", " \n "])
async def test_an_empty_answer_is_asked_for_again_once(host: Host, empty: str) -> None:
    script, asked = watched({"text": empty}, {"text": "done"})
    outcome, notes, _ = await _run(host, Agent("a", script))

    assert (outcome.status, outcome.answer, len(asked)) == ("complete", "done", 2)
    assert notes == [EMPTY_ANSWER]


async def test_two_empty_answers_in_a_row_are_a_failure_of_the_model(host: Host) -> None:
    script, asked = watched({"text": ""})
    outcome, _, entries = await _run(host, Agent("a", script))

    assert (outcome.status, outcome.error, len(asked)) == ("model_failure", "the model's answer was empty", 2)
    assert entries == "MN"


async def test_a_round_in_between_forgives_an_empty_answer(host: Host) -> None:
    script, _ = watched({"text": ""}, looks("a"), {"text": ""}, {"text": "done"})
    outcome, notes, _ = await _run(host, Agent("a", script, tools=[look_up]))

    assert (outcome.status, len(notes)) == ("complete", 2)


async def test_an_answer_cut_off_is_asked_for_again_twice_and_then_given_as_it_is(host: Host) -> None:
    script, asked = watched({"text": "It is", "stop": "max_tokens"})
    outcome, notes, entries = await _run(host, Agent("a", script))

    assert (outcome.status, outcome.answer, len(asked)) == ("model_failure", "It is", 3)
    assert outcome.error == "the answer was cut off at the output limit"
    assert notes == [TOO_LONG_ANSWER] * 2
    assert entries == "MTNTNT"


async def test_reasoning_alone_is_an_empty_answer(host: Host) -> None:
    script, _ = watched({"reasoning": "hm"}, {"text": "done"})
    outcome, notes, entries = await _run(host, Agent("a", script))

    assert (outcome.status, notes, entries) == ("complete", [EMPTY_ANSWER], "MTNT")


# --- output schemas


async def test_an_answer_by_schema_is_an_output(host: Host) -> None:
    script, _ = watched({"text": '{"name": "pump", "euros": 5}'})
    outcome, _, _ = await _run(host, Agent("a", script, output=Price))

    assert (outcome.status, outcome.output) == ("complete", {"name": "pump", "euros": 5})


async def test_a_wrong_output_is_asked_for_again_and_told_what_is_wrong(host: Host) -> None:
    script, asked = watched({"text": '{"name": "pump"}'}, {"text": '{"name": "pump", "euros": 5}'})
    outcome, notes, entries = await _run(host, Agent("a", script, output=Price))

    assert (outcome.status, outcome.output, len(asked)) == ("complete", {"name": "pump", "euros": 5}, 2)
    assert entries == "MTNT"
    assert "euros" in notes[0]
    assert notes[0].startswith(BAD_OUTPUT.split("{problem}")[0])


@pytest.mark.parametrize("retries", [0, 1, 2])
async def test_an_output_that_stays_wrong_is_invalid(host: Host, retries: int) -> None:
    script, asked = watched({"text": "five euros"})
    outcome, _, _ = await _run(host, Agent("a", script, output=Price, output_retries=retries))

    assert (outcome.status, outcome.answer, outcome.output) == ("invalid_output", "five euros", None)
    assert (outcome.requires_human, len(asked)) == (True, retries + 1)
    assert (outcome.error or "").startswith("The answer is not one JSON value")


async def test_asking_again_for_an_output_stays_within_the_limits(host: Host) -> None:
    script, asked = watched({"text": "five euros", "usage": {"input_tokens": 60}})
    outcome, _, _ = await _run(host, Agent("a", script, output=Price, limits=Limits(tokens=100)))

    assert (outcome.status, outcome.answer) == ("hit_token_cap", "summed up")
    assert [request.tool_choice for request in asked] == ["auto", "auto", "none"]


async def test_an_output_is_checked_even_when_the_model_claims_to_have_called_a_tool(host: Host) -> None:
    script, _ = watched({"text": "no JSON", "stop": "tool_calls"}, {"text": '{"name": "pump", "euros": 5}'})
    outcome, notes, _ = await _run(host, Agent("a", script, output=Price))

    assert (outcome.status, outcome.output, len(notes)) == ("complete", {"name": "pump", "euros": 5}, 1)


async def test_an_output_too_large_for_an_outcome_is_said_so(host: Host) -> None:
    script, _ = watched({"text": '{"name": "' + "x" * 600_000 + '", "euros": 5}'})
    outcome, notes, _ = await _run(host, Agent("a", script, output=Price, output_retries=1))

    assert outcome.status == "invalid_output"
    assert outcome.error == "It has 600024 bytes, at most 500000 fit into an outcome."
    assert notes == [BAD_OUTPUT.format(problem=outcome.error)]


# --- people's messages


async def test_a_message_to_a_running_job_enters_after_the_results_of_the_round(host: Host) -> None:
    script, asked = watched(
        calls(call("look_up", key="a"), call("save", key="b"), call("look_up", key="c")), {"text": "done"}
    )
    async with host(Agent("a", script, tools=[look_up, save])) as client:
        job = await client.start("a", "go")
        view = await until(job.view, lambda seen: seen.state == "waiting")
        await job.steer("first", by="ann")
        await job.steer("second", by="bob")
        await job.approve(view.pending[0].call, by="ann")
        await job.outcome()
        transcript = await job.transcript()

    assert kinds(transcript) == "MTRRRMMT"
    assert [(e.text, e.by) for e in transcript if e.kind == "message"] == [
        ("go", None), ("first", "ann"), ("second", "bob"),
    ]  # fmt: skip
    assert list(asked[1].transcript) == transcript[:-1]


async def test_a_message_that_comes_while_the_final_answer_is_made_goes_on_with_the_job(host: Host) -> None:
    script, asked = watched({"text": "first", "seconds": 0.5}, {"text": "second"})
    async with host(Agent("a", script)) as client:
        job = await client.start("a", "go")
        await until(lambda: _count(asked))
        await job.steer("wait, one more thing", id="s1")
        await job.steer("wait, one more thing", id="s1")
        outcome = await job.outcome()
        transcript = await job.transcript()

    assert (outcome.status, outcome.answer) == ("complete", "second")
    assert kinds(transcript) == "MTMT"


async def test_a_message_that_comes_during_the_closing_call_is_there_for_the_reply(host: Host) -> None:
    script, asked = watched(looks("a"), closing={"text": "summed up", "seconds": 0.5})
    async with host(Agent("a", script, tools=[look_up], limits=Limits(rounds=0))) as client:
        job = await client.start("a", "go")
        await until(lambda: _count(asked), lambda count: count == 2)
        await job.steer("one more thing")
        outcome = await job.outcome()
        transcript = await job.transcript()

    assert outcome.status == "hit_iteration_cap"
    assert kinds(transcript) == "MTRTM"


async def _count(asked: list[Any]) -> int:
    return len(asked)


async def test_a_paused_job_takes_no_step_until_it_is_resumed(host: Host) -> None:
    script, asked = watched(looks("a") | {"seconds": 0.3}, {"text": "done"})
    async with host(Agent("a", script, tools=[look_up])) as client:
        job = await client.start("a", "go", limits=Limits(seconds=60))
        await until(lambda: _count(asked))
        await job.pause()
        view = await until(job.view, lambda seen: seen.state == "paused" and seen.entries == 3)
        still = await job.view()
        await job.steer("go on")
        await job.resume()
        outcome = await job.outcome()
        transcript = await job.transcript()

    assert (view.tool_calls, still.tool_calls) == (0, 0)
    assert (outcome.status, len(asked)) == ("complete", 2)
    assert kinds(transcript) == "MTRMT"


async def test_a_paused_job_can_be_stopped(host: Host) -> None:
    script, asked = watched(looks("a") | {"seconds": 0.3})
    async with host(Agent("a", script, tools=[look_up])) as client:
        job = await client.start("a", "go")
        await until(lambda: _count(asked))
        await job.pause()
        await until(job.view, lambda seen: seen.state == "paused" and seen.entries == 3)
        await job.stop(by="ann")
        outcome = await job.outcome()

    assert (outcome.status, outcome.answer, outcome.usage.tool_calls) == ("cancelled", "summed up", 0)
