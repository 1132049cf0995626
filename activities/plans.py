"""How each call of a turn is to be handled, decided by the worker's current code right after the turn came in."""

import asyncio
import logging
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from pydantic_core import to_json

from activities.agents import Agent
from activities.errors import InvalidArguments
from activities.policy import evaluate
from activities.providers.action_schema import NO_ACTION, no_action
from activities.tools.any_tool import AnyTool
from activities.tools.explain import cut, said
from workflows.contracts import CallPart, CallPlan, Verdict
from workflows.digest import digest
from workflows.words import denied_by_policy

log = logging.getLogger(__name__)
RULE_SECONDS = 5.0
RAW_SHOWN = 200
WHY_CHARS = 1_000
SCHEMAS_BYTES = 32_000
"""Most bytes of tools' schemas in one turn's plans: they make a form nicer, and history larger."""

ARGUMENTS_BYTES = 1_500_000
"""Most bytes of one call's arguments: they are handed on in one payload (2 MB), with what is said about them."""


async def judge(
    agent: Agent, tool: AnyTool, validated: dict[str, Any], threads: ThreadPoolExecutor
) -> tuple[Verdict, str]:
    """What policy says of this call, and why. A rule that raises or hangs means ask."""
    if not agent.has_rules(tool):
        return ("ask", "") if tool.kind == "write" else ("allow", "")
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(RULE_SECONDS):
            return await loop.run_in_executor(threads, evaluate, agent, tool, validated)
    except TimeoutError:
        return "ask", f"a rule for {tool.name} gave no verdict within {RULE_SECONDS:g} seconds"


async def plan_calls(agent: Agent, calls: Sequence[CallPart], threads: ThreadPoolExecutor) -> list[CallPlan]:
    """A plan for each call of a turn. Those that people may edit bring the tool's schema, while there is room."""
    plans = [await plan_call(agent, call, threads) for call in calls]
    room = SCHEMAS_BYTES
    for place, (call, plan) in enumerate(zip(calls, plans, strict=True)):
        tool = agent.find_tool(call.tool)
        if plan.verdict != "ask" or tool is None or "edit" not in plan.asking.allowed:
            continue
        room -= len(to_json(tool.arguments.schema))
        if room >= 0:
            plans[place] = plan.model_copy(update={"parameters": tool.arguments.schema})
    return plans


async def plan_call(agent: Agent, call: CallPart, threads: ThreadPoolExecutor) -> CallPlan:
    """The plan for one call. Never raises: the turn that it belongs to is paid for."""
    try:
        return await _plan(agent, call, threads)
    except Exception as error:
        log.exception("no plan for call %s of %s", call.id, call.tool)
        return CallPlan(call=call.id, kind="invalid", problem=f"This call could not be prepared: {said(error, 500)}")


async def _plan(agent: Agent, call: CallPart, threads: ThreadPoolExecutor) -> CallPlan:
    tool = agent.find_tool(call.tool)
    if tool is None and call.tool == NO_ACTION and agent.tool_calling == "schema":
        return CallPlan(call=call.id, kind="invalid", problem=no_action(call.raw or ""))
    if tool is None:
        names = ", ".join(tool.name for tool in agent.all_tools) or "none"
        problem = f"There is no tool {call.tool[:RAW_SHOWN]!r}. Tools that exist: {names}."
        return CallPlan(call=call.id, kind="invalid", problem=problem)
    if call.arguments is None:
        shown = (call.raw or "")[:RAW_SHOWN]
        problem = f"The arguments of {tool.name} are not a JSON object: {shown!r}. Send a JSON object."
        return CallPlan(call=call.id, kind="invalid", problem=problem)
    size = len(to_json(call.arguments))
    if size > ARGUMENTS_BYTES:
        problem = f"The arguments of {tool.name} have {size} bytes, at most {ARGUMENTS_BYTES} fit. Send less at once."
        return CallPlan(call=call.id, kind="invalid", problem=problem)
    try:
        validated = tool.validate(call.arguments)
    except InvalidArguments as error:
        return CallPlan(call=call.id, kind="invalid", problem=str(error), digest=digest(tool.name, call.arguments))
    verdict, why = await judge(agent, tool, validated, threads)
    return CallPlan(
        call=call.id,
        kind=tool.kind,
        verdict=verdict,
        digest=digest(tool.name, call.arguments),
        seconds=tool.timeout,
        **({"problem": denied_by_policy(why)} if verdict == "deny" else {}),
        **({"problem": cut(why, WHY_CHARS)} if verdict == "ask" and why else {}),
        **({"retries": tool.retries} if tool.kind != "write" or tool.idempotent else {}),
        **({"repeatable": True} if tool.repeatable else {}),
        **({"has_preview": True} if tool.has_preview else {}),
        **({"asking": asking} if (asking := agent.asking(tool)) is not None else {}),
    )
