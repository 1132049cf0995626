"""Jobs in the browser: the list, what one has done, and what a person tells it."""

import re

import pytest

from activities.agents import Agent
from activities.providers.scripted import Script
from surefoot.console.rendering import job_url
from surefoot.http.access import Access
from tests.conftest import Host
from tests.console.conftest import Serve
from tests.console.desk import REFUND, Desk, agent, asked, call, find_order
from tests.http.conftest import asking
from tests.waiting import until
from tests.workflows.gated import ended, waiting
from workflows.contracts import Limits

LOOKS = call("find_order", order="A-17")


async def test_a_job_that_ended_shows_its_rounds_what_they_took_and_who_decided(host: Host, serve: Serve) -> None:
    desk = Desk()
    limits = Limits(rounds=4, tool_calls=8, tokens=10_000, seconds=60, cost_usd=0.1)
    worker = agent("desk", [LOOKS], [REFUND], tools=[desk.refund(), find_order], limits=limits)
    async with host(worker) as client, serve(client) as console:
        job = await client.start("desk", "help", tenant="acme", tags=["late"], by="carol")
        (pending,) = await waiting(job)
        await job.approve(pending.call, digest=pending.digest, by="bob", roles=["finance"])
        await ended(job)
        async with console.tab(job_url(job.id)) as tab:
            head = await tab.text(".summary")
            bars = await tab.text(".bars")
            timeline = await tab.text(".timeline")
            drawn = await tab.count(".picture rect.tool"), await tab.count(".picture rect.cost")
            link = await tab.page.get_attribute("text=in Temporal", "href")
            await tab.open(job_url(job.id, show="audit"))
            audit = await tab.text(".audit tbody")
            await tab.open(job_url(job.id, show="transcript"))
            said = await tab.text(".transcript")

    assert [word for word in ("complete", "agent desk", "for carol", "tenant acme", "late") if word not in head] == []
    assert "2 of 4" in bars
    assert "$0.0084 of $0.10" in bars
    assert 'refund order="A-17", amount=80.0' in timeline
    assert "approved by bob" in timeline
    assert (drawn[0] >= 1, drawn[1]) == (True, 2)
    assert link == f"http://127.0.0.1:8233/namespaces/default/workflows/{job.id}"
    assert re.search(r"approved\s+bob finance\s+refund c2-1", audit)
    assert "order A-17: paid 80 EUR" in said


async def test_an_answer_of_a_stand_in_says_so_on_the_jobs_page(host: Host, serve: Serve) -> None:
    overloaded = Script([{"error": {"kind": "Overloaded", "message": "too much to do"}, "repeat": True}])
    async with host(Agent("desk", [overloaded, Script([{"text": "Here."}])])) as client, serve(client) as console:
        job = await client.start("desk", "help")
        await ended(job)
        async with console.tab(job_url(job.id)) as tab:
            head = await tab.text(".summary")

    assert "Answered by scripted for a script (Overloaded: too much to do)." in head


@pytest.mark.parametrize("script", [True, False], ids=["script", "no script"])
async def test_a_job_is_paused_resumed_and_stopped_from_its_page(host: Host, serve: Serve, script: bool) -> None:
    async with host(agent("desk", [REFUND], tools=[Desk().refund()])) as client, serve(client) as console:
        job = await asked(client)

        async def state() -> str:
            return (await job.view()).state

        async with console.tab(job_url(job.id), java_script_enabled=script) as tab:
            states = []
            for word, wanted in (("Pause", "paused"), ("Resume", "waiting"), ("Stop", "ended")):
                await tab.page.click(f".tell button:text-is('{word}')")
                states.append(await until(state, wanted.__eq__))
                await tab.open(job_url(job.id))
        audit = await job.audit()

    assert states == ["paused", "waiting", "ended"]
    assert [(entry.deed, entry.by) for entry in audit] == [("paused", "ann"), ("resumed", "ann"), ("stopped", "ann")]


