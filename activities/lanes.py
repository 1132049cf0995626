"""Which lanes there are for a model, and which of them a job takes that leaves the choice to us.

Tables of data: a host or a model is added when its vendor says that it has the lane.
"""

import os
from collections.abc import Mapping
from datetime import timedelta
from typing import Literal

from activities.errors import DefinitionError
from workflows.contracts import Lane
from workflows.lane_contracts import LaneTerms

BATCH_HOSTS = ("api.openai.com", "api.anthropic.com")
"""Who has a batch API at half price. Other servers that speak these APIs may; `lane="batch"` asks them."""

FLEX_HOSTS = ("api.openai.com",)
FLEX_MODELS = ("gpt-5", "o3", "o4-mini")
"""Beginnings of the names of models that OpenAI serves at its flex tier.
https://developers.openai.com/api/docs/guides/flex-processing"""

BATCH_WINDOW = timedelta(hours=24)
"""Within which providers answer a batch."""

PREFIX = "SUREFOOT_LANE_"


def choose(lane: Lane, host: str, model: str, left: timedelta) -> Literal["batch", "flex", "sync"]:
    """The lane of a call that has `left` until it must be answered; `model` is the provider's own name of it."""
    if lane == "batch" or (lane == "auto" and _is_one(host, BATCH_HOSTS) and left >= BATCH_WINDOW):
        return "batch"
    has_flex = _is_one(host, FLEX_HOSTS) and model.startswith(FLEX_MODELS)
    return "flex" if lane == "flex" or (lane == "auto" and has_flex) else "sync"


def _is_one(host: str, hosts: tuple[str, ...]) -> bool:
    return any(host == each or host.endswith(f".{each}") for each in hosts)


def terms_from(environment: Mapping[str, str] = os.environ) -> LaneTerms:
    """The terms of lanes that this worker opens: SUREFOOT_LANE_<NAME> for each. Raises `DefinitionError`."""
    given = {name: environment[key] for name in LaneTerms.model_fields if (key := PREFIX + name.upper()) in environment}
    try:
        return LaneTerms.model_validate(given)
    except ValueError:
        known = ", ".join(f"{PREFIX}{name.upper()}={getattr(LaneTerms(), name)}" for name in LaneTerms.model_fields)
        raise DefinitionError(f"one of these is no fitting number: {given}; the defaults are {known}") from None
