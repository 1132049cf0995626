"""The same small agent against servers that others wrote after the providers' APIs, without and with their faults.

What they see otherwise than our judges is explained in docs/providers.md; a test here shows each of it.
"""

import functools
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from activities.agents import Agent
from activities.tools.tool import tool
from surefoot.client import Client
from tests.conftest import Host
from tests.judge import judge_chat, judge_responses
from tests.judge_anthropic import judge_messages
from tests.judge_google import judge_contents
from tests.second_opinions.stand_ins import StandIn, aimock, llmock
from tests.workflows.scripting import kinds
from workflows.contracts import Limits, Logged, Outcome, Result

pytestmark = pytest.mark.second_opinion

MODELS = {
    "anthropic": "anthropic:claude-sonnet-4-6",
    "responses": "openai:gpt-5",
    "chat": "openai-chat:gpt-4o",
    "google": "google:gemini-2.5-flash",
}
JUDGES: dict[str, Callable[[Any], None]] = {
    "anthropic": judge_messages,
    "responses": judge_responses,
    "chat": judge_chat,
    "google": functools.partial(judge_contents, signed=False),  # neither signs its calls
}
QUESTION = "How much warmer is Cairo than Oslo?"
ANSWER = "By 27 degrees."
CITIES = [{"name": "weather", "arguments": {"city": city}} for city in ("Cairo", "Oslo")]
SUBTRACTION = [{"name": "difference", "arguments": {"a": 31, "b": 4}}]


@tool(read_only=True)
def weather(city: str) -> int:
    """The temperature in a city."""
    return {"Cairo": 31, "Oslo": 4}.get(city, 0)


@tool(pure=True)
def difference(a: int, b: int) -> int:
    """How much larger a number is than another."""
    return a - b


@pytest.fixture(scope="session")
async def running_aimock() -> AsyncIterator[StandIn]:
    async with aimock() as server:
        yield server


@pytest.fixture(scope="session")
async def running_llmock() -> AsyncIterator[StandIn]:
    async with llmock() as server:
        yield server


@pytest.fixture
async def fixtures(running_aimock: StandIn, monkeypatch: pytest.MonkeyPatch) -> StandIn:
    """aimock without any fixture left, in the providers' place."""
    await running_aimock.tell("reset")
    return _instead(running_aimock, monkeypatch)


@pytest.fixture
async def scenario(running_llmock: StandIn, monkeypatch: pytest.MonkeyPatch) -> StandIn:
    """llmock without any behaviour left, in the providers' place."""
    await running_llmock.tell("reset")
    return _instead(running_llmock, monkeypatch)


def _instead(server: StandIn, monkeypatch: pytest.MonkeyPatch) -> StandIn:
    for name, value in server.variables().items():
        monkeypatch.setenv(name, value)
    return server


def thermometer(api: str, **options: Any) -> Agent:
    return Agent(
        "thermometer", MODELS[api], "Be brief.", tools=[weather, difference], limits=Limits(rounds=4), **options
    )


async def worked(host: Host, agent: Agent) -> tuple[Outcome, list[Logged]]:
    async with host(agent) as client:
        job = await _start(client)
        return await job.outcome(), list(await job.transcript())


async def _start(client: Client) -> Any:
    return await client.start("thermometer", QUESTION)


def results(entries: list[Logged]) -> list[tuple[str, str]]:
    return [(entry.status, entry.content) for entry in entries if isinstance(entry, Result)]


# --- aimock


def dialogue(**overrides: Any) -> list[dict[str, Any]]:
    """Two rounds and the answer, each told by the result before it. `overrides` go into the turns that call tools."""
    return [
        {"match": {"toolResultContains": "27"}, "response": {"content": ANSWER}},
        {"match": {"toolResultContains": "4"}, "response": {"toolCalls": SUBTRACTION, **overrides}},
        {
            "match": {"userMessage": QUESTION},
            "response": {"content": "Let me look.", "toolCalls": CITIES, **overrides},
        },
    ]


@pytest.mark.parametrize("api", MODELS)
async def test_aimock_serves_two_rounds(api: str, host: Host, fixtures: StandIn) -> None:
    overrides = {"finishReason": "stop"} if api == "google" else {}
    await fixtures.tell("fixtures", fixtures=dialogue(**overrides))

    outcome, entries = await worked(host, thermometer(api))
    journal = await fixtures.ask("journal")

    assert (outcome.status, outcome.answer, kinds(entries)) == ("complete", ANSWER, "MTRRTRT")
    assert results(entries) == [("ok", "31"), ("ok", "4"), ("ok", "27")]
    assert [entry["response"]["status"] for entry in journal] == [200, 200, 200]
    said = [message["role"] for message in journal[-1]["body"]["messages"]]
    assert [role for role in said if role != "assistant"] == ["system", "user", "tool", "tool", "tool"]
    assert said.count("assistant") == (4 if api == "responses" else 2)  # to aimock each item there is a message


async def test_aimock_ends_calls_of_gemini_with_a_reason_that_google_does_not_have(
    host: Host, fixtures: StandIn
) -> None:
    await fixtures.tell("fixtures", fixtures=dialogue())

    outcome, entries = await worked(host, thermometer("google"))

    assert outcome.status == "model_failure"
    assert "FUNCTION_CALL" in (outcome.error or "")
    assert [status for status, _ in results(entries)] == ["not_executed", "not_executed"]


