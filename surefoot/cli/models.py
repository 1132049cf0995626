"""Says before anything starts which models could not be asked.

Each command decides what of it it may say: a worker that somebody else starts has an environment of its own.
"""

from collections.abc import Iterable, Sequence

import click

from activities.apps import App
from activities.models.registry import ADAPTERS, Models, missing_extra, missing_key
from activities.providers.errors import ModelError
from activities.providers.script import ScriptError
from activities.providers.scripted import Script
from surefoot.cli.session import load, needs_app
from surefoot.embedded.workers import serves
from surefoot.settings import Settings


def check_models(app: App, models: Sequence[object]) -> None:
    """Say at once what no worker could run. Whether a key is set shows where the worker runs."""
    found = Models(app)
    for model in models:
        api, _, name = model.partition(":") if isinstance(model, str) else ("script", "", "")
        if isinstance(model, str) and not (api in ADAPTERS and name):
            try:
                found.find(model)
            except (ModelError, ScriptError) as error:
                raise click.UsageError(f"model {model}: {error}") from None


def check_key(model: str | Script) -> None:
    """For a worker with our environment; raises `click.UsageError`."""
    if (extra := missing_extra(model)) is not None:
        raise click.UsageError(
            f"{model} is to be asked by a worker with this environment, which lacks a package: pip install '{extra}'"
        )
    if (key := missing_key(model)) is not None:
        raise click.UsageError(
            f"{model} is to be asked by a worker with this environment, and {key} is not set in it: export {key}=…,"
            " or try it without a key, on a model that answers from a file: --model scripted:FILE.json"
        )


def check_agent(settings: Settings, agent: str, model: str | None, queue: str | None = None) -> None:
    """As `check_agents`, for one."""
    check_agents(settings, [agent], model, queue)


def check_queue(settings: Settings, queue: str) -> None:
    """Whether the app has this queue. Raises `DefinitionError`."""
    load(needs_app(settings)).queue(queue)


def check_agents(settings: Settings, agents: Iterable[str], model: str | None, queue: str | None = None) -> None:
    """What jobs of these agents, perhaps on another `model` or in a `queue`, need of the app and of this environment.

    A worker that is up has its own environment. Raises `DefinitionError`, `UnknownAgent` and `click.UsageError`.
    """
    app = load(needs_app(settings))
    if queue is not None:
        app.queue(queue)
    check_asking(settings, app, agents, model)


def check_asking(settings: Settings, app: App, agents: Iterable[str], model: str | None) -> None:
    """As `check_agents`, for an app that was loaded before."""
    needs_keys = not serves(settings, needs_app(settings))
    for named in [app.agent(agent) for agent in agents]:
        check_models(app, [model] if model is not None else named.models)
        if needs_keys:
            check_key(model if model is not None else named.model)
