"""A model that can't call tools: what it is asked, held to which schema, and how what it writes is read."""

import json
from typing import Any, cast

import pytest
from openai import AsyncOpenAI
from pydantic import BaseModel, JsonValue

from activities.agents import Agent
from activities.errors import DefinitionError
from activities.providers.action_schema import action_schema, is_strict
from activities.providers.openai_chat import OpenAIChat
from activities.providers.protocol import ModelRequest, ToolDeclaration
from activities.providers.schema_mode import SchemaMode
from activities.providers.scripted import Script
from activities.tools import json_schema
from activities.tools.tool import tool
from tests.activities.providers.openai_wire import chat, request, responses
from tests.conftest import Host
from tests.judge import judge_chat
from tests.streaming import Heard, Stream, serving
from tests.traffic import Answer, Replay
from tests.workflows.scripting import kinds
from workflows.contracts import CallPart, Entry, JsonObject, Limits, Message, Result, TextPart, Turn


class Verb(BaseModel):
    word: str
    person: int


@tool(read_only=True)
def conjugate(verb: Verb, tense: str = "past") -> str:
    """Conjugate a verb."""
    return f"{verb.word} in {tense}"


@tool(read_only=True)
def lookup_rule(topic: str) -> str:
    """Look up a rule."""
    return f"rule of {topic}"


TOOLS = (conjugate.declaration(), lookup_rule.declaration())


def action(**fields: Any) -> str:
    return json.dumps({"action": fields})


def called(name: str, **arguments: Any) -> str:
    return action(kind="tool_call", tool=name, arguments=arguments)


def answered(answer: Any) -> str:
    return action(kind="answer", answer=answer)


def written(text: str, finish: str = "stop", **message: Any) -> Answer:
    fields = {"role": "assistant", "content": text, **message}
    return Answer({"model": "m-1", "choices": [{"index": 0, "finish_reason": finish, "message": fields}]})


async def asked(said: Answer, transcript: list[Entry] | None = None, **fields: Any) -> tuple[Turn, dict[str, Any]]:
    """The turn that is read, and the body that was sent."""
    replay = Replay(said)
    turn = await SchemaMode(chat(replay)).complete(request(transcript, tools=TOOLS, **fields))
    return turn, replay.sent[0]


# --- the schema


@pytest.mark.parametrize(
    ("value", "fits"),
    [
        (called("conjugate", verb={"word": "go", "person": 3}), True),
        (called("lookup_rule", topic="past"), True),
        (answered("went"), True),
        (called("no_such_tool", topic="past"), False),
        (called("lookup_rule", topic=3), False),
        (called("conjugate", verb={"word": "go"}), False),
        (action(kind="tool_call", tool="lookup_rule"), False),
        (action(kind="think"), False),
        ('{"action": null}', False),
        ('{"action": {"kind": "answer", "answer": "x"}, "more": 1}', False),
    ],
)
def test_only_tools_that_exist_with_arguments_that_fit_and_answers_can_be_written(value: str, fits: bool) -> None:
    schema = action_schema(TOOLS, None)

    assert (json_schema.check(json.loads(value), schema) is None) is fits


def test_definitions_of_two_tools_of_the_same_name_do_not_mix() -> None:
    one: JsonObject = {
        "$defs": {"X": {"type": "integer"}},
        "type": "object",
        "properties": {"x": {"$ref": "#/$defs/X"}},
    }
    two: JsonObject = {"$defs": {"X": {"type": "string"}}, "type": "object", "properties": {"x": {"$ref": "#/$defs/X"}}}
    tools = [ToolDeclaration(name, "", schema) for name, schema in (("one", one), ("two", two))]
    schema = action_schema(tools, None)

    assert set(cast(JsonObject, schema["$defs"])) == {"one.X", "two.X"}
    assert json_schema.check(json.loads(called("one", x=1)), schema) is None
    assert json_schema.check(json.loads(called("one", x="1")), schema) is not None
    assert json_schema.check(json.loads(called("two", x="1")), schema) is None


