"""The command line. Only the command that is run is imported, so that `surefoot --help` answers at once.

stdout belongs to answers and `--json`; everything else goes to stderr.
"""

import importlib
from typing import NoReturn

import click

from surefoot.cli import output

COMMANDS: dict[str, tuple[str, str]] = {
    "demo": ("surefoot.cli.demo:demo", "The guided first run, without a key."),
    "run": ("surefoot.cli.run:run", "Start a job, follow it, and print its answer."),
    "jobs": ("surefoot.cli.look:jobs", "List jobs."),
    "show": ("surefoot.cli.look:show", "The state of one job."),
    "watch": ("surefoot.cli.run:watch", "Follow a job live."),
    "transcript": ("surefoot.cli.look:transcript", "Everything said in a job."),
    "audit": ("surefoot.cli.look:audit", "Who did what to a job, and when."),
    "inbox": ("surefoot.cli.look:inbox", "What waits for a person."),
    "approve": ("surefoot.cli.decide:approve", "Let a pending call run."),
    "answer": ("surefoot.cli.decide:answer", "Answer a pending call in the tool's place."),
    "deny": ("surefoot.cli.decide:deny", "Refuse a pending call."),
    "resolve": ("surefoot.cli.decide:resolve", "Say how a call with an unknown outcome ended."),
    "reply": ("surefoot.cli.run:reply", "Go on with a job that has ended."),
    "fork": ("surefoot.cli.run:fork", "Start a new job from the middle of another one."),
    "steer": ("surefoot.cli.steer:steer", "Send a message to a running job."),
    "pause": ("surefoot.cli.steer:pause", "Hold a job between two steps."),
    "resume": ("surefoot.cli.steer:resume", "Let a paused job go on."),
    "stop": ("surefoot.cli.steer:stop", "End a job at its next step, with a closing answer."),
    "cancel": ("surefoot.cli.steer:cancel", "End a job now."),
    "batch": ("surefoot.cli.batch:batch", "Many jobs from one file."),
    "schedule": ("surefoot.cli.schedule:schedule", "Jobs that are started again and again."),
    "queue": ("surefoot.cli.queue:queue", "Named queues: how many of their jobs run at a time."),
    "dev": ("surefoot.cli.serve:dev", "Server, worker and web console in the foreground."),
    "console": ("surefoot.cli.console:console", "The web console and the HTTP API."),
    "token": ("surefoot.cli.console:token", "Make a token for the console and the API."),
    "worker": ("surefoot.cli.serve:worker", "A worker for the server of TEMPORAL_ADDRESS."),
    "notify": ("surefoot.cli.notify:notify", "Send a test notice to an agent's webhooks."),
    "tools": ("surefoot.cli.tools:tools", "What an agent's model could call, and who would be asked."),
    "mcp": ("surefoot.cli.mcp:mcp", "Surefoot as an MCP server, on stdin and stdout."),
    "doctor": ("surefoot.cli.doctor:doctor", "Check server, worker, keys and versions."),
}
"""Name → where the command lives, and its line in the help."""


class LazyGroup(click.Group):
    """A group that imports a command when it is called, and knows its help line without that."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name][0].partition(":")
        command = getattr(importlib.import_module(module), name)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            import difflib

            near = difflib.get_close_matches(args[0], COMMANDS, 1)
            hint = f" Did you mean {near[0]!r}?" if near else " See: surefoot --help"
            raise click.UsageError(f"there is no command {args[0]!r}.{hint}", ctx) from error


@click.group(
    cls=LazyGroup,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(package_name="surefoot")
@click.pass_context
def surefoot(context: click.Context) -> None:
    """Durable agent jobs that never take the same step twice.

    An app file (--app or SUREFOOT_APP) defines agents. Without TEMPORAL_ADDRESS an embedded server keeps its
    state in SUREFOOT_HOME (default .surefoot/).

    Exit codes: 0 complete, 1 failed, 2 wrong use, 3 ended before it was done (a limit, no progress, cancelled),
    4 waiting for a person, 5 server not reached.
    """
    if context.invoked_subcommand is None:
        output.say(context.get_help())
        context.exit(2)


def main() -> NoReturn:
    """The console script."""
    output.prepare()
    output.leave(_run())


def _run() -> int:
    """The exit code of the command in `sys.argv`; every error was said."""
    try:
        done = surefoot.main(prog_name="surefoot", standalone_mode=False)
        return done if isinstance(done, int) else 0
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 1
    except click.UsageError as error:
        text = error.format_message()
        see = f"See: {error.ctx.command_path if error.ctx else 'surefoot'} --help"
        return output.fail(text if see in text else f"{text.rstrip('.')}. {see}", "WrongUse", 2)
    except click.ClickException as error:
        return output.fail(error.format_message(), "Failed", 1)
    except (click.Abort, KeyboardInterrupt):
        return 130
