"""Decision links as whoever got one meets them: what is seen, what is decided, and when a link is used up."""

import logging
import re
from datetime import UTC, datetime, timedelta

import pytest
from httpx2 import ASGITransport, AsyncClient, Response
from temporalio.client import Client as Temporal

from activities.approval import Approval
from activities.notices.decision_links import DecisionLink, Links
from activities.notices.webhooks import Webhook
from surefoot.client import Client
from surefoot.http.access import Access
from surefoot.http.app import create_app
from surefoot.http.sessions import Sessions
from tests.conftest import Host
from tests.webhook_receiver import receiver
from tests.workflows.gated import Ledger, call, ended, started, writer
from workflows.contracts import Pending

HERE = "http://127.0.0.1:8230"
LINKS = Links(["s" * 32], HERE)
NOW = datetime.now(UTC)
HEADERS = {"referrer-policy": "no-referrer", "cache-control": "no-store", "x-robots-tag": "noindex, nofollow"}


class Holder:
    """Somebody with a link, who is known to nobody."""

    def __init__(self, client: Client) -> None:
        app = create_app(client, Access(Sessions(secure=False)), links=LINKS)
        self.http = AsyncClient(transport=ASGITransport(app), base_url=HERE)

    async def look(self, token: str) -> Response:
        return await self.http.get(f"/decide/{token}")

    async def decide(self, token: str, choice: str, **more: str) -> Response:
        return await self.http.post("/decide", data={"token": token, "choice": choice, **more})


def link(job: str, pending: Pending, **changes: object) -> str:
    given: dict[str, object] = {
        "job": job,
        "call": pending.call,
        "digest": pending.digest,
        "asked_at": pending.asked_at,
        "by": "finance-channel",
        "roles": ("finance",),
        "expires_at": datetime.now(UTC) + timedelta(hours=1),
    }
    return LINKS.token(DecisionLink(**{**given, **changes}))  # type: ignore[arg-type]


def said(answer: Response) -> tuple[int, str]:
    """Status, and what the page says."""
    found = re.search(r'<h1>(.*?)</h1>\s*<p class="said lede">(.*?)</p>', answer.text, re.DOTALL)
    return answer.status_code, f"{found[1]}: {found[2]}" if found else answer.text


async def test_looking_shows_the_call_and_decides_nothing(host: Host) -> None:
    ledger = Ledger()
    async with host(writer("w", [call("save", key="<script>x</script>")], tools=[ledger.tool()])) as client:
        job, (pending,) = await started(client, "w")
        holder, token = Holder(client), link(job.id, pending)
        pages = [await holder.look(token) for _ in range(3)]
        view = await job.view()
        await job.cancel()
        await ended(job)

    assert [page.status_code for page in pages] == [200, 200, 200]
    assert "&lt;script&gt;x&lt;/script&gt;" in pages[0].text
    assert "<script>x" not in pages[0].text
    assert "You decide as <bdi>finance-channel</bdi> (finance)" in pages[0].text
    assert re.findall(r'name="choice" value="(\w+)"', pages[0].text) == ["approve", "deny"]
    assert {name: pages[0].headers[name] for name in HEADERS} == HEADERS
    assert "default-src 'none'" in pages[0].headers["content-security-policy"]
    assert (len(view.pending), ledger.written) == (1, [])


async def test_approving_lets_the_call_run_in_the_name_of_the_link(host: Host) -> None:
    ledger = Ledger()
    save = ledger.tool(approval=Approval(approvers=["finance"]))
    async with host(writer("w", [call("save", key="a")], tools=[save])) as client:
        job, (pending,) = await started(client, "w")
        holder, token = Holder(client), link(job.id, pending)
        answer = await holder.decide(token, "approve")
        await ended(job)
        [approved] = [each for each in await job.audit() if each.deed == "approved"]
        again = await holder.decide(token, "deny")
        looked = await holder.look(token)

    assert said(answer) == (200, "Decided: Approved.")
    assert ledger.written == ["save a"]
    assert (approved.by, approved.roles) == ("finance-channel", ["finance"])
    assert {name: answer.headers[name] for name in HEADERS} == HEADERS
    for later in (again, looked):
        status, text = said(later)
        assert status == 409
        assert text.startswith("Decided already: call c1-1 was already decided: approved by finance-channel at ")


async def test_denying_tells_the_model_why(host: Host) -> None:
    ledger = Ledger()
    async with host(writer("w", [call("save", key="a")], tools=[ledger.tool()])) as client:
        job, (pending,) = await started(client, "w")
        answer = await Holder(client).decide(link(job.id, pending), "deny", reason="over the budget")
        await ended(job)
        told = [entry.content for entry in await job.transcript() if entry.kind == "result"]

    assert said(answer) == (200, "Decided: Denied.")
    assert "over the budget" in told[0]
    assert ledger.written == []


