"""How a call comes to its result: the only place that makes one.

Whatever ran with arguments that a person edited says so to the model; what did not run has nothing to say of them.
"""

from typing import Any

from pydantic_core import to_json

from workflows import words
from workflows.contracts import CallState, Result, ResultStatus, ToolReply

RAN: tuple[ResultStatus, ...] = ("ok", "error", "unknown")


def finish(call: CallState, status: ResultStatus, content: str, **more: Any) -> None:
    """Give a call its result; it is then done."""
    call.result, call.phase = _result(call, status, content, **more), "done"


def finish_with(call: CallState, reply: ToolReply) -> None:
    """Give a call the result that its execution came to: `ok` or `error`."""
    more: dict[str, Any] = {"artifact": reply.artifact}
    if reply.seconds is not None:
        more["seconds"] = reply.seconds
    if reply.attempts > 1:
        more["attempts"] = reply.attempts
    finish(call, "ok" if reply.status == "ok" else "error", reply.content, **more)


def interrupted(call: CallState) -> Result:
    """The result of a call that its job left open: a write or a child that may have begun is told as unknown."""
    if call.phase == "unknown" or (call.phase == "running" and call.plan.kind in ("write", "agent")):
        return _result(call, "unknown", words.INTERRUPTED)
    return _result(call, "not_executed", words.CANCELLED_CALL)


def _result(call: CallState, status: ResultStatus, content: str, **more: Any) -> Result:
    if status in RAN and call.edited:
        content = words.with_edit(to_json(call.arguments).decode(), content)
    return Result(call=call.call.id, tool=call.call.tool, content=content, status=status, edited=call.edited, **more)
