"""LangGraph with its SQLite checkpointer: no server, one process; checkpoints are written while the next step runs.

That is its default (`durability="async"`), so it is also what its users have: a step may be lost with the process.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from bench.slices import take
from bench.systems import Incomplete, Recorded, RunJob

DATABASE = "checkpoints.db"


@tool
async def look(number: int) -> str:
    """Read one slice."""
    return take(number)


class Reading(BaseChatModel):
    """The model: it looks as often as the job's message says, then answers."""

    @property
    def _llm_type(self) -> str:
        return "reading"

    def bind_tools(self, tools: Any, **_: Any) -> "Reading":
        return self

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        turns = sum(isinstance(message, AIMessage) for message in messages)
        answer = AIMessage("done")
        if turns < int(str(messages[0].content)):
            calls = [{"name": "look", "args": {"number": turns}, "id": f"call-{turns}", "type": "tool_call"}]
            answer = AIMessage("", tool_calls=calls)
        return ChatResult(generations=[ChatGeneration(message=answer)])


@asynccontextmanager
async def hosting(place: str) -> AsyncIterator[RunJob]:
    async with AsyncSqliteSaver.from_conn_string(str(Path(place, DATABASE))) as saver:
        graph = create_agent(Reading(), [look], checkpointer=saver)

        async def run(job: str, rounds: int) -> None:
            said = {"messages": [{"role": "user", "content": str(rounds)}]}
            end = await graph.ainvoke(said, {"configurable": {"thread_id": job}})
            if end["messages"][-1].content != "done":
                raise Incomplete(f"the answer was {end['messages'][-1].content!r}")

        yield run


async def recorded(place: str, job: str) -> Recorded:
    """Checkpoints and pending writes of one thread."""
    import aiosqlite

    sizes = (
        "SELECT count(*), sum(length(checkpoint) + length(metadata)) FROM checkpoints WHERE thread_id = ?",
        "SELECT count(*), sum(length(value)) FROM writes WHERE thread_id = ?",
    )
    async with aiosqlite.connect(Path(place, DATABASE)) as database:
        rows = [await (await database.execute(size, (job,))).fetchone() for size in sizes]
    return Recorded(sum(row[0] for row in rows if row), sum(row[1] or 0 for row in rows if row))
