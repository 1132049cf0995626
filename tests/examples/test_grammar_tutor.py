"""The grammar tutor: thirty sentences with an honest score, and four classic failures, each stopped and told."""

import importlib
import json
import re
from collections.abc import Sequence
from typing import Any, cast

import pytest
from pydantic import JsonValue

from activities.agents import Agent
from activities.models.answer_check import FinalAnswer
from activities.providers.action_schema import action_schema
from activities.providers.protocol import ToolDeclaration
from activities.providers.script import Script
from tests.examples.conftest import EXAMPLES, Example, Load
from workflows.contracts import JsonObject, Logged, Note, Outcome, Result

SENTENCES = json.loads((EXAMPLES / "data" / "sentences.json").read_text())
VERBS = json.loads((EXAMPLES / "data" / "verbs.json").read_text())
MISSED = {
    "The news ___ (be) good this morning.",
    "When I was a child, I ___ (drink) tea every evening.",
    "The children is asleep.",
    "You has chosen well.",
}
"""What rules of thumb get wrong: news is singular, the tense is far away, children is plural, the helper is wrong."""


@pytest.fixture
def tutor(load: Load) -> Agent:
    return load("grammar_tutor.py").agent("tutor")


# --- the score


async def test_thirty_sentences_are_scored_by_what_came_of_their_jobs(example: Example) -> None:
    async with example("grammar_tutor.py") as client:
        scoring = importlib.import_module("grammar_score")
        marks = await scoring.score(client)

    assert [mark.sentence for mark in marks] == [each["sentence"] for each in SENTENCES]
    assert {mark.sentence for mark in marks if not mark.is_right} == MISSED
    assert scoring.table(marks).caption == "26 of 30 right"
    statuses = {mark.sentence: mark.outcome.status for mark in marks if mark.outcome.status != "complete"}
    assert statuses == {"The children is asleep.": "invalid_output", "You has chosen well.": "invalid_output"}
    assert max(mark.outcome.usage.model_calls for mark in marks) <= 6
    assert max(mark.outcome.usage.tool_calls for mark in marks) <= 4
    assert all(len(mark.outcome.citations) == 1 for mark in marks if mark.outcome.status == "complete")


async def test_an_answer_refers_to_the_form_that_was_looked_up(example: Example) -> None:
    async with example("grammar_tutor.py") as client:
        job = await client.start("tutor", "He catched the ball.")
        outcome = await job.outcome()

    assert outcome.output == {
        "sentence": "He caught the ball.",
        "form": "caught",
        "because": "The form that belongs here is 'he caught' [#c2-1].",
    }
    assert outcome.citations == ["c2-1"]
    assert [finding.tool for finding in outcome.findings] == ["grammar_lookup_rule", "grammar_conjugate"]


def test_the_sentences_are_thirty_and_each_has_one_gap_or_one_mistake() -> None:
    assert len(SENTENCES) == len({each["sentence"] for each in SENTENCES}) == 30
    for each in SENTENCES:
        gaps = re.findall(r"___ \((\w+)\)", each["sentence"])
        wrong, right = each["sentence"].split(), each["right"].split()

        assert all(verb in VERBS for verb in gaps)
        assert gaps or (len(wrong), sum(a != b for a, b in zip(wrong, right, strict=True))) == (len(right), 1)


# --- the server


@pytest.mark.parametrize(
    ("arguments", "form"),
    [
        (("go", "present_perfect", "she"), "she has gone"),
        (("go", "past_perfect", "they"), "they had gone"),
        (("catch", "present", "it"), "it catches"),
        (("catch", "present", "we"), "we catch"),
        (("be", "present", "I"), "I am"),
        (("be", "present", "you"), "you are"),
        (("be", "present", "he"), "he is"),
        (("be", "past", "I"), "I was"),
        (("be", "past", "they"), "they were"),
        (("write", "future", "he"), "he will write"),
    ],
)
def test_a_verb_is_conjugated(tutor: Agent, arguments: Sequence[str], form: str) -> None:
    assert importlib.import_module("grammar_server").conjugate(*arguments) == form


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("went", "'went' is the past of 'go'."),
        ("come", "'come' is the plain form and the past participle of 'come'."),
        ("Goed", "'Goed' is a wrong form of 'go'."),
        ("were", "'were' is the past of 'be'."),
        ("gived", "'gived' is a wrong form of 'give'."),
    ],
)
def test_a_word_is_told_what_form_it_is(tutor: Agent, word: str, said: str) -> None:
    rule = importlib.import_module("grammar_server").lookup_rule(word)

    assert rule.startswith(said)
    assert "After have, has or had stands the past participle" in rule


def test_there_are_twenty_verbs() -> None:
    assert len(VERBS) == 20


# --- what such agents are known to do wrong


async def failing(example: Example, name: str) -> tuple[Outcome, Sequence[Logged]]:
    async with example("grammar_tutor.py") as client:
        script = f"scripted:scripts/grammar_tutor_{name}.json"
        job = await client.start("tutor", "She has ___ (go) home.", model=script)
        return await job.outcome(), await job.transcript()


