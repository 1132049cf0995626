"""What is planned for each call of a turn, by the worker's current code."""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from pydantic_core import to_json

from activities import plans
from activities.agents import Agent
from activities.approval import Approval
from activities.plans import plan_call, plan_calls
from activities.policy import ask_if
from activities.providers.scripted import Script
from activities.tools.tool import Tool, tool
from workflows.contracts import CallPart, CallPlan, JsonObject
from workflows.digest import digest


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    pool = ThreadPoolExecutor(2)
    yield pool
    pool.shutdown(wait=False, cancel_futures=True)


def made(tool: str, arguments: JsonObject | None = None, raw: str | None = None) -> CallPart:
    return CallPart(id="c1-1", tool=tool, arguments=arguments, raw=raw)


def pay(**options: Any) -> Tool:
    @tool(**options)
    async def pay(amount: int) -> str:
        """Pay."""
        return f"paid {amount}"

    return pay


def agent(*tools: Tool, **options: Any) -> Agent:
    return Agent("clerk", Script([{"text": "x"}]), tools=tools, **options)


UNEDITABLE = Approval(allowed=["approve", "deny"])
PAID = digest("pay", {"amount": 5})


@pytest.mark.parametrize(
    ("options", "plan"),
    [
        ({}, CallPlan(call="c1-1", kind="write", verdict="ask", digest=PAID)),
        ({"read_only": True}, CallPlan(call="c1-1", kind="read", digest=PAID, retries=2)),
        ({"pure": True}, CallPlan(call="c1-1", kind="pure", digest=PAID, retries=2)),
        ({"policy": "allow"}, CallPlan(call="c1-1", kind="write", digest=PAID)),
        ({"idempotent": True}, CallPlan(call="c1-1", kind="write", verdict="ask", digest=PAID, retries=2)),
        (
            {"read_only": True, "repeatable": True, "timeout": 5.0, "retries": 0},
            CallPlan(call="c1-1", kind="read", digest=PAID, seconds=5.0, repeatable=True),
        ),
        (
            {"preview": lambda amount: f"pays {amount}"},
            CallPlan(call="c1-1", kind="write", verdict="ask", digest=PAID, has_preview=True),
        ),
        (
            {"policy": "deny"},
            CallPlan(call="c1-1", kind="write", verdict="deny", digest=PAID, problem="Denied by policy: "),
        ),
    ],
)  # fmt: skip
async def test_a_plan_says_what_the_tool_says(
    threads: ThreadPoolExecutor, options: dict[str, Any], plan: CallPlan
) -> None:
    planned = await plan_call(agent(pay(**options)), made("pay", {"amount": 5}), threads)

    if plan.problem is not None:
        assert planned.problem is not None
        assert planned.problem.startswith(plan.problem)
        planned = planned.model_copy(update={"problem": plan.problem})
    assert planned == plan


async def test_an_unknown_tool_is_told_which_there_are(threads: ThreadPoolExecutor) -> None:
    planned = await plan_call(agent(pay()), made("p" * 1000, {}), threads)
    alone = await plan_call(agent(), made("pay", {}), threads)

    assert planned.kind == "invalid"
    assert planned.problem == f"There is no tool {'p' * 200!r}. Tools that exist: pay."
    assert alone.problem == "There is no tool 'pay'. Tools that exist: none."


async def test_arguments_that_are_no_object_are_shown_as_they_began(threads: ThreadPoolExecutor) -> None:
    planned = await plan_call(agent(pay()), made("pay", raw='{"amount": ' + "9" * 1000), threads)

    shown = '{"amount": ' + "9" * 189
    assert planned.kind == "invalid"
    assert planned.problem == f"The arguments of pay are not a JSON object: {shown!r}. Send a JSON object."


async def test_arguments_too_large_for_history_are_refused_by_their_size(threads: ThreadPoolExecutor) -> None:
    planned = await plan_call(agent(pay()), made("pay", {"amount": "9" * 2_000_000}), threads)

    assert planned.kind == "invalid"
    assert planned.problem == "The arguments of pay have 2000013 bytes, at most 1500000 fit. Send less at once."


async def test_arguments_that_do_not_fit_name_their_field_and_still_have_a_digest(threads: ThreadPoolExecutor) -> None:
    planned = await plan_call(agent(pay()), made("pay", {"amount": "much"}), threads)

    assert planned.kind == "invalid"
    assert "amount" in (planned.problem or "")
    assert planned.digest == digest("pay", {"amount": "much"})


async def test_a_rule_that_hangs_means_ask_within_its_time(
    threads: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plans, "RULE_SECONDS", 0.05)
    stuck = threading.Event()
    began = time.monotonic()
    planned = await plan_call(agent(pay(policy=lambda amount: stuck.wait(5.0))), made("pay", {"amount": 5}), threads)
    stuck.set()

    assert planned.verdict == "ask"
    assert time.monotonic() - began < 2.0


async def test_a_rule_that_raises_means_ask(threads: ThreadPoolExecutor) -> None:
    planned = await plan_call(agent(pay(policy=lambda amount: amount["x"])), made("pay", {"amount": 5}), threads)

    assert planned.verdict == "ask"
    assert planned.problem == ("the policy rule (a lambda) failed: TypeError: 'int' object is not subscriptable")


async def test_the_reason_to_ask_is_cut_to_a_bound(threads: ThreadPoolExecutor) -> None:
    rule = ask_if(lambda amount: True, reason="why " * 1_000)
    planned = await plan_call(agent(pay(policy=rule)), made("pay", {"amount": 5}), threads)

    assert planned.problem is not None
    assert (len(planned.problem), planned.problem[-4:]) == (1_000, "why…")


async def test_a_turn_that_was_paid_for_is_not_lost_to_a_plan_that_fails(
    threads: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> str:
        raise ZeroDivisionError("no digest")

    monkeypatch.setattr(plans, "digest", broken)
    planned = await plan_call(agent(pay()), made("pay", {"amount": 5}), threads)

    assert planned == CallPlan(
        call="c1-1", kind="invalid", problem="This call could not be prepared: no digest", digest=""
    )


async def test_only_calls_that_people_may_edit_bring_their_schema(threads: ThreadPoolExecutor) -> None:
    asks, lets, fixed = pay(name="asks"), pay(name="lets", policy="allow"), pay(name="fixed", approval=UNEDITABLE)
    calls = [CallPart(id=name, tool=name, arguments={"amount": 5}) for name in ("asks", "lets", "fixed", "none")]
    planned = await plan_calls(agent(asks, lets, fixed), calls, threads)

    assert [plan.parameters for plan in planned] == [asks.arguments.schema, {}, {}, {}]
    assert asks.arguments.schema["properties"] == {"amount": {"type": "integer"}}


async def test_schemas_of_one_turn_are_bounded_together(
    threads: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = len(to_json(pay().arguments.schema))
    monkeypatch.setattr(plans, "SCHEMAS_BYTES", 2 * size)
    calls = [CallPart(id=str(number), tool="pay", arguments={"amount": number}) for number in range(4)]
    planned = await plan_calls(agent(pay()), calls, threads)

    assert [bool(plan.parameters) for plan in planned] == [True, True, False, False]