async def test_a_running_job_hears_once_what_a_person_says_and_one_that_ended_goes_on(host: Host, serve: Serve) -> None:
    desk = Desk()
    async with host(agent("desk", [REFUND], tools=[desk.refund()])) as client, serve(client) as console:
        job = await asked(client)
        async with console.tab(job_url(job.id)) as tab:
            await tab.page.fill("#say", "pay it today")
            await tab.page.dblclick("button:text-is('Steer')")
            await tab.says("steered by ann", ".timeline")
            (pending,) = (await job.view()).pending
            await job.approve(pending.call, digest=pending.digest, by="bob")
            await ended(job)
            await tab.open(job_url(job.id))
            await tab.page.fill("#say", "and the postage?")
            await tab.page.dblclick("button:text-is('Reply')")
            await tab.says("and the postage?", ".timeline")
        await ended(job)
        said = [(entry.by, entry.text) for entry in await job.transcript() if entry.kind == "message"]

    assert said == [(None, "help"), ("ann", "pay it today"), ("ann", "and the postage?")]


async def test_a_job_is_cancelled_and_forked_from_its_page(host: Host, serve: Serve) -> None:
    desk = Desk()
    worker = agent("desk", [LOOKS], [REFUND], tools=[desk.refund(), find_order])
    async with host(worker) as client, serve(client) as console:
        job = await client.start("desk", "help")
        await waiting(job)
        async with console.tab(job_url(job.id)) as tab:
            await tab.page.click("button:text-is('Cancel')")
            await tab.says("cancelled", ".summary .state")
            await tab.page.click("summary:text-is('Fork…')")
            await tab.page.get_by_label("After round").fill("1")
            await tab.page.get_by_label("Say something first").fill("try again")
            await tab.page.dblclick("button:text-is('Fork')")
            await tab.says("try again", ".timeline")
            new = tab.page.url
        forked = client.job(new.rpartition("/")[2])
        await waiting(forked)
        jobs = {row.job for row in await until(lambda: client.jobs(agent="desk"), lambda rows: len(rows) >= 2)}
        await forked.cancel(by="ann")

    assert forked.id.startswith(f"{job.id}-fork-")
    assert {each for each in jobs if each.startswith(job.id)} == {job.id, forked.id}


async def test_a_job_is_started_from_the_page_and_a_second_click_starts_no_second_one(host: Host, serve: Serve) -> None:
    worker = agent("desk", [LOOKS], tools=[find_order])
    async with host(worker) as client, serve(client) as console, console.tab("/new", expected=("422",)) as tab:
        await tab.page.fill("#agent", "desk")
        await tab.page.fill("#message", "look into A-17")
        await tab.page.fill("#tags", "late, urgent")
        await tab.page.fill("#tenant", "start page")
        await tab.page.dblclick("button:text-is('Start')")
        await tab.says("look into A-17", ".timeline")
        job = client.job(tab.page.url.rpartition("/")[2])
        view = await ended(job)
        started = await until(lambda: client.jobs(tenant="start page"))

    assert (view.by, view.tenant, sorted(view.tags)) == ("ann", "start page", ["late", "urgent"])
    assert [row.job for row in started] == [job.id]


async def test_jobs_are_filtered_by_what_they_are(host: Host, serve: Serve) -> None:
    waits, ends = agent("waits", [REFUND], tools=[Desk().refund()]), agent("ends", [LOOKS], tools=[find_order])
    async with host(waits, ends) as client, serve(client) as console:
        one = await client.start("waits", "x", id="filtered-one", tenant="filters", tags=["red"])
        two = await client.start("ends", "x", id="filtered-two", tenant="filters", tags=["red", "blue"])
        await waiting(one)
        await ended(two)
        await until(lambda: client.jobs(tenant="filters", state="ended"))
        await until(lambda: client.jobs(tenant="filters", state="waiting"))
        async with console.tab() as tab:
            seen = []
            for query in ("", "&state=waiting", "&state=ended", "&agent=ends", "&tag=blue", "&tag=green", "&state=odd"):
                await tab.open(f"/jobs?tenant=filters{query}")
                shown = await tab.text("#rows")
                seen.append([name for name in ("one", "two") if f"filtered-{name}" in shown])
        await one.cancel(by="ann")

    assert seen == [["one", "two"], ["one"], ["two"], ["two"], ["two"], [], []]


