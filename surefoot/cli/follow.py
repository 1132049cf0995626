"""Follows a job on the terminal: shows what is said, asks for decisions where somebody can answer.

While a question is open the job is looked at: when somebody else decides, the question is called off.
"""

import asyncio
import sys
import time
from collections.abc import Collection, Coroutine, Sequence
from typing import Any, Literal, TypeVar

from rich.console import Console

from surefoot.account import me
from surefoot.cli import exits, prompts, questions
from surefoot.cli.documents import emit, job_document
from surefoot.cli.entries import print_entries
from surefoot.cli.live import LiveText, has_one_terminal
from surefoot.cli.output import say
from surefoot.cli.pages import err, print_answer, print_doubts, print_findings, print_pending, short
from surefoot.cli.questions import Word
from surefoot.descendants import descendants
from surefoot.errors import DecisionRefused, NoWorker, ServerNotReached
from surefoot.job import POLL_SECONDS, Job
from surefoot.retries import list_retries
from surefoot.texts import quoted
from workflows.contracts import Audit, Decision, Entry, JobView, Turn
from workflows.words import DONE

Approval = Literal["ask", "none", "all"]
T = TypeVar("T")
LOOK_SECONDS = 1.0
"""How often the job is looked at while a question is open, since a person may take hours, and for failed attempts."""


async def follow(job: Job, *, approval: Approval, as_json: bool) -> int:
    """The exit code of the job's end, or 4 when it waits for a person who is not here."""
    watcher = Watcher(job, approval, None if as_json else err(), answer_follows=sys.stdout.isatty())
    try:
        view = await watcher.to_the_end()
    except (asyncio.CancelledError, ServerNotReached):
        say(f"\njob {job.id} is kept and goes on from here; follow it again: surefoot watch {quoted(job.id)}")
        raise
    if as_json:
        emit(job_document(view, watcher.others))
    return report(view, as_json, watcher.asked, watcher.others, watcher.answer)


def report(
    view: JobView,
    as_json: bool,
    asked: Collection[tuple[str, str]] = (),
    others: Sequence[JobView] = (),
    shown: str | None = None,
) -> int:
    """Print how it stands, the answer on stdout, and give the exit code.

    The calls `asked` (each with its job) and the text `shown` are on the screen; `others` are the jobs that work for
    this one.
    """
    if view.outcome is None:
        for each in (view, *others):
            for pending in each.pending:
                if (each.job, pending.call) not in asked:
                    print_pending(err(), each.job, pending)
        say(f"job {view.job} waits for a person; once decided, follow it with: surefoot watch {quoted(view.job)}")
        return exits.WAITING
    if not as_json and view.outcome.answer and view.outcome.answer != shown:
        print_answer(view.outcome.answer)
    if not as_json and not view.outcome.answer:
        print_findings(err(), view.outcome)
    if view.outcome.status != "complete" or not as_json:
        say(f"{view.outcome.summary}  [{view.job}]")
    if not as_json:
        print_doubts(err(), view.outcome)
    if exits.code_of(view.outcome) == exits.NOT_DONE:
        say(f"go on with: surefoot reply {quoted(view.job)} 'yes, go on'")
    return exits.code_of(view.outcome)


