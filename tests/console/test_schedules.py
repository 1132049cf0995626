"""Schedules in the browser: when they fire, what they fired, and what a person does about one."""

from datetime import timedelta
from pathlib import Path
from typing import Any

from activities.agents import Agent
from activities.providers.script import Script
from surefoot.client import Client
from surefoot.console.rendering import schedule_url
from surefoot.console.schedules import times_of
from surefoot.http.access import Access
from surefoot.schedules import Schedule, Terms
from tests.conftest import Host
from tests.console.conftest import PHONE, Serve
from tests.console.desk import HOSTILE
from tests.http.conftest import asking, bearer, known
from tests.waiting import until

WORKER = Agent("worker", Script([{"text": "done", "repeat": True}]))
DAILY = Terms(cron=["0 6 * * *"], timezone="Europe/Berlin", jitter=timedelta(minutes=5))


async def made(client: Client, id: str, message: str = "count", **more: Any) -> Schedule:
    return await client.schedules.create(id, "worker", message, DAILY, by="ann", **more)


def test_times_are_said_in_a_line() -> None:
    assert times_of(DAILY) == "0 6 * * * (Europe/Berlin)"
    assert times_of(Terms(every=timedelta(hours=6))) == "every 6 h"


async def test_a_schedule_is_fired_held_resumed_and_deleted_from_its_page(host: Host, serve: Serve) -> None:
    async with host(WORKER) as client, serve(client) as console:
        schedule = await made(client, "web-daily", tenant="acme", queue="nightly")
        await schedule.set(by="ann", queue=None)
        async with console.tab("/schedules") as tab:
            await tab.says("web-daily")
            listed = " ".join((await tab.text(".jobs tbody")).split())
            await tab.page.click("text=web-daily")
            due = await tab.count(".firings li")
            await tab.page.click("button:text-is('Fire now')")
            await tab.says("complete", ".firings")
            await tab.page.click("summary:text-is('Pause…')")
            await tab.page.fill("input[name=reason]", "holidays")
            await tab.page.click("button:text-is('Pause')")
            await tab.says("Paused: holidays", ".summary")
            held = await tab.text(".firings")
            await tab.page.click("button:text-is('Resume')")
            await tab.says("resumed by ann", ".summary")
            await tab.page.click(".firings a")
            job = " ".join((await tab.text(".summary")).split())
            await tab.open(schedule_url("web-daily"))
            shut = await tab.page.is_visible("button:text-is('Delete it')")
            await tab.page.click("summary:text-is('Delete…')")
            await tab.says("It fires never again", ".tell")
            await tab.page.click("button:text-is('Delete it')")
            await tab.page.wait_for_url("**/schedules")
            left = await until(client.schedules.list, lambda views: not [v for v in views if v.schedule == "web-daily"])

    assert "active worker 0 6 * * * (Europe/Berlin) in" in listed
    assert "0 times" in listed
    assert due == 5
    assert "None while it is paused." in held
    assert ("for ann" in job, "tenant acme" in job) == (True, True)
    assert shut is False
    assert "web-daily" not in [view.schedule for view in left]


async def test_hostile_schedules_are_text_and_fit_a_phone(host: Host, serve: Serve) -> None:
    name = "<script>window.pwned = 1</script>/{{ 7 * 7 }}"
    async with host(WORKER) as client, serve(client) as console:
        schedule = await made(client, name, HOSTILE)
        await schedule.pause(by="ann", reason=HOSTILE)
        async with console.tab(schedule_url(name), viewport=PHONE) as tab:
            head = await tab.text("h1")
            said = await tab.text(".summary")
            wide = [await tab.page.evaluate("document.documentElement.scrollWidth - innerWidth")]
            await tab.open("/schedules")
            listed = await tab.text(".jobs tbody")
            wide.append(await tab.page.evaluate("document.documentElement.scrollWidth - innerWidth"))
            pwned = await tab.page.evaluate("window.pwned")
        await schedule.delete()

    assert (head, wide, pwned) == (name, [0, 0], None)
    assert ("{{ 7 * 7 }}" in said, "\u202e" in said, "{{ 7 * 7 }}" in listed) == (True, False, True)


async def test_who_may_only_look_sees_a_schedule_and_no_buttons(host: Host, tmp_path: Path) -> None:
    access, tokens = known(tmp_path, eve=["view"])
    async with host(WORKER) as client, asking(client, access) as asked:
        schedule = await made(client, "looked-at")
        headers = bearer(tokens["eve"])
        seen = await asked.get(schedule_url("looked-at"), headers=headers)
        told = [
            (await asked.post(f"/schedule-words/{word}?schedule=looked-at", headers=headers)).status_code
            for word in ("pause", "resume", "trigger", "delete")
        ]
        view = await schedule.view()
        await schedule.delete()

    assert (seen.status_code, "Europe/Berlin" in seen.text, "-words/" in seen.text) == (200, True, False)
    assert (told, view.paused, view.fired) == ([403] * 4, False, 0)


async def test_a_word_that_no_schedule_knows_and_a_schedule_that_there_is_not_are_told_on_a_page(host: Host) -> None:
    async with host(WORKER) as client, asking(client, Access.open("ann", [])) as asked:
        unknown = await asked.post("/schedule-words/backfill?schedule=x")
        missing = await asked.get(schedule_url("nothing"))

    assert (unknown.status_code, "pause, resume, trigger, delete" in unknown.text) == (404, True)
    assert (missing.status_code, "there is no schedule" in missing.text) == (404, True)