def test_the_answer_has_the_schema_of_the_agents_output() -> None:
    schema = action_schema(TOOLS, Verb.model_json_schema())

    assert json_schema.check(json.loads(answered({"word": "go", "person": 1})), schema) is None
    assert json_schema.check(json.loads(answered("went")), schema) is not None


@pytest.mark.parametrize(
    ("schema", "strict"),
    [
        ({"type": "object", "properties": {"a": {}}, "required": ["a"], "additionalProperties": False}, True),
        ({"type": "object", "properties": {"a": {}}, "required": [], "additionalProperties": False}, False),
        ({"type": "object", "properties": {"a": {}}, "required": ["a"]}, False),
        ({"anyOf": [{"type": "string"}, {"type": "object"}]}, False),
        ({"type": "string"}, True),
    ],
)
def test_openais_strict_mode_is_asked_for_only_where_it_takes_the_schema(schema: JsonValue, strict: bool) -> None:
    assert is_strict(schema) is strict


# --- what is sent


async def test_no_tools_are_declared_and_the_answer_is_held_to_the_schema() -> None:
    _, body = await asked(written(answered("hello")), instructions="You teach grammar.")

    assert "tools" not in body
    assert "tool_choice" not in body
    form = body["response_format"]
    assert (form["type"], form["json_schema"]["name"], form["json_schema"]["strict"]) == (
        "json_schema",
        "action",
        False,
    )
    assert form["json_schema"]["schema"] == action_schema(TOOLS, None)
    system = body["messages"][0]["content"]
    assert system.startswith("You teach grammar.\n\nYou act by writing one JSON object")
    assert "- lookup_rule: Look up a rule.\n  arguments: {" in system
    judge_chat(body)


async def test_openai_responses_is_told_the_schema_in_its_own_place() -> None:
    replay = Replay(
        Answer(
            {
                "id": "r", "object": "response", "model": "m", "status": "completed",
                "output": [
                    {"type": "message", "id": "m", "role": "assistant", "status": "completed",
                     "content": [{"type": "output_text", "text": answered("hi"), "annotations": []}]}
                ],
            }
        )
    )  # fmt: skip
    turn = await SchemaMode(responses(replay)).complete(request(tools=TOOLS, settings={"text": {"verbosity": "low"}}))

    assert turn.text == "hi"
    assert replay.sent[0]["text"]["verbosity"] == "low"
    assert replay.sent[0]["text"]["format"]["schema"] == action_schema(TOOLS, None)


async def test_a_form_that_the_settings_ask_for_stays() -> None:
    _, body = await asked(written(answered("hi")), settings={"response_format": {"type": "json_object"}})

    assert body["response_format"] == {"type": "json_object"}


async def test_earlier_actions_and_their_results_are_told_as_text_whoever_made_them() -> None:
    transcript: list[Entry] = [
        Message(text="Past of go?"),
        Turn(
            parts=[TextPart(text="Let me see."), CallPart(id="c1-1", tool="lookup_rule", arguments={"topic": "past"})]
        ),
        Result(call="c1-1", tool="lookup_rule", content="rule of past"),
        Turn(parts=[TextPart(text="It is went.")]),
        Message(text="Sure?"),
    ]
    _, body = await asked(written(answered("yes")), transcript)

    told = [(message["role"], message["content"]) for message in body["messages"][1:]]
    assert told == [
        ("user", "Past of go?"),
        ("assistant", "Let me see.\n" + called("lookup_rule", topic="past")),
        ("user", "Result of lookup_rule (c1-1):\nrule of past"),
        ("assistant", answered("It is went.")),
        ("user", "Sure?"),
    ]
    judge_chat(body)


async def test_in_the_closing_call_only_an_answer_can_be_written() -> None:
    _, body = await asked(written(answered("so far")), tool_choice="none")

    assert body["response_format"]["json_schema"]["schema"] == action_schema([], None)
    assert "No tool can be used now: answer." in body["messages"][0]["content"]


# --- what is read


