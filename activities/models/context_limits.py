"""How many input tokens a model call of an agent may have before what was said is cut short.

A window that no table knows is no reason to guess: then the provider's own word is waited for, that a call is too long.
"""

import asyncio
from collections.abc import Sequence

from pydantic_core import to_json

from activities.agents import Agent
from activities.models.context import Context
from activities.models.epochs import size_of
from activities.models.registry import ADAPTERS
from activities.models.stand_ins import Model
from activities.providers.prices import context_window
from workflows.contracts import Entry, Result

PART = 0.75
"""Of the smallest window. The rest is for the answer, for thinking, and for what one round may add."""


async def context_mark(agent: Agent, models: Sequence[Model]) -> int | None:
    """The agent's own `compact_at`, else a part of the smallest window of these models that is known; None: no mark."""
    if agent.compact_at is not None:
        return agent.compact_at or None
    named = [model for model in models if isinstance(model, str) and model.partition(":")[0] in ADAPTERS]
    if not named:
        return None
    # The tables are large: to load them takes a quarter of a second, in which nobody else should wait.
    windows = [window for window in await asyncio.to_thread(_windows, named) if window is not None]
    return int(min(windows) * PART) if windows else None


def overhead(agent: Agent) -> int:
    """About how many bytes each call sends beside what was said."""
    declared = [tool.declaration() for tool in agent.all_tools]
    tools = sum(len(tool.name) + len(tool.description) + len(to_json(tool.schema)) for tool in declared)
    return len(agent.instructions.encode()) + tools


def no_room(agent: Agent, context: Context) -> str:
    """What stands behind a provider's word that a call is too long, when nothing more can be done about it."""
    if agent.compact_at == 0:
        return f"; nothing was cut short, since agent {agent.name} has compact_at=0: take that out, or begin a new job"
    largest = max(context.seen, key=lambda entry: size_of([entry]), default=None)
    what = f", the largest of it {_named(largest)} of {size_of([largest]):,} bytes" if largest is not None else ""
    return (
        f"; what can be cut short was, and about {context.tokens:,} tokens are left{what}: begin a new job with less of"
        " it, or take a model with a larger window"
    )


def _named(entry: Entry) -> str:
    if isinstance(entry, Result):
        return f"the result of {entry.tool} ({entry.call})"
    return {"message": "a person's message", "turn": "an answer of the model"}.get(entry.kind, "a note")


def _windows(models: Sequence[str]) -> list[int | None]:
    return [_window(*model.split(":", 1)) for model in models]


def _window(prefix: str, name: str) -> int | None:
    module, _ = ADAPTERS[prefix]
    return context_window(name, module.rpartition(".")[2])
