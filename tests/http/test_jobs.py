"""Jobs over HTTP: started once, found, looked at, told things, ended."""

import asyncio
import uuid
from datetime import timedelta
from pathlib import Path
from urllib.parse import quote

import pytest
from temporalio.client import Client as Temporal

from activities.artifacts import Artifacts
from surefoot.client import Client
from surefoot.http.access import Access
from tests.conftest import Host
from tests.http.conftest import Caller, asking, calling
from tests.waiting import until
from tests.workflows.gated import Ledger, call, ended, started, writer


def fresh(name: str = "w") -> str:
    return f"{name}-{uuid.uuid4().hex[:8]}"


async def state_of(caller: Caller, job: str, state: str) -> dict[str, object]:
    async def view() -> dict[str, object]:
        found: dict[str, object] = await caller.get(f"/jobs/{quote(job, safe='')}")
        return found

    return await until(view, lambda view: view["state"] == state)


async def test_a_job_is_started_by_the_person_who_asks_and_shown(host: Host) -> None:
    agent = fresh()
    async with host(writer(agent, tools=[])) as client, calling(client) as ana:
        started = await ana.post(
            "/jobs",
            {"agent": agent, "message": "go", "tenant": "acme", "tags": ["red"], "limits": {"rounds": 3}},
            201,
        )
        view = await state_of(ana, started["job"], "ended")

    assert started["job"].startswith(agent)
    assert (view["by"], view["tenant"], view["tags"]) == ("ana", "acme", ["red"])
    assert isinstance(view["limits"], dict)
    assert (view["limits"]["rounds"], view["limits"]["tool_calls"]) == (3, 30)
    assert isinstance(view["outcome"], dict)
    assert view["outcome"]["answer"] == "done"


async def test_the_same_idempotency_key_is_the_same_job_whoever_sends_it(host: Host) -> None:
    agent, key = fresh(), {"Idempotency-Key": "order-17"}
    body = {"agent": agent, "message": "go", "tags": ["a"]}
    async with host(writer(agent, tools=[])) as client, calling(client) as ana, calling(client, "bob") as bob:
        first = await ana.post("/jobs", body, 201, key)
        again = await bob.post("/jobs", body, 201, key)
        other_agent = fresh()
        other = await ana.post("/jobs", {**body, "agent": other_agent}, 201, key)
        without = await ana.post("/jobs", body, 201)
        await client.job(other["job"]).cancel()

    assert first == again
    assert len({first["job"], other["job"], without["job"]}) == 3


@pytest.mark.parametrize(
    "change",
    [
        {"message": "stop"},
        {"limits": {"rounds": 1}},
        {"model": "scripted:x"},
        {"tenant": "b"},
        {"delay_seconds": 1},
    ],
)
async def test_the_same_key_with_other_content_is_refused(host: Host, change: dict[str, object]) -> None:
    agent, key = fresh(), {"Idempotency-Key": "k"}
    async with host(writer(agent, tools=[])) as client, calling(client) as ana:
        await ana.post("/jobs", {"agent": agent, "message": "go"}, 201, key)
        refused = await ana.post("/jobs", {"agent": agent, "message": "go", **change}, 409, key)

    assert refused["type"] == "urn:surefoot:problem:job-conflict"


@pytest.mark.parametrize(
    "body",
    [
        {"agent": "a", "message": "m", "by": "the boss"},
        {"agent": "a", "message": "m", "roles": ["admin"]},
        {"agent": "a", "message": "m", "limits": {"rounds": -1}},
        {"agent": "a", "message": "m", "limits": {"round": 1}},
        {"agent": "a", "message": ""},
        {"agent": "", "message": "m"},
        {"agent": "a\n", "message": "m"},
        {"agent": "a", "message": None},
        {"agent": "a", "message": "m", "tags": "red"},
        {"agent": "a", "message": "m", "delay_seconds": -1},
        [],
        None,
    ],
)
async def test_what_is_not_asked_for_is_refused_field_by_field(nobody: Client, body: object) -> None:
    async with calling(nobody) as ana:
        refused = await ana.post("/jobs", body, 422)

    assert refused["type"] == "urn:surefoot:problem:invalid-request"
    assert refused["faults"] != []


async def test_numbers_that_json_does_not_have_are_refused(nobody: Client) -> None:
    async with asking(nobody, Access.open("me", [])) as asked:
        answers = [
            await asked.post(
                "/api/v1/jobs",
                content=f'{{"agent": "a", "message": "m", "limits": {{"seconds": {number}}}}}',
                headers={"Content-Type": "application/json"},
            )
            for number in ("NaN", "Infinity", "-Infinity", "1e999")
        ]

    assert [answer.status_code for answer in answers] == [422] * 4


