"""A webhook as an app's author writes it: where notices go, of which events, in which form, signed by which secret.

Its name, not its URL, enters history: the address may itself be a key (Slack's are), and may change while a notice
waits for an endpoint that is down. What a webhook means is always read from the app as it is at delivery.
"""

import difflib
import hashlib
import ipaddress
import re
import typing
from collections.abc import Sequence
from typing import Any, Literal
from urllib.parse import SplitResult, urlsplit

from activities.errors import DefinitionError
from workflows.contracts import NoticeEvent

Format = Literal["standard", "slack", "teams"]
EVENTS: tuple[NoticeEvent, ...] = typing.get_args(NoticeEvent)
FORMATS: tuple[Format, ...] = typing.get_args(Format)
SECRET = "SUREFOOT_WEBHOOK_SECRET"
NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
"""Part of the webhook-id, which no dot may stand in: the signature joins by dots."""

VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*")
PRIVATE_NAMES = (".localhost", ".local", ".internal", ".home.arpa")
"""Ends of host names that no public DNS resolves."""


class Webhook:
    """An endpoint that is told what comes up in an agent's jobs.

    url        https; http only for a host that is this machine or in a private network
    events     which of decision_needed, reminder, escalated, expired, unknown_outcome, job_ended; all if not given
    format     "standard" (Standard Webhooks), "slack" (also Mattermost and others that take it) or "teams"
    name       what logs call it; made of the host and a digest of the URL if not given
    secret     the environment variable, where the worker runs, that holds the signing secret
    details    send arguments, previews, the model's words and the answer too: they may hold secrets of your users
    links_as   send links by which whoever reads the notice can decide, in this name
    roles      the roles that such a decision has
    """

    def __init__(
        self,
        url: str,
        *,
        events: Sequence[NoticeEvent] = EVENTS,
        format: Format = "standard",
        name: str | None = None,
        secret: str = SECRET,
        details: bool = False,
        links_as: str | None = None,
        roles: Sequence[str] = (),
    ) -> None:
        parts = _checked_url(url)
        self.url = url
        self.name = _default_name(url, parts) if name is None else name
        where = f"webhook {self.name!r}"
        if not isinstance(self.name, str) or not NAME.fullmatch(self.name):
            raise DefinitionError(f"{where}: a webhook's name has 1 to 64 letters, digits, '_' or '-', no others.")
        self.events = _events(where, events)
        if format not in FORMATS:
            raise DefinitionError(f"{where} has format={format!r}. It is one of {', '.join(FORMATS)}.")
        self.format: Format = format
        self.secret = _variable(where, secret)
        if not isinstance(details, bool):
            raise DefinitionError(f"{where} has details={details!r}. It is True or False.")
        self.details = details
        self.links_as, self.roles = _recipient(where, links_as, roles)

    def __repr__(self) -> str:
        return f"<Webhook {self.name} ({self.format})>"


def checked_webhooks(where: str, given: object) -> tuple[Webhook, ...]:
    """What a user wrote as `notify`; raises `DefinitionError`."""
    if isinstance(given, Webhook | str) or not isinstance(given, Sequence):
        raise DefinitionError(f"{where} has notify={given!r}. Give a list: notify=[Webhook('https://…')].")
    names: set[str] = set()
    for each in given:
        if not isinstance(each, Webhook):
            raise DefinitionError(f"{where} has {each!r} in notify, which is no Webhook. Write Webhook('https://…').")
        if each.name in names:
            raise DefinitionError(f"{where}: two of its webhooks are {each.name!r}. Give one of them another name=….")
        names.add(each.name)
    return tuple(given)


def wanted(webhooks: Sequence[Webhook]) -> dict[NoticeEvent, list[str]]:
    """The names of the webhooks for each event that any of them wants, as a job notes it."""
    found = {event: [each.name for each in webhooks if event in each.events] for event in EVENTS}
    return {event: names for event, names in found.items() if names}


def _checked_url(url: object) -> SplitResult:
    if not isinstance(url, str) or not url.isprintable() or " " in url or not url.isascii():
        raise DefinitionError(f"a webhook's URL is {_place(url)}. Write it in ASCII: Webhook('https://…').")
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise DefinitionError(f"a webhook's URL {_place(url)} can't be used: {error}.") from None
    if parts.scheme not in ("http", "https") or not host:
        raise DefinitionError(f"a webhook's URL {_place(url)} has no host to send to. Write it like https://host/path.")
    if parts.username is not None or parts.fragment:
        raise DefinitionError(f"the URL of the webhook at {host} holds a user or a #fragment. Remove it.")
    if parts.scheme == "http" and not is_private(host):
        raise DefinitionError(
            f"the webhook at {host} is reached by http, so anybody on the way could read its notices. Write https://…;"
            " http is for this machine and private networks."
        )
    return parts


def is_private(host: str) -> bool:
    """Whether a host is this machine or can only be in a private network, as far as its name tells."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return "." not in host or host.endswith(PRIVATE_NAMES)
    return address.is_loopback or address.is_private


def _place(url: object) -> str:
    """A URL without what may be secret in it."""
    if not isinstance(url, str):
        return repr(url)
    return repr(url.split("?")[0][:40] + ("…" if len(url) > 40 or "?" in url else ""))


def _default_name(url: str, parts: SplitResult) -> str:
    host = re.sub(r"[^a-zA-Z0-9]", "-", parts.hostname or "")[:50]
    return f"{host}-{hashlib.sha256(url.encode()).hexdigest()[:8]}"


def _events(where: str, events: object) -> tuple[NoticeEvent, ...]:
    if isinstance(events, str) or not isinstance(events, Sequence) or not events:
        raise DefinitionError(f"{where} has events={events!r}. Give a list of some of {', '.join(EVENTS)}.")
    for event in events:
        if event not in EVENTS:
            near = difflib.get_close_matches(str(event), EVENTS, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(EVENTS)}."
            raise DefinitionError(f"{where}: there is no event {event!r}; {hint}")
    return tuple(events)


def _variable(where: str, secret: object) -> str:
    if isinstance(secret, str) and VARIABLE.fullmatch(secret):
        return secret
    raise DefinitionError(  # not shown: it may be the secret itself
        f"{where}: secret names the environment variable that holds the signing secret, in capitals, as {SECRET!r}"
        " does. What stands there is no such name; an app file is no place for the secret itself."
    )


def _recipient(where: str, links_as: object, roles: Any) -> tuple[str | None, tuple[str, ...]]:
    if links_as is not None and not (isinstance(links_as, str) and links_as.strip() and len(links_as) <= 200):
        raise DefinitionError(f"{where} has links_as={links_as!r}. Give the name in which its readers decide.")
    if isinstance(roles, str) or not all(isinstance(role, str) and role for role in roles):
        raise DefinitionError(f"{where} has roles={roles!r}. Give a list of names of roles.")
    if roles and links_as is None:
        raise DefinitionError(f"{where} has roles={roles!r}, which only decision links have. Add links_as='…'.")
    return links_as, tuple(roles)
