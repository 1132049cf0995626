"""What a tool can know of the call that it serves, and its way to say that it is alive.

A parameter annotated `ToolContext` receives it; the model never sees that parameter.
"""

from collections.abc import Callable
from dataclasses import dataclass, field


def _nobody_listens(note: str) -> None:
    """The heartbeat of a context that no worker made."""


@dataclass(frozen=True, kw_only=True)
class ToolContext:
    """The call that a tool serves.

    `attempt` counts executions from 1. `beat` is the worker's side of `heartbeat`: it may be called from any
    thread and raises `ToolCancelled` once the job was cancelled.
    """

    job: str
    call: str
    tool: str
    agent: str
    attempt: int = 1
    beat: Callable[[str], None] = field(default=_nobody_listens, repr=False, compare=False)

    @property
    def idempotency_key(self) -> str:
        """The same for every attempt of this call and for no other call: hand it to the service that you change."""
        return f"{self.job}/{self.call}"

    def heartbeat(self, note: str = "") -> None:
        """Say that the tool is at work, from a thread or a coroutine.

        Raises `ToolCancelled` when the job was cancelled; let it pass, or clean up and raise it again.
        """
        self.beat(note)

    @classmethod
    def for_testing(
        cls,
        *,
        job: str = "test-job",
        call: str = "c1-1",
        tool: str = "test-tool",
        agent: str = "test-agent",
        attempt: int = 1,
        beat: Callable[[str], None] = _nobody_listens,
    ) -> "ToolContext":
        """A context for a tool's unit test, without a job or a worker."""
        return cls(job=job, call=call, tool=tool, agent=agent, attempt=attempt, beat=beat)
