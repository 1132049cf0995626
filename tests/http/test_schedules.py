"""Schedules over HTTP."""

from typing import Any

from activities.agents import Agent
from activities.providers.script import Script
from tests.conftest import Host
from tests.http.conftest import calling
from tests.waiting import until

WORKER = Agent("worker", Script([{"text": "done"}]))
DAILY = {"agent": "worker", "message": "go", "cron": ["0 6 * * *"], "timezone": "Europe/Berlin"}


async def test_a_schedule_is_made_fired_held_and_deleted(host: Host) -> None:
    async with host(WORKER) as client, calling(client) as ana:
        made = await ana.post("/schedules", {"id": "web/daily", **DAILY, "tenant": "acme"}, 201)
        path = "/schedules/web%2Fdaily"
        await ana.post(f"{path}/trigger", expect=202)

        async def view() -> Any:
            return await ana.get(path)

        fired = await until(view, lambda view: bool(view["recent"]))
        job = await client.job(fired["recent"][0]["job"]).view()
        held = await ana.post(f"{path}/pause", {"reason": "holidays"}, 202)
        again = await ana.post(f"{path}/resume", expect=202)
        deleted = await ana.asked.delete(f"/api/v1{path}")
        gone = await ana.get(path, 404)

        assert (made["schedule"], made["by"], made["tenant"], made["paused"]) == ("web/daily", "ana", "acme", False)
        assert (job.by, job.tenant) == ("ana", "acme")
        assert (held["paused"], held["note"], again["paused"]) == (True, "holidays", False)
        assert (deleted.status_code, gone["type"]) == (204, "urn:surefoot:problem:no-such-schedule")


async def test_what_a_schedule_can_not_be_is_a_problem_that_says_so(host: Host) -> None:
    async with host(WORKER) as client, calling(client) as ana:
        await ana.post("/schedules", {"id": "taken", **DAILY}, 201)
        bad = await ana.post("/schedules", {"id": "bad", **DAILY, "cron": ["61 * * * *"]}, 422)
        other = await ana.post("/schedules", {"id": "taken", **DAILY, "message": "stop"}, 409)
        unknown = await ana.post("/schedules", {"id": "x", **DAILY, "by": "bo"}, 422)

        assert (bad["type"], "Minute is not in range" in bad["detail"]) == ("urn:surefoot:problem:wrong-value", True)
        assert other["type"] == "urn:surefoot:problem:schedule-conflict"
        assert unknown["type"] == "urn:surefoot:problem:invalid-request"


async def test_a_schedule_is_changed_field_by_field_and_null_takes_one_away(host: Host) -> None:
    async with host(WORKER) as client, calling(client) as ana, calling(client, "bo") as bo:
        made = {"id": "patched", **DAILY, "jitter_seconds": 60, "tenant": "acme", "limits": {"rounds": 3}}
        await ana.post("/schedules", made, 201)
        sent = {"cron": ["0 7 * * *"], "timezone": None, "limits": {"tool_calls": 5}, "queue": "nightly", "weight": 2}
        changed = await bo.patch("/schedules/patched", sent)
        shown = await ana.get("/schedules/patched")

        assert shown["terms"] == changed["terms"]
        assert (changed["terms"]["cron"], changed["terms"]["timezone"]) == (["0 7 * * *"], None)
        assert changed["terms"]["jitter"] == "PT1M"
        assert {name: changed["limits"][name] for name in ("rounds", "tool_calls")} == {"rounds": 3, "tool_calls": 5}
        assert (changed["by"], changed["tenant"], changed["queue"], changed["weight"]) == ("bo", "acme", "nightly", 2)
        assert (changed["agent"], changed["message"], changed["note"]) == ("worker", "go", "changed by bo")


async def test_a_change_that_no_schedule_can_have_is_a_problem_and_changes_nothing(host: Host) -> None:
    async with host(WORKER) as client, calling(client) as ana:
        before = await ana.post("/schedules", {"id": "unchanged", **DAILY}, 201)
        path = "/schedules/unchanged"
        bad = [
            await ana.patch(path, sent, 422)
            for sent in ({"cron": ["61 * * * *"]}, {"cron": None}, {}, {"message": None}, {"by": "bo"}, {"id": "other"})
        ]
        gone = await ana.patch("/schedules/nothing", {"message": "stop"}, 404)
        after = await ana.get(path)

        wrong, invalid = "urn:surefoot:problem:wrong-value", "urn:surefoot:problem:invalid-request"
        assert [each["type"] for each in bad] == [wrong, wrong, wrong, invalid, invalid, invalid]
        assert gone["type"] == "urn:surefoot:problem:no-such-schedule"
        assert after == before
