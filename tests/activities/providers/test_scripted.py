"""The scripted provider answers by its request alone, and says where a script is wrong."""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from activities.providers.errors import Overloaded, RateLimited, Rejected
from activities.providers.protocol import ModelRequest, ToolDeclaration
from activities.providers.script import ERROR_KINDS, Reply
from activities.providers.scripted import Script, Scripted, ScriptError
from tests.waiting import until
from workflows.contracts import CallPart, Entry, Message, ReasoningPart, RefusalPart, Result, TextPart, Turn, Usage
from workflows.words import with_edit

QUESTION = Message(text="How many pumps?")


def request(transcript: Sequence[Entry] = (QUESTION,), **changes: Any) -> ModelRequest:
    return ModelRequest(model="demo", instructions="Be brief.", transcript=transcript, **changes)


async def answer(script: Script, *transcript: Entry, **changes: Any) -> Turn:
    return await Scripted(script).complete(request((QUESTION, *transcript), **changes))


async def test_a_text_reply_ends_the_turn() -> None:
    turn = await answer(Script([{"text": "Seven."}]))

    assert turn == Turn(
        number=1,
        parts=[TextPart(text="Seven.")],
        stop="end",
        model="demo",
        usage=Usage(input_tokens=6, output_tokens=2, model_calls=1),
    )


async def test_calls_get_ids_of_the_turn_and_keep_the_providers() -> None:
    script = Script(
        [
            {
                "reasoning": "Count first.",
                "text": "Let me look.",
                "calls": [
                    {"tool": "count", "arguments": {"of": "pump"}, "id": "toolu_1"},
                    {"tool": "count", "raw": '{"of": '},
                    {"tool": "now"},
                ],
            }
        ]
    )

    turn = await answer(script, turn=4)

    assert turn.stop == "tool_calls"
    assert turn.parts == [
        ReasoningPart(text="Count first."),
        TextPart(text="Let me look."),
        CallPart(id="c4-1", provider_id="toolu_1", tool="count", arguments={"of": "pump"}),
        CallPart(id="c4-2", tool="count", arguments=None, raw='{"of": '),
        CallPart(id="c4-3", tool="now", arguments={}),
    ]


async def test_the_next_reply_follows_from_the_transcript_alone() -> None:
    replies = [{"text": "one"}, {"text": "two"}]
    first = Turn(number=1, parts=[TextPart(text="one")])

    again = [await answer(Script(replies), first) for _ in range(2)]

    assert [turn.text for turn in again] == ["two", "two"]


async def test_a_function_makes_the_reply_from_the_request() -> None:
    script = Script(lambda asked: {"text": f"{asked.model} has {len(asked.tools)} tools"})

    turn = await answer(script, tools=[ToolDeclaration("count", "Counts.", {"type": "object"})])

    assert turn.text == "demo has 1 tools"


async def test_an_exhausted_script_is_rejected_with_both_numbers() -> None:
    with pytest.raises(Rejected) as raised:
        await answer(Script([{"text": "one"}], source="demo.json"), Turn(number=1))

    assert str(raised.value) == (
        'demo.json has 1 replies and this is call 2; add a reply, or put "repeat": true on the last one'
    )


async def test_a_repeated_reply_answers_every_later_call() -> None:
    script = Script([{"text": "one"}, {"calls": [{"tool": "look"}], "repeat": True}])

    turn = await answer(script, *[Turn(number=n) for n in range(1, 8)], turn=8)

    assert [call.id for call in turn.calls] == ["c8-1"]


async def test_a_closing_call_takes_the_closing_reply() -> None:
    script = Script([{"text": "one"}], closing={"text": "In short: seven."})

    assert (await answer(script, tool_choice="none")).text == "In short: seven."


async def test_a_closing_call_without_a_closing_reply_names_the_findings() -> None:
    turn = await answer(
        Script([{"text": "one"}]),
        Turn(number=1),
        Result(call="c1-1", tool="count", content="7 {result:9}"),
        Result(call="c1-2", tool="order", content="refused", status="denied"),
        tool_choice="none",
    )

    assert turn.text == "The work had to stop: the tools returned count: 7 {result:9}."


async def test_a_call_that_sums_up_takes_the_summary_or_names_the_findings() -> None:
    asked = {"tool_choice": "none", "purpose": "summary"}
    script = Script([{"text": "one"}], closing={"text": "bye"}, summary={"text": "All is well."})

    assert (await answer(script, **asked)).text == "All is well."
    assert (await answer(Script([{"text": "one"}]), **asked)).text == "So far no tool had returned anything."


async def test_turns_that_were_summed_up_count_for_the_place_of_the_next_reply() -> None:
    script = Script([{"text": "one"}, {"text": "two"}, {"text": "three"}])

    assert (await answer(script, turns_before=2)).text == "three"


