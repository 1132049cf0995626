"""What an agent is made of, what is refused, and what the workflow gets to know."""

import datetime
import subprocess
import sys
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field, JsonValue, field_validator

from activities.agents import Agent
from activities.errors import DefinitionError
from activities.models.model_names import MODEL_APIS
from activities.policy import deny_if
from activities.providers.scripted import Reply, Script
from activities.tools.tool import tool
from workflows.contracts import AgentSpec, Limits


@tool(read_only=True)
def look(path: str) -> str:
    """Look."""
    return path


@tool
def write(path: str, text: str) -> str:
    """Write."""
    return path + text


def undecorated(x: int) -> int:
    return x


class Verdict(BaseModel):
    ok: bool
    score: int = 5
    why: Literal["a", "b"] | None = None


def agent(**options: Any) -> Agent:
    return Agent(**{"name": "helper", "model": "anthropic:claude-x", **options})


def test_an_agent_needs_a_name_and_a_model_alone() -> None:
    made = Agent("helper", "openai:gpt-x")

    assert made.spec() == AgentSpec(name="helper", limits=Limits(), closing="answer")
    assert (made.instructions, made.tools, made.settings, made.output, made.total) == ("", (), {}, None, None)
    assert (made.model_timeout, made.closing_tokens, made.max_output_tokens) == (900.0, 1000, None)
    assert (made.stream, made.idle_timeout) == (True, 300.0)
    assert repr(made) == "<Agent helper (openai:gpt-x, 0 tools)>"


@pytest.mark.parametrize(("given", "kept"), [(None, None), (False, 0), (0, 0), (50_000, 50_000)])
def test_the_mark_for_compaction_is_a_number_or_the_models_window_or_never(given: int | None, kept: int | None) -> None:
    assert agent(compact_at=given).compact_at == kept


def test_the_spec_carries_what_the_workflow_decides_by() -> None:
    made = agent(
        limits=Limits(rounds=3), total=Limits(tokens=9), closing="findings", output_retries=1, model_timeout=30
    )

    assert made.spec() == AgentSpec(
        name="helper",
        limits=Limits(rounds=3),
        total=Limits(rounds=None, tool_calls=None, tokens=9),
        closing="findings",
        output_retries=1,
        model_seconds=30.0,
    )


def test_a_total_limits_only_what_it_names() -> None:
    total = agent(total=Limits(cost_usd=1.0)).total

    assert total is not None
    assert total.model_dump() == {
        "rounds": None,
        "tool_calls": None,
        "tokens": None,
        "seconds": None,
        "cost_usd": 1.0,
    }
    assert agent(total=Limits(rounds=10)).total == Limits(rounds=10, tool_calls=None)


def test_the_total_in_the_spec_survives_a_round_trip_without_unset_fields() -> None:
    spec = agent(total=Limits(tokens=9)).spec()

    assert AgentSpec.model_validate_json(spec.model_dump_json(exclude_unset=True)) == spec


def test_tools_are_found_by_name() -> None:
    made = agent(tools=[look, write])

    assert made.tool("write") is write
    assert made.tool("nothing") is None
    assert made.tools == (look, write)


def test_an_agent_knows_which_tools_have_rules() -> None:
    made = agent(tools=[look, write], policy={"write": deny_if(lambda path: path == "/")})

    assert (made.has_rules(look), made.has_rules(write)) == (False, True)


@pytest.mark.parametrize(
    "model",
    [
        "anthropic:claude-x",
        "openai:gpt-x",
        "openai-chat:a/b:c",
        "google:gemini-x",
        "scripted:replies.json",
        Script([Reply(text="hi")]),
    ],
)
def test_each_way_to_name_a_model(model: Any) -> None:
    made = agent(model=model)

    assert made.model == model
    assert made.models == (model,)


def test_a_list_of_models_is_kept_in_order() -> None:
    made = agent(model=["anthropic:a", "openai:b"])

    assert made.model == "anthropic:a"
    assert made.models == ("anthropic:a", "openai:b")


