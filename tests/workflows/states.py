"""Brings jobs into every state in which a person may end them: a tool for each, held or let go by the test."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from activities.agents import Agent
from activities.errors import OutcomeUnknown
from activities.providers.protocol import ModelRequest
from activities.providers.scripted import Script
from activities.tools.tool import tool
from surefoot.client import Client
from surefoot.job import Job
from tests.waiting import Flag, until
from tests.workflows.scripting import call, calls
from workflows.contracts import Entry, Message, Result, Turn

GO_ON = "go on"


class States:
    """One agent whose first turn is the job's message: it names the state to get into."""

    def __init__(self) -> None:
        self.let_go, self.entered = Flag(), Flag()
        self.asked: list[ModelRequest] = []
        self.saved: list[str] = []

    def agent(self) -> Agent:
        return Agent("worker", Script(self._reply), tools=self._tools())

    def _reply(self, request: ModelRequest) -> dict[str, Any]:
        self.asked.append(request)
        words = [entry.text for entry in request.transcript if isinstance(entry, Message)]
        if words[-1] == GO_ON:
            return {"text": "went on"}
        if request.tool_choice == "none":
            return {"text": "summed up"}
        if any(entry.kind == "turn" for entry in request.transcript):
            return {"text": "done"}
        return TURNS[words[0]]

    def _tools(self) -> Sequence[Any]:
        @tool(read_only=True)
        async def quick() -> str:
            return "quick"

        @tool(read_only=True)
        async def held() -> str:
            self.entered.set()
            await self.let_go.wait()
            return "held"

        @tool(policy="allow")
        async def save() -> str:
            self.entered.set()
            await self.let_go.wait()
            self.saved.append("save")
            return "saved"

        @tool
        async def asking() -> str:
            self.saved.append("asking")
            return "asked"

        @tool(policy="allow")
        async def doubtful() -> str:
            raise OutcomeUnknown

        return [quick, held, save, asking, doubtful]

    async def reach(self, client: Client, state: str) -> Job:
        """A new job, in this state."""
        job = await client.start("worker", state)
        await REACHED[state](self, job)
        return job

    async def _asked(self, job: Job) -> None:
        await until(lambda: _answer(bool(self.asked)))

    async def _entered(self, job: Job) -> None:
        await self.entered.wait()

    async def _waits(self, job: Job) -> None:
        await until(job.view, lambda view: view.state == "waiting")

    async def _quick_is_done(self, job: Job) -> None:
        await self.entered.wait()
        await until(job.view, lambda view: view.usage.tool_calls == 1)

    async def _paused(self, job: Job) -> None:
        await self.entered.wait()
        await job.pause()
        self.let_go.set()
        await until(job.view, lambda view: view.state == "paused" and view.entries == 4)


TURNS: dict[str, dict[str, Any]] = {
    "model": {"text": "too late", "seconds": 0.5},
    "turn": calls(call("quick"), text="I look", seconds=0.5),
    "reads": calls(call("quick"), call("held"), text="I look"),
    "write": calls(call("save"), call("quick"), text="I save"),
    "decision": calls(call("asking"), call("quick"), text="I ask"),
    "unknown": calls(call("doubtful"), call("quick"), text="I try"),
    "paused": calls(call("held"), text="I look"),
}

REACHED: dict[str, Callable[[States, Job], Awaitable[None]]] = {
    "model": States._asked,
    "turn": States._asked,
    "reads": States._quick_is_done,
    "write": States._entered,
    "decision": States._waits,
    "unknown": States._waits,
    "paused": States._paused,
}


async def _answer(value: bool) -> bool:
    return value


def told(entries: Sequence[Entry]) -> list[tuple[str, str, str]]:
    """Tool, status and content of every result."""
    return [(entry.tool, entry.status, entry.content) for entry in entries if isinstance(entry, Result)]


def assert_paired(entries: Sequence[Entry]) -> None:
    """Right behind each turn: exactly one result for each of its calls, in their order, and none anywhere else."""
    waiting: list[str] = []
    for entry in entries:
        if isinstance(entry, Result):
            assert waiting, f"result of {entry.call} without an open call"
            assert entry.call == waiting.pop(0)
            continue
        assert not waiting, f"{entry.kind} before the results of {waiting}"
        if isinstance(entry, Turn):
            waiting = [each.id for each in entry.calls]
    assert not waiting, f"no results of {waiting}"
