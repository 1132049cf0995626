"""Executes one call: policy once more, then the mark, then the function.

The order is the promise: a write's function is called only after the server has acknowledged that it is about to be, so
an attempt that finds the mark knows that an earlier one may have changed something.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Any

from temporalio import activity

from activities.agents import Agent
from activities.apps import App
from activities.artifacts import Artifacts
from activities.attempts import Attempt, took
from activities.errors import InvalidArguments, OutcomeUnknown, ToolCancelled, ToolError, UnknownAgent
from activities.mcp.fate import EndUnseen, Unreachable
from activities.mcp.servers import McpServers
from activities.plans import WHY_CHARS, judge
from activities.threads import Threads
from activities.tools.agent_tool import AgentTool
from activities.tools.any_tool import AnyTool
from activities.tools.context import ToolContext
from activities.tools.explain import cut, said
from activities.tools.shown import Shown
from activities.tools.tool import render_output
from workflows.approval import enough
from workflows.contracts import (
    ArgumentsCheck,
    CallDescription,
    CheckArguments,
    DescribeCall,
    RunTool,
    ToolReply,
)
from workflows.digest import digest

log = logging.getLogger(__name__)
PREVIEW_SECONDS = 10.0
PREVIEW_CHARS = 20_000
MOST_CHARS = 300_000
"""Most characters of an output that a tool may let the model see: six bytes each in JSON at worst, and 2 MB fit."""

UNSEEN = ToolReply(status="unknown", content="its worker was gone, or cut off from the server, before it had ended")
OUT_OF_REACH = "The MCP server {server} can't be reached, so nothing was executed: {why}"
GONE = "The tool {tool} is no longer there; nothing was executed."
NO_LONGER_PURE = (
    "A new version of {tool} came while this call waited for its turn: it was a pure tool and is a {kind} tool now,"
    " which has to be called in another way. Nothing was executed; call it again if you still need it."
)


class ToolRunner:
    """The activities that call users' tools. `threads` runs what their authors wrote, beside the worker."""

    def __init__(self, app: App, servers: McpServers, threads: Threads, artifacts: Artifacts) -> None:
        self._app, self._servers, self._threads, self._artifacts = app, servers, threads, artifacts

    @activity.defn
    async def run_tool(self, request: RunTool) -> ToolReply:
        attempt = Attempt()
        begun = attempt.ledger.started
        async with attempt.beating(until_mark=True):
            found = await self._find(request)
        if isinstance(found, str):
            await attempt.pass_on("UnknownTool", found)
            return UNSEEN if begun else ToolReply(status="error", content=found)
        agent, tool = found
        if begun and not tool.may_run_again:
            return UNSEEN
        async with attempt.beating(until_mark=tool.kind == "write"):
            ready = await self._check(agent, tool, request)
            if isinstance(ready, ToolReply):
                # What an earlier attempt may have done is not undone by refusing this one.
                return UNSEEN if begun else ready
            if isinstance(tool, AgentTool):
                return ToolReply(errand=tool.errand(ready))
            if tool.kind == "write":
                await attempt.mark_started()
            since = time.monotonic()
            reply = await self._call(attempt, agent, tool, request, ready)
            return reply.model_copy(update=took(since, attempt.info.attempt))

    async def _find(self, request: RunTool | CheckArguments) -> tuple[Agent, AnyTool] | str:
        """The agent and the tool as this worker has them now, or why it has not: a deploy may have removed either."""
        try:
            agent = self._app.agent(request.agent)
        except UnknownAgent:
            return GONE.format(tool=request.tool)
        equipped = await self._servers.equip_for(agent, request.tool)
        for server, why in equipped.missing.items():
            return OUT_OF_REACH.format(server=server, why=why)
        tool = equipped.agent.find_tool(request.tool)
        return (equipped.agent, tool) if tool is not None else GONE.format(tool=request.tool)

    async def _check(self, agent: Agent, tool: AnyTool, request: RunTool) -> dict[str, Any] | ToolReply:
        """The validated arguments, or why the call may not run now."""
        try:
            validated = tool.validate(request.arguments)
        except InvalidArguments as error:
            return ToolReply(status="error", content=f"Invalid arguments; nothing was executed. {error}")
        verdict, why = await judge(agent, tool, validated, self._threads)
        if verdict == "deny":
            return ToolReply(status="denied", content=why)
        if verdict == "ask":
            asking = agent.asking(tool)
            if not request.approved:
                return ToolReply(status="ask", content=cut(why, WHY_CHARS), **({"asking": asking} if asking else {}))
            if asking is not None and not enough(request.votes, asking):
                return ToolReply(status="ask", content="its policy now wants other approvals", asking=asking)
        return validated

    async def _call(
        self, attempt: Attempt, agent: Agent, tool: AnyTool, request: RunTool, validated: dict[str, Any]
    ) -> ToolReply:
        context = _context(agent, tool, request.call, attempt.info.attempt, lambda: attempt.cancelled)
        try:
            async with asyncio.timeout(tool.timeout) as bound:
                value = await tool.call(context, validated, self._threads)
        except (ToolError, Unreachable) as error:
            return ToolReply(status="error", content=said(error) or type(error).__name__)
        except EndUnseen as error:
            return await self._failed(attempt, tool, said(error), seen=False)
        except OutcomeUnknown as error:
            text = said(error, WHY_CHARS)
            if tool.kind == "write":
                return ToolReply(status="unknown", content=text)
            return ToolReply(status="error", content=f"The outcome is unknown{text and f': {text}'}")
        except BaseException as error:  # whatever a tool raises ends its call, never its job
            if _being_cancelled():
                raise asyncio.CancelledError from None
            if bound.expired():
                text = f"no result within {tool.timeout:g} seconds"
                return await self._failed(attempt, tool, text, seen=False)
            log.warning("tool %s failed in job %s", tool.name, context.job, exc_info=True)
            return await self._failed(attempt, tool, f"{type(error).__name__}: {said(error)}")
        return self._keep(context, tool, await self._rendered(value))

    async def _failed(self, attempt: Attempt, tool: AnyTool, text: str, *, seen: bool = True) -> ToolReply:
        """Try again as often as the tool allows; then tell the model, or a person if a write's end was not `seen`."""
        allowed = tool.retries + 1
        if attempt.ledger.failures + 1 < allowed:
            await attempt.fail("ToolFailed", text, allowed=allowed, retry=True)
        if tool.kind == "write" and not seen:
            return ToolReply(status="unknown", content=text)
        return ToolReply(status="error", content=f"The tool failed: {text}")

    async def _rendered(self, value: object) -> Shown:
        """An output as text. What is no text yet may run the tool's code, which must not hold up the worker."""
        if isinstance(value, Shown):
            return value
        if value is None or type(value) is str:
            text = render_output(value)
        else:
            text = await asyncio.get_running_loop().run_in_executor(self._threads, render_output, value)
        return Shown(text, text)

    def _keep(self, context: ToolContext, tool: AnyTool, output: Shown) -> ToolReply:
        """The output, cut with a visible mark if it is too long for the model, and what is not shown kept elsewhere."""
        limit, text = min(tool.max_output_chars, MOST_CHARS), output.text
        if len(text) <= limit and output.whole == text:
            return ToolReply(status="ok", content=text)
        try:
            artifact = self._artifacts.keep(context.job, context.call, output.whole)
            where = "the whole output is kept for people"
        except OSError as error:
            log.error("the whole output of %s in job %s could not be kept: %s", context.call, context.job, error)
            artifact, where = None, "the rest is lost, it could not be kept"
        if len(text) <= limit:
            return ToolReply(status="ok", content=f"{text}\n[{where}]", artifact=artifact)
        mark = f"\n[cut: {limit} of {len(text)} characters are shown; {where}]"
        return ToolReply(status="ok", content=text[:limit] + mark, artifact=artifact)

    @activity.defn
    async def compute_tool(self, request: RunTool) -> ToolReply:
        """A pure tool, as a local activity: no mark, no beat, no retry, since it gives the same again."""
        found = await self._find(request)
        if isinstance(found, str):
            return ToolReply(status="error", content=found)
        agent, tool = found
        if tool.kind != "pure":  # another kind needs what a local activity does not have
            return ToolReply(status="error", content=NO_LONGER_PURE.format(tool=tool.name, kind=tool.kind))
        context = _context(agent, tool, request.call, 1, activity.is_cancelled)
        try:
            ready = await self._check(agent, tool, request)
            if isinstance(ready, ToolReply):
                return ready
            since = time.monotonic()
            async with asyncio.timeout(tool.timeout):
                value = await tool.call(context, ready, self._threads)
        except ToolError as error:
            return ToolReply(status="error", content=said(error) or type(error).__name__)
        except BaseException as error:  # whatever a tool raises ends its call, never its job
            if _being_cancelled():
                raise
            return ToolReply(status="error", content=f"The tool failed: {type(error).__name__}: {said(error)}")
        return self._keep(context, tool, await self._rendered(value)).model_copy(update=took(since, 1))

    @activity.defn
    async def describe_call(self, request: DescribeCall) -> CallDescription:
        tool = self._app.agent(request.agent).tool(request.tool)
        if tool is None or not tool.has_preview:
            return CallDescription()
        try:
            async with Attempt().beating(), asyncio.timeout(PREVIEW_SECONDS):
                loop = asyncio.get_running_loop()
                validated = tool.validate(request.arguments)
                text = await loop.run_in_executor(self._threads, tool.preview, validated) or ""
        except Exception as error:  # a broken preview must not keep the call from being decided
            text = f"(the preview failed: {type(error).__name__}: {said(error)})"
        return CallDescription(preview=text[:PREVIEW_CHARS])

    @activity.defn
    async def check_arguments(self, request: CheckArguments) -> ArgumentsCheck:
        found = await self._find(request)
        if isinstance(found, str):
            return ArgumentsCheck(problem=found)
        agent, tool = found
        try:
            validated = tool.validate(request.arguments)
        except InvalidArguments as error:
            return ArgumentsCheck(problem=str(error))
        verdict, why = await judge(agent, tool, validated, self._threads)
        if verdict == "deny":
            return ArgumentsCheck(problem=f"policy denies this: {why}")
        return ArgumentsCheck(digest=digest(tool.name, request.arguments))


def _context(agent: Agent, tool: AnyTool, call: str, attempt: int, cancelled: Callable[[], bool]) -> ToolContext:
    job = activity.info().workflow_id or ""

    def beat(_note: str) -> None:
        if cancelled():
            raise ToolCancelled(f"call {call} of job {job} is not waited for any more")

    return ToolContext(job=job, call=call, tool=tool.name, agent=agent.name, attempt=attempt, beat=beat)


def _being_cancelled() -> bool:
    """Whether somebody cancels this step; a tool may raise CancelledError without that."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
