"""What the doctor says of models: each thing that a provider can lack, and what to do about it."""

from collections.abc import Mapping
from typing import Any

import pytest

from activities.agents import Agent
from activities.apps import App
from activities.models.registry import EXTRAS
from activities.providers.scripted import Script
from surefoot.cli.doctor import Finding, models_of
from surefoot.cli.doctor_models import model_problems, shown_models
from workflows.contracts import Limits

CLAUDE, GPT, CHAT, GEMINI = (
    "anthropic:claude-sonnet-4-6",
    "openai:gpt-5",
    "openai-chat:gpt-4o",
    "google:gemini-2.5-pro",
)
HOME_MADE = "openai-chat:our-own-model"


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.setenv(name, "a key")


def problems(model: Any, environment: Mapping[str, str] | None = None, **options: Any) -> list[tuple[str, str]]:
    agent = Agent("a", model, **options)
    return list(model_problems(App([agent]), agent, environment or {}))


def test_all_is_well_with_keys_and_known_models() -> None:
    assert problems([CLAUDE, GPT, CHAT, GEMINI, Script([])], limits=Limits(cost_usd=1)) == []


def test_each_model_of_a_list_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    monkeypatch.setitem(EXTRAS, "google", "google.nowhere")

    assert problems([CLAUDE, GPT, GEMINI]) == [
        (f"{GPT}, but OPENAI_API_KEY is not set", "export OPENAI_API_KEY=… where the worker runs"),
        (
            f"{GEMINI}, but surefoot[google] is not installed",
            "pip install 'surefoot[google]' where the worker runs",
        ),
    ]


@pytest.mark.parametrize("key", ["sk-1\n", "sk\u20131", "\x00"])
def test_a_key_that_no_request_can_carry_is_told_and_not_shown(key: str) -> None:
    assert problems(GPT, {"OPENAI_API_KEY": key}) == [
        (
            f"{GPT}, but OPENAI_API_KEY holds a line break or another character that no key has",
            "export OPENAI_API_KEY without it where the worker runs",
        )
    ]


@pytest.mark.parametrize(
    ("model", "variable", "address", "seen"),
    [
        (CLAUDE, "ANTHROPIC_BASE_URL", "gateway.example", "'gateway.example', which is no address"),
        (GPT, "OPENAI_BASE_URL", "localhost:11434/v1", "'localhost:11434/v1', which is no address"),
        (CHAT, "OPENAI_BASE_URL", "http://[::1", "which is no address"),
        (CHAT, "OPENAI_BASE_URL", "http://host:port/v1", "which is no address"),
        (GEMINI, "GOOGLE_GEMINI_BASE_URL", "ftp://gateway.example", "which is no address"),
        (CLAUDE, "ANTHROPIC_BASE_URL", "https://gateway.example/v1", "ends with /v1, which is put behind it once more"),
        (GPT, "OPENAI_BASE_URL", "https://gateway.example/v1/responses/", "ends with /responses"),
        (CHAT, "OPENAI_BASE_URL", "http://localhost/v1/chat/completions", "ends with /chat/completions"),
        (GEMINI, "GOOGLE_GEMINI_BASE_URL", "https://gateway.example/v1beta", "ends with /v1beta"),
    ],
)
def test_an_address_that_can_not_be_right_is_told_with_its_variable(
    model: str, variable: str, address: str, seen: str
) -> None:
    [(told, remedy)] = problems(model, {variable: address})

    assert told.startswith(f"{model}, but {variable} ")
    assert seen in told
    assert remedy.startswith(f"export {variable}")


@pytest.mark.parametrize("address", ["", " ", "http://localhost:11434/v1", "https://gateway.example/openai/v1/"])
def test_an_address_that_may_be_right_is_not_mentioned(address: str) -> None:
    assert problems(CHAT, {"OPENAI_BASE_URL": address}) == []


def test_an_address_of_another_provider_does_not_matter() -> None:
    assert problems(CLAUDE, {"OPENAI_BASE_URL": "nonsense"}) == []


def test_a_name_and_password_in_an_address_are_not_shown() -> None:
    [(told, _)] = problems(GPT, {"OPENAI_BASE_URL": "ftp://me:secret@gateway.example"})

    assert "secret" not in told
    assert "gateway.example" in told


def test_a_cost_limit_over_a_model_without_a_price_is_a_problem() -> None:
    expected = [
        (
            f"{HOME_MADE}, whose price is not known: its calls count as unmeasured, so that the limit cost_usd does not"
            " hold them",
            "limit them by tokens as well: Limits(tokens=…)",
        )
    ]

    assert problems(HOME_MADE, limits=Limits(cost_usd=1)) == expected
    assert problems([CLAUDE, HOME_MADE], total=Limits(cost_usd=1)) == expected


def test_a_model_without_a_price_is_only_said_so_where_nothing_limits_its_cost() -> None:
    agent = Agent("a", [CLAUDE, HOME_MADE, Script([])])

    assert problems(HOME_MADE) == []
    assert shown_models(agent) == (
        f"{CLAUDE}, {HOME_MADE} (no list price is known: its costs count as unmeasured), a script"
    )


def test_a_script_that_is_not_there_is_told() -> None:
    [(told, remedy)] = problems("scripted:nowhere.json")

    assert "nowhere.json" in told
    assert remedy == "mend the agent's model"


def test_a_key_that_several_agents_lack_is_told_once_with_their_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    app = App([Agent("one", GPT), Agent("two", CLAUDE), Agent("three", [CLAUDE, GPT, CHAT])])

    assert models_of(app) == [
        Finding("agent two", True, CLAUDE),
        Finding(
            "agents one, three",
            False,
            f"{GPT}, but OPENAI_API_KEY is not set; {CHAT}, but OPENAI_API_KEY is not set",
            "export OPENAI_API_KEY=… where the worker runs",
        ),
    ]
