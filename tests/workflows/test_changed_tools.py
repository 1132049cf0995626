"""A deploy that changes what a tool is, between the plan of a call and its execution."""

import pytest

from activities.agents import Agent
from activities.tools.tool import tool
from tests.conftest import Host
from tests.workflows.scripting import call, calls, watched
from workflows.contracts import Result

pytestmark = pytest.mark.cold


async def test_a_pure_tool_that_became_a_read_tool_is_called_again_by_the_model_and_then_runs(host: Host) -> None:
    @tool(pure=True)
    def twice(number: int) -> int:
        """Twice a number."""
        return 2 * number

    @tool(pure=True)
    def deploy() -> str:
        """What a deploy does, at the one moment that matters."""
        twice.pure = False
        return "deployed"

    script, asked = watched(
        calls(call("deploy"), call("twice", number=4)), calls(call("twice", number=4)), {"text": "8"}
    )
    async with host(Agent("adder", script, tools=[deploy, twice])) as client:
        job = await client.start("adder", "go")
        outcome = await job.outcome()
        results = [entry for entry in await job.transcript() if isinstance(entry, Result)]

    assert (outcome.status, outcome.answer, len(asked)) == ("complete", "8", 3)
    assert [(result.call, result.status) for result in results] == [("c1-1", "ok"), ("c1-2", "error"), ("c2-1", "ok")]
    assert "it was a pure tool and is a read tool now" in results[1].content
    assert results[2].content == "8"
