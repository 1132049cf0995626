"""What forms and addresses of the console take, asked without a browser: whatever is sent, nothing more is done."""

import pytest

from surefoot.console.rendering import call_url, job_url, tell_url
from surefoot.http.access import Access
from tests.conftest import Host
from tests.http.conftest import asking
from tests.workflows.gated import Ledger, call, ended, started, writer

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
