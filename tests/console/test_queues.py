"""Named queues in the browser: how they stand, what a person changes, and jobs that wait in one."""

import json
from pathlib import Path

from activities.agents import Agent
from activities.providers.script import Script
from activities.queues.queue import Queue
from surefoot.console.rendering import job_url, queue_url
from surefoot.http.access import Access
from tests.conftest import Host
from tests.console.conftest import PHONE, Serve
from tests.console.desk import HOSTILE
from tests.http.conftest import asking, bearer, known
from tests.waiting import until

WORKER = Agent("worker", Script([{"text": "done"}]))
NIGHTLY = Queue("nightly", concurrency=2, rate=6000)


async def test_a_queue_is_held_changed_and_let_go_on_from_its_page(host: Host, serve: Serve) -> None:
    async with host(WORKER, queues=[NIGHTLY]) as client, serve(client) as console:
        await (await client.start("worker", "go", queue="nightly")).outcome()
        async with console.tab("/queues") as tab:
            await tab.says("2 at a time, 6\u202f000 a minute")
            await tab.page.click("text=nightly")
            await tab.page.click("summary:text-is('Pause…')")
            await tab.page.fill("input[name=reason]", HOSTILE)
            await tab.page.click("button:text-is('Pause')")
            await tab.says("Held: <script>", ".summary")
            job = await client.start("worker", "go", queue="nightly", id="waits")
            await tab.counts(".sums a", 1)
            await tab.page.fill("input[name=concurrency]", "7")
            await tab.page.fill("input[name=rate]", "")
            await tab.page.click("button:text-is('Set')")
            await tab.says("7 jobs at a time", ".summary")
            numbers = await tab.text(".summary")
            await tab.page.click("a[href*='state=queued']")
            listed = await tab.text(".jobs tbody")
            await tab.page.click("text=waits")
            await tab.says("It waits for its place in the queue nightly, and has not begun.")
            pwned = await tab.page.evaluate("window.pwned")
            await tab.page.click(".lede a")
            await tab.page.click("button:text-is('Resume')")
            ended = await job.outcome()
            await tab.says("open", ".summary")

    assert "no rate" in numbers
    assert ("waits" in listed, "queued in nightly" in " ".join(listed.split())) == (True, True)
    assert (pwned, ended.status) == (None, "complete")


async def test_a_batch_says_how_many_of_its_jobs_wait_in_a_queue_and_the_queue_which_batch_is_held(
    host: Host, serve: Serve, tmp_path: Path
) -> None:
    file = tmp_path / "jobs.jsonl"
    file.write_text("".join(f"{json.dumps({'custom_id': f'id-{n}', 'input': 'go'})}\n" for n in range(3)))
    async with host(WORKER, queues=[NIGHTLY]) as client, serve(client) as console:
        await (await client.start("worker", "go", queue="nightly")).outcome()
        await client.queues["nightly"].pause(by="ann")
        await until(client.queues["nightly"].view, lambda view: view.hold is not None)
        async with console.tab("/new-batch") as tab:
            await tab.page.set_input_files("#file", file)
            await tab.page.fill("#agent", "worker")
            await tab.page.fill("#queue", "nightly")
            await tab.page.fill("#concurrency", "2")
            await tab.page.click("text=Check and start")
            await tab.says("Of the queued ones 2 jobs wait in the queue nightly.", ".panel")
            stands = " ".join((await tab.text(".stands")).split())
            await tab.page.click("button:text-is('Pause')")
            await tab.says("Held: paused by ann", ".summary")
            await tab.page.click(".summary a[href^='/queues']")
            await tab.says("Held batches, whose jobs are passed over: batch-", ".summary")
            await tab.page.click(".summary a[href^='/batches']")
            await tab.page.click("button:text-is('Resume')")
            await client.queues["nightly"].resume(by="ann")
            await tab.says("ended", ".summary .state")

    assert "queued 3" in stands


async def test_a_new_job_may_begin_in_a_queue(host: Host, serve: Serve) -> None:
    async with host(WORKER, queues=[NIGHTLY]) as client, serve(client) as console, console.tab("/new") as tab:
        await tab.page.fill("#agent", "worker")
        await tab.page.fill("#message", "go")
        await tab.page.fill("#queue", "nightly")
        await tab.page.click("text=Start >> nth=-1")
        await tab.says("complete", ".summary .state")
        said = await tab.text(".meta")

    assert "queue nightly" in " ".join(said.split())


async def test_pages_of_queues_fit_a_phone(host: Host, serve: Serve) -> None:
    async with host(WORKER, queues=[NIGHTLY]) as client, serve(client) as console:
        job = await client.start("worker", "go", queue="nightly")
        await job.outcome()
        wide = []
        async with console.tab(viewport=PHONE) as tab:
            for path in ("/queues", queue_url("nightly"), job_url(job.id), "/new", "/schedules"):
                await tab.open(path)
                wide.append(await tab.page.evaluate("document.documentElement.scrollWidth - innerWidth"))

    assert wide == [0, 0, 0, 0, 0]


async def test_who_may_only_look_sees_queues_and_no_buttons(host: Host, tmp_path: Path) -> None:
    access, tokens = known(tmp_path, eve=["view"])
    async with host(WORKER, queues=[NIGHTLY]) as client, asking(client, access) as asked:
        await (await client.start("worker", "go", queue="nightly")).outcome()
        headers = bearer(tokens["eve"])
        seen = await asked.get("/queues/nightly", headers=headers)
        told = await asked.post("/queue-words/pause?queue=nightly", headers=headers)
        view = await client.queues["nightly"].view()

    assert (seen.status_code, "2 jobs at a time" in seen.text, "-words/" in seen.text) == (200, True, False)
    assert (told.status_code, view.hold) == (403, None)


async def test_numbers_and_words_that_no_queue_takes_are_refused_on_a_page(host: Host) -> None:
    async with host(WORKER, queues=[NIGHTLY]) as client, asking(client, Access.open("ann", [])) as asked:
        wrong = await asked.post("/queue-words/set?queue=nightly", data={"concurrency": "0"})
        unknown = await asked.post("/queue-words/close?queue=nightly")
        missing = await asked.get(queue_url("daily"))

    assert (wrong.status_code, "it has to be 1 or more" in wrong.text) == (422, True)
    assert (unknown.status_code, "a queue can&#39;t be told &#39;close&#39;" in unknown.text) == (404, True)
    assert (missing.status_code, "no job was started in a queue" in missing.text) == (404, True)
