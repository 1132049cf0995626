"""Making a schedule, and changing one, in the browser: what is left as it was shown stays as it was."""

from datetime import timedelta

import pytest

from activities.agents import Agent
from activities.providers.script import Script
from surefoot.console.rendering import schedule_url, with_query
from surefoot.http.access import Access
from surefoot.schedules import Terms
from tests.conftest import Host
from tests.console.conftest import PHONE, Serve
from tests.http.conftest import asking
from workflows.contracts import Limits

WORKER = Agent("worker", Script([{"text": "done"}]))
LONG = "Count the stock of every shop. " * 20
GIVEN = {"id": "f-bad", "agent": "worker", "message": "go", "cron": "0 6 * * *", "overlap": "skip"}


async def test_a_schedule_is_made_and_changed_by_a_form(host: Host, serve: Serve) -> None:
    async with host(WORKER) as client, serve(client) as console:
        async with console.tab("/schedules", viewport=PHONE, expected=("422",)) as tab:
            await tab.page.click("text=New schedule…")
            wide = await tab.page.evaluate("document.documentElement.scrollWidth - innerWidth")
            await tab.page.fill("#id", "f-daily")
            await tab.page.fill("#agent", "worker")
            await tab.page.fill("#message", LONG)
            await tab.page.fill("#cron", "61 6 * * *\n0 9 * * 6")
            await tab.page.fill("#timezone", "Europe/Berlin")
            await tab.page.fill("#queue", "nightly")
            await tab.page.click("text=Make it")
            await tab.says("Minute is not in range", ".alert")
            await tab.page.fill("#cron", "0 6 * * *\n0 9 * * 6")
            await tab.page.click("text=Make it")
            await tab.says("0 6 * * *, 0 9 * * 6 (Europe/Berlin)", ".summary")
            made = await client.schedules["f-daily"].view()
            await tab.page.click("text=Change…")
            await tab.page.fill("#cron", "")
            await tab.page.fill("#every", "6h")
            await tab.page.fill("#queue", "")
            await tab.page.select_option("#overlap", "buffer_one")
            await tab.page.click("button:text-is('Change')")
            await tab.says("every 6 h (Europe/Berlin)", ".summary")
        changed = await client.schedules["f-daily"].view()
        await client.schedules["f-daily"].delete()

    assert wide == 0
    assert (made.message, made.by, made.queue) == (LONG.strip(), "ann", "nightly")
    assert changed.terms == Terms(every=timedelta(hours=6), timezone="Europe/Berlin", overlap="buffer_one")
    assert (changed.message, changed.queue, changed.note) == (LONG.strip(), None, "changed by ann")


async def test_what_the_form_does_not_show_stays_and_nothing_changed_is_no_change(host: Host) -> None:
    async with host(WORKER) as client, asking(client, Access.open("bo", [])) as asked:
        terms = Terms(cron=["0 6 * * *"], jitter=timedelta(minutes=5), every=timedelta(seconds=90))
        made = await client.schedules.create("f-kept", "worker", "go\n", terms, limits=Limits(rounds=3), by="ann")
        path = with_query("/change-schedule", {"schedule": "f-kept"})
        same = {"agent": "worker", "message": "go", "cron": "0 6 * * *", "every": "90s", "overlap": "skip"}
        first = await asked.post(path, data=same)
        before = await made.view()
        second = await asked.post(path, data={**same, "message": "stop"})
        after = await made.view()
        await made.delete()

    assert [each.headers["location"] for each in (first, second)] == [schedule_url("f-kept")] * 2
    assert (before.by, before.message) == ("ann", "go\n")
    assert (after.by, after.message, after.terms, after.limits) == ("bo", "stop", terms, before.limits)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"cron": ""}, "nothing says when it fires"),
        ({"every": "often"}, "is no length of time"),
        ({"agent": "no such"}, "no agent can be called"),
        ({"message": ""}, "message"),
        ({"id": ""}, "id"),
    ],
)
async def test_what_no_schedule_can_be_is_told_on_the_form_that_keeps_what_was_typed(
    host: Host, change: dict[str, str], told: str
) -> None:
    async with host(WORKER) as client, asking(client, Access.open("ann", [])) as asked:
        answer = await asked.post("/new-schedule", data={**GIVEN, "tenant": "acme", **change})

    assert answer.status_code == 422
    assert told in answer.text
    assert 'value="acme"' in answer.text
