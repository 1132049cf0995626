"""What commands that start jobs have in common: their options, and how limits, messages and ids are given."""

import os
import sys
from collections.abc import Callable
from typing import Any, TypeVar

import click
from pydantic import ValidationError

from surefoot.cli.output import say
from surefoot.cli.session import app_option, json_option
from workflows.contracts import Limits
from workflows.faults import worded

F = TypeVar("F", bound=Callable[..., Any])
MOST_ID_BYTES = 1000


def following(command: F) -> F:
    """The options of every command that follows a job."""
    options = (
        click.option(
            "--limit", "limits", multiple=True, metavar="NAME=VALUE", help=f"{', '.join(Limits.model_fields)}"
        ),
        click.option("--model", help="Another model than the agent's."),
        click.option(
            "--approve",
            "approval",
            type=click.Choice(["ask", "none", "all"]),
            default="ask",
            show_default=True,
            help="Who decides on write tools: you on this terminal, nobody here, or yes to all.",
        ),
        click.option("--detach", is_flag=True, help="Print the job's id and leave; it goes on in the background."),
        app_option,
        json_option,
    )
    for option in reversed(options):
        command = option(command)
    return command


def ranking(command: F) -> F:
    """The options that say which jobs go before others."""
    options = (
        click.option("--priority", type=click.IntRange(1, 5), help="1 goes before all others, 5 behind; 3 is usual."),
        click.option("--weight", type=click.FloatRange(0.001, 1000), help="The tenant's share beside other tenants."),
    )
    for option in reversed(options):
        command = option(command)
    return command


def limits_from(texts: tuple[str, ...]) -> Limits | None:
    """`rounds=3` and the like; raises `click.UsageError`."""
    values: dict[str, str | None] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or name not in Limits.model_fields:
            raise click.UsageError(
                f"--limit {text}: write NAME=VALUE with NAME one of {', '.join(Limits.model_fields)}"
            )
        values[name] = None if value.lower() == "none" else value
    try:
        return Limits.model_validate(values) if values else None
    except ValidationError as error:
        first = error.errors()[0]
        raise click.UsageError(f"--limit {first['loc'][0]}={first['input']}: {worded(first)}") from None


def input_from(text: str | None) -> str:
    """The message of a person: the argument, or what comes in on stdin."""
    if text is None or text == "-":
        if text is None and sys.stdin.isatty():
            raise click.UsageError("no input: give it as an argument, or '-' to read it from stdin")
        read = sys.stdin.buffer.read()
        text = read.decode("utf-8", "replace")
        if text.encode() != read:
            say("the input is not UTF-8 throughout: what could not be read is marked with \N{REPLACEMENT CHARACTER}")
    if not text.strip():
        raise click.UsageError("the input is empty: give it as an argument, or '-' to read it from stdin")
    return text


def checked_id(id_: str | None) -> str | None:
    """An id that lists and commands can hold; raises `click.UsageError`."""
    if id_ is None:
        return None
    if not 0 < len(os.fsencode(id_.strip())) <= MOST_ID_BYTES:
        raise click.UsageError(f"--id has to have 1 to {MOST_ID_BYTES} bytes, this one has {len(os.fsencode(id_))}")
    if id_.startswith("-") or not id_.isprintable():
        raise click.UsageError(f"--id {id_!r}: it may not begin with a dash, nor hold what can't be printed")
    return id_
