"""`surefoot demo`: a job's whole life in less than a minute, with its worker killed in the middle.

What it claims at the end is counted from the log that the tools themselves write, not from what Surefoot believes.
"""

import asyncio
import json
import os
import shutil
import signal
import sys
import time
import uuid
from collections import Counter
from dataclasses import replace
from pathlib import Path

import click
from rich.text import Text
from temporalio.api.enums.v1 import PendingActivityState

from surefoot.cli import exits
from surefoot.cli.follow import Watcher, report
from surefoot.cli.pages import out
from surefoot.cli.session import beside, session
from surefoot.client import Client
from surefoot.embedded.workers import Hosting, serve
from surefoot.job import POLL_SECONDS, Job
from surefoot.rpc import reaching
from surefoot.settings import SettingsError
from workflows.contracts import JobView, Pending

APP = Path(__file__).resolve().parents[2] / "examples" / "support_desk.py"
INPUT = "Order A-1001 arrived broken. Can I have my money back?"
SLOW_TOOL, SLOW_TOOL_SECONDS = "payment_history", 3.0
HEADING_COLUMNS = 78
TOLD = "the demo, since nobody is at a terminal"


@click.command()
def demo() -> None:
    """A support-desk job: two reads in parallel, a worker killed with SIGKILL, a refund that waits for you."""
    exits.run(_demo())


async def _demo() -> int:
    if not APP.is_file():
        raise SettingsError(f"the demo's app is not at {APP}: run it in a clone of the repository")
    _keep_to_the_embedded_server()
    began, job_id = time.monotonic(), f"demo-{uuid.uuid4().hex[:6]}"
    async with session(str(APP), new=True) as opened:
        log = opened.settings.home / "demo" / f"{job_id}.jsonl"
        # A queue of its own, so that a worker started otherwise does not take the job.
        settings = replace(opened.settings, task_queue=f"surefoot-{job_id}")
        os.environ.update(
            SUREFOOT_DEMO_LOG=str(log),
            SUREFOOT_DEMO_SECONDS=str(SLOW_TOOL_SECONDS),
            SUREFOOT_HEARTBEAT_SECONDS="2",
        )
        _heading("A real Temporal server, embedded")
        _tell(f"its database is {opened.settings.home / 'temporal.db'}; the model is {_model()}")
        async with serve(settings, APP, settings.queue()) as hosting:
            client = Client(opened.client.temporal, task_queue=settings.queue())
            return await beside(_show(client, hosting, job_id, log, began), hosting.lost())


def _keep_to_the_embedded_server() -> None:
    """The demo kills workers: never on a server that others use, whatever names it."""
    for name in [name for name in os.environ if name.startswith("TEMPORAL_")]:
        del os.environ[name]
    os.environ["TEMPORAL_CONFIG_FILE"] = os.devnull


async def _show(client: Client, hosting: Hosting, job_id: str, log: Path, began: float) -> int:
    _tell(f"worker process {hosting.worker.pid} is up")
    _heading("A job begins: two reads in parallel, then a refund that has to be approved")
    job = await client.start("support", INPUT, id=job_id, by="customer")
    killing = Killing(job, hosting)
    narrator = Narrator(job, killing)
    view = await narrator.to_the_end()
    if not await killing.over():
        _tell(f"no worker was killed: {SLOW_TOOL} was not called, or done too soon")
    if view.outcome is None:  # Ctrl-D at the question: the job waits, as any other would
        return report(view, as_json=False)
    _heading("The end")
    _tell(view.outcome.summary)
    if view.outcome.answer and view.outcome.answer != narrator.answer:
        _tell(f"answer: {view.outcome.answer}")
    once = _count(log)
    decision = ", not counting the decision" if narrator.waited else ""
    _tell(f"{time.monotonic() - began - narrator.waited:.0f} s in all{decision}.")
    _tell("")
    typed = "surefoot" if shutil.which("surefoot") else sys.argv[0]  # `make demo` activates no environment
    _tell(f"Look closer:   {typed} transcript {job_id}    {typed} show {job_id}")
    _tell(f"In a browser:  {typed} dev --app examples/support_desk.py")
    _tell("Your own:      README.md, 'Your own agent'")
    return exits.COMPLETE if once and view.outcome.status == "complete" else exits.FAILED