def test_the_models_that_are_accepted_are_those_that_can_be_built() -> None:
    from activities.models.registry import ADAPTERS

    assert {*ADAPTERS, "scripted"} == set(MODEL_APIS)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"name": ""}, "agent '': an agent's name has 1 to 64 letters"),
        ({"name": "a b"}, "agent 'a b'"),
        ({"name": None}, "agent None"),
        ({"model": "claude-x"}, r"'helper' has model='claude-x'\. Write which API .* 'anthropic:claude-x'"),
        ({"model": "gpt-x"}, "'openai:gpt-x'"),
        ({"model": "gemini-x"}, "'google:gemini-x'"),
        ({"model": "antropic:claude-x"}, r"no API 'antropic'; did you mean anthropic:\?"),
        ({"model": "zzz:x"}, "no API 'zzz'; known: anthropic:, openai:, openai-chat:, google:, scripted:"),
        ({"model": "anthropic:"}, "model's name is missing after anthropic:"),
        ({"model": "anthropic:  "}, "model's name is missing"),
        ({"model": []}, "'helper' has no model"),
        ({"model": None}, r"has model=None\. Give 'api:model name'"),
        ({"model": ["anthropic:a", "b"]}, "has model='b'"),
        ({"tools": [undecorated]}, r"has undecorated among its tools, .* Put @tool above `def undecorated`"),
        ({"tools": ["look"]}, "has 'look' among its tools"),
        ({"tools": look}, "Give a list of tools"),
        ({"tools": "look"}, "Give a list of tools"),
        ({"tools": [look, look]}, "'look' is there twice"),
        ({"tools": [look, tool(write.function, name="look")]}, "'look' is the name of two of its tools"),
        ({"limits": {"rounds": 3}}, r"has limits=\{'rounds': 3\}\. Write limits=Limits\("),
        ({"limits": None}, "has limits=None"),
        ({"total": 5}, r"has total=5\. Write total=Limits\("),
        ({"closing": "none"}, "has closing='none'"),
        ({"instructions": ["a"]}, "instructions of type list"),
        ({"output_retries": -1}, r"has output_retries=-1\. Give a number of at least 0"),
        ({"model_timeout": 0}, "has model_timeout=0"),
        ({"model_timeout": float("inf")}, "has model_timeout=inf"),
        ({"idle_timeout": 0}, "has idle_timeout=0"),
        ({"stream": "no"}, "has stream='no'"),
        ({"closing_tokens": True}, "has closing_tokens=True"),
        ({"compact_at": True}, r"has compact_at=True\. Give a number of input tokens such as 100_000"),
        ({"compact_at": -1}, "has compact_at=-1"),
        ({"compact_at": 0.75}, "has compact_at=0.75"),
        ({"max_output_tokens": "1000"}, "has max_output_tokens='1000'"),
        ({"settings": {"tools": []}}, "has 'tools' in its settings, which Surefoot writes itself"),
        ({"settings": {"x": {1, 2}}}, "has settings that can't be sent as JSON"),
        ({"settings": {"x": float("nan")}}, "has settings that can't be sent as JSON"),
        ({"output": undecorated}, "has output=.*undecorated.*, which has no JSON form"),
        ({"output": {"if": {}}}, r"output\.if: unknown"),
        ({"policy": {"lok": "ask"}, "tools": [look]}, "Did you mean 'look'"),
    ],
)
def test_what_can_not_be_an_agent_is_refused_with_the_remedy(options: dict[str, Any], text: str) -> None:
    with pytest.raises(DefinitionError, match=text):
        agent(**options)


