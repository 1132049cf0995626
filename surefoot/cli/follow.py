"""Follows a job on the terminal: shows what is said, asks for decisions where somebody can answer.

A prompt waits in a thread of its own, so that the job is seen to go on when somebody else decides meanwhile.
"""

import asyncio
import contextlib
import json
import sys
from typing import Literal

import click
from rich.console import Console

from surefoot.cli import exits
from surefoot.cli.documents import emit, job_document
from surefoot.cli.pages import err, print_entries, print_pending
from surefoot.cli.session import me, say
from surefoot.errors import DecisionRefused, NoWorker
from surefoot.job import POLL_SECONDS, Job
from workflows.contracts import JobView, JsonObject, Pending, Resolution

Approval = Literal["ask", "none", "all"]


async def follow(job: Job, *, approval: Approval, as_json: bool, quiet: bool = False) -> int:
    """The exit code of the job's end, or 4 when it waits for a person who is not here."""
    watcher = Watcher(job, approval, console=None if quiet else err())
    try:
        view = await watcher.to_the_end()
    except asyncio.CancelledError:
        say(f"\njob {job.id} is kept and goes on from here; follow it again: surefoot watch {job.id}")
        raise
    if as_json:
        emit(job_document(view))
    return report(view, as_json)


def report(view: JobView, as_json: bool) -> int:
    """Print how it stands, the answer on stdout, and give the exit code."""
    if view.outcome is None:
        for pending in view.pending:
            print_pending(err(), view.job, pending)
        return exits.WAITING
    if not as_json and view.outcome.answer:
        click.echo(view.outcome.answer)
    if view.outcome.status != "complete" or not as_json:
        say(f"{view.outcome.summary}  [{view.job}]")
    if exits.code_of(view.outcome) == exits.NOT_DONE:
        say(f"go on with: surefoot reply {view.job} 'yes, go on'")
    return exits.code_of(view.outcome)


class Watcher:
    """One job being followed. `console` is where what is said goes, if anywhere."""

    def __init__(self, job: Job, approval: Approval, console: Console | None) -> None:
        self._job, self._approval, self._console = job, approval, console
        self._told = 0
        self._alone = False
        self._interactive = approval == "ask" and sys.stdin.isatty() and sys.stderr.isatty()

    async def to_the_end(self) -> JobView:
        """The last view: ended, or waiting with nobody here to decide."""
        while True:
            try:
                view = await self._job.view()
                await self._tell(view)
            except NoWorker as error:
                self._wait_for_worker(error)
                continue
            if view.state == "ended" or (view.pending and not await self._decide(view)):
                return view
            await asyncio.sleep(POLL_SECONDS)

    def _wait_for_worker(self, error: NoWorker) -> None:
        """A worker that died is replaced, ours or another; the job is safe meanwhile."""
        if not self._alone:
            say(f"waiting for a worker: {error}")
            self._alone = True

    async def _tell(self, view: JobView) -> None:
        if self._console is None or view.entries <= self._told:
            return
        entries = await self._job.transcript(self._told)
        print_entries(entries, self._console, whole=False)
        self._told += len(entries)

    async def _decide(self, view: JobView) -> bool:
        """True if following goes on: something was decided, or is not ours to wait for."""
        pending = view.pending[0]
        if self._approval == "all" and pending.kind == "decision":
            await self._say_yes(pending)
            return True
        if not self._interactive:
            return False
        await self._ask(pending)
        return True

    async def _say_yes(self, pending: Pending) -> None:
        say(f"approved by --approve all: {pending.tool} ({pending.call})")
        with contextlib.suppress(DecisionRefused):
            await self._job.approve(pending.call, digest=pending.digest, by=me())

    async def _ask(self, pending: Pending) -> None:
        print_pending(err(), self._job.id, pending)
        try:
            if pending.kind == "unknown_outcome":
                await self._ask_outcome(pending)
            else:
                await self._ask_decision(pending)
        except DecisionRefused as refused:
            say(f"no effect: {refused}")

    async def _ask_decision(self, pending: Pending) -> None:
        choice = await prompt("[a]pprove, [e]dit and approve, a[n]swer in its place, [d]eny?", "aend")
        by, digest = me(), pending.digest
        if choice == "a":
            await self._job.approve(pending.call, digest=digest, by=by)
        elif choice == "e":
            arguments = await _edited(pending)
            await self._job.approve(pending.call, digest=digest, arguments=arguments, by=by)
        elif choice == "n":
            await self._job.answer(pending.call, await line("answer: "), digest=digest, by=by)
        else:
            await self._job.deny(pending.call, reason=await line("reason: ") or None, digest=digest, by=by)

    async def _ask_outcome(self, pending: Pending) -> None:
        choice = await prompt("it [h]appened, it did [n]ot, or [g]ive up?", "hng")
        if choice == "h":
            word = Resolution(call=pending.call, choice="happened", result=await line("result: "), by=me())
        elif choice == "n":
            word = Resolution(call=pending.call, choice="not_happened", by=me())
        else:
            word = Resolution(call=pending.call, choice="give_up", by=me())
        await self._job.resolve(word)


async def _edited(pending: Pending) -> JsonObject:
    while True:
        text = await line(f"arguments as JSON [{json.dumps(pending.arguments, ensure_ascii=False)}]: ")
        try:
            return arguments_from(text) if text.strip() else pending.arguments
        except click.UsageError as error:
            say(error.message)


def arguments_from(text: str) -> JsonObject:
    """Arguments that a person wrote; raises `click.UsageError`."""
    try:
        value = json.loads(text)
    except ValueError as error:
        raise click.UsageError(f"the arguments are no JSON: {error}") from None
    if not isinstance(value, dict):
        raise click.UsageError(f"the arguments must be a JSON object, not {type(value).__name__}")
    return value


async def prompt(question: str, letters: str) -> str:
    while True:
        answer = (await line(f"{question} ")).strip().lower()[:1]
        if answer and answer in letters:
            return answer


async def line(question: str) -> str:
    """One line from the terminal. The end of input is a way out, never a decision."""
    click.echo(question, err=True, nl=False)
    text: str = await asyncio.to_thread(sys.stdin.readline)
    if not text:
        raise KeyboardInterrupt
    return text.rstrip("\n")
