"""What forms and addresses of the console take, asked without a browser: whatever is sent, nothing more is done."""

from datetime import timedelta

import pytest

from activities.approval import Approval
from surefoot.client import Client
from surefoot.console.rendering import call_url, job_url, tell_url
from surefoot.http.access import Access
from tests.conftest import Host
from tests.http.conftest import asking
from tests.waiting import until
from tests.workflows.gated import Ledger, call, ended, recorded, started, writer

HIDING = "A-1\u200b\u202e7\U000e0061"


@pytest.mark.parametrize("seconds", ["1e300", "inf", "nan", "-1", "0", "31622401", "a year"])
async def test_a_grant_for_a_time_that_can_not_be_approves_nothing(host: Host, seconds: str) -> None:
    ledger = Ledger()
    async with (
        host(writer("w", [call("save", key="a")], tools=[ledger.tool()])) as client,
        asking(client, Access.open("ann", [])) as asked,
    ):
        job, (pending,) = await started(client, "w")
        form = {"digest": pending.digest, "choice": "approve", "grant_count": "1", "grant_seconds": seconds}
        decided = await asked.post(call_url("decide", job.id, pending.call), data=form)
        rule = {"digest": pending.digest, "count": "1", "minutes": seconds}
        shown = await asked.post(call_url("rule", job.id, pending.call), data=rule)
        waits = (await job.view()).pending
        await job.cancel(by="ann")
        await ended(job)

    assert (decided.status_code, shown.status_code) == (422, 422)
    assert [each.call for each in waits] == [pending.call]
    assert ledger.written == []


async def test_without_a_worker_a_job_shows_what_the_server_itself_knows(host: Host) -> None:
    async with host(writer("w", [call("save", key="a")], tools=[Ledger().tool()])) as client:
        job, _ = await started(client, "w", tenant="acme", tags=["night"], by="carol")
        await recorded(client, job)
    quick = Client(client.temporal, task_queue=client.task_queue, answer_within=timedelta(seconds=1))
    async with asking(quick, Access.open("ann", [])) as asked:
        page = await asked.get(job_url(job.id))
        same = {"X-Part": "1", "X-Version": page.text.partition('data-version="')[2].partition('"')[0]}
        again = await asked.get(job_url(job.id), headers=same)
        async with host(writer("w", [call("save", key="a")], tools=[Ledger().tool()])):
            back = await until(
                lambda: asked.get(job_url(job.id), headers=same), lambda answer: answer.status_code == 200
            )
    await job.handle().terminate()

    shown = [f"no worker answers for job {job.id}", "waiting", "agent <bdi>w</bdi>", "tenant <bdi>acme</bdi>", "night"]
    assert [words for words in shown if words not in page.text] == []
    assert (page.status_code, again.status_code) == (200, 204)
    assert "kept until a worker is up" in page.text
    assert 'aria-label="Tell the job"' in back.text


async def test_who_can_not_approve_a_call_sees_why_and_no_button(host: Host) -> None:
    apart = [Ledger().tool(approval=Approval(self_approval=False))]
    async with (
        host(writer("w", [call("save", key="a")], tools=apart)) as client,
        asking(client, Access.open("carol", [])) as hers,
        asking(client, Access.open("ann", [])) as others,
    ):
        job, (pending,) = await started(client, "w", by="carol")
        await recorded(client, job)
        address = f"/api/v1/jobs/{job.id}/calls/{pending.call}"
        pages = [(await each.get("/inbox")).text for each in (hers, others)]
        calls = [(await each.get(address)).json() for each in (hers, others)]
        listed = [(await each.get("/api/v1/inbox")).json()["items"] for each in (hers, others)]
        await job.cancel(by="ann")
        await ended(job)

    why = "The job works for you, or you told it something: others approve this, you may deny it."
    assert [why in page for page in pages] == [True, False]
    assert ['data-word="approve"' in page for page in pages] == [False, True]
    assert [each["may"] for each in calls] == [["deny"], ["approve", "edit", "answer", "deny", "grant"]]
    assert [[each["note"] for each in items] for items in listed] == [[why], [""]]


async def test_numbers_beyond_any_use_are_no_faults_of_ours(host: Host) -> None:
    async with (
        host(writer("w", [call("save", key="a")], tools=[Ledger().tool()])) as client,
        asking(client, Access.open("ann", [])) as asked,
    ):
        job, _ = await started(client, "w")
        page = await asked.get(job_url(job.id, **{"from": "9" * 5_000}))
        fork = await asked.post(tell_url("fork", job.id), data={"round": "9" * 5_000})
        await job.cancel(by="ann")
        await ended(job)

    assert (page.status_code, fork.status_code) == (200, 422)


async def test_characters_that_hide_or_turn_around_are_seen_wherever_arguments_are(host: Host) -> None:
    async with (
        host(writer("w", [call("save", key=HIDING)], tools=[Ledger().tool()])) as client,
        asking(client, Access.open("ann", [])) as asked,
    ):
        job, (pending,) = await started(client, "w")
        card = await asked.get(call_url("card", job.id, pending.call))
        whole = await asked.get(call_url("whole", job.id, pending.call))
        typed = await asked.get(call_url("edit", job.id, pending.call, **{"as": "json"}))
        await job.cancel(by="ann")
        await ended(job)

    assert [character for page in (card, whole, typed) for character in HIDING[3:] if character in page.text] == [
        "7"
    ] * 3
    assert whole.json() == {"key": HIDING}
    assert r"A-1\u200b\u202e7\U000e0061" in card.text
    assert r"A-1\u200b\u202e7\udb40\udc61" in typed.text
