"""The agents of the property test over requests, and tools in which a person may interrupt them."""

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Final, cast

from activities.agents import Agent
from activities.errors import OutcomeUnknown, ToolError
from activities.tools.context import ToolContext
from activities.tools.tool import Tool, tool
from tests.wire.answers import Act
from tests.wire.server import ModelServer

ANTHROPIC: Final = "anthropic:claude-sonnet-4-5"
MODELS: Final = (
    ANTHROPIC,
    "anthropic:claude-opus-5-1",
    "openai:gpt-5",
    "openai-chat:gpt-5",
    "google:gemini-3-pro-preview",
    "google:gemini-2.5-flash",
)

AGENTS: Final = {
    "plain": {},
    "whole": {"stream": False},
    "short": {"compact_at": 1_200},
    "stateless": {"settings": {"store": False}},
    "thinker": {"settings": {"thinking": {"type": "enabled", "budget_tokens": 1024}}},
    "citing": {"cite": True},
    "typed": {"output": {"type": "object", "properties": {"sum": {"type": "integer"}}, "required": ["sum"]}},
    "schema": {"tool_calling": "schema"},
}
"""Agents by name, each with what is special about it; "listed" has all models, the others take a job's own one."""

MODELS_OF: Final = {
    "stateless": ("openai:gpt-5", "openai-chat:gpt-5"),
    "thinker": (ANTHROPIC, "anthropic:claude-sonnet-4-5"),
}
"""Agents whose settings only some models take."""


@dataclass
class Desk:
    """What tools of the running example share with the test."""

    server: ModelServer
    loop: asyncio.AbstractEventLoop
    written: Counter[str] = field(default_factory=Counter)
    again: Counter[str] = field(default_factory=Counter)
    """How often a person said of a call that it had not happened."""
    steered: list[str] = field(default_factory=list)
    """What people added to the running example's job."""

    async def act(self, act: Act) -> None:
        """Have a person act; tools run on a loop of their own."""
        await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(self._act(act), self.loop))
        await asyncio.sleep(0.02)  # a moment in which the job may hear of it; nothing is awaited for by this

    async def _act(self, act: Act) -> None:
        await self.server.person(act)

    def write(self, context: ToolContext) -> None:
        self.written[context.idempotency_key] += 1


def tools(desk: Desk) -> list[Tool[..., Any]]:
    @tool(read_only=True)
    async def look(key: str) -> str:
        """Look something up."""
        return f"value of {key}"

    @tool(read_only=True)
    async def tell_all(key: str) -> str:
        """Tell all there is."""
        return f"{key} is long. " * 300

    @tool(pure=True)
    async def echo(text: str) -> str:
        """Say it again."""
        return text

    @tool(read_only=True)
    async def fail() -> str:
        """Fail."""
        raise ToolError("no")

    @tool
    async def save(key: str, context: ToolContext) -> str:
        """Save something, if a person lets it."""
        desk.write(context)
        return f"saved {key}"

    @tool(policy="allow")
    async def note(key: str, context: ToolContext) -> str:
        """Note something, without asking anybody."""
        desk.write(context)
        return f"noted {key}"

    @tool(policy="allow")
    async def lose(key: str, context: ToolContext) -> str:
        """Lose sight of what was done, the first time."""
        desk.write(context)
        if desk.written[context.idempotency_key] == 1:
            raise OutcomeUnknown(f"no answer about {key}")
        return f"did {key}"

    @tool(read_only=True)
    async def person_reads(act: str) -> str:
        """Be interrupted while reading."""
        await desk.act(cast(Act, act))
        return "read"

    @tool(policy="allow")
    async def person_writes(act: str, context: ToolContext) -> str:
        """Be interrupted while writing."""
        desk.write(context)
        await desk.act(cast(Act, act))
        return "written"

    return [look, tell_all, echo, fail, save, note, lose, person_reads, person_writes]


def agents(desk: Desk) -> list[Agent]:
    """All agents; each may ask the one named "ask_helper"."""
    own = tools(desk)
    helper = Agent("ask_helper", [ANTHROPIC], tools=[each for each in own if each.name in ("look", "note")])
    every = [*own, helper.as_tool("Ask another agent.")]
    made = [Agent(name, ANTHROPIC, "Be brief.", every, **cast(Any, special)) for name, special in AGENTS.items()]
    return [*made, Agent("listed", MODELS, "Be brief.", every), helper]
