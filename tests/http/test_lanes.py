"""Lanes over HTTP: seen, held, let go on."""

from pathlib import Path
from urllib.parse import quote

import pytest

from activities.agents import Agent
from activities.providers.script import Script
from surefoot.batches.submitting import submit
from tests.batch_apis import stand_in
from tests.batches.lanes import TERMS, ended, running
from tests.conftest import Host
from tests.http.conftest import asking, bearer, calling, known
from tests.waiting import until
from workflows.batches.contracts import BatchLine, BatchOrder


async def test_a_lane_is_seen_held_and_let_go_on(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    async with stand_in("openai") as server:
        for name, value in server.settings.items():
            monkeypatch.setenv(name, value)
        terms = TERMS.model_copy(update={"quiet": 2.0})
        async with running(host, server, Agent("worker", server.model), terms=terms) as run, calling(run.client) as ana:
            none = await ana.get("/lanes")
            batch = await run.submit("over-http", 2)
            await until(run.lane, lambda lane: len(lane.lines) == 2)
            (id,) = await run.ids("Lane")
            at = f"/lanes/{quote(id, safe='')}"
            paused = await ana.post(f"{at}/pause", {"reason": "prices change"}, 202)
            (held,) = (await until(lambda: ana.get("/lanes"), lambda seen: seen["lanes"][0]["hold"]))["lanes"]
            resumed = await ana.post(f"{at}/resume", expect=202)
            await ended(batch)
            (after,) = (await until(lambda: ana.get("/lanes"), lambda seen: not seen["lanes"][0]["sent"]))["lanes"]

    assert none == {"lanes": []}
    assert (paused, resumed) == ({"lane": id}, {"lane": id})
    assert (held["lane"], held["waiting"], held["hold"], held["hold_until"]) == (id, 2, "prices change", None)
    assert (after["hold"], after["waiting"], after["books"]["answered"]) == (None, 0, 2)


async def test_what_is_no_lane_is_not_told_the_word_of_one(host: Host) -> None:
    async with host(Agent("w", Script([{"text": "done"}]))) as client, calling(client) as ana:
        lines = [BatchLine(number=n, custom_id=f"id-{n}", input="go") for n in (1, 2)]
        await submit(client.temporal, client.task_queue, lines, BatchOrder(agent="w"), id="no-lane", digest="x")
        of_batch = await ana.post("/lanes/no-lane/pause", {"reason": "night"}, 404)
        missing = await ana.post("/lanes/lane%2Fnone/resume", expect=404)
        await client.batches["no-lane"].handle().result()
        view = await client.batches["no-lane"].view()

    assert {of_batch["type"], missing["type"]} == {"urn:surefoot:problem:no-such-lane"}
    assert "there is no lane lane/none" in missing["detail"]
    assert (view.done, view.hold) == (2, None)


async def test_who_may_only_look_changes_no_lane(host: Host, tmp_path: Path) -> None:
    access, tokens = known(tmp_path, eve=["view"])
    async with host() as client, asking(client, access) as asked:
        headers = bearer(tokens["eve"])
        listed = await asked.get("/api/v1/lanes", headers=headers)
        held = await asked.post("/api/v1/lanes/l/pause", headers=headers)
        resumed = await asked.post("/api/v1/lanes/l/resume", headers=headers)
        page = await asked.get("/lanes", headers=headers)
        told = await asked.post("/lane-words/pause?lane=l", headers=headers)

    assert (listed.status_code, held.status_code, resumed.status_code) == (200, 403, 403)
    assert (page.status_code, "No lanes yet" in page.text, told.status_code) == (200, True, 403)
