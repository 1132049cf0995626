"""JSON values as a page shows them: what is read at a glance, what is folded, and what is left to the whole text.

A person approves exactly what was shown, so whatever is cut here says so and how much it was; the whole of it is one
link away.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import JsonValue

from activities.escaping import escaped_json

FOLDED_CHARS = 400
"""A text beyond this is folded behind its beginning."""

SHOWN_CHARS = 20_000
SHOWN_ITEMS = 50
DEEPEST = 6
"""Nesting below this is shown as JSON: a box in a box in a box helps nobody."""

COLUMNS = 6
BRIEF_CHARS = 120


@dataclass(frozen=True)
class Leaf:
    """A value in one piece. `lead` is what stands before a fold, `left_out` how many characters are not shown."""

    kind: Literal["text", "number", "word", "json"]
    text: str
    lead: str | None = None
    left_out: int = 0


@dataclass(frozen=True)
class Fields:
    """An object: its fields by name."""

    rows: Sequence[tuple[str, "Node"]]
    left_out: int = 0


@dataclass(frozen=True)
class Items:
    """A list."""

    items: Sequence["Node"]
    left_out: int = 0


@dataclass(frozen=True)
class Table:
    """A list of small objects that have the same fields."""

    columns: Sequence[str]
    rows: Sequence[Sequence["Node"]]
    left_out: int = 0


Node = Leaf | Fields | Items | Table


def node(value: JsonValue, depth: int = 0) -> Node:
    """How `value` is shown."""
    if isinstance(value, str):
        return text(value)
    if value is None or isinstance(value, bool):
        return Leaf("word", json.dumps(value))
    if isinstance(value, int | float):
        return Leaf("number", json.dumps(value))
    if not value:
        return Leaf("word", "empty")
    if depth >= DEEPEST:
        return _folded("json", as_json(value))
    if isinstance(value, dict):
        shown = list(value.items())[:SHOWN_ITEMS]
        return Fields([(name, node(each, depth + 1)) for name, each in shown], len(value) - len(shown))
    return _table(value, depth) or _items(value, depth)


def text(value: str) -> Leaf:
    """A text, folded if it is long."""
    return _folded("text", value)


def as_json(value: JsonValue) -> str:
    """The value as JSON that a person can read and edit, without what would show it as another one."""
    return escaped_json(json.dumps(value, indent=2, ensure_ascii=False))


def _folded(kind: Literal["text", "json"], whole: str) -> Leaf:
    shown = whole[:SHOWN_CHARS]
    lead = " ".join(whole[:FOLDED_CHARS].split())[:120] if len(whole) > FOLDED_CHARS else None
    return Leaf(kind, shown, lead, len(whole) - len(shown))


def _items(value: Sequence[JsonValue], depth: int) -> Items:
    shown = value[:SHOWN_ITEMS]
    return Items([node(each, depth + 1) for each in shown], len(value) - len(shown))


def _table(value: Sequence[JsonValue], depth: int) -> Table | None:
    """The list as a table, if it is one."""
    rows = [each for each in value[:SHOWN_ITEMS] if isinstance(each, dict)]
    if len(value) < 2 or len(rows) < min(len(value), SHOWN_ITEMS):
        return None
    columns = list(rows[0])
    if not 0 < len(columns) <= COLUMNS or any(list(row) != columns for row in rows):
        return None
    cells = [[row[column] for column in columns] for row in rows]
    if any(isinstance(cell, dict | list) for row in cells for cell in row):
        return None
    return Table(columns, [[node(cell, depth + 1) for cell in row] for row in cells], len(value) - len(rows))


def brief(arguments: JsonValue) -> str:
    """Arguments in one short line: `order="A-1", amount=12`."""
    named = arguments.items() if isinstance(arguments, dict) else []
    line = ", ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in named)
    return line if len(line) <= BRIEF_CHARS else f"{line[:BRIEF_CHARS]}…"


def is_whole(shown: Node) -> bool:
    """Whether nothing was left out."""
    if isinstance(shown, Leaf):
        return not shown.left_out
    inner: list[Node] = []
    if isinstance(shown, Fields):
        inner = [each for _, each in shown.rows]
    elif isinstance(shown, Items):
        inner = list(shown.items)
    else:
        inner = [cell for row in shown.rows for cell in row]
    return not shown.left_out and all(is_whole(each) for each in inner)
