"""Batches in the browser: how one stands while it runs, and what a person does about it."""

import json
from pathlib import Path

import pytest

from activities.agents import Agent
from activities.providers.script import Script
from activities.tools.tool import tool
from surefoot.batches import Budget
from surefoot.client import Client
from surefoot.console.rendering import batch_url, job_url, results_url
from tests.conftest import Host
from tests.console.conftest import PHONE, Serve, Tab
from tests.console.desk import HOSTILE
from tests.waiting import until


@tool
def pay() -> str:
    """Pay."""
    return "paid"


WORKER = Agent("worker", Script([{"text": "done", "usage": {"input_tokens": 100, "output_tokens": 0}}]))
PAYER = Agent("payer", Script([{"calls": [{"tool": "pay"}]}, {"text": "done"}]), tools=[pay])


def written(folder: Path, *agents: str) -> Path:
    """A file with a line for each of these agents."""
    lines = [{"custom_id": f"id-{n}", "input": f"say {n}", "agent": agent} for n, agent in enumerate(agents, 1)]
    file = folder / "jobs.jsonl"
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return file


async def counts(tab: Tab) -> dict[str, str]:
    """What the page says of each kind of line."""
    text = await tab.text(".stands")
    words = text.split()
    return dict(zip(words[::2], words[1::2], strict=False))


async def stands(tab: Tab, **wanted: int) -> None:
    await until(
        lambda: counts(tab), lambda seen: {kind: seen.get(kind) for kind in wanted} == _texts(wanted), seconds=30
    )


def _texts(wanted: dict[str, int]) -> dict[str, str]:
    return {kind: str(count) for kind, count in wanted.items()}


async def test_a_batch_says_how_its_lines_stand_and_leads_to_its_jobs(host: Host, serve: Serve, tmp_path: Path) -> None:
    file = written(tmp_path, "worker", "payer", "nobody", "worker", "payer", "worker")
    async with host(WORKER, PAYER) as client, serve(client) as console:
        batch = await client.batches.submit(file, id="nightly", tenant="acme", budget=Budget(cost_usd=5))
        async with console.tab(batch_url(batch.id)) as tab:
            await stands(tab, done=3, waiting=2, failed=1, queued=0)
            drawn = [await tab.count(f".stack rect.{kind}") for kind in ("done", "waiting", "failed", "queued")]
            await tab.page.click("text=2 jobs wait for people")
            waiting = await tab.text(".jobs tbody")
            await tab.open("/batches")
            listed = await tab.text(".jobs tbody")
            await tab.open(batch_url(batch.id))
            await tab.page.click(".stands .failed a")
            failed = await tab.text(".jobs tbody")
            await tab.page.click("text=nightly-000003")
            job = await tab.text(".summary")
        wide = []
        async with console.tab(batch_url(batch.id), viewport=PHONE) as tab:
            for path in (batch_url(batch.id), "/batches", "/new-batch"):
                await tab.open(path)
                wide.append(await tab.page.evaluate("document.documentElement.scrollWidth - innerWidth"))

    assert wide == [0, 0, 0]
    assert drawn == [1, 1, 1, 0]
    assert ("nightly-000002" in waiting, "nightly-000005" in waiting, "nightly-000001" in waiting) == (
        True,
        True,
        False,
    )
    assert "nightly" in listed
    assert ("nightly-000003" in failed, failed.count("nightly-")) == (True, 1)
    assert "line 3 (id-3) of batch nightly" in job


async def test_a_batch_is_paused_changed_resumed_tried_again_and_given_up_from_its_page(
    host: Host, serve: Serve, tmp_path: Path
) -> None:
    file = written(tmp_path, *["payer"] * 3)
    async with host(WORKER, PAYER) as client, serve(client) as console:
        batch = await client.batches.submit(file, id="words", budget=Budget(tokens=1000))
        async with console.tab(batch_url(batch.id)) as tab:
            await stands(tab, waiting=3)
            await tab.page.click("button:text-is('Pause')")
            await tab.says("Held: paused by ann", ".summary")
            await tab.page.fill("input[name=budget_tokens]", "5000")
            await tab.page.click("button:text-is('Resume')")
            await tab.says("of 5\u202f000", ".bars")
            await tab.page.fill("input[name=concurrency]", "7")
            await tab.page.click("button:text-is('Set')")
            await tab.says("7 at a time", ".summary")
            await tab.page.click("summary:text-is('Give up…')")
            await tab.page.select_option("select[name=running]", "cancel")
            await tab.page.click("button:text-is('Give up')")
            await stands(tab, incomplete=3)
            await tab.says("ended", ".summary .state")
            await tab.page.click("button:text-is('Try failed and incomplete again')")
            await stands(tab, waiting=3, incomplete=0)
            await batch.cancel("cancel", by="ann")
            await stands(tab, incomplete=3)
        state = await batch.state()

    assert (state.concurrency, state.budget.tokens, len(state.retries)) == (7, 5000, 1)


