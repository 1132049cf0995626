"""Commands of the person who decides: approve, answer, deny, resolve."""

import sys
from collections.abc import Awaitable, Callable

import click

from surefoot.account import me, my_roles
from surefoot.cli import exits
from surefoot.cli.documents import emit, plain
from surefoot.cli.output import say
from surefoot.cli.pages import call_text
from surefoot.cli.questions import arguments_from
from surefoot.cli.session import Session, app_option, json_option, session
from surefoot.errors import DecisionRefused, NoWorker
from surefoot.job import Applied, Job
from surefoot.texts import quoted
from workflows.contracts import GrantTerms, Pending, Resolution

ROLES_FROM = "the command line takes yours from SUREFOOT_ROLES, with commas between"

digest_option = click.option("--digest", help="Decide only if the arguments are those of this digest (see the inbox).")


def _decide(
    job: str,
    app: str | None,
    as_json: bool,
    call: str,
    decide: Callable[[Session, Job], Awaitable[Applied]],
    verb: str,
) -> None:
    async def work() -> None:
        async with session(app) as opened:
            await opened.worker_for(job)
            handle = opened.client.job(job)
            try:
                applied = await decide(opened, handle)
            except DecisionRefused as refused:
                if refused.kind == "NotAllowed" and await _lacks_role(opened, handle, call):
                    raise DecisionRefused(refused.kind, f"{refused}; {ROLES_FROM}", refused.decided) from None
                raise
        if as_json:
            decided = plain(applied.decided) if applied.decided else None
            emit({"job": job, "call": call, "status": applied.status, "decided": decided})
        if applied.status == "sent":
            say(f"{call}: sent; no worker is up, so it takes effect when one is")
        else:
            say(f"{call}: {verb}{_still(applied)}; follow the job with: surefoot watch {quoted(job)}")

    exits.run(work())


def _still(applied: Applied) -> str:
    """What it takes yet, where several people must approve."""
    missing = applied.decided.missing if applied.decided else 0
    return f", as one of several: {missing} more must approve before it runs" if missing else ""


async def _lacks_role(opened: Session, job: Job, call: str) -> bool:
    """Whether the call is decided by roles of which this command line has none."""
    approvers = (await pending_call(opened, job, call)).approvers
    return bool(approvers) and not set(approvers) & set(my_roles())


async def pending_call(opened: Session, job: Job, call: str) -> Pending:
    """The call as it waits; where no worker is up to tell, from the list that the server keeps."""
    try:
        return await job.pending(call)
    except NoWorker:
        for item in await opened.client.inbox():
            if (item.job, item.call) == (job.id, call):
                return item
        raise


def _grant(count: int | None, minutes: float, fixed: str | None) -> GrantTerms | None:
    """What --grant and its companions say, shown before it is sent."""
    if count is None:
        if fixed is not None:
            raise click.UsageError("--grant-args belongs to --grant COUNT: how many calls are let through")
        return None
    terms = GrantTerms(count=count, seconds=minutes * 60, arguments=arguments_from(fixed) if fixed is not None else {})
    only = f" with {call_text('', terms.arguments)}" if terms.arguments else ""
    say(f"grants {count} more calls of this tool in this job{only}, for {minutes:g} minutes")
    return terms


@click.command()
@click.argument("job")
@click.argument("call")
@click.option(
    "--args", "arguments", metavar="JSON", help="Run it with these arguments, all of them, instead ('-' reads stdin)."
)
@click.option("--grant", "count", type=click.IntRange(1, 1000), help="Let so many more calls of this tool through.")
@click.option(
    "--grant-minutes",
    "minutes",
    type=click.FloatRange(0, min_open=True),
    default=60.0,
    show_default=True,
    help="How long the grant stands.",
)
@click.option("--grant-args", "fixed", metavar="JSON", help="Only calls with these arguments, perhaps among others.")
@digest_option
@app_option
@json_option
def approve(
    job: str,
    call: str,
    arguments: str | None,
    count: int | None,
    minutes: float,
    fixed: str | None,
    digest: str | None,
    app: str | None,
    as_json: bool,
) -> None:
    """Let a pending call run, as it is or with edited arguments, and with --grant others like it later."""
    grant = _grant(count, minutes, fixed)
    text = sys.stdin.buffer.read() if arguments == "-" else arguments
    edited = arguments_from(text) if text is not None else None

    async def decide(opened: Session, handle: Job) -> Applied:
        pending = await pending_call(opened, handle, call) if digest is None else None
        seen = digest if pending is None else pending.digest
        applied = await handle.approve(call, digest=seen, arguments=edited, grant=grant, by=me(), roles=my_roles())
        if pending is not None:  # only now: arguments that the tool refuses must not be read as what was approved
            say(call_text(pending.tool, edited if edited is not None else pending.arguments))
        return applied

    _decide(job, app, as_json, call, decide, "approved")


@click.command()
@click.argument("job")
@click.argument("call")
@click.argument("text")
@digest_option
@app_option
@json_option
def answer(job: str, call: str, text: str, digest: str | None, app: str | None, as_json: bool) -> None:
    """Answer a pending call in the tool's place; the tool does not run."""

    async def decide(opened: Session, handle: Job) -> Applied:
        seen = digest or (await pending_call(opened, handle, call)).digest
        return await handle.answer(call, text, digest=seen, by=me(), roles=my_roles())

    _decide(job, app, as_json, call, decide, "answered")


@click.command()
@click.argument("job")
@click.argument("call")
@click.option("--reason", help="Told to the model.")
@digest_option
@app_option
@json_option
def deny(job: str, call: str, reason: str | None, digest: str | None, app: str | None, as_json: bool) -> None:
    """Refuse a pending call; the model is told, and the job goes on."""

    async def decide(opened: Session, handle: Job) -> Applied:
        seen = digest or (await pending_call(opened, handle, call)).digest
        return await handle.deny(call, reason=reason, digest=seen, by=me(), roles=my_roles())

    _decide(job, app, as_json, call, decide, "denied")


@click.command()
@click.argument("job")
@click.argument("call")
@click.option("--happened", metavar="RESULT", help="It happened; RESULT is what the tool would have returned.")
@click.option("--not-happened", is_flag=True, help="It did not happen: run it.")
@click.option("--give-up", is_flag=True, help="Nobody can tell; the job ends.")
@app_option
@json_option
def resolve(
    job: str, call: str, happened: str | None, not_happened: bool, give_up: bool, app: str | None, as_json: bool
) -> None:
    """Say how a call ended that was started and whose end nobody saw."""
    if sum([happened is not None, not_happened, give_up]) != 1:
        raise click.UsageError("say one of --happened RESULT, --not-happened, --give-up")
    if happened is not None:
        word = Resolution(call=call, choice="happened", result=happened, by=me(), roles=my_roles())
    else:
        choice = "not_happened" if not_happened else "give_up"
        word = Resolution(call=call, choice=choice, by=me(), roles=my_roles())
    _decide(job, app, as_json, call, lambda _, handle: handle.resolve(word), f"resolved: {word.choice}")