async def test_a_closing_call_without_findings_says_so() -> None:
    turn = await answer(Script([]), tool_choice="none")

    assert turn.text == "The work had to stop: no tool had returned anything."


async def test_texts_quote_results_of_the_round_before_and_keep_other_braces() -> None:
    turn = await answer(
        Script([{"text": "a"}, {"text": "b"}, {"text": 'As {"json": {}}: {result:2} and {result:1}, {result}'}]),
        Turn(number=1),
        Result(call="c1-1", tool="count", content="old"),
        Turn(number=2),
        Result(call="c2-1", tool="count", content="{result:2}"),
        Result(call="c2-2", tool="count", content="two"),
    )

    assert turn.text == 'As {"json": {}}: two and {result:2}, {result}'


async def test_what_is_quoted_of_an_edited_call_is_the_tools_own() -> None:
    edited = Result(call="c1-1", tool="count", content=with_edit('{"n":2}', "two\nlines"), edited=True)
    quoted = await answer(Script([{"text": "a"}, {"text": "{result:1}"}]), Turn(number=1), edited)
    closed = await answer(Script([]), edited, tool_choice="none")

    assert quoted.text == "two\nlines"
    assert closed.text == "The work had to stop: the tools returned count: two\nlines."


async def test_quoting_a_result_that_is_not_there_is_rejected() -> None:
    with pytest.raises(Rejected, match=r"quotes \{result:1\}, but the round before has 0 results"):
        await answer(Script([{"text": "{result:1}"}]))


async def test_given_usage_replaces_the_count_field_by_field() -> None:
    turn = await answer(Script([{"text": "12345678", "usage": {"input_tokens": 900, "cost_usd": 0.25}}]))

    assert turn.usage == Usage(input_tokens=900, output_tokens=2, cost_usd=0.25, model_calls=1)


async def test_counted_usage_grows_with_the_transcript() -> None:
    turn = await answer(
        Script([{"text": "a"}, {"text": "b"}]),
        Turn(number=1, parts=[CallPart(id="c1-1", tool="count", arguments={"of": "pump"})]),
        Result(call="c1-1", tool="count", content="x" * 400),
    )

    # 9 of instructions, 15 of the question, 5 + 13 of the call, 400 of its result
    assert turn.usage.input_tokens == 111


async def test_a_stop_reason_and_a_model_can_be_given() -> None:
    turn = await answer(Script([{"text": "I won't.", "stop": "refusal", "model": "other"}]))

    assert (turn.stop, turn.model, turn.parts) == ("refusal", "other", [RefusalPart(text="I won't.")])


async def test_an_empty_turn_can_be_scripted() -> None:
    turn = await answer(Script([{"text": ""}]))

    assert (turn.parts, turn.stop) == ([], "end")


async def test_an_error_is_raised_with_its_delay() -> None:
    with pytest.raises(RateLimited, match=r"^slow down$") as raised:
        await answer(Script([{"error": {"kind": "RateLimited", "message": "slow down", "delay": 2}}]))

    assert raised.value.delay == 2


@pytest.mark.parametrize("kind", sorted(ERROR_KINDS))
async def test_every_error_of_the_tree_can_be_scripted(kind: str) -> None:
    with pytest.raises(ERROR_KINDS[kind]):
        await answer(Script([{"error": {"kind": kind, "message": "no"}}]))


async def test_an_error_with_times_fails_that_often_and_then_answers() -> None:
    provider = Scripted(Script([{"error": {"kind": "Overloaded", "message": "full", "times": 2}, "text": "here"}]))
    for _ in range(2):
        with pytest.raises(Overloaded):
            await provider.complete(request())

    assert (await provider.complete(request())).text == "here"


async def test_seconds_hold_the_answer_back_without_blocking() -> None:
    script = Script([{"text": "late", "seconds": 3600}])

    with pytest.raises(TimeoutError):
        await asyncio.wait_for(answer(script), timeout=0.01)


