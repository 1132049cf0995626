"""What Surefoot tells the model and people, in one place.

These texts enter the transcript; changing one changes what a replayed job says, not what it does.
"""

from typing import Literal

from workflows.contracts import Errand, Outcome, Status

LIMIT_WORDS: dict[Status, str] = {
    "hit_iteration_cap": "the step limit for this answer was reached",
    "hit_tool_call_cap": "the limit of tool calls for this answer was reached",
    "hit_token_cap": "the token limit for this answer was reached",
    "hit_cost_cap": "the cost limit for this answer was reached",
    "hit_wall_clock": "the time limit for this answer was reached",
    "no_progress": "the same calls were repeated without progress",
    "cancelled": "the job was stopped by a person",
}

FAILURES: tuple[Status, ...] = ("failed", "model_failure", "invalid_output", "tool_failure")
"""Ends of a job whose last words are no answer."""

DONE: dict[str, str] = {
    "approve": "approved",
    "edit": "approved with other arguments",
    "answer": "answered",
    "deny": "denied",
    "happened": "said to have happened",
    "not_happened": "said not to have happened",
    "give_up": "given up",
}
"""What a person chose, as something that was done to a call."""

NOT_EXECUTED = "Not executed: {why}."
TURN_FAILED = "the turn that asked for it ended with {stop}"
CUT_OFF = (
    "Not executed: your answer was cut off at the output limit, so this call may be incomplete. Make it again, shorter."
)
INTERRUPTED = "Interrupted, outcome unknown: the job was ended while this ran; it may or may not have happened."
CANCELLED_CALL = "Not executed: the job was cancelled."
DENIED_BEFORE = "Denied: exactly this call was denied before, and was not executed. Do not make it again."
EXPIRED = "Expired: nobody decided within {seconds} seconds. The call was not executed; no person has denied it."
GAVE_UP = "Outcome unknown: {by} gave up finding out whether it happened."
ANSWERED = "Not executed. {by} answered in the tool's place: {text}"
HAPPENED = "{result}\n[the tool's own answer was lost; {by} found out that it happened]"
EDITED = "[a person edited the arguments of this call"
CHILD_NOT_STARTED = "The agent {agent} could not be started: {why}. Nothing was executed."
CHILD_LOST = "What became of the agent {agent} (job {job}) is not known: {why}. What it did may have happened."
CHILD_UNSURE = "[it ended while these ran, which may or may not have happened: {tools}]"
CHILD_UNDONE = "[the agent ended before it was done: {summary}]"
FINDING_CHARS = 1_000
FINDINGS_TOLD = 20
EDITED_CHARS = 1_000
"""Most of the edited arguments that the model is shown: JSON, so in one line."""

TOO_LONG_ANSWER = "Your last answer was cut off at the output limit. Give a shorter one."
EMPTY_ANSWER = "Your last answer was empty. Answer the question, or say what is missing."
BAD_CITATION = "The references in your answer are not right: {problem}\nGive the same answer again with the right ones."
BAD_OUTPUT = "Your answer can't be taken as it is: {problem}\nAnswer again, with that put right."


TRIMMED = "the model sees results before entry {until} by their beginnings: about {before:,} → {after:,} tokens"
SUMMED_UP = "the model sees what was said before entry {until} as a summary: about {before:,} → {after:,} tokens"
NOT_SUMMED_UP = "what was said before could not be summed up: {why}"


def denied(by: str, reason: str | None) -> str:
    """A person's refusal, as the model is told it."""
    word = _with(f"Denied by {by}", reason)
    return f"{word} The call was not executed; do not make it again with the same arguments."


def denied_by_policy(why: str) -> str:
    return f"{_with('Denied by policy', why)} The call was not executed."


def _with(word: str, reason: str | None) -> str:
    """One sentence; whoever gave the reason may have ended it, or left a line's end behind it."""
    reason = (reason or "").strip()
    if not reason:
        return f"{word}."
    return f"{word}: {reason}" if reason.endswith((".", "!", "?", "…")) else f"{word}: {reason}."


def with_edit(arguments: str, content: str) -> str:
    """A result whose call ran with other arguments than the model's own, which stand in its turn."""
    shown = arguments if len(arguments) <= EDITED_CHARS else f"{arguments[:EDITED_CHARS]}… {len(arguments)} characters"
    return f"{EDITED}; it ran with {shown}]\n{content}"


def without_edit(content: str) -> str:
    """The tool's own part of a result that `with_edit` may have made."""
    return content.partition("\n")[2] if content.startswith(EDITED) else content


def child_said(outcome: Outcome, errand: Errand, job: str) -> tuple[Literal["ok", "error"], str]:
    """What the caller of another agent is told: its answer, or how it ended with what it had found."""
    undone = "" if outcome.status == "complete" else CHILD_UNDONE.format(summary=outcome.summary)
    answered = bool(outcome.answer) and outcome.status not in FAILURES
    found = [f"{each.tool}: {each.content[:FINDING_CHARS]}" for each in outcome.findings[-FINDINGS_TOLD:]]
    findings = "\n".join(["It had found:", *found]) if found else "It had found nothing."
    text = (outcome.answer or "") if answered else findings
    unseen = [each.tool for each in outcome.findings if each.content.endswith(INTERRUPTED)]
    if answered and unseen:  # its caller must not make them once more unknowingly
        undone = f"{undone}\n{CHILD_UNSURE.format(tools=', '.join(unseen))}".lstrip()
    told = f"{undone}\n{text}" if undone else text
    if len(told) > errand.max_chars:
        cut = f"[cut: {errand.max_chars} of {len(told)} characters are shown; the whole is in job {job}]"
        told = f"{told[: errand.max_chars]}\n{cut}"
    return ("ok" if answered else "error"), told


def summary(status: Status, rounds: int, calls: int, error: str | None) -> str:
    """One sentence on how a job ended."""
    work = f"{rounds} round{'s' * (rounds != 1)} and {calls} tool call{'s' * (calls != 1)}"
    if status == "complete":
        return f"The job is complete after {work}."
    if status in LIMIT_WORDS:
        return f"The job ended after {work}: {LIMIT_WORDS[status]}."
    return f"The job failed after {work}: {error or status}"
