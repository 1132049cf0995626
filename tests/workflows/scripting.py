"""Tools and scripts that tests of the loop share."""

from collections.abc import Mapping, Sequence
from typing import Any

from activities.providers.protocol import ModelRequest
from activities.providers.scripted import Script
from activities.tools.tool import tool
from workflows.contracts import Logged

Scripted = Mapping[str, Any]


@tool(read_only=True)
async def look_up(key: str) -> str:
    """Look something up."""
    return f"value of {key}"


@tool
async def save(key: str) -> str:
    """Save something."""
    return f"saved {key}"


@tool(policy="allow")
async def note(text: str) -> str:
    """Note something, without asking anybody."""
    return f"noted {text}"


def call(name: str, /, **arguments: object) -> dict[str, object]:
    return {"tool": name, "arguments": arguments}


def calls(*made: Mapping[str, object], **rest: object) -> dict[str, object]:
    return {"calls": list(made), **rest}


def looks(*keys: str) -> dict[str, object]:
    """A turn that looks up each of `keys`."""
    return calls(*(call("look_up", key=key) for key in keys))


SUMMED_UP: Scripted = {"text": "summed up"}


def watched(*replies: Scripted, closing: Scripted = SUMMED_UP) -> tuple[Script, list[ModelRequest]]:
    """A script that gives these replies, the last one for ever, and the list of what it was asked."""
    asked: list[ModelRequest] = []

    def reply(request: ModelRequest) -> Scripted:
        asked.append(request)
        if request.tool_choice == "none":
            return closing
        return replies[min(request.turn, len(replies)) - 1]

    return Script(reply), asked


def kinds(entries: Sequence[Logged]) -> str:
    """The transcript as letters: Message, Turn, Result, Note; Audit entries are left out."""
    letters = {"message": "M", "turn": "T", "result": "R", "note": "N", "audit": ""}
    return "".join(letters[entry.kind] for entry in entries)