async def test_a_link_for_an_earlier_question_decides_nothing(host: Host) -> None:
    ledger = Ledger()
    async with host(writer("w", [call("save", key="a")], tools=[ledger.tool()])) as client:
        job, (pending,) = await started(client, "w")
        holder = Holder(client)
        earlier = link(job.id, pending, asked_at=pending.asked_at - timedelta(seconds=1))
        edited = link(job.id, pending, digest="0" * 64)
        answers = [await holder.decide(earlier, "approve"), await holder.decide(edited, "approve")]
        await job.cancel()
        await ended(job)

    for status, text in map(said, answers):
        assert status == 403
        assert text.startswith("No decision: This link is for an earlier question")
    assert ledger.written == []


@pytest.mark.parametrize(
    ("changes", "choice", "says"),
    [
        ({"expires_at": datetime(2020, 1, 1, tzinfo=UTC)}, "approve", "This link has expired"),
        ({"choices": ("deny",)}, "approve", "this link can deny"),
        ({}, "answer", "this link can approve or deny"),
        ({}, "", "this link can approve or deny"),
        ({"roles": ()}, "approve", "is decided by finance; finance-channel comes with no role"),
    ],
)
async def test_what_a_link_can_not_do_is_refused(
    host: Host, changes: dict[str, object], choice: str, says: str
) -> None:
    ledger = Ledger()
    save = ledger.tool(approval=Approval(approvers=["finance"]))
    async with host(writer("w", [call("save", key="a")], tools=[save])) as client:
        job, (pending,) = await started(client, "w")
        status, text = said(await Holder(client).decide(link(job.id, pending, **changes), choice))
        await job.cancel()
        await ended(job)

    assert (status, ledger.written) == (403, [])
    assert says in text


async def test_a_token_that_is_not_ours_is_refused_in_words_and_without_asking_any_job() -> None:
    holder = Holder(Client(None))  # type: ignore[arg-type]

    for answer in (await holder.look("nonsense"), await holder.decide("nonsense", "approve")):
        assert said(answer)[0] == 403
        assert "This is no valid link" in answer.text
    assert (await holder.http.post("/decide")).status_code == 403


async def test_with_a_quorum_the_recipient_is_one_person(host: Host) -> None:
    ledger = Ledger()
    save = ledger.tool(approval=Approval(quorum=2))
    async with host(writer("w", [call("save", key="a")], tools=[save])) as client:
        job, (pending,) = await started(client, "w")
        holder, token = Holder(client), link(job.id, pending)
        first = await holder.decide(token, "approve")
        second = await holder.decide(token, "approve")
        before = list(ledger.written)
        await job.approve(pending.call, by="ann")
        await ended(job)

    assert said(first) == (200, "Decided: Approved, as one of several: 1 more must approve before it runs.")
    assert said(second) == said(first)
    assert (before, ledger.written) == ([], ["save a"])


async def test_the_link_in_a_notice_decides_its_call(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SUREFOOT_LINK_SECRET", "s" * 32)
    monkeypatch.setenv("SUREFOOT_CONSOLE_URL", HERE)
    ledger = Ledger()
    async with receiver() as endpoint:
        hook = Webhook(endpoint.url, format="slack", links_as="channel", events=["decision_needed"])
        async with host(writer("w", [call("save", key="a")], tools=[ledger.tool()], notify=[hook])) as client:
            job, _ = await started(client, "w")
            (notice,) = await endpoint.got(1)
            found = re.search(rf"<{HERE}/decide/([^|>]+)\|Decide>", notice.body)
            assert found is not None
            answer = await Holder(client).decide(found[1], "approve")
            await ended(job)

    assert said(answer) == (200, "Decided: Approved.")
    assert ledger.written == ["save a"]


async def test_without_a_worker_a_page_says_that_nobody_answers(temporal: Temporal, host: Host) -> None:
    ledger = Ledger()
    async with host(writer("w", [call("save", key="a")], tools=[ledger.tool()])) as client:
        job, (pending,) = await started(client, "w")
    alone = Client(temporal, task_queue=client.task_queue, answer_within=timedelta(seconds=0.5))
    status, text = said(await Holder(alone).look(link(job.id, pending)))
    await temporal.get_workflow_handle(job.id).terminate()

    assert status == 503
    assert text.startswith("No decision: no worker answers")


async def test_no_log_names_a_token(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, logger="surefoot")
    token = LINKS.token(DecisionLink("j", "c", "d", NOW, "channel", NOW - timedelta(days=1)))
    holder = Holder(Client(None))  # type: ignore[arg-type]
    answers = [await holder.look(token), await holder.decide(token, "approve")]

    assert [answer.status_code for answer in answers] == [403, 403]
    assert token not in caplog.text
