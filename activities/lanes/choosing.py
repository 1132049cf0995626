"""Which lanes there are for a model, and which of them a job takes that leaves the choice to us.

Tables of data: a host or a model is added when its vendor says that it has the lane.
"""

import json
import os
from collections.abc import Mapping
from datetime import timedelta
from typing import Literal

from activities.errors import DefinitionError
from workflows.contracts import Lane
from workflows.lanes.contracts import LaneTerms

BATCH_HOSTS = ("api.openai.com", "api.anthropic.com")
"""Who has a batch API at half price. Other servers that speak these APIs may; `lane="batch"` asks them."""

FLEX_HOSTS = ("api.openai.com",)
FLEX_MODELS = ("gpt-5", "o3", "o4-mini")
"""Beginnings of the names of models that OpenAI serves at its flex tier.
https://developers.openai.com/api/docs/guides/flex-processing"""

BATCH_WINDOW = timedelta(hours=24)
"""Within which providers answer a batch."""

VARIABLE = "SUREFOOT_LANE_TERMS"


def choose(lane: Lane, host: str, model: str, left: timedelta) -> Literal["batch", "flex", "sync"]:
    """The lane of a call that has `left` until it must be answered; `model` is the provider's own name of it."""
    if lane == "batch" or (lane == "auto" and _is_one(host, BATCH_HOSTS) and left >= BATCH_WINDOW):
        return "batch"
    has_flex = _is_one(host, FLEX_HOSTS) and model.startswith(FLEX_MODELS)
    return "flex" if lane == "flex" or (lane == "auto" and has_flex) else "sync"


def _is_one(host: str, hosts: tuple[str, ...]) -> bool:
    return any(host == each or host.endswith(f".{each}") for each in hosts)


def terms_from(environment: Mapping[str, str] = os.environ) -> LaneTerms:
    """The terms of the lanes that this worker opens: fields of `LaneTerms` as JSON. Raises `DefinitionError`."""
    given = environment.get(VARIABLE, "{}")
    try:
        terms = LaneTerms.model_validate_json(given)
        if unknown := json.loads(given).keys() - LaneTerms.model_fields.keys():
            raise ValueError(f"there is no {', '.join(sorted(unknown))}")
    except ValueError as error:
        raise DefinitionError(
            f"{VARIABLE}={given!r} is no JSON object of terms of lanes ({error}); "
            f"set any of these: {LaneTerms().model_dump_json()}"
        ) from None
    return terms