@pytest.mark.parametrize("api", MODELS)
async def test_aimock_errs_once_and_is_asked_again(api: str, host: Host, fixtures: StandIn) -> None:
    await fixtures.tell("fixtures", fixtures=[{"match": {"userMessage": QUESTION}, "response": {"content": ANSWER}}])
    await fixtures.tell("error", status=529, body={"message": "full", "type": "overloaded_error"})

    outcome, _ = await worked(host, thermometer(api))

    assert (outcome.status, outcome.answer, outcome.usage.failed_attempts) == ("complete", ANSWER, 1)


# --- llmock

SAID = [
    {"type": "reply", "tool_calls": CITIES},
    {"type": "reply", "tool_calls": SUBTRACTION},
    {"type": "reply", "text": ANSWER},
]


async def blamed(server: StandIn) -> list[str]:
    """What llmock finds wrong with how its client took its faults."""
    return [each["code"] for each in (await server.ask("verdict"))["findings"] if each["severity"] == "error"]


@pytest.mark.parametrize("api", MODELS)
async def test_llmock_serves_two_rounds_and_our_judges_find_nothing(api: str, host: Host, scenario: StandIn) -> None:
    await scenario.tell("scenario", behaviors=SAID)

    outcome, entries = await worked(host, thermometer(api))
    sent = [each["body"] for each in (await scenario.ask("requests"))["requests"]]

    assert (outcome.status, outcome.answer, kinds(entries)) == ("complete", ANSWER, "MTRRTRT")
    assert results(entries) == [("ok", "31"), ("ok", "4"), ("ok", "27")]
    assert (len(sent), outcome.usage.unmeasured) == (3, 0)
    for body in sent:
        JUDGES[api](body)


@pytest.mark.parametrize("api", MODELS)
@pytest.mark.parametrize("fault", [{"status": 429, "retry_after": 0.3}, {"status": 503}])
async def test_llmock_fails_once_which_is_a_failed_attempt(
    api: str, fault: dict[str, Any], host: Host, scenario: StandIn
) -> None:
    await scenario.tell("scenario", behaviors=[{"type": "fail", **fault}, *SAID])

    outcome, _ = await worked(host, thermometer(api))

    assert (outcome.status, outcome.answer) == ("complete", ANSWER)
    assert (outcome.usage.model_calls, outcome.usage.failed_attempts) == (3, 1)
    assert await blamed(scenario) == []


@pytest.mark.parametrize("api", MODELS)
@pytest.mark.parametrize("kind", ["truncate", "disconnect", "malformed"])
async def test_llmock_breaks_a_stream_off_and_nothing_of_it_is_taken(
    api: str, kind: str, host: Host, scenario: StandIn
) -> None:
    broken = {"type": "stream_fault", "kind": kind, "after_chunks": 1}
    await scenario.tell("scenario", behaviors=[broken, {"type": "reply", "text": "By some degrees."}, *SAID])

    outcome, entries = await worked(host, thermometer(api))

    assert (outcome.status, outcome.answer, kinds(entries)) == ("complete", ANSWER, "MTRRTRT")
    assert (outcome.usage.model_calls, outcome.usage.failed_attempts) == (3, 1)
    assert await blamed(scenario) == []


@pytest.mark.parametrize("api", MODELS)
@pytest.mark.parametrize("status", [400, 401, 403, 404])
async def test_llmock_refuses_and_is_asked_once(api: str, status: int, host: Host, scenario: StandIn) -> None:
    await scenario.tell("scenario", behaviors=[{"type": "fail", "status": status, "times": None}])

    outcome, _ = await worked(host, thermometer(api))

    assert outcome.status == "model_failure"
    assert (await scenario.ask("requests"))["count"] == 1
    assert await blamed(scenario) == []


async def test_llmock_is_down_and_is_asked_as_often_as_the_policy_says(host: Host, scenario: StandIn) -> None:
    await scenario.tell("scenario", behaviors=[{"type": "fail", "status": 503, "times": None}])

    outcome, _ = await worked(host, thermometer("chat"))

    assert (outcome.status, outcome.usage.failed_attempts) == ("model_failure", 6)
    assert (await scenario.ask("requests"))["count"] == 6


@pytest.mark.parametrize("api", MODELS)
@pytest.mark.parametrize(
    ("fault", "told"),
    [("unknown_tool", "There is no tool "), ("malformed_arguments", "The arguments ")],
)
async def test_llmock_breaks_a_call_and_the_model_is_told(
    api: str, fault: str, told: str, host: Host, scenario: StandIn
) -> None:
    await scenario.tell(
        "scenario",
        behaviors=[{"type": "tool_fault", "kind": fault}, {"type": "reply", "tool_calls": CITIES[:1]}, *SAID],
    )

    outcome, entries = await worked(host, thermometer(api))

    assert (outcome.status, outcome.answer) == ("complete", ANSWER)
    assert results(entries)[0][0] == "error"
    assert told in results(entries)[0][1]


@pytest.mark.parametrize("api", MODELS)
async def test_llmock_makes_a_call_by_itself_from_the_schema_that_it_was_sent(
    api: str, host: Host, scenario: StandIn
) -> None:
    outcome, entries = await worked(host, thermometer(api))

    assert outcome.status == "complete"
    assert [status for status, _ in results(entries)] == ["ok"]
