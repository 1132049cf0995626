"""What a notice says to people and programs, before it is given a form: its facts, its details, and where it leads.

Details (arguments, previews, what model and people wrote) go only to webhooks that ask for them.
"""

from dataclasses import dataclass, field
from datetime import datetime

from pydantic_core import to_json

from activities.notices.decision_links import DecisionLink, Links, lasts_until
from activities.notices.webhooks import Webhook
from activities.tools.explain import cut
from workflows.contracts import JsonObject, Notice, NoticeEvent, Pending

TYPES: dict[NoticeEvent, str] = {
    "decision_needed": "decision.needed",
    "reminder": "decision.reminder",
    "escalated": "decision.escalated",
    "expired": "decision.expired",
    "unknown_outcome": "outcome.unknown",
    "job_ended": "job.ended",
}
"""The `type` of a Standard Webhooks payload."""

TITLES: dict[NoticeEvent, str] = {
    "decision_needed": "A decision is needed",
    "reminder": "A decision is still needed",
    "escalated": "A decision is needed (escalated)",
    "expired": "Nobody decided in time",
    "unknown_outcome": "It is unknown whether a call happened",
    "job_ended": "A job has ended",
}
ASKS: tuple[NoticeEvent, ...] = ("decision_needed", "reminder", "escalated")
"""Events that ask for a decision, so that a link to decide can come with them."""

OWN = {"id", "at", "webhooks", "self_approval", "summary", "answer"}
"""Fields of a notice that are told elsewhere, or to nobody."""

DETAIL_CHARS = 20_000


@dataclass(frozen=True)
class Message:
    """A notice for one webhook. `decide_url` is a key to the call: it belongs in no log."""

    id: str
    notice: Notice
    details: JsonObject = field(default_factory=dict)
    job_url: str | None = None
    decide_url: str | None = None


def message(notice: Notice, webhook: Webhook, links: Links, now: datetime, pending: Pending | None = None) -> Message:
    """`pending` is the call as it waits now, if that is known."""
    return Message(
        id=f"{notice.id}_{webhook.name}",
        notice=notice,
        details=_details(notice, pending) if webhook.details else {},
        job_url=links.job_url(notice.job),
        decide_url=_decide_url(notice, webhook, links, now),
    )


def payload(message: Message) -> JsonObject:
    """The body of Standard Webhooks."""
    given = message.notice.model_dump(mode="json", exclude=OWN)
    given |= {"details": message.details, "job_url": message.job_url, "decide_url": message.decide_url}
    data: JsonObject = {name: value for name, value in given.items() if value not in (None, False, [], {})}
    return {"type": TYPES[message.notice.event], "timestamp": message.notice.at.isoformat(), "data": data}


def title(notice: Notice) -> str:
    return f"Test: {TITLES[notice.event]}" if notice.test else TITLES[notice.event]


def facts(notice: Notice) -> list[tuple[str, str]]:
    """What people are shown of a notice, by its label; each text may hold anything."""
    times = {"Asked": notice.asked_at, "Expires": notice.expires_at}
    shown = {
        "Agent": notice.agent,
        "Tool": notice.tool,
        "Job": notice.job,
        "Tenant": notice.tenant,
        "Risk": notice.risk if notice.risk != "normal" else None,
        "Status": notice.status,
        "Who decides": ", ".join(notice.approvers) or None,
        **{label: at.isoformat(sep=" ", timespec="minutes") if at else None for label, at in times.items()},
    }
    return [(label, text) for label, text in shown.items() if text]


def _details(notice: Notice, pending: Pending | None) -> JsonObject:
    texts = {"summary": notice.summary, "answer": notice.answer}
    found: JsonObject = {}
    if pending is not None:
        texts |= {"preview": pending.preview, "why": pending.why, "problem": pending.problem}
        found = _arguments(pending.arguments)
    return found | {name: cut(text, DETAIL_CHARS) for name, text in texts.items() if text}


def _arguments(arguments: JsonObject) -> JsonObject:
    """Endpoints refuse large bodies: whoever wants all of it looks in the console."""
    text = to_json(arguments).decode()
    return {"arguments": arguments} if len(text) <= DETAIL_CHARS else {"arguments_cut": cut(text, DETAIL_CHARS)}


def _decide_url(notice: Notice, webhook: Webhook, links: Links, now: datetime) -> str | None:
    """None where such a link could not do what it says: for want of a role, or where the person must be known."""
    if webhook.links_as is None or notice.event not in ASKS or not notice.self_approval:
        return None
    if notice.approvers and not set(notice.approvers) & set(webhook.roles):
        return None
    if notice.call is None or notice.digest is None or notice.asked_at is None:
        return None
    link = DecisionLink(
        job=notice.job,
        call=notice.call,
        digest=notice.digest,
        asked_at=notice.asked_at,
        by=webhook.links_as,
        expires_at=lasts_until(now, notice.expires_at),
        roles=webhook.roles,
    )
    return links.make(link)
