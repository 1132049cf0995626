"""A price is a list price in dollars, or None: never a guess, never zero for want of a table."""

import subprocess
import sys
from pathlib import Path
from typing import Literal

import pytest

from activities.providers.prices import context_window, price, priced
from workflows.contracts import Turn, Usage


def test_input_and_output_are_priced_apart() -> None:
    usage = Usage(input_tokens=1_000_000, output_tokens=100_000)

    assert price(usage, "gpt-4o", "openai_responses") == pytest.approx(2.5 + 1.0)


def test_cached_input_tokens_are_priced_once_and_lower() -> None:
    usage = Usage(input_tokens=1000, cached_tokens=900)

    assert price(usage, "claude-haiku-4-5-20251001", "anthropic_messages") == pytest.approx((100 * 1 + 900 * 0.1) / 1e6)


def test_tokens_written_to_a_cache_are_priced_by_how_long_it_lives() -> None:
    usage = Usage(input_tokens=1000, cached_tokens=200, cache_write_tokens=700)
    model, api = "claude-haiku-4-5", "anthropic_messages"

    assert price(usage, model, api) == pytest.approx((100 * 1 + 200 * 0.1 + 700 * 1.25) / 1e6)
    assert price(usage, model, api, for_an_hour=300) == pytest.approx((120 + 400 * 1.25 + 300 * 2) / 1e6)


def test_cache_writes_without_a_price_of_their_own_are_priced_as_input() -> None:
    usage = Usage(input_tokens=1000, cache_write_tokens=1000)

    assert price(usage, "gpt-4o", "openai_chat", for_an_hour=500) == pytest.approx(0.0025)


def test_more_written_to_a_cache_than_input_tokens_is_no_error() -> None:
    usage = Usage(input_tokens=10, cached_tokens=4, cache_write_tokens=20)

    assert price(usage, "claude-haiku-4-5", "anthropic_messages", 30) == pytest.approx((4 * 0.1 + 6 * 2) / 1e6)


def test_reasoning_tokens_are_part_of_the_output() -> None:
    plain = Usage(output_tokens=500)
    reasoned = Usage(output_tokens=500, reasoning_tokens=400)

    assert price(reasoned, "gpt-4o", "openai_chat") == price(plain, "gpt-4o", "openai_chat") == pytest.approx(0.005)


def test_more_cached_than_input_tokens_is_no_error() -> None:
    assert price(Usage(input_tokens=10, cached_tokens=20), "gpt-4o", "openai_chat") == pytest.approx(12.5e-6)


def test_counts_that_have_no_price_raise_nothing() -> None:
    assert price(Usage(input_tokens=10, output_tokens=-5), "gpt-4o", "openai_chat") is None


@pytest.mark.parametrize("api", ["anthropic_messages", "openai_responses", "openai_chat", "google_generate_content"])
def test_an_unknown_model_has_no_price(api: str) -> None:
    assert price(Usage(input_tokens=10, output_tokens=10), "no-such-model-7", api) is None


def test_a_model_behind_another_vendors_api_has_its_makers_price() -> None:
    usage = Usage(input_tokens=1000)

    assert price(usage, "kimi-k2", "anthropic_messages") == price(usage, "kimi-k2", "openai_chat")
    assert price(usage, "kimi-k2", "openai_chat") is not None


def test_a_resold_model_is_found_under_its_full_name() -> None:
    assert price(Usage(input_tokens=1000), "openai/gpt-4o", "openai_chat") == pytest.approx(0.0025)


def test_a_scripted_model_costs_what_its_script_says() -> None:
    assert price(Usage(input_tokens=10**6), "demo", "scripted") == 0.0
    assert price(Usage(cost_usd=0.25), "demo", "scripted") == 0.25


def test_the_tables_are_not_loaded_before_they_are_needed() -> None:
    program = "import sys, activities.providers.prices; print('genai_prices' in sys.modules)"
    root = Path(__file__).parents[3]

    run = subprocess.run([sys.executable, "-c", program], cwd=root, capture_output=True, text=True, check=True)

    assert run.stdout == "False\n"


@pytest.mark.parametrize(
    ("model", "api", "window"),
    [
        ("claude-opus-4-5", "anthropic_messages", 200_000),
        ("gpt-4o", "openai_responses", 128_000),
        ("gpt-4o", "openai_chat", 128_000),
        ("gemini-3-pro-preview", "google_generate_content", None),
        ("no-such-model", "openai_chat", None),
        ("", "anthropic_messages", None),
    ],
)
def test_a_context_window_is_what_the_tables_say_or_unknown(model: str, api: str, window: int | None) -> None:
    assert context_window(model, api) == window


@pytest.mark.parametrize(
    ("api", "model", "tier", "factor"),
    [
        ("openai_responses", "gpt-4o", "batch", 0.5),
        ("openai_responses", "gpt-4o", "flex", 0.5),
        ("openai_chat", "gpt-4o", "batch", 0.5),
        ("anthropic_messages", "claude-haiku-4-5", "batch", 0.5),
        ("openai_responses", "gpt-4o", None, 1.0),
        ("google_generate_content", "gemini-2.5-flash", "batch", 1.0),
    ],
)
def test_a_cheaper_tier_costs_its_part_of_the_list_price(
    api: str, model: str, tier: Literal["flex", "batch"] | None, factor: float
) -> None:
    usage = Usage(input_tokens=1000, output_tokens=100)
    listed = price(usage, model, api)
    found = priced(Turn(usage=usage, tier=tier), api, model).usage

    assert listed is not None
    assert found.cost_usd == pytest.approx(listed * factor)
    assert found.saved_usd == pytest.approx(listed * (1 - factor))


def test_what_an_adapter_priced_itself_is_a_list_price_too() -> None:
    turn = Turn(usage=Usage(input_tokens=1, cost_usd=0.4), tier="batch")

    assert priced(turn, "anthropic_messages", "claude-haiku-4-5").usage.cost_usd == pytest.approx(0.2)


def test_what_nobody_can_price_is_unmeasured_in_any_tier() -> None:
    found = priced(Turn(usage=Usage(input_tokens=1), tier="batch"), "openai_responses", "no-such-model").usage

    assert (found.unmeasured, found.cost_usd, found.saved_usd) == (1, 0.0, 0.0)
