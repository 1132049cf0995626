"""`surefoot notify`: a test notice to an agent's webhooks, from here and at once, and what each endpoint says to it.

It reads the worker's settings (secrets, the console's address) from this process's environment, and needs no server.
"""

import asyncio
import os
import uuid
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from activities.escaping import escaped
from activities.notices.decision_links import Links
from activities.notices.messages import message
from activities.notices.posts import NotDelivered, open_http, post
from activities.notices.webhooks import Webhook
from surefoot.cli import exits
from surefoot.cli.documents import emit
from surefoot.cli.output import write
from surefoot.cli.session import app_option, app_path, json_option, load, needs_app
from surefoot.settings import read_settings
from workflows.contracts import Notice

if TYPE_CHECKING:
    from httpx2 import AsyncClient


@dataclass(frozen=True)
class Told:
    """What came of it at one webhook."""

    webhook: str
    format: str
    delivered: bool
    answer: str


@click.command()
@click.argument("agent")
@click.option("--webhook", "only", metavar="NAME", help="This one alone.")
@app_option
@json_option
def notify(agent: str, only: str | None, app: str | None, as_json: bool) -> None:
    """Send a test notice to the webhooks of AGENT, and say what each endpoint answers.

    With the settings of this environment: set SUREFOOT_WEBHOOK_SECRET as it is set where the worker runs.
    """

    async def work() -> int:
        chosen = _chosen(agent, only, app)
        results = await _tell(agent, chosen)
        if as_json:
            emit([asdict(told) for told in results])
        else:
            for told in results:
                write(f"{'ok' if told.delivered else '!!'}  {told.webhook} ({told.format}): {escaped(told.answer)}")
        return exits.COMPLETE if all(told.delivered for told in results) else exits.FAILED

    exits.run(work())


def _chosen(agent: str, only: str | None, app: str | None) -> Sequence[Webhook]:
    found = load(needs_app(read_settings(app=app_path(app)))).agent(agent).webhooks
    if not found:
        raise click.UsageError(f"agent {agent!r} has no webhooks: give it some, notify=[Webhook('https://…')]")
    chosen = [webhook for webhook in found if only in (None, webhook.name)]
    if not chosen:
        names = ", ".join(webhook.name for webhook in found)
        raise click.UsageError(f"agent {agent!r} has no webhook {only!r}; it has {names}")
    return chosen


async def _tell(agent: str, webhooks: Sequence[Webhook]) -> list[Told]:
    notice = Notice(
        id=f"msg_{uuid.uuid4().hex}", event="job_ended", at=datetime.now(UTC), job="test", agent=agent, test=True,
        status="complete", summary="This is a test of this webhook; no job has ended.",
    )  # fmt: skip
    links = Links.from_environment()
    http = open_http()
    try:
        return list(await asyncio.gather(*(_tell_one(http, each, notice, links) for each in webhooks)))
    finally:
        await http.aclose()


async def _tell_one(http: "AsyncClient", webhook: Webhook, notice: Notice, links: Links) -> Told:
    told = message(notice, webhook, links, datetime.now(UTC))
    try:
        answer = await post(http, webhook, told, os.environ)
    except NotDelivered as error:
        return Told(webhook.name, webhook.format, False, str(error))
    said = f"{answer.status} {'Gone: it wants no more notices. ' if answer.gone else ''}{answer.text}".strip()
    return Told(webhook.name, webhook.format, not answer.gone, said)
