"""Builds the structured end of a job from its state. Outcomes are data; their sizes are bounded here.

A workflow's result above 2 MB would fail its task for ever, so nothing goes in whole that a model or a tool can make
long; the whole text stays in the transcript.
"""

from pydantic import JsonValue

from workflows.contracts import CallState, Finding, JobState, NotDone, Outcome, Result, Status
from workflows.words import summary

ANSWER_CHARS = 400_000
FINDINGS_KEPT = 40
FINDING_CHARS = 4_000
NOT_DONE_KEPT = 40
ARGUMENTS_CHARS = 4_000
ERROR_CHARS = 4_000
NEEDS_NOBODY: tuple[Status, ...] = ("complete", "cancelled")


def cut(text: str, limit: int) -> str:
    """`text`, or its beginning with a visible mark of how much is missing."""
    return (
        text if len(text) <= limit else f"{text[:limit]}\n[… {len(text) - limit} more characters: see the transcript]"
    )


def note_result(state: JobState, result: Result) -> None:
    """Keep what a tool returned, or that a call did not run, for the outcome."""
    if result.status in ("ok", "answered", "error", "unknown"):
        finding = Finding(
            call=result.call, tool=result.tool, content=cut(result.content, FINDING_CHARS), is_error=result.is_error
        )
        state.findings = [*state.findings, finding][-FINDINGS_KEPT:]


def note_not_done(state: JobState, call: CallState, why: str) -> None:
    small = len(str(call.arguments)) <= ARGUMENTS_CHARS
    missed = NotDone(
        call=call.call.id, tool=call.call.tool, arguments=call.arguments if small else None, why=cut(why, 1000)
    )
    state.not_done = [*state.not_done, missed][-NOT_DONE_KEPT:]


def outcome(
    state: JobState,
    status: Status,
    *,
    answer: str | None = None,
    output: JsonValue = None,
    error: str | None = None,
) -> Outcome:
    error = cut(error, ERROR_CHARS) if error else None
    spent = state.overall
    return Outcome(
        status=status,
        answer=cut(answer, ANSWER_CHARS) if answer else answer,
        output=output,
        findings=state.findings,
        requires_human=status not in NEEDS_NOBODY,
        summary=summary(status, spent.rounds, spent.usage.tool_calls, error),
        not_done=state.not_done,
        usage=spent.usage,
        error=error,
    )