class Watcher:
    """One job being followed, from entry `job.since` on. `console` is where what is said goes, if anywhere.

    With `answer_follows` the answer is left to whoever prints it behind this, where the same person reads it.
    """

    def __init__(self, job: Job, approval: Approval, console: Console | None, *, answer_follows: bool) -> None:
        self._job, self._approval, self._console = job, approval, console
        self._answer_follows = answer_follows
        self._live = LiveText(console) if console is not None and has_one_terminal() else None
        self._told = job.since
        self._looked = time.monotonic()
        self._noted: set[str] = set()
        self.asked: set[tuple[str, str]] = set()
        """The calls whose question is on the screen, unanswered, each with its job."""
        self.others: list[JobView] = []
        """The jobs that work for this one, as they were seen last: their calls are asked about as well."""
        self._interactive = approval == "ask" and prompts.possible()

    @property
    def answer(self) -> str | None:
        """The text of the last turn, if it is on the screen from when it was made."""
        return None if self._live is None else self._live.answer

    async def to_the_end(self) -> JobView:
        """The last view: ended, or waiting with nobody here to decide."""
        while True:
            try:
                view = await self._job.view()
                self.others = await descendants(self._job, view)
                await self._tell(view)
                await self._tell_retries()
                await self._tell_live(view)
                if view.state == "ended" or not await self._decide_all(view):
                    self._close_line()
                    return view
            except NoWorker as error:
                # One that died is replaced, ours or another; the job is safe meanwhile.
                self._note(f"waiting for a worker: {error}")
            else:
                if view.state == "paused":
                    self._note(f"the job is paused; let it go on with: surefoot resume {quoted(view.job)}")
                if view.state == "queued":
                    self._note("the job waits in its queue until there is a place; see: surefoot queue list")
            await asyncio.sleep(POLL_SECONDS)

    def _note(self, text: str) -> None:
        """Say it once."""
        if text not in self._noted:
            self._noted.add(text)
            self._close_line()
            say(text)

    def _close_line(self) -> None:
        if self._live is not None:
            self._live.close_line()

    async def _tell(self, view: JobView) -> None:
        if self._console is None or view.entries <= self._told:
            return
        logged = await self._job.log(self._told)
        self._told += len(logged)
        entries = [entry for entry in logged if not isinstance(entry, Audit)]
        entries = entries if self._live is None else self._live.finish(entries)
        if self._answer_follows and _ends_with_answer(entries, view):
            del entries[-1]
        print_entries(entries, self._console, whole=False)

    async def _tell_live(self, view: JobView) -> None:
        if self._live is not None and view.state == "running":
            self._live.tell((await self._job.glance()).look)

    async def _tell_retries(self) -> None:
        """Say of each attempt that it is not the first: a failing model would otherwise look like a slow one."""
        if self._console is None or time.monotonic() - self._looked < LOOK_SECONDS:
            return
        self._looked = time.monotonic()
        for retry in await list_retries(self._job.handle()):
            self._note(f"{retry.step} is tried again (attempt {retry.attempt}): {short(retry.why)}")

    async def _decide_all(self, view: JobView) -> bool:
        """True if following goes on; False if the job, or one that works for it, waits for somebody not here."""
        waiting = [each for each in (view, *self.others) if each.pending]
        # What is waiting for others alone must not keep a person from what waits for this one.
        waiting.sort(key=lambda each: all(me() in pending.approved_by for pending in each.pending))
        return await self._decide(waiting[0]) if waiting else True

    async def _decide(self, view: JobView) -> bool:
        """Ask about one call of this job. True if following goes on."""
        self._close_line()
        job = self._job.other(view.job)
        mine = [pending for pending in view.pending if me() not in pending.approved_by]
        if not mine:
            self._note(f"waits for other people's approval as well: {', '.join(each.call for each in view.pending)}")
            return self._interactive
        pending = mine[0]
        if self._approval == "all" and pending.kind == "decision":
            say(f"approved by --approve all: {pending.tool} ({pending.call})")
            return await self._send(job, questions.approval(pending))
        if not self._interactive:
            return False
        self.asked = {(job.id, pending.call)}
        print_pending(err(), job.id, pending)
        prompts.forget_typed()
        try:
            word = await self._unless_decided(job, pending.call, questions.asked(pending))
        except prompts.EndOfInput:
            say("")
            return False
        if word is not None:
            await self._send(job, word)
        return True

    async def _send(self, job: Job, word: Word) -> bool:
        """True if it had an effect, or came second to somebody else's."""
        try:
            await (job.decide(word) if isinstance(word, Decision) else job.resolve(word))
        except DecisionRefused as refused:
            say(f"no effect: {refused}")
            return refused.kind in ("AlreadyDecided", "UnknownCall", "JobEnded")
        return True

    async def _unless_decided(self, job: Job, call: str, asking: Coroutine[Any, Any, T]) -> T | None:
        """What `asking` returns; None, and the question called off, once somebody else has decided on the call."""
        asked = asyncio.create_task(asking)
        elsewhere = asyncio.create_task(_decided_elsewhere(job, call))
        try:
            await asyncio.wait((asked, elsewhere), return_when=asyncio.FIRST_COMPLETED)
            if asked.done():
                return asked.result()
            say(f"\n{elsewhere.result()}")
            return None
        finally:
            asked.cancel()
            elsewhere.cancel()
            await asyncio.gather(asked, elsewhere, return_exceptions=True)


async def _decided_elsewhere(job: Job, call: str) -> str:
    """Returns, with what happened, as soon as the call does not wait any more."""
    while True:
        await asyncio.sleep(LOOK_SECONDS)
        try:
            view = await job.view()
        except NoWorker:
            continue
        if any(each.call == call for each in view.pending):
            continue
        for decided in view.decided:
            if decided.call == call:
                return f"{call} was decided meanwhile: {DONE.get(decided.choice, decided.choice)} by {decided.by}"
        return f"{call} does not wait any more"


def _ends_with_answer(entries: Sequence[Entry], view: JobView) -> bool:
    """Is the last of these the job's answer, or may it still become that?"""
    last = entries[-1] if entries else None
    return isinstance(last, Turn) and not last.calls and (view.outcome is None or bool(view.outcome.answer))
