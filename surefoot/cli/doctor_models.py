"""What `surefoot doctor` says of the models that an app's agents ask: what each of their providers lacks here.

A worker elsewhere has an environment of its own; this looks at the one that the command runs in.
"""

import os
from collections.abc import Iterator, Mapping
from urllib.parse import urlsplit

import click

from activities.agents import Agent
from activities.apps import App
from activities.models.registry import BASE_URLS, KEYS, has_price, missing_extra, missing_key
from surefoot.cli.models import check_models

Problem = tuple[str, str]
"""What was seen, and what to do about it."""

WHERE = "where the worker runs"
"""The end of a remedy for an environment: it helps all agents at once."""

APPENDED: Mapping[str, tuple[str, ...]] = {
    "anthropic": ("/v1", "/messages"),
    "openai": ("/chat/completions", "/responses"),
    "openai-chat": ("/chat/completions", "/responses"),
    "google": ("/v1", "/v1beta", "/models"),
}
"""What the SDK of each prefix puts behind the address itself, so that an address must not end with it."""


def model_problems(app: App, agent: Agent, environment: Mapping[str, str] = os.environ) -> Iterator[Problem]:
    """All that keeps the agent's models from being asked, or its cost limit from holding them."""
    for model in agent.models:
        if not isinstance(model, str):
            continue
        found = (
            _address(model, environment) or _missing(model) or _unsendable(model, environment) or _written(app, model)
        )
        if found is not None:
            yield found
        if _limits_cost(agent) and not has_price(model):
            yield (
                f"{model}, whose price is not known: its calls count as unmeasured, so that the limit cost_usd does not"
                " hold them",
                "limit them by tokens as well: Limits(tokens=…)",
            )


def shown_models(agent: Agent) -> str:
    """The agent's models in their order, with what is worth knowing of them."""
    return ", ".join(_shown(model) for model in agent.models)


def _shown(model: object) -> str:
    if not isinstance(model, str):
        return "a script"
    return model if has_price(model) else f"{model} (no list price is known: its costs count as unmeasured)"


def _address(model: str, environment: Mapping[str, str]) -> Problem | None:
    prefix = model.partition(":")[0]
    variable = BASE_URLS.get(prefix)
    address = environment.get(variable, "").strip() if variable else ""
    if not address:
        return None
    try:
        parts = urlsplit(address)
        sound = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # of a port or brackets that are none
        sound = False
    if not sound:
        return (
            f"{model}, but {variable} is {_without_password(address)!r}, which is no address",
            f"export {variable}=https://… where the worker runs, or unset it for the provider's own",
        )
    if ending := next((each for each in APPENDED[prefix] if parts.path.rstrip("/").endswith(each)), None):
        return (
            f"{model}, but {variable} ends with {ending}, which is put behind it once more",
            f"export {variable} without {ending} {WHERE}",
        )
    return None


def _without_password(address: str) -> str:
    return address.rpartition("@")[2]


def _missing(model: str) -> Problem | None:
    if (extra := missing_extra(model)) is not None:
        return f"{model}, but {extra} is not installed", f"pip install '{extra}' {WHERE}"
    if (key := missing_key(model)) is not None:
        return f"{model}, but {key} is not set", f"export {key}=… {WHERE}"
    return None


def _unsendable(model: str, environment: Mapping[str, str]) -> Problem | None:
    """A key that was read from a file has its line break, as a rule, and no request can be sent with it."""
    variable = KEYS.get(model.partition(":")[0], "")
    key = environment.get(variable, "")
    if key.isascii() and key.isprintable():
        return None
    return (
        f"{model}, but {variable} holds a line break or another character that no key has",
        f"export {variable} without it {WHERE}",
    )


def _written(app: App, model: str) -> Problem | None:
    """A model that no worker could find, such as a script that is not there."""
    try:
        check_models(app, [model])
    except click.UsageError as error:
        return error.message, "mend the agent's model"
    return None


def _limits_cost(agent: Agent) -> bool:
    return any(limits is not None and limits.cost_usd is not None for limits in (agent.limits, agent.total))