async def test_a_job_may_be_called_anything(host: Host) -> None:
    agent = fresh()
    async with host(writer(agent, tools=[])) as client, calling(client) as ana:
        for name in (f"{agent}/a", f"{agent}%2Fa", f"{agent} ä?#&", f"../{agent}", f"{agent}/transcript"):
            started = await ana.post("/jobs", {"agent": agent, "message": "go", "id": name}, 201)
            view = await state_of(ana, name, "ended")
            said = await ana.get(f"/jobs/{quote(name, safe='')}/transcript")

            assert (started["job"], view["job"]) == (name, name)
            assert said["entries"][0]["entry"]["text"] == "go"


async def test_jobs_are_listed_by_what_they_are_page_by_page(host: Host) -> None:
    agent = fresh()
    async with host(writer(agent, tools=[])) as client, calling(client) as ana:
        jobs = [
            (await ana.post("/jobs", {"agent": agent, "message": "go", "tags": [f"t{n % 2}"]}, 201))["job"]
            for n in range(5)
        ]
        for job in jobs:
            await state_of(ana, job, "ended")
        await until(lambda: ana.get("/jobs", agent=agent, state="ended"), lambda page: len(page["jobs"]) == 5)
        first = await ana.get("/jobs", agent=agent, limit=2)
        second = await ana.get("/jobs", agent=agent, limit=2, cursor=first["next"])
        third = await ana.get("/jobs", agent=agent, limit=2, cursor=second["next"])
        tagged = await ana.get("/jobs", agent=agent, tag="t1")
        nothing = await ana.get("/jobs", agent=agent, status="cancelled")
        other = await ana.get("/jobs", 422, agent=agent, tag="t1", cursor=first["next"])

    listed = [row["job"] for page in (first, second, third) for row in page["jobs"]]
    assert sorted(listed) == sorted(jobs)
    assert [len(page["jobs"]) for page in (first, second, third)] == [2, 2, 1]
    assert third["next"] is None
    assert sorted(row["job"] for row in tagged["jobs"]) == sorted(jobs[1::2])
    assert nothing == {"jobs": [], "next": None}
    assert other["type"] == "urn:surefoot:problem:wrong-value"


async def test_a_job_with_several_runs_is_on_one_page_only(host: Host) -> None:
    agent, odd = fresh(), fresh("it's")
    async with host(writer(agent, tools=[])) as client, calling(client) as ana:
        for name in (fresh("plain"), odd):
            job = await client.start(agent, "0", id=name)
            await ended(job)
            for number in range(3):
                await client.reply(job.id, str(number))
                await ended(job)

        async def listed() -> list[str]:
            page = await ana.get("/jobs", agent=agent, limit=1)
            rows = page["jobs"]
            while page["next"]:
                page = await ana.get("/jobs", agent=agent, limit=1, cursor=page["next"])
                rows += page["jobs"]
            return [row["job"] for row in rows]

        seen = await until(listed, lambda jobs: len(jobs) == 2)

    assert set(seen) == {odd, *(name for name in seen if name.startswith("plain"))}


@pytest.mark.parametrize(
    "query", [{"cursor": "x"}, {"cursor": "é"}, {"cursor": "AAAA" * 9}, {"limit": 0}, {"state": "lost"}, {"agnet": "a"}]
)
async def test_a_list_that_nobody_can_make_is_refused(nobody: Client, query: dict[str, object]) -> None:
    async with calling(nobody) as ana:
        await ana.get("/jobs", 422, **query)


async def test_what_is_not_there_is_said(host: Host) -> None:
    async with host(writer("w", tools=[])) as client, calling(client) as ana:
        for path in ("/jobs/none", "/jobs/none/transcript", "/jobs/none/events", "/jobs/none/calls/c"):
            assert (await ana.get(path, 404))["type"] == "urn:surefoot:problem:no-such-job"
        for path in ("pause", "resume", "stop", "cancel"):
            assert (await ana.post(f"/jobs/none/{path}", expect=404))["type"] == "urn:surefoot:problem:no-such-job"
        assert (await ana.get("/nothing", 404))["title"] == "Not Found"