async def test_a_file_is_a_list_or_an_object_with_a_closing_reply(tmp_path: Path) -> None:
    plain, full = tmp_path / "plain.json", tmp_path / "full.json"
    plain.write_text(json.dumps([{"text": "é"}]), encoding="utf-8")
    full.write_text(json.dumps({"replies": [{"text": "x"}], "closing": {"text": "bye"}}), encoding="utf-8")

    assert (await answer(Script.load(plain))).text == "é"
    assert (await answer(Script.load(full), tool_choice="none")).text == "bye"


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ('[{"text": 3}]', "reply 1, field text: Input should be a valid string"),
        ('[{"text": "a"}, {"calls": [{"arguments": {}}]}]', "reply 2, field calls.0.tool: Field required"),
        ('[{"txt": "a"}]', "reply 1, field txt: Extra inputs are not permitted"),
        ('[{"error": {"kind": "Boom", "message": "x"}}]', "reply 1, field error.kind: 'Boom' is no class of errors.py"),
        ("[{}]", "reply 1: says nothing; give it text"),
        ('["hello"]', 'reply 1 is "hello" (str), and a reply is an object'),
        ('[{"text": "a", "repeat": true}, {"text": "b"}]', "reply 1 repeats for ever"),
        (
            '[{"text": "a", "error": {"kind": "Refused", "message": "x"}}]',
            "always fails, so its text would never be seen",
        ),
        (
            '[{"error": {"kind": "Refused", "message": "x", "times": 1}}]',
            "has no answer for the attempt after 1 failures",
        ),
        ('[{"calls": [{"tool": "t", "raw": "", "arguments": {}}]}]', "field calls.0: has both arguments and raw"),
        ('{"replies": [], "closing": {"stop": "bored"}}', "closing, field stop: Input should be 'end'"),
        ('{"replies": [], "close": {}}', "has close beside its replies"),
        ('{"answers": []}', "has no list of replies"),
        ("[", "is no JSON"),
    ],
)
def test_a_bad_script_is_named_with_file_place_and_field(tmp_path: Path, content: str, problem: str) -> None:
    path = tmp_path / "demo.json"
    path.write_text(content, encoding="utf-8")

    with pytest.raises(ScriptError) as raised:
        Script.load(path)

    assert str(raised.value).startswith(f"{path}: ")
    assert problem in str(raised.value)


@pytest.mark.parametrize(
    ("replies", "seen"),
    [
        ({"text": "Hi"}, '{"text": "Hi"} (dict)'),
        ("Hi", '"Hi" (str)'),
        (None, "null (NoneType)"),
        (Reply(text="Hi"), "Reply(…)"),
    ],
)
def test_what_is_no_list_of_replies_is_told_with_what_would_be(replies: Any, seen: str) -> None:
    with pytest.raises(ScriptError) as raised:
        Script(replies)

    assert str(raised.value) == (
        f"script: {seen} is no list of replies; write a list of them, or a function from the request to one, as in"
        ' Script([{"text": "Hello."}], closing={"text": "Hello."})'
    )


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ScriptError, match=r"gone\.json: can't be read \(No such file or directory\)"):
        Script.load(tmp_path / "gone.json")


class Heard:
    """A `Live` that keeps what is said."""

    def __init__(self) -> None:
        self.said: list[tuple[str, str]] = []

    def say(self, kind: str, text: str) -> None:
        self.said.append((kind, text))


async def test_without_a_word_on_streaming_an_answer_is_said_at_its_end_in_one_piece_a_part() -> None:
    heard = Heard()
    await answer(Script([{"reasoning": "hm", "text": "Seven.", "calls": [{"tool": "find"}]}]), live=heard)

    assert heard.said == [("reasoning", "hm"), ("text", "Seven."), ("call", "find")]


async def test_a_streamed_answer_is_said_in_pieces_of_equal_length_over_its_time() -> None:
    heard = Heard()
    script = Script([{"text": "abcdefgh", "pieces": 4, "stream_seconds": 0.4}])
    speaking = asyncio.create_task(answer(script, live=heard))

    async def said() -> list[tuple[str, str]]:
        return list(heard.said)

    first = await until(said)
    early = not speaking.done()
    turn = await speaking

    assert (early, first[0]) == (True, ("text", "ab"))
    assert heard.said == [("text", "ab"), ("text", "cd"), ("text", "ef"), ("text", "gh")]
    assert turn.text == "abcdefgh"


async def test_an_error_may_come_after_some_pieces_in_its_first_attempts() -> None:
    heard = Heard()
    error = {"kind": "Overloaded", "message": "cut", "times": 1, "after": 2}
    scripted = Scripted(Script([{"text": "abcd", "pieces": 4, "error": error}]))
    with pytest.raises(Overloaded, match="cut"):
        await scripted.complete(request(live=heard))
    cut = list(heard.said)
    turn = await scripted.complete(request(live=heard))

    assert cut == [("text", "a"), ("text", "b")]
    assert turn.text == "abcd"


async def test_an_error_after_some_pieces_may_come_in_every_attempt() -> None:
    heard = Heard()
    error = {"kind": "Overloaded", "message": "cut", "after": 1}
    with pytest.raises(Overloaded, match="cut"):
        await answer(Script([{"text": "ab", "pieces": 2, "error": error}]), live=heard)

    assert heard.said == [("text", "a")]
