"""Named queues over HTTP: seen, changed, held."""

from pathlib import Path
from typing import Any

import pytest

from activities.agents import Agent
from activities.providers.script import Script
from activities.queues.queue import Queue
from tests.conftest import Host
from tests.http.conftest import asking, bearer, calling, known
from tests.waiting import until

WORKER = Agent("worker", Script([{"text": "done"}]))
JOB = {"agent": "worker", "message": "go", "queue": "nightly"}


async def test_a_queue_is_seen_changed_held_and_let_go_on(host: Host) -> None:
    async with host(WORKER, queues=[Queue("nightly", concurrency=2, rate=6000)]) as client, calling(client) as ana:
        first = await ana.post("/jobs", JOB, 201)
        await client.job(first["job"]).outcome()

        async def view() -> Any:
            return await ana.get("/queues/nightly")

        before = await until(view, lambda seen: seen["running"] == 0)
        changed = await ana.patch("/queues/nightly", {"concurrency": 7}, 202)
        larger = await until(view, lambda seen: seen["concurrency"] == 7)
        paused = await ana.post("/queues/nightly/pause", expect=202)
        held = await ana.post("/jobs", JOB, 201)
        waits = await until(view, lambda seen: seen["queued"] == 1 and seen["hold"])
        job = await ana.get(f"/jobs/{held['job']}")
        listed = await ana.get("/queues")
        resumed = await ana.post("/queues/nightly/resume", expect=202)
        ended = await client.job(held["job"]).outcome()

    assert before == {
        "queue": "nightly", "concurrency": 2, "rate": 6000, "hold": None, "held": [],
        "queued": 0, "running": 0, "waiting": 0,
    }  # fmt: skip
    assert (changed, larger["rate"]) == ({"queue": "nightly"}, 6000)
    assert (paused, resumed) == ({"queue": "nightly"}, {"queue": "nightly"})
    assert (waits["hold"], job["state"], job["queue"]) == ("paused by ana", "queued", "nightly")
    assert [each["hold"] for each in listed["queues"] if each["queue"] == "nightly"] == ["paused by ana"]
    assert ended.status == "complete"


@pytest.mark.parametrize(
    ("sent", "told"),
    [
        ({}, "nothing to change in queue nightly: give a concurrency, a rate, or both"),
        ({"concurrency": 0}, "concurrency: it has to be 1 or more"),
        ({"rate": -1}, "rate: it has to be 0 or more"),
        ({"concurrency": 1001}, "concurrency: it has to be 1000 or less"),
        ({"concurrency": 5, "by": "bo"}, "by: "),
    ],
)
async def test_numbers_that_no_queue_can_have_are_refused(host: Host, sent: dict[str, Any], told: str) -> None:
    async with host() as client, calling(client) as ana:
        answer = await ana.patch("/queues/nightly", sent, 422)

    assert told in answer["detail"]


async def test_a_queue_that_no_job_was_started_in_is_a_problem_of_its_own(host: Host) -> None:
    async with host() as client, calling(client) as ana:
        shown = await ana.get("/queues/daily", 404)
        paused = await ana.post("/queues/daily/pause", {"reason": "night"}, 404)
        changed = await ana.patch("/queues/daily", {"rate": 0}, 404)

    assert {shown["type"], paused["type"], changed["type"]} == {"urn:surefoot:problem:no-such-queue"}
    assert "no job was started in a queue 'daily' yet" in shown["detail"]
    assert "surefoot queue list" not in shown["detail"]


async def test_who_may_only_look_changes_no_queue(host: Host, tmp_path: Path) -> None:
    access, tokens = known(tmp_path, eve=["view"])
    async with host() as client, asking(client, access) as asked:
        headers = bearer(tokens["eve"])
        listed = await asked.get("/api/v1/queues", headers=headers)
        changed = await asked.patch("/api/v1/queues/nightly", json={"concurrency": 1}, headers=headers)
        held = await asked.post("/api/v1/queues/nightly/pause", headers=headers)

    assert (listed.status_code, changed.status_code, held.status_code) == (200, 403, 403)
