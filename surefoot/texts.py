"""What people write, as history can hold it (valid Unicode, small enough for one payload), and as a shell takes it."""

import shlex

from activities.rendering import well_formed
from surefoot.errors import TooLarge

MESSAGE_BYTES = 1_000_000


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


def quoted(job: str) -> str:
    """A job's id in a command that people copy: whoever starts a job may give it any id."""
    return shlex.quote(job)
