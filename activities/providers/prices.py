"""What a model call costs and may hold, by the tables inside the genai-prices package; nothing is downloaded.

The library is imported at the first question, or by `load`: its tables are large. It counts cached tokens as part of
the input and reasoning as part of the output, as `Usage` does. Cache writes without a price of their own cost as input.
"""

import logging
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Final

from workflows.contracts import Turn, Usage

log = logging.getLogger(__name__)

_VENDORS: Final = {
    "anthropic_messages": "anthropic",
    "openai_responses": "openai",
    "google_generate_content": "google",
}

FACTORS: Final[Mapping[tuple[str, str], float]] = {
    # https://developers.openai.com/api/docs/guides/batch: half of what the synchronous APIs cost
    ("openai_responses", "batch"): 0.5,
    ("openai_chat", "batch"): 0.5,
    # https://developers.openai.com/api/docs/guides/flex-processing: at the rates of the Batch API
    ("openai_responses", "flex"): 0.5,
    ("openai_chat", "flex"): 0.5,
    # https://platform.claude.com/docs/en/build-with-claude/batch-processing: half of the standard prices
    ("anthropic_messages", "batch"): 0.5,
}
"""What a call at a cheaper tier costs, as a part of its list price: (api, the turn's tier)."""


def priced(turn: Turn, api: str, model: str) -> Turn:
    """The turn with its cost at its tier, or one request unmeasured.

    An adapter that knows more than the counts say has priced it itself, at list price.
    """
    cost = turn.usage.cost_usd or price(turn.usage, turn.model or model, api)
    if cost is None:
        return turn.model_copy(update={"usage": turn.usage.model_copy(update={"unmeasured": 1})})
    factor = FACTORS.get((api, turn.tier or ""), 1.0)
    found = {"cost_usd": cost * factor, **({"saved_usd": cost * (1 - factor)} if factor < 1.0 else {})}
    return turn.model_copy(update={"usage": turn.usage.model_copy(update=found)})


def price(usage: Usage, model: str, api: str, for_an_hour: int = 0) -> float | None:
    """The price in US dollars; None where the tables know none, which must count as unmeasured. Never raises.

    `for_an_hour` of the tokens written to a cache are in one that lives for an hour, which costs more.
    A scripted model costs what its script says, else nothing.
    """
    if api == "scripted":
        return usage.cost_usd
    try:
        return _list_price(usage, model, api, for_an_hour)
    except Exception:  # the answer is paid for: what can't be priced must not have it asked for again
        log.exception("no price for %s on %s", usage, model)
        return None


@lru_cache(maxsize=1000)
def context_window(model: str, api: str) -> int | None:
    """How many tokens the model can take in and give out together; None where the tables know none. Never raises."""
    try:
        return _window(model, api)
    except Exception:  # whatever is wrong with the tables: the provider says by itself when a call is too long
        log.exception("no context window for %s", model)
        return None


def load() -> None:
    """Import the library and its tables, which takes a quarter of a second: for a thread that holds nobody up."""
    price(Usage(input_tokens=1), "gpt-4o", "openai_responses")


def _list_price(usage: Usage, model: str, api: str, for_an_hour: int) -> float | None:
    import genai_prices

    read = min(usage.cached_tokens, usage.input_tokens)
    written = min(usage.cache_write_tokens, usage.input_tokens - read)
    tokens = genai_prices.Usage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cache_read_tokens=read,
        cache_write_tokens=written,
        cache_write_1h_tokens=min(for_an_hour, written),
    )
    for vendor in _vendors(model, api):
        try:
            return float(genai_prices.calc_price(tokens, model, provider_id=vendor).total_price)
        except LookupError:
            continue
    return None


def _window(model: str, api: str) -> int | None:
    from genai_prices.data_snapshot import get_snapshot

    for vendor in _vendors(model, api):
        try:
            _, found = get_snapshot().find_provider_model(model, None, vendor, None)
        except LookupError:
            continue
        if found.context_window:
            return found.context_window
    return None


def _vendors(model: str, api: str) -> Iterator[str | None]:
    """Whose lists to look in: the API's own vendor, whoever makes models of that name (None), a reseller.

    Many servers speak another vendor's API, so that the API alone says little.
    """
    if api in _VENDORS:
        yield _VENDORS[api]
    yield None
    if "/" in model:
        yield "openrouter"