async def test_a_running_job_is_told_things_and_stopped_in_the_persons_name(host: Host) -> None:
    agent, ledger = fresh(), Ledger()
    async with host(writer(agent, [call("save", key="a")], tools=[ledger.tool()])) as client, calling(client) as ana:
        job, _ = await started(client, agent)
        path = f"/jobs/{job.id}"
        for _ in range(2):
            await ana.post(f"{path}/steer", {"message": "hurry"}, 202, {"Idempotency-Key": "s-1"})
        await ana.post(f"{path}/pause", expect=202)
        await state_of(ana, job.id, "paused")
        await ana.post(f"{path}/resume", expect=202)
        await state_of(ana, job.id, "waiting")
        refused = await ana.post(f"{path}/reply", {"message": "again"}, 409)
        await ana.post(f"{path}/cancel", expect=202)
        await state_of(ana, job.id, "ended")
        late = await ana.post(f"{path}/steer", {"message": "too late"}, 409)
        log = await ana.get(f"{path}/audit")
        replied = await ana.post(f"{path}/reply", {"message": "again"}, 202)
        await client.job(job.id).cancel()

    assert refused["type"] == "urn:surefoot:problem:job-running"
    assert late["type"] == "urn:surefoot:problem:job-ended"
    deeds = [(each["entry"]["deed"], each["entry"]["by"]) for each in log["entries"]]
    assert deeds == [("steered", "ana"), ("paused", "ana"), ("resumed", "ana"), ("cancelled", "ana")]
    assert replied == {"job": job.id}
    assert ledger.written == []


async def test_a_reply_that_is_sent_again_with_its_key_is_made_once(host: Host) -> None:
    agent, key = fresh(), {"Idempotency-Key": "r-1"}
    async with host(writer(agent, tools=[])) as client, calling(client) as ana:
        job = await client.start(agent, "go")
        await ended(job)
        path = f"/jobs/{job.id}/reply"
        at_once = await asyncio.gather(*(ana.post(path, {"message": "more"}, 202, key) for _ in range(3)))
        await ended(job)
        late = await ana.post(path, {"message": "more"}, 202, key)
        other = await ana.post(path, {"message": "something else"}, 409, key)
        await ana.post(path, {"message": "more"}, 202, {"Idempotency-Key": "r-2"})
        await ended(job)
        said = [entry.text for entry in await job.transcript() if entry.kind == "message"]

    assert [*at_once, late] == [{"job": job.id}] * 4
    assert other["type"] == "urn:surefoot:problem:job-conflict"
    assert said == ["go", "more", "more"]


async def test_a_job_is_forked_behind_a_round(host: Host) -> None:
    agent, ledger = fresh(), Ledger()
    save = ledger.tool(policy="allow")
    async with host(writer(agent, [call("save", key="a")], tools=[save])) as client, calling(client) as ana:
        job = await client.start(agent, "go")
        await ended(job)
        new = await ana.post(f"/jobs/{job.id}/fork", {"round": 1}, 201)
        view = await state_of(ana, new["job"], "ended")
        missing = await ana.post(f"/jobs/{job.id}/fork", {"round": 9}, 404)

    assert (view["by"], view["agent"]) == ("ana", agent)
    assert ledger.written == ["save a"]
    assert missing["type"] == "urn:surefoot:problem:no-such-round"


async def test_a_fork_that_is_sent_again_with_its_key_is_made_once(host: Host) -> None:
    agent, key = fresh(), {"Idempotency-Key": "f-1"}
    save = Ledger().tool(policy="allow")
    async with host(writer(agent, [call("save", key="a")], tools=[save])) as client, calling(client) as ana:
        job = await client.start(agent, "go")
        await ended(job)
        path = f"/jobs/{job.id}/fork"
        at_once = await asyncio.gather(*(ana.post(path, {"round": 1}, 201, key) for _ in range(3)))
        late = await ana.post(path, {"round": 1}, 201, key)
        other = await ana.post(path, {"round": 1, "message": "more"}, 409, key)
        another = await ana.post(path, {"round": 1}, 201, {"Idempotency-Key": "f-2"})
        both = await ana.post(path, {"round": 1, "id": "x"}, 422, key)
        for new in (late, another):
            await ended(client.job(new["job"]))

    assert [each["job"] for each in at_once] == [late["job"]] * 3
    assert another["job"] != late["job"]
    assert (other["type"], both["type"]) == (
        "urn:surefoot:problem:job-conflict",
        "urn:surefoot:problem:invalid-request",
    )
    assert other["detail"].startswith("another request was sent with this idempotency key")