class Killing:
    """SIGKILL for the worker while the slow read is under way; `serve` starts another."""

    def __init__(self, job: Job, hosting: Hosting) -> None:
        self._job, self._hosting = job, hosting
        self._begun = False
        self._task = asyncio.create_task(self._kill())

    async def over(self) -> bool:
        """No worker is killed from here on. True if one was, and another took over."""
        if self._begun:
            await self._task
        else:
            self._task.cancel()
        return self._begun

    async def _kill(self) -> None:
        running: set[str] = set()
        while not running & (now := await _tools_under_way(self._job)):
            running = now
            await asyncio.sleep(SLOW_TOOL_SECONDS / 5)  # by then the other read is done
        self._begun, killed = True, self._hosting.worker.pid
        os.kill(killed, signal.SIGKILL)
        _heading(f"kill -9 {killed}: the worker is gone in the middle of {SLOW_TOOL}")
        while self._hosting.worker.pid == killed:  # noqa: ASYNC110 - a process, not a task
            await asyncio.sleep(POLL_SECONDS)
        _tell(f"worker process {self._hosting.worker.pid} takes over; what was finished stays finished")


async def _tools_under_way(job: Job) -> set[str]:
    """The activities that run a tool now. Asked of the server alone: a busy worker may answer when they are done."""
    with reaching(job.id):
        description = await job.handle().describe()
    return {
        each.activity_id
        for each in description.raw_description.pending_activities
        if each.activity_type.name == "run_tool" and each.state == PendingActivityState.PENDING_ACTIVITY_STATE_STARTED
    }


class Narrator(Watcher):
    """Follows the demo's job; decides itself where nobody can. `waited` is how many seconds a person took."""

    def __init__(self, job: Job, killing: Killing) -> None:
        super().__init__(job, "ask", out(), answer_follows=True)
        self._killing = killing
        self.waited = 0.0

    async def _decide(self, view: JobView) -> bool:
        await self._killing.over()  # what runs next is the refund, which may not run twice
        if self._interactive:
            asked = time.monotonic()
            try:
                return await super()._decide(view)
            finally:
                self.waited += time.monotonic() - asked
        pending: Pending = view.pending[0]
        _heading("The refund waits for a person")
        _tell(f"{pending.preview or pending.tool}: approved by {TOLD}")
        await self._job.approve(pending.call, digest=pending.digest, by=TOLD)
        return True


def _count(log: Path) -> bool:
    """How often each tool's effect happened, by the tools' own log. True if each call's happened once."""
    lines = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    calls = Counter((line["tool"], line["call"]) for line in lines)
    _tell(f"side effects, counted in the tools' own log:{'' if calls else ' none, since no tool ran'}")
    for (tool, call), times in calls.items():
        out().print(
            Text(f"    {tool} ({call}): {times} time{'s' * (times != 1)}", "green" if times == 1 else "bold red")
        )
    return bool(calls) and all(times == 1 for times in calls.values())


def _model() -> str:
    for key, name in (("ANTHROPIC_API_KEY", "Anthropic's"), ("OPENAI_API_KEY", "OpenAI's")):
        if os.environ.get(key):
            return f"{name}, since {key} is set"
    return "a script, since neither ANTHROPIC_API_KEY nor OPENAI_API_KEY is set"


def _heading(text: str) -> None:
    sys.stderr.flush()
    _tell("")
    # At most of a width of its own: a pipe has none.
    columns = min(HEADING_COLUMNS, out().width - 2)
    out().print(Text.assemble((f"{text} ", "bold"), ("─" * max(3, columns - len(text)), "cyan")))


def _tell(text: str) -> None:
    out().print(Text(text))