async def test_a_batch_that_was_given_up_though_nothing_failed_goes_on_from_its_page(
    host: Host, serve: Serve, tmp_path: Path
) -> None:
    file = written(tmp_path, *["worker"] * 30)
    async with host(WORKER) as client, serve(client) as console:
        batch = await client.batches.submit(file, id="left", concurrency=1)
        await batch.cancel("finish", by="ann")
        async with console.tab(batch_url(batch.id)) as tab:
            await tab.says("were not begun", ".summary")
            await tab.page.click("button:text-is('Go on with what is not done')")
            await stands(tab, done=30)
            await tab.says("ended", ".summary .state")


async def test_a_file_is_sent_from_a_form_and_its_bad_lines_are_shown(host: Host, serve: Serve, tmp_path: Path) -> None:
    file = written(tmp_path, "worker", "worker")
    bad = tmp_path / "bad.jsonl"
    bad.write_text(f"{file.read_text()}nonsense\n")
    async with host(WORKER) as client, serve(client) as console, console.tab("/batches", expected=("422",)) as tab:
        await tab.page.click("text=New batch…")
        await tab.page.set_input_files("#file", bad)
        await tab.page.click("text=Check and start")
        await tab.says("1 of 3 lines can't be jobs")
        told = await tab.text(".values")
        await tab.page.set_input_files("#file", bad)
        await tab.page.check("input[name=skip_bad]")
        await tab.page.click("text=Check and start")
        await stands(tab, done=2)
        address = tab.page.url
        answer = await tab.page.request.get(f"{tab.origin}{results_url(address.rpartition('/')[2])}")
        rows = [json.loads(line) for line in (await answer.text()).splitlines()]

    assert "line 3" in told
    assert [(row["custom_id"], row["answer"]) for row in rows] == [("id-1", "done"), ("id-2", "done")]


async def test_hostile_names_are_text_on_every_page(host: Host, serve: Serve, tmp_path: Path) -> None:
    name = "<script>window.pwned = 1</script>{{ 7 * 7 }}"
    file = tmp_path / "jobs.jsonl"
    file.write_text(json.dumps({"custom_id": "<b onclick=x>{{ 7 * 7 }}", "input": HOSTILE, "agent": "payer"}))
    async with host(PAYER) as client, serve(client) as console:
        batch = await client.batches.submit(file, id=name)
        await until(batch.view, lambda view: view.waiting == 1)
        await batch.pause(by="ann", reason=HOSTILE)
        await until(batch.view, lambda view: view.state == "held")
        async with console.tab(batch_url(batch.id)) as tab:
            head = await tab.text("h1")
            await tab.open("/batches")
            await tab.says("{{ 7 * 7 }}")
            await tab.open(job_url(f"{name}-000001"))
            job = await tab.text(".summary")
            pwned = await tab.page.evaluate("window.pwned")

    assert head == name
    assert "<b onclick=x>{{ 7 * 7 }}" in job
    assert pwned is None


async def test_the_list_goes_on_on_a_next_page(
    host: Host, serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("surefoot.console.batches.PER_PAGE", 1)
    file = written(tmp_path, "worker")
    async with host(WORKER) as client, serve(client) as console:
        for name in ("page-one", "page-two"):
            await client.batches.submit(file, id=name)
            await ended(client, name)
        async with console.tab("/batches") as tab:
            await tab.says("page-two")
            await tab.page.click("text=older →")
            await tab.says("page-one")
            shown = await tab.count("tbody tr")
            await tab.page.click("text=← to the newest")
            await tab.says("page-two")

    assert shown == 1


async def test_who_may_only_look_is_shown_no_words(host: Host, serve: Serve, tmp_path: Path) -> None:
    async with host(WORKER) as client, serve(client, vera=["view"]) as console:
        batch = await client.batches.submit(written(tmp_path, "worker"), id="looked-at")
        await ended(client, batch.id)
        async with console.tab(batch_url(batch.id), who="vera") as tab:
            seen = await tab.count(".tell"), await tab.count(".stack")

    assert seen == (0, 1)


async def ended(client: Client, batch: str) -> None:
    await until(client.batches[batch].view, lambda view: view.state == "ended")