async def test_a_tool_call_is_read_as_one_with_an_id_of_ours() -> None:
    turn, _ = await asked(written(called("lookup_rule", topic="past")), turn=4)

    assert turn.parts == [CallPart(id="c4-1", tool="lookup_rule", arguments={"topic": "past"})]
    assert (turn.stop, turn.native) == ("tool_calls", None)


@pytest.mark.parametrize(("answer", "text"), [("went", "went"), ({"word": "go"}, '{"word": "go"}'), (3, "3")])
async def test_an_answer_is_read_as_its_text(answer: Any, text: str) -> None:
    turn, _ = await asked(written(answered(answer)))

    assert (turn.text, turn.calls, turn.stop) == (text, [], "end")


async def test_arguments_that_are_no_object_go_back_to_the_model_as_malformed() -> None:
    turn, _ = await asked(written(action(kind="tool_call", tool="lookup_rule", arguments=[1])))

    assert [(call.arguments, call.raw) for call in turn.calls] == [(None, "[1]")]


@pytest.mark.parametrize(
    "text", ["I will look it up.", "[]", '{"action": {"kind": "answer"}}', '{"action": {"kind": "tool_call"}}', "{"]
)
async def test_what_is_no_action_is_a_call_that_can_not_be_made_and_never_an_answer(text: str) -> None:
    turn, _ = await asked(written(text), turn=2)

    assert turn.parts == [CallPart(id="c2-1", tool="not_an_action", raw=text)]
    assert (turn.stop, turn.native) == ("tool_calls", None)


@pytest.mark.parametrize("text", ["", " \n"])
async def test_nothing_written_is_an_empty_answer_for_which_the_loop_has_words(text: str) -> None:
    turn, _ = await asked(written(text))

    assert (turn.parts, turn.stop) == ([], "end")


async def test_what_was_no_action_is_told_as_it_was_written_with_what_was_wrong_behind_it() -> None:
    transcript: list[Entry] = [
        Message(text="Past of go?"),
        Turn(parts=[CallPart(id="c1-1", tool="not_an_action", raw="Let me look.")], stop="tool_calls"),
        Result(call="c1-1", tool="not_an_action", content="Error: what you wrote is no action", status="error"),
    ]
    _, body = await asked(written(answered("went")), transcript)

    told = [(message["role"], message["content"]) for message in body["messages"][1:]]
    assert told[1] == ("assistant", "Let me look.")
    assert told[2][0] == "user"
    assert told[2][1].endswith("what you wrote is no action")
    assert "not_an_action" not in json.dumps(body["messages"])
    judge_chat(body)


async def test_an_answer_that_was_cut_off_runs_nothing() -> None:
    turn, _ = await asked(written(called("lookup_rule", topic="past")[:-3], finish="length"))

    assert (turn.stop, turn.calls) == ("max_tokens", [])


async def test_a_refusal_stays_one() -> None:
    turn, _ = await asked(written("", refusal="I can't"))

    assert turn.stop == "refusal"


# --- whole jobs


async def test_a_job_in_schema_mode_uses_its_tools_and_gives_an_answer_of_its_form(host: Host) -> None:
    seen: list[ModelRequest] = []
    replies = [
        called("conjugate", verb={"word": "go", "person": 3}),
        called("no_such_tool"),
        answered({"word": "went", "person": 3}),
    ]

    def reply(asked: ModelRequest) -> dict[str, Any]:
        seen.append(asked)
        return {"text": replies[len(seen) - 1]}

    agent = Agent(
        "tutor",
        Script(reply),
        tools=[conjugate, lookup_rule],
        output=Verb,
        tool_calling="schema",
        limits=Limits(rounds=4),
    )
    async with host(agent) as client:
        job = await client.start("tutor", "Past of go?")
        outcome, transcript = await job.outcome(), await job.transcript()

    assert (outcome.status, outcome.output) == ("complete", {"word": "went", "person": 3})
    assert kinds(transcript) == "MTRTRT"
    results = [entry for entry in transcript if isinstance(entry, Result)]
    assert [result.status for result in results] == ["ok", "error"]
    assert "There is no tool 'no_such_tool'" in results[1].content
    assert all(not asked.tools for asked in seen)
    assert "Give your final answer as one JSON value" not in seen[0].instructions