async def test_a_long_job_is_shown_in_parts_the_newest_first(host: Host, serve: Serve) -> None:
    turns = [[call("find_order", order=str(number))] for number in range(40)]
    many = agent("long", *turns, tools=[find_order], limits=Limits(rounds=99, tool_calls=None))
    async with host(many) as client, serve(client) as console:
        job = await client.start("long", "the beginning", by="carol")
        view = await until(job.view, lambda view: view.state == "ended", seconds=90)
        async with console.tab(job_url(job.id)) as tab:
            newest = await tab.text(".timeline, .pages")
            await tab.page.click("text=← earlier")
            await tab.says("the beginning", ".timeline")
            first = await tab.text(".timeline, .pages")
            rows = await tab.count(".timeline > li")

    assert ("the beginning" in newest, "the beginning" in first) == (False, True)
    assert f"of {view.entries}" in newest
    assert rows <= 80


async def test_a_job_that_failed_and_one_that_a_limit_ended_say_so(host: Host, serve: Serve) -> None:
    capped = agent("capped", *([[LOOKS]] * 9), tools=[find_order], limits=Limits(rounds=1))
    broken = Agent("broken", Script([{"error": {"kind": "Rejected", "message": "no such model: <b>x</b>"}}]))
    async with host(capped, broken) as client, serve(client) as console:
        seen = []
        for name in ("capped", "broken", "nobody"):
            job = await client.start(name, "x")
            await until(job.has_ended)
            async with console.tab(job_url(job.id)) as tab:
                seen.append((await tab.text(".summary .state"), await tab.text(".outcome"), await tab.count(".full")))

    assert [state for state, _, _ in seen] == ["hit iteration cap", "model failure", "failed"]
    assert seen[0][2] == 1
    assert "no such model: <b>x</b>" in seen[1][1]
    assert "nobody" in seen[2][1]


async def test_a_job_that_there_is_not_is_a_page_that_says_so(host: Host, serve: Serve) -> None:
    nobody = agent("desk", [LOOKS], tools=[find_order])
    async with (
        host(nobody) as client,
        serve(client) as console,
        console.tab("/jobs/no-such-job", expected=("404",)) as tab,
    ):
        said = await tab.text("main")

    assert "There is no such job" in said
    assert "no-such-job" in said


async def test_a_page_without_news_asks_no_worker(host: Host) -> None:
    async with host(agent("desk", [REFUND], tools=[Desk().refund()])) as client:
        job = await asked(client)
        async with asking(client, Access.open("ann", [])) as browser:
            first = await browser.get(job_url(job.id), headers={"X-Part": "1"})
            version = first.headers["x-version"]
            await job.pause(by="bob")
            await until(lambda: client.jobs(state="paused"), lambda rows: job.id in [row.job for row in rows])
            paused = await browser.get(job_url(job.id), headers={"X-Part": "1", "X-Version": version})
    async with asking(client, Access.open("ann", [])) as browser:
        same = {"X-Part": "1", "X-Version": paused.headers["x-version"]}
        again = await browser.get(job_url(job.id), headers=same)
    await job.handle().terminate()

    assert (first.status_code, paused.status_code, again.status_code) == (200, 200, 204)
    assert "Resume" in paused.text


@pytest.mark.parametrize("start", ["9" * 5000, "-1", "x", "\u0663"])
async def test_an_entry_that_there_is_not_leads_to_the_newest_ones(host: Host, start: str) -> None:
    async with host(agent("desk", [LOOKS], tools=[find_order])) as client:
        job = await client.start("desk", "help me")
        await ended(job)
        async with asking(client, Access.open("ann", [])) as browser:
            answer = await browser.get(job_url(job.id, **{"from": start}))

    assert answer.status_code == 200
    assert "help me" in answer.text
