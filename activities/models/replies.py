"""Makes a reply of a model's turn: plans its calls, or checks its final answer.

The same for turns that came at once and those that a provider batch brought.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from pydantic import JsonValue

from activities.agents import Agent
from activities.models import citations
from activities.models.answer_check import final_answer, problem_of
from activities.plans import plan_calls
from workflows.contracts import Entry, ModelReply, Turn

OUTPUT_BYTES = 500_000
"""Largest answer by an output schema: a job's result has to fit into one payload (2 MB) with all else that it holds."""


class Replies:
    """`threads` run rules and checks."""

    def __init__(self, threads: ThreadPoolExecutor) -> None:
        self._threads = threads

    async def reply(self, agent: Agent, turn: Turn, told: Sequence[Entry], *, closing: bool) -> ModelReply:
        """`told` is the whole of what was said: what the model saw of it in short holds as before."""
        plans = await plan_calls(agent, turn.calls, self._threads)
        checked = {} if turn.calls or closing else await self._checked(agent, turn.text, told)
        reply = ModelReply(turn=turn, plans=plans, **checked)
        return _with_citations(reply, told) if agent.cite and not turn.calls else reply

    async def _checked(self, agent: Agent, text: str, told: Sequence[Entry]) -> dict[str, object]:
        """What the agent's output schema, and then its own check, say of a final answer."""
        found: dict[str, object] = {}
        output: JsonValue = None
        if agent.output is not None:
            output, problem = _output(agent, text)
            found = {"output": output, "output_problem": problem}
        if agent.check is None or found.get("output_problem") is not None or not text.strip():
            return found  # the loop has words of its own for an empty answer
        problem = await problem_of(agent.check, final_answer(text, output, told), self._threads)
        return found if problem is None else {"output_problem": problem}


def _with_citations(reply: ModelReply, told: Sequence[Entry]) -> ModelReply:
    calls, problem = citations.check(reply.turn.text, told)
    found = {"citations": calls, "citation_problem": problem}
    return reply.model_copy(update={name: value for name, value in found.items() if value})


def _output(agent: Agent, answer: str) -> tuple[JsonValue, str | None]:
    if (size := len(answer.encode())) > OUTPUT_BYTES:
        return None, f"It has {size} bytes, at most {OUTPUT_BYTES} fit into an outcome."
    return agent.check_output(answer)