async def run_job(host: Host, replies: list[str], **fields: Any) -> tuple[Any, list[ModelRequest], list[Entry]]:
    """The outcome of a job whose model writes these, the last one again and again, what it was asked, and all said."""
    seen: list[ModelRequest] = []

    def reply(asked: ModelRequest) -> dict[str, Any]:
        seen.append(asked)
        return {"text": replies[min(len(seen), len(replies)) - 1]}

    agent = Agent("tutor", Script(reply), tools=[conjugate, lookup_rule], tool_calling="schema", **fields)
    async with host(agent) as client:
        job = await client.start("tutor", "Past of go?")
        return await job.outcome(), seen, list(await job.transcript())


async def test_the_model_is_told_why_its_answer_was_no_action_and_mends_it(host: Host) -> None:
    outcome, seen, transcript = await run_job(host, ["I will look it up.", answered("went")])

    assert (outcome.status, outcome.answer) == ("complete", "went")
    assert kinds(transcript) == "MTRT"
    assert outcome.usage.failed_attempts == 0
    said = "\n".join(entry.text for entry in seen[1].transcript if isinstance(entry, Message))
    assert "What you wrote is no action, and nothing was done: 'I will look it up.'" in said
    assert '{"action": {"kind": "answer", "answer": …}}' in said


async def test_a_model_that_never_writes_an_action_is_stopped_as_no_progress(host: Host) -> None:
    outcome, seen, _ = await run_job(host, ["I will look it up."])

    assert outcome.status == "no_progress"
    assert (len(seen), outcome.usage.failed_attempts) == (4, 0)
    assert outcome.answer is None


async def test_a_model_that_writes_other_prose_each_time_is_stopped_by_its_rounds(host: Host) -> None:
    prose = [f"I will look {number}." for number in range(9)]
    outcome, seen, _ = await run_job(host, prose, limits=Limits(rounds=4))

    assert outcome.status == "hit_iteration_cap"
    assert (len(seen), outcome.usage.failed_attempts) == (6, 0)


async def test_a_model_that_writes_nothing_fails_by_the_loops_own_count(host: Host) -> None:
    outcome, seen, _ = await run_job(host, [""])

    assert (outcome.status, outcome.error) == ("model_failure", "the model's answer was empty")
    assert outcome.usage.failed_attempts == 0
    assert len(seen) < 4


def test_another_way_of_tool_calling_is_refused() -> None:
    with pytest.raises(DefinitionError, match="It is 'native', or 'schema'"):
        Agent("a", "openai-chat:m", tool_calling="json")  # type: ignore[arg-type]


# --- while it comes


def sayings(text: str) -> Stream:
    """A stream of Chat Completions whose text is this, after a thought."""
    first = {"choices": [{"index": 0, "delta": {"role": "assistant", "reasoning_content": "Hm."}}]}
    pieces = [{"choices": [{"index": 0, "delta": {"content": piece}}]} for piece in (text[:9], text[9:])]
    end = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    events = "".join(f"data: {json.dumps(each)}\n\n" for each in [first, *pieces, end])
    return Stream([f"{events}data: [DONE]\n\n".encode()])


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        (called("lookup_rule", topic="past"), [("reasoning", "Hm."), ("call", "lookup_rule")]),
        (answered("It is went."), [("reasoning", "Hm."), ("text", "It is went.")]),
        ("This is no action.", [("reasoning", "Hm.")]),
    ],
)
async def test_people_see_thoughts_calls_and_answers_but_never_the_json_of_an_action(
    said: str, shown: list[Any]
) -> None:
    heard = Heard()
    async with serving(sayings(said)) as server:
        client = AsyncOpenAI(api_key="k", base_url=server.url, max_retries=0)
        await SchemaMode(OpenAIChat(client)).complete(request(tools=TOOLS, live=heard))
        await client.close()

    assert heard.pieces == shown
