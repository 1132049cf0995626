"""What people write, as history can hold it (valid Unicode, small enough for one payload), and as a shell takes it."""

import shlex
from collections.abc import Sequence
from typing import Any

from activities.names import NAME
from activities.tools.rendering import well_formed
from surefoot.errors import TooLarge, WrongValue

MESSAGE_BYTES = 1_000_000
MARK_CHARS = 100
TAGS = 20


def named(by: str | None) -> str | None:
    """A person's name as history can hold it."""
    return by and well_formed(by)


def checked(message: str) -> str:
    """A message as history can hold it."""
    message = well_formed(message)
    size = len(message.encode())
    if size > MESSAGE_BYTES:
        raise TooLarge(
            f"the message has {size} bytes, at most {MESSAGE_BYTES} fit into one: put the rest where a tool can read it"
        )
    return message


def agent_name(name: str) -> str:
    """The name of an agent, if there can be one of that name: whether there is, workers know. Raises `WrongValue`."""
    if not NAME.fullmatch(name):
        raise WrongValue(f"no agent can be called {name[:200]!r}: their names have 1 to 64 letters, digits, - and _")
    return name


def queue_name(name: str) -> str:
    """The name of a queue, if there can be one of that name: whether there is, workers know. Raises `WrongValue`."""
    if not NAME.fullmatch(name):
        raise WrongValue(f"no queue can be called {name[:200]!r}: their names have 1 to 64 letters, digits, - and _")
    return name


def marks(tenant: str | None, tags: Sequence[str]) -> dict[str, Any]:
    """The fields of a start that lists find it by, as far as they were given. Raises `WrongValue`."""
    if isinstance(tags, str):
        raise WrongValue(f"tags={tags!r} is one text; give a list of tags")
    if len(tags) > TAGS:
        raise WrongValue(f"there are {len(tags)} tags, and a job has at most {TAGS}")
    for name, value in (*([("tenant", tenant)] if tenant is not None else []), *(("tag", tag) for tag in tags)):
        if not can_be_asked_for(value):
            raise WrongValue(
                f"{name} {value[:200]!r}: give 1 to {MARK_CHARS} printable characters, no quotes or backslashes"
            )
    given = {"tenant": tenant, "tags": list(dict.fromkeys(tags))}
    return {name: value for name, value in given.items() if value}


def can_be_asked_for(value: str) -> bool:
    """Whether lists can find a job by this value: no way to quote these marks in the server's language always holds."""
    return 1 <= len(value) <= MARK_CHARS and value.isprintable() and not set(value) & set("'\"\\")


def quoted(job: str) -> str:
    """A job's id in a command that people copy: whoever starts a job may give it any id."""
    return shlex.quote(job)
