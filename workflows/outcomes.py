"""Builds the structured end of a job from its state. Outcomes are data; their sizes are bounded here.

A workflow's result above 2 MB would fail its task for ever, so nothing goes in whole that a model or a tool can make
long; the whole text stays in the transcript.
"""

from collections.abc import Sequence
from typing import Any

from pydantic import JsonValue
from pydantic_core import to_json

from workflows.contracts import CallState, Finding, JobState, ModelReply, NotDone, Outcome, Result, Status
from workflows.words import summary

ANSWER_BYTES = 500_000
FINDINGS_KEPT = 40
FINDING_BYTES = 4_000
NOT_DONE_KEPT = 40
ARGUMENTS_BYTES = 2_000
WHY_BYTES = 1_000
ERROR_BYTES = 4_000
NAME_BYTES = 200
CITATIONS_KEPT = 1_000
STAND_INS_KEPT = 10
STAND_IN_BYTES = 1_000
NEEDS_NOBODY: tuple[Status, ...] = ("complete", "cancelled")


def cut(text: str, limit: int) -> str:
    """`text`, or its first `limit` bytes with a visible mark of how much is missing."""
    if len(text) * 4 <= limit or len(text.encode()) <= limit:
        return text
    kept = text.encode()[:limit].decode(errors="ignore")
    return f"{kept}\n[… {len(text) - len(kept)} more characters: see the transcript]"


def note_result(state: JobState, result: Result) -> None:
    """Keep what a tool returned, or that a call did not run, for the outcome."""
    if result.status in ("ok", "answered", "error", "unknown"):
        finding = Finding(
            call=result.call,
            tool=cut(result.tool, NAME_BYTES),
            content=cut(result.content, FINDING_BYTES),
            is_error=result.is_error,
            **({"unknown": True} if result.status == "unknown" else {}),
        )
        state.findings = [*state.findings, finding][-FINDINGS_KEPT:]


def note_stand_in(state: JobState, model: str, instead_of: Sequence[str]) -> None:
    """Keep which model answered in place of which others; each such case once."""
    said = cut(f"{model} for {'; '.join(instead_of)}", STAND_IN_BYTES)
    if said not in state.stand_ins:
        state.stand_ins = [*state.stand_ins, said][-STAND_INS_KEPT:]


def note_not_done(state: JobState, call: CallState, why: str) -> None:
    missed = NotDone(
        call=call.call.id,
        tool=cut(call.call.tool, NAME_BYTES),
        arguments=call.arguments if len(to_json(call.arguments)) <= ARGUMENTS_BYTES else None,
        why=cut(why, WHY_BYTES),
    )
    state.not_done = [*state.not_done, missed][-NOT_DONE_KEPT:]


def outcome(
    state: JobState,
    status: Status,
    *,
    answer: str | None = None,
    output: JsonValue = None,
    error: str | None = None,
    reply: ModelReply | None = None,
) -> Outcome:
    error = cut(error, ERROR_BYTES) if error else None
    more: dict[str, Any] = {"stand_ins": state.stand_ins} if state.stand_ins else {}
    if state.batched_seconds:
        more["batched_seconds"] = round(state.batched_seconds, 3)
    if reply is not None and reply.citations:
        more["citations"] = reply.citations[:CITATIONS_KEPT]
    if reply is not None and reply.citation_problem:
        more["citation_problem"] = cut(reply.citation_problem, ERROR_BYTES)
    spent = state.overall
    return Outcome(
        status=status,
        answer=cut(answer, ANSWER_BYTES) if answer else answer,
        output=output,
        findings=state.findings,
        requires_human=status not in NEEDS_NOBODY or any(finding.unknown for finding in state.findings),
        summary=summary(status, spent.rounds, spent.usage.tool_calls, error),
        not_done=state.not_done,
        usage=spent.usage,
        error=error,
        **more,
    )
