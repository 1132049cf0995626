"""Checks what an agent is given where that has no module of its own: what can't be used is told when it is written.

Each check takes `where`, the agent in words, and raises `DefinitionError`.
"""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, cast

from pydantic import JsonValue

from activities.errors import DefinitionError
from activities.names import NAME
from activities.tools.tool import Tool
from workflows.contracts import Limits

OWN_SETTINGS = ("model", "messages", "input", "instructions", "system", "tools", "tool_choice", "stream")
"""Keys of the request body that Surefoot itself writes."""


def checked_name(name: str) -> str:
    if isinstance(name, str) and NAME.fullmatch(name):
        return name
    raise DefinitionError(f"agent {name!r}: an agent's name has 1 to 64 letters, digits, '_' or '-', no others.")


def check_choices(
    where: str, instructions: object, limits: object, total: object, closing: object, tool_calling: object
) -> None:
    if not isinstance(instructions, str):
        raise DefinitionError(f"{where} has instructions of type {type(instructions).__name__}. Give a string.")
    for name, value in (("limits", limits), ("total", total)):
        if not isinstance(value, Limits) and not (name == "total" and value is None):
            raise DefinitionError(f"{where} has {name}={value!r}. Write {name}=Limits(rounds=…, tokens=…, …).")
    if closing not in ("answer", "findings"):
        raise DefinitionError(f"{where} has closing={closing!r}. It is 'answer' (sum up) or 'findings' (no last call).")
    if tool_calling not in ("native", "schema"):
        raise DefinitionError(
            f"{where} has tool_calling={tool_calling!r}. It is 'native', or 'schema' for a model that can't call tools."
        )


def checked_tools(where: str, tools: Sequence[Any]) -> tuple[Tool, ...]:
    if isinstance(tools, Tool) or not isinstance(tools, Sequence) or isinstance(tools, str):
        raise DefinitionError(f"{where} has tools={tools!r}. Give a list of tools.")
    seen: dict[str, Tool] = {}
    for candidate in tools:
        if not isinstance(candidate, Tool):
            raise DefinitionError(f"{where} has {_no_tool(candidate)}")
        if candidate.name in seen:
            twice = "is there twice" if seen[candidate.name] is candidate else "is the name of two of its tools"
            raise DefinitionError(f"{where}: {candidate.name!r} {twice}. Remove one, or rename it: @tool(name=…).")
        seen[candidate.name] = candidate
    return tuple(tools)


def _no_tool(candidate: Any) -> str:
    if hasattr(candidate, "as_tool"):  # an agent, whose module imports this one
        name = candidate.name
        return f"agent {name!r} among its tools. Say what it is for: {name}.as_tool('what it can do')."
    name = getattr(candidate, "__name__", repr(candidate))
    hint = f"Put @tool above `def {name}`, or write tool({name})." if callable(candidate) else "Remove it."
    return f"{name} among its tools, which is no tool. {hint}"


def only_given(limits: Limits) -> Limits:
    """The limits without defaults: what a user did not write is no limit of the whole job."""
    given = {name: getattr(limits, name) for name in limits.model_fields_set}
    return Limits(**(dict.fromkeys(Limits.model_fields) | given))


def checked_settings(where: str, settings: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    for key in settings:
        if key in OWN_SETTINGS:
            raise DefinitionError(f"{where} has {key!r} in its settings, which Surefoot writes itself. Remove it.")
    try:
        return cast("dict[str, JsonValue]", json.loads(json.dumps(dict(settings), allow_nan=False)))
    except (TypeError, ValueError) as error:
        raise DefinitionError(
            f"{where} has settings that can't be sent as JSON ({error}). Use strings, numbers, lists and dicts."
        ) from error


def checked_stream(where: str, stream: object) -> bool:
    if not isinstance(stream, bool):
        raise DefinitionError(f"{where} has stream={stream!r}. It is True, or False for whole answers only.")
    return stream


def checked_mark(where: str, tokens: object) -> int | None:
    if tokens is None or (isinstance(tokens, int) and tokens >= 0 and tokens is not True):
        return None if tokens is None else int(tokens)
    raise DefinitionError(
        f"{where} has compact_at={tokens!r}. Give a number of input tokens such as 100_000, None for three quarters of"
        " the model's window, or False for never."
    )


def check_numbers(where: str, numbers: Mapping[str, tuple[float | None, float]]) -> None:
    for name, (value, least) in numbers.items():
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value < math.inf:
            raise DefinitionError(f"{where} has {name}={value!r}. Give a number of at least {least:g}.")
