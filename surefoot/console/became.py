"""What became of a decision: decided and performed are two things, and a call can lapse in between.

The state is read from the job each time; nothing of it is kept here.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from surefoot.console.windows import newest
from surefoot.errors import NoWorker
from surefoot.job import Job
from workflows.contracts import Decided, JobView, Result, Turn

WITHOUT_TOOL = {
    "deny": ("Denied", "The tool does not run; the model is told."),
    "answer": ("Answered", "The tool does not run; the model gets the answer in its place."),
    "happened": ("Settled: it happened", "The model is told what it returned."),
    "give_up": ("Given up", "The job ends; the outcome stays unknown."),
}


@dataclass(frozen=True)
class Became:
    """One call after a decision. `steps` are the states on its way, each with whether it was reached."""

    job: str
    call: str
    state: str
    headline: str
    final: bool
    tool: str = ""
    text: str = ""
    steps: Sequence[tuple[str, bool]] = ()


async def became(job: Job, call: str) -> Became:
    """Where a call stands that was decided on."""
    try:
        view = await job.view()
        tool, result = await _traces(job, call)
    except NoWorker:
        text = "No worker is up. The server keeps your decision, and the job takes it when one is."
        return Became(job.id, call, "sent", "Sent", False, "", text, [("sent", True), ("decided", False)])
    decided = next((each for each in view.decided if each.call == call), None)
    if decided is None:
        return _undecided(view, call, result, tool)
    if decided.choice in WITHOUT_TOOL:
        headline, text = WITHOUT_TOOL[decided.choice]
        return Became(job.id, call, "over", _by(headline, decided), True, tool, text, [("decided", True)])
    return _let_through(view, decided, result, tool)


def _let_through(view: JobView, decided: Decided, result: Result | None, tool: str) -> Became:
    """A call that people let run: performed, failed, lapsed, or on its way."""

    def at(state: str, headline: str, text: str, *, final: bool = True) -> Became:
        steps = [("decided", True), ("performed" if state in ("decided", "performed") else state, final)]
        return Became(view.job, decided.call, state, headline, final, tool, text, steps)

    if any(pending.call == decided.call for pending in view.pending):
        return at("asked again", "Asked again", "It waits for a person once more: see the inbox.")
    if decided.performed or (result is not None and result.status == "ok"):
        return at("performed", "Performed", result.content if result else "")
    if result is not None and result.status == "error":
        return at("failed", "Performed, and failed", result.content)
    if result is not None or view.state == "ended":
        return at("lapsed", "Lapsed: decided, and not performed", result.content if result else "The job has ended.")
    why = (
        "The job is paused: it runs when somebody resumes the job." if view.state == "paused" else "It is about to run."
    )
    return at("decided", _by("Approved", decided), why, final=False)


def _undecided(view: JobView, call: str, result: Result | None, tool: str) -> Became:
    pending = next((each for each in view.pending if each.call == call), None)
    if pending is not None and pending.approved_by:
        missing = pending.quorum - len(pending.approved_by)
        text = f"Approved by {', '.join(pending.approved_by)}; {missing} more must approve it."
        return Became(
            view.job, call, "counted", "Counted", True, pending.tool, text, [("counted", True), ("decided", False)]
        )
    if pending is not None:
        text = "It waits for a person; nothing was decided on it yet."
        return Became(view.job, call, "waiting", "Still waiting", False, pending.tool, text, [("decided", False)])
    state = result.status if result else "over"
    text = result.content if result else "It does not wait for a person any more."
    return Became(view.job, call, state, f"Not decided: {state}", True, tool, text, [("decided", False)])


async def _traces(job: Job, call: str) -> tuple[str, Result | None]:
    """The call's tool and its result, which can't be far from the end of what the job keeps."""
    tool, result = "", None
    for entry in (await newest(job)).entries:
        if isinstance(entry, Turn):
            tool = next((part.tool for part in entry.calls if part.id == call), tool)
        elif isinstance(entry, Result) and entry.call == call:
            tool, result = entry.tool, entry
    return tool, result


def _by(word: str, decided: Decided) -> str:
    return f"{word} by {decided.by}"