async def test_problems_speak_of_the_api_and_of_no_command_line(host: Host) -> None:
    agent, key = fresh(), {"Idempotency-Key": "k"}
    save = Ledger().tool()
    async with host(writer(agent, [call("save", key="a")], tools=[save])) as client, calling(client) as ana:
        job, _ = await started(client, agent)
        await ana.post("/jobs", {"agent": agent, "message": "go"}, 201, key)
        taken = await ana.post("/jobs", {"agent": agent, "message": "else"}, 409, key)
        named = await ana.post("/jobs", {"agent": agent, "message": "else", "id": job.id}, 409)
        running = await ana.post(f"/jobs/{job.id}/reply", {"message": "more"}, 409)
        missing = await ana.get("/jobs/nowhere", 404)
        await job.cancel(by="ana")
        await ended(job)
        over = await ana.post(f"/jobs/{job.id}/steer", {"message": "more"}, 409)
    quick = Client(client.temporal, task_queue=client.task_queue, answer_within=timedelta(seconds=1))
    async with calling(quick) as ana:
        (left,) = [row.job for row in await client.jobs(agent=agent) if row.state != "ended"]
        silent = await ana.get(f"/jobs/{left}", 503)
        await client.job(left).handle().terminate()

    texts = [each["detail"] for each in (taken, named, running, missing, over, silent)]
    assert [text for text in texts if "surefoot " in text or "--" in text] == []
    assert "choose another key" in texts[0]
    assert texts[2:5] == [
        f"job {job.id} has not ended; steering reaches it",
        "there is no job 'nowhere' on this server (or its retention is over)",
        f"job {job.id} has ended; a reply goes on with it",
    ]


async def test_the_transcript_and_the_audit_are_read_page_by_page(host: Host) -> None:
    agent, ledger = fresh(), Ledger()
    rounds = [[call("save", key=str(n))] for n in range(3)]
    async with host(writer(agent, *rounds, tools=[ledger.tool(policy="allow")])) as client, calling(client) as ana:
        job = await client.start(agent, "go")
        await ended(job)
        whole = [entry.model_dump(mode="json") for entry in await job.transcript()]
        seen, start = [], 0
        while start is not None:
            page = await ana.get(f"/jobs/{job.id}/transcript", start=start, limit=2)
            seen += page["entries"]
            start = page["next"]
        behind = await ana.get(f"/jobs/{job.id}/transcript", start=500)

    assert [each["entry"] for each in seen] == whole
    assert [each["number"] for each in seen] == sorted({each["number"] for each in seen})
    assert behind == {"entries": [], "next": None}


async def test_a_whole_output_is_fetched_by_job_and_call_alone(host: Host, tmp_path: Path) -> None:
    agent, ledger = fresh(), Ledger()
    async with host(
        writer(agent, [call("save", key="<script>x</script>" * 4000)], tools=[ledger.tool(policy="allow")])
    ) as client:
        job = await client.start(agent, "go")
        await ended(job)
        (result,) = [entry for entry in await job.transcript() if entry.kind == "result"]
        async with asking(client, Access.open("me", []), artifacts=Artifacts(tmp_path / "artifacts")) as asked:
            path = f"/api/v1/jobs/{job.id}/calls"
            found = await asked.get(f"{path}/{result.call}/output")
            missing = await asked.get(f"{path}/..%2F..%2Fetc%2Fpasswd/output")

    assert result.artifact is not None
    assert found.text == "save " + "<script>x</script>" * 4000 + " done"
    assert found.headers["content-type"].startswith("text/plain")
    assert found.headers["x-content-type-options"] == "nosniff"
    assert missing.status_code == 404


async def test_a_workflow_that_is_no_job_is_neither_seen_nor_touched(host: Host, temporal: Temporal) -> None:
    foreign = await temporal.start_workflow("Payroll", "the salaries", id=fresh("payroll"), task_queue=fresh("theirs"))
    path = f"/jobs/{foreign.id}"
    try:
        async with host(writer(fresh(), tools=[])) as client, calling(client) as ana:
            for what in ("pause", "resume", "stop", "cancel"):
                await ana.post(f"{path}/{what}", expect=404)
            await ana.post(f"{path}/steer", {"message": "x"}, expect=404)
            await ana.post(f"{path}/reply", {"message": "x"}, expect=404)
            await ana.post(f"{path}/fork", {"round": 1}, expect=404)
            await ana.post(f"{path}/calls/c/decision", {"choice": "deny", "digest": "d"}, expect=404)
            await ana.post(f"{path}/calls/c/resolution", {"choice": "give_up"}, expect=404)
            for what in ("", "/transcript", "/audit", "/events", "/calls/c", "/calls/c/output"):
                await ana.get(f"{path}{what}", expect=404)
        history = await foreign.fetch_history()
    finally:
        await foreign.terminate("the test is over")

    kinds = {event.WhichOneof("attributes") for event in history.events}
    assert kinds == {"workflow_execution_started_event_attributes", "workflow_task_scheduled_event_attributes"}
