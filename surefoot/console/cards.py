"""The inbox as cards: what waits, what this person may do about it, and which calls are shown together.

Identical calls share a card and are never merged: each keeps its own buttons. A card's `version` changes when what it
shows does, and not with the clock, so that a page which updates itself touches nothing else.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from surefoot.console import values
from surefoot.http.people import Person
from surefoot.http.rights import rights
from surefoot.inbox import InboxItem

DECIDING = ("approve", "edit", "grant", "answer", "deny")


@dataclass(frozen=True)
class Waiting:
    """One call that waits. `may` is what this person can do about it, `note` why not all."""

    id: str
    job: str
    call: str
    agent: str
    tenant: str | None
    parent: str | None
    digest: str
    asked_at: datetime
    expires_at: datetime | None
    approvers: Sequence[str]
    quorum: int
    approved_by: Sequence[str]
    escalated: bool
    problem: str | None
    preview: values.Leaf | None
    why: values.Leaf | None
    may: frozenset[str]
    note: str


@dataclass(frozen=True)
class Card:
    """Calls with the same tool and the same arguments."""

    key: str
    version: str
    kind: Literal["decision", "unknown_outcome"]
    tool: str
    risk: str
    arguments: values.Node
    whole: bool
    preview: values.Leaf | None
    why: values.Leaf | None
    calls: Sequence[Waiting]


def cards(items: Sequence[InboxItem], person: Person) -> list[Card]:
    """A card for each different call, in the order of the oldest call of each."""
    groups: dict[str, list[InboxItem]] = {}
    for item in items:
        groups.setdefault(_sameness(item), []).append(item)
    return [_card(key, group, person) for key, group in groups.items()]


def _sameness(item: InboxItem) -> str:
    """What identical calls have in common; an item that could not be read is like no other."""
    return _print(item.kind, item.tool, item.digest or f"{item.job} {item.call}")


def _card(key: str, items: Sequence[InboxItem], person: Person) -> Card:
    first = items[0]
    shown = values.node(first.arguments)
    return Card(
        key=key,
        version=_print(*(item.model_dump_json() for item in items), *sorted(person.roles)),
        kind=first.kind,
        tool=first.tool,
        risk=first.risk,
        arguments=shown,
        whole=values.is_whole(shown),
        preview=_shared([item.preview or "" for item in items]),
        why=_shared([item.why for item in items]),
        calls=[_waiting(item, person) for item in items],
    )


def _shared(texts: Sequence[str]) -> values.Leaf | None:
    """What all calls of a card say alike stands there once."""
    return values.text(texts[0]) if texts[0] and len(set(texts)) == 1 else None


def _waiting(item: InboxItem, person: Person) -> Waiting:
    given = rights(item, person)
    return Waiting(
        id=_print(item.job, item.call),
        job=item.job,
        call=item.call,
        agent=item.agent,
        tenant=item.tenant,
        parent=item.parent,
        digest=item.digest,
        asked_at=item.asked_at,
        expires_at=item.expires_at,
        approvers=item.approvers,
        quorum=item.quorum,
        approved_by=item.approved_by,
        escalated=item.escalated,
        problem=item.problem,
        preview=values.text(item.preview) if item.preview else None,
        why=values.text(item.why) if item.why else None,
        may=given.may,
        note=given.note,
    )


def _print(*parts: str) -> str:
    return hashlib.sha256("\x00".join(parts).encode(errors="surrogatepass")).hexdigest()[:16]


def version(shown: Sequence[Card]) -> str:
    """Changes when any of these cards does."""
    return _print(*(f"{card.key} {card.version}" for card in shown))
