"""What a job's error says of a failed model call: which model, and where to look."""

import pytest

from activities.agents import Agent
from activities.models.trouble import key_advice, named
from activities.providers.classify import classify_answer
from activities.providers.errors import ModelError, NotFound, Overloaded, Unauthenticated
from activities.providers.scripted import Script
from tests.activities.providers.openai_wire import chat, request, responses
from tests.conftest import Host
from tests.traffic import Answer, Replay

REFUSED = classify_answer(401, {}, {"error": {"message": "Incorrect API key provided: sk-1"}})


@pytest.mark.parametrize(
    ("model", "variable"),
    [
        ("anthropic:claude-sonnet-4-6", "ANTHROPIC_API_KEY"),
        ("openai:gpt-5", "OPENAI_API_KEY"),
        ("openai-chat:m", "OPENAI_API_KEY"),
        ("google:gemini-3-pro-preview", "GEMINI_API_KEY"),
    ],
)
def test_a_refused_key_is_told_with_the_model_and_the_variable(model: str, variable: str) -> None:
    assert named(model, REFUSED) + key_advice(model, REFUSED) == (
        f"{model}: the provider refused the key (HTTP 401): check the key that the worker has in its environment, and"
        f" what it may use (mostly it is taken from {variable}, where the worker runs)"
    )


@pytest.mark.parametrize("error", [Overloaded("HTTP 503"), Unauthenticated("OPENAI_API_KEY is not set")])
def test_the_variable_is_told_for_keys_alone_and_once(error: ModelError) -> None:
    assert key_advice("openai:gpt-5", error) == ""


@pytest.mark.parametrize("model", ["scripted:a.json", Script([]), "gpt-5", "nobody:m"])
def test_what_no_provider_answers_is_told_as_it_is(model: str | Script) -> None:
    assert named(model, REFUSED) + key_advice(model, REFUSED) == str(REFUSED)


async def test_a_job_whose_key_is_missing_names_its_model(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    async with host(Agent("writer", "openai-chat:m")) as client:
        outcome = await (await client.start("writer", "go")).outcome()

    assert outcome.status == "model_failure"
    assert str(outcome.error).startswith("Unauthenticated: openai-chat:m: OPENAI_API_KEY is not set in the worker's")
    assert str(outcome.error).count("OPENAI_API_KEY") == 1


@pytest.mark.parametrize("adapter", [chat, responses])
@pytest.mark.parametrize(
    ("base", "address"),
    [
        ("http://localhost:11434", "http://localhost:11434"),
        ("http://ann:secret@models.lan/api/", "http://models.lan/api"),
        ("http://localhost:11434/v1", None),
        ("https://generativelanguage.googleapis.com/v1beta/openai/", None),
    ],
)
async def test_a_404_of_an_address_without_v1_says_which_and_what_is_missing(
    adapter: type, base: str, address: str | None
) -> None:
    replay = Replay(Answer("404 page not found", status=404))
    with pytest.raises(NotFound) as raised:
        await adapter(replay, base).complete(request())

    told = "" if address is None else f" (asked at {address}: most servers of this API have it under /v1, which then"
    assert str(raised.value).startswith(f"HTTP 404: 404 page not found{told}")
    assert ("OPENAI_BASE_URL" in str(raised.value)) is (address is not None)
    assert (raised.value.status, raised.value.retryable) == (404, False)
    assert "secret" not in str(raised.value)