def test_importing_tools_and_agents_brings_no_sdk_along() -> None:
    code = (
        "import sys, activities.tools.tool, activities.agents, activities.apps\n"
        "print({'openai', 'anthropic', 'genai_prices', 'temporalio', 'httpx'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == "set()\n"


# --- the final answer ---------------------------------------------------------------------------


def test_without_a_schema_any_answer_will_do() -> None:
    made = agent()

    assert made.check_output("anything") == (None, None)
    assert made.output_instructions() == ""


def test_the_model_is_told_the_schema() -> None:
    told = agent(output=Verdict).output_instructions()

    assert told.startswith("Give your final answer as one JSON value and nothing else.")
    assert '"why": {"anyOf": [{"enum": ["a", "b"], "type": "string"}, {"type": "null"}]' in told


@pytest.mark.parametrize(
    "text",
    [
        '{"ok": true}',
        '  {"ok": true}\n',
        '```json\n{"ok": true}\n```',
        '```\n{"ok": true}\n```',
        'Here it is:\n\n```json\n{"ok": true}\n```\nDone.',
    ],
)
def test_the_answer_may_stand_alone_or_in_a_fenced_block(text: str) -> None:
    assert agent(output=Verdict).check_output(text) == ({"ok": True, "score": 5, "why": None}, None)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("It is fine.", "The answer is not one JSON value (Expecting value: line 1 column 1 (char 0))"),
        ("", "The answer is not one JSON value (Expecting value"),
        ('{"ok": true', "The answer is not one JSON value ("),
        ('{"ok": NaN}', "The answer is not one JSON value (NaN is no JSON number)"),
        ('```json\n{"ok": true}\n```\n```json\n{"ok": false}\n```', "The answer is not one JSON value ("),
        ("[" * 100_000, "The answer is not one JSON value ("),
        ("{}", "The answer does not fit the schema:\n- ok: missing, but required"),
        ('{"ok": "true"}', 'The answer does not fit the schema:\n- ok: Input should be a valid boolean, got "true"'),
        (
            '{"ok": true, "why": "c"}',
            "The answer does not fit the schema:\n- why: Input should be 'a' or 'b', got \"c\"",
        ),
        ("5", "The answer does not fit the schema:\n- (the whole): "),
    ],
)
def test_what_is_wrong_with_an_answer_is_told_to_the_model(text: str, problem: str) -> None:
    value, told = agent(output=Verdict).check_output(text)

    assert value is None
    assert told is not None
    assert told.startswith(problem)
    assert "https://" not in told


@dataclass
class Point:
    x: float


@pytest.mark.parametrize(
    ("output", "text", "value"),
    [
        (list[Verdict], '[{"ok": true}]', [{"ok": True, "score": 5, "why": None}]),
        (Point, '{"x": 1}', {"x": 1.0}),
        (Decimal, '"0.10"', "0.10"),
        (datetime.date, '"2026-01-02"', "2026-01-02"),
        (dict[str, int], '{"a": 5.0}', {"a": 5}),
        ({"type": "object", "required": ["a"]}, '{"a": 5.0}', {"a": 5.0}),
        ({"type": "array", "items": {"type": "integer"}}, "[1, 2]", [1, 2]),
    ],
)
def test_each_kind_of_output(output: Any, text: str, value: JsonValue) -> None:
    assert agent(output=output).check_output(text) == (value, None)


def test_an_answer_that_does_not_fit_a_json_schema_is_explained() -> None:
    made = agent(output={"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["m"]})

    assert made.check_output('{"n": "5"}') == (
        None,
        "The answer does not fit the schema:\n- answer.m: missing, but required\n"
        '- answer.n: must be of type integer, got "5"',
    )


def test_an_answer_nested_too_deeply_for_its_schema_is_explained() -> None:
    made = agent(output={"type": "array", "items": {"$ref": "#"}})

    assert made.check_output("[" * 900 + "]" * 900) == (
        None,
        "The answer does not fit the schema:\n- it is nested too deeply",
    )


def test_an_answer_with_a_lone_surrogate_passes() -> None:
    class Text(BaseModel):
        text: str = Field(max_length=10)

    assert agent(output=Text).check_output('{"text": "a\\ud800"}') == ({"text": "a�"}, None)


def test_a_validator_of_the_answer_that_exits_does_not_end_the_worker() -> None:
    class Text(BaseModel):
        text: str

        @field_validator("text")
        @classmethod
        def leave(cls, _: str) -> str:
            raise SystemExit("at once")

    assert agent(output=Text).check_output('{"text": "a"}') == (
        None,
        "The answer does not fit the schema:\n- SystemExit: at once",
    )