def contents(entries: Sequence[Logged]) -> list[tuple[bool, str]]:
    return [(entry.is_error, entry.content) for entry in entries if isinstance(entry, Result)]


async def test_an_endless_loop_is_no_progress(example: Example) -> None:
    outcome, entries = await failing(example, "loop")

    assert (outcome.status, outcome.answer, outcome.requires_human) == ("no_progress", None, True)
    assert contents(entries) == [(False, "she has gone")] * 3
    assert [finding.content for finding in outcome.findings] == ["she has gone"] * 3
    assert (outcome.usage.model_calls, outcome.usage.tool_calls) == (3, 3)


async def test_a_loop_that_never_repeats_itself_ends_at_the_limit(example: Example) -> None:
    outcome, entries = await failing(example, "wandering")

    assert (outcome.status, outcome.answer) == ("hit_iteration_cap", None)
    assert (outcome.usage.model_calls, outcome.usage.tool_calls) == (5, 4)
    assert [call.tool for call in outcome.not_done] == ["grammar_conjugate"]
    assert contents(entries)[-1][1] == "Not executed: the step limit for this answer was reached."


async def test_an_invented_tool_runs_nothing_and_the_model_is_told_which_there_are(example: Example) -> None:
    outcome, entries = await failing(example, "invented")

    told = "There is no tool 'grammar_translate'. Tools that exist: grammar_conjugate, grammar_lookup_rule."
    assert (outcome.status, outcome.usage.tool_calls) == ("no_progress", 0)
    assert contents(entries) == [(True, told)] * 3


async def test_an_error_that_is_taken_for_an_answer_is_refused(example: Example) -> None:
    outcome, entries = await failing(example, "blind")

    [(failed, content)] = contents(entries)
    assert failed
    assert "'walk' is not among the verbs, which are be, begin, " in content
    assert outcome.status == "invalid_output"
    assert outcome.error == (
        "'walken' stands in none of the results that you refer to. None of them is a form that was looked up."
    )


async def test_an_answer_against_its_own_citation_is_asked_for_again_and_then_refused(example: Example) -> None:
    outcome, entries = await failing(example, "contradiction")

    problem = "'went' stands in none of the results that you refer to. They say: she has gone."
    assert (outcome.status, outcome.error, outcome.requires_human) == ("invalid_output", problem, True)
    assert [problem in entry.text for entry in entries if isinstance(entry, Note)] == [True]
    assert outcome.usage.model_calls == 3


@pytest.mark.parametrize("script", sorted(EXAMPLES.glob("scripts/grammar_tutor_*.json")), ids=lambda path: path.stem)
def test_a_script_writes_one_action_a_turn(script: Any) -> None:
    Script.load(script)
    actions = [json.loads(reply["text"])["action"] for reply in json.loads(script.read_text())]

    assert {action["kind"] for action in actions} <= {"tool_call", "answer"}


# --- the check


FORM = Result(call="c1-1", tool="grammar_conjugate", content="she has gone")
RULE = Result(call="c2-1", tool="grammar_lookup_rule", content="'went' is the past of 'go'.")


def output(form: str, sentence: str = "She has gone home.") -> JsonObject:
    return {"sentence": sentence, "form": form, "because": "[#c1-1]"}


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (FinalAnswer("", output("gone"), (FORM,), (FORM,)), None),
        (FinalAnswer("", output("has gone"), (FORM,), (FORM,)), None),
        (FinalAnswer("", output("go"), (FORM,), (FORM,)), "'go' stands in none"),
        (FinalAnswer("", output("gone"), (FORM,), ()), "None of them is a form that was looked up."),
        (FinalAnswer("", output("went", "She went."), (RULE,), (RULE,)), "None of them is a form that was looked up."),
        (FinalAnswer("", output("gone", "She has went home."), (FORM,), (FORM,)), "does not stand in your sentence"),
        (FinalAnswer("", output("gone"), (FORM,), (FORM,), ("c9-9",)), "There is no result c9-9."),
    ],
)
def test_an_answer_may_say_only_what_its_citations_say(tutor: Agent, answer: FinalAnswer, problem: str | None) -> None:
    assert tutor.check is not None
    said = tutor.check(answer)

    assert said is None if problem is None else problem in (said or "")


def kinds(schema: JsonValue) -> set[str]:
    """The kinds of action that a schema has branches for."""
    if isinstance(schema, list):
        return {kind for each in schema for kind in kinds(each)}
    if not isinstance(schema, dict):
        return set()
    here = cast(JsonObject, cast(JsonObject, schema.get("properties", {})).get("kind", {})).get("enum", [])
    return {str(kind) for kind in cast("list[JsonValue]", here)} | kinds(list(schema.values()))


def test_exactly_two_kinds_of_action_can_be_written(tutor: Agent) -> None:
    tools = [ToolDeclaration(name, "", {"type": "object"}) for name in ("grammar_conjugate", "grammar_lookup_rule")]
    assert tutor.output is not None

    assert tutor.tool_calling == "schema"
    assert kinds(action_schema(tools, tutor.output.schema)) == {"tool_call", "answer"}
