"""The table of times and attempts."""

from datetime import timedelta

import pytest

from workflows import policies
from workflows.contracts import AgentSpec, CallPlan, Limits

SPEC = AgentSpec(
    name="clerk", limits=Limits(), model_seconds=600, model_attempts=6, heartbeat_seconds=8, retry_seconds=1
)
SLACK = 30


@pytest.mark.parametrize("seconds", [1.0, 60.0, 3600.0])
def test_a_step_may_take_as_long_as_its_tool_says(seconds: float) -> None:
    plan = CallPlan(call="c1-1", kind="read", seconds=seconds)

    assert policies.tool(SPEC, plan)["start_to_close_timeout"] == timedelta(seconds=seconds + SLACK)
    assert policies.pure(plan)["start_to_close_timeout"] == timedelta(seconds=seconds + SLACK)


def test_attempts_lost_to_dying_workers_do_not_use_up_those_of_the_step() -> None:
    plan = CallPlan(call="c1-1", kind="read", retries=2)

    assert policies.tool(SPEC, plan)["retry_policy"].maximum_attempts == 3 + policies.INTERRUPTIONS
    assert policies.model(SPEC)["retry_policy"].maximum_attempts == 6 + policies.INTERRUPTIONS
    assert policies.INTERRUPTIONS > 10


def test_without_a_rate_a_model_is_asked_on_the_jobs_own_queue() -> None:
    assert policies.asking(SPEC) == policies.model(SPEC)
    assert "task_queue" not in policies.asking(SPEC)
