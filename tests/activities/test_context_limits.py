"""From how many tokens on a call is cut short, and what is said when that does not help."""

import pytest

from activities.agents import Agent
from activities.models.context import Context
from activities.models.context_limits import context_mark, no_room, overhead
from activities.providers.scripted import Script
from activities.tools.tool import tool
from workflows.contracts import Logged, Message, Result


@tool(read_only=True)
def look(where: str) -> str:
    """Look somewhere."""
    return where


def agent(*models: str, compact_at: int | None = None) -> Agent:
    return Agent("a", list(models) or Script([]), "Be kind.", [look], compact_at=compact_at)


@pytest.mark.parametrize(
    ("models", "mark"),
    [
        (["anthropic:claude-opus-4-5"], 150_000),
        (["anthropic:claude-opus-4-5", "openai:gpt-4o"], 96_000),
        (["google:gemini-3-pro-preview", "openai-chat:gpt-4o"], 96_000),
        (["openai-chat:our-own-model"], None),
        (["scripted:file.json"], None),
    ],
)
async def test_without_a_number_it_is_three_quarters_of_the_smallest_window_that_is_known(
    models: list[str], mark: int | None
) -> None:
    assert await context_mark(agent(*models), models) == mark


async def test_the_agents_own_number_goes_first_and_zero_is_never() -> None:
    assert await context_mark(agent("openai:gpt-4o", compact_at=500_000), ["openai:gpt-4o"]) == 500_000
    assert await context_mark(agent("openai:gpt-4o", compact_at=False), ["openai:gpt-4o"]) is None


def test_what_is_sent_beside_the_transcript_counts() -> None:
    (declared,) = [each.declaration() for each in agent().tools]

    assert overhead(agent()) > len("Be kind.") + len(declared.name) + len(declared.description)


def test_when_nothing_helps_the_largest_entry_is_named() -> None:
    log: list[Logged] = [Message(text="go"), Result(call="c1-1", tool="look", content="x" * 9000)]

    assert no_room(agent(), Context(log, None)) == (
        "; what can be cut short was, and about 3,000 tokens are left, the largest of it the result of look (c1-1) of"
        " 9,000 bytes: begin a new job with less of it, or take a model with a larger window"
    )
    assert no_room(agent(compact_at=0), Context(log, None)) == (
        "; nothing was cut short, since agent a has compact_at=0: take that out, or begin a new job"
    )
