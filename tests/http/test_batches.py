"""Batches over HTTP: a file is sent and checked, its jobs run, and their results are read."""

import gzip
import json
import uuid
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from httpx2 import AsyncClient, Response

from activities.agents import Agent
from activities.providers.script import Script
from activities.queues.queue import Queue
from activities.tools.tool import tool
from surefoot.client import Client
from surefoot.http.access import Access
from surefoot.http.uploads import Uploads
from tests.conftest import Host
from tests.http.conftest import Caller, asking, bearer, calling, known
from tests.http.test_serving import connected, served
from tests.waiting import until

URL = "/api/v1/batches"
JSONL = {"Content-Type": "application/jsonl"}
WORKER = Agent("worker", Script([{"text": "done"}]))


def file(count: int, **more: object) -> bytes:
    lines = [{"custom_id": f"id-{n}", "input": f"say {n}", **more} for n in range(1, count + 1)]
    return "".join(f"{json.dumps(line)}\n" for line in lines).encode()


def fresh() -> str:
    return f"b-{uuid.uuid4().hex[:8]}"


async def send(asked: AsyncClient, body: bytes, headers: dict[str, str] | None = None, **query: Any) -> Response:
    return await asked.post(URL, content=body, headers={**JSONL, **(headers or {})}, params=query)


async def submitted(caller: Caller, body: bytes, **query: Any) -> dict[str, Any]:
    answer = await send(caller.asked, body, **{"agent": "worker", **query})
    assert answer.status_code == 201, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def stands(caller: Caller, batch: str, state: str) -> dict[str, Any]:
    async def view() -> dict[str, Any]:
        found: dict[str, Any] = await caller.get(f"/batches/{batch}")
        return found

    return await until(view, lambda view: view["state"] == state)


async def rows(caller: Caller, batch: str, **query: Any) -> list[dict[str, Any]]:
    answer = await caller.asked.get(f"{URL}/{batch}/results", params=query)
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/jsonl"), answer.text
    return [json.loads(line) for line in answer.text.splitlines()]


async def test_a_file_becomes_a_batch_whose_results_come_in_its_order(host: Host) -> None:
    async with host(WORKER) as client, calling(client) as ana:
        made = await submitted(ana, file(3, metadata={"n": 1}), tenant="acme", tag=["red"], limit_rounds=2)
        view = await stands(ana, made["batch"], "ended")
        found = await rows(ana, made["batch"])
        listed = await ana.get("/batches", limit=200)
        jobs = (await ana.get("/jobs", batch=made["batch"], end="done"))["jobs"]
        job = await ana.get(f"/jobs/{made['batch']}-000002")

    assert made == {"batch": made["batch"], "lines": 3, "skipped": 0, "bad": []}
    assert (view["lines"], view["done"], view["tenant"], view["concurrency"]) == (3, 3, "acme", 20)
    assert [(row["custom_id"], row["answer"], row["metadata"]) for row in found] == [
        (f"id-{n}", "done", {"n": 1}) for n in (1, 2, 3)
    ]
    assert made["batch"] in [each["batch"] for each in listed["batches"]]
    assert {row["job"] for row in jobs} == {f"{made['batch']}-00000{n}" for n in (1, 2, 3)}
    assert job["batch"] == {"batch": made["batch"], "line": 2, "custom_id": "id-2"}
    assert (job["by"], job["tags"], job["limits"]["rounds"]) == ("ana", ["red"], 2)


async def test_batches_are_listed_page_by_page_each_once_also_one_that_ran_twice(host: Host) -> None:
    async with host(WORKER) as client, calling(client) as ana:
        made = [(await submitted(ana, file(1, metadata={"of": fresh()}), id=fresh()))["batch"] for _ in range(3)]
        for batch in made:
            await stands(ana, batch, "ended")
        await ana.post(f"/batches/{made[1]}/retry", {"custom_ids": ["id-1"]}, 202)
        await until(lambda: ana.get(f"/batches/{made[1]}"), lambda view: view["spent"]["jobs"] == 2)
        await stands(ana, made[1], "ended")

        async def listed() -> list[str]:
            page = await ana.get("/batches", limit=1)
            found = [each["batch"] for each in page["batches"]]
            while page["next"]:
                page = await ana.get("/batches", limit=1, cursor=page["next"])
                found += [each["batch"] for each in page["batches"]]
            return found

        seen = await until(listed, lambda found: set(made) <= set(found))
        refused = await ana.get("/batches", 422, cursor="nonsense")

    assert sorted(each for each in seen if each in made) == sorted(made)
    assert refused["type"] == "urn:surefoot:problem:wrong-value"


async def test_a_compressed_file_is_the_same_batch_as_the_file_itself(host: Host) -> None:
    async with host(WORKER) as client, calling(client) as ana:
        plain = await submitted(ana, file(2, metadata={"of": fresh()}))
        packed = await send(ana.asked, gzip.compress(file(2)), {"Content-Encoding": "gzip"}, agent="worker")
        first = await submitted(ana, file(2))
        await stands(ana, first["batch"], "ended")

    assert packed.status_code == 201
    assert packed.json()["batch"] == first["batch"] != plain["batch"]


async def test_lines_that_cannot_be_jobs_are_told_by_number_and_nothing_begins(host: Host) -> None:
    body = file(2) + b"{nonsense\n" + file(1)
    async with host(WORKER) as client, calling(client) as ana:
        refused = await send(ana.asked, body, agent="worker")
        made = await submitted(ana, body, skip_bad=True)
        view = await stands(ana, made["batch"], "ended")

    problem = refused.json()
    assert (refused.status_code, problem["type"]) == (422, "urn:surefoot:problem:bad-lines")
    assert problem["detail"].startswith("2 of 4 lines can't be jobs")
    assert [fault["where"] for fault in problem["faults"]] == ["line 3", "line 4"]
    assert "'id-1' stands in line 1 already" in problem["faults"][1]["what"]
    assert (made["lines"], made["skipped"]) == (2, 2)
    assert [fault["where"] for fault in made["bad"]] == ["line 3", "line 4"]
    assert view["done"] == 2


async def test_of_very_many_bad_lines_the_first_thousand_are_told(nobody: Client) -> None:
    async with asking(nobody, Access.open("me")) as asked:
        answer = await send(asked, b"x\n" * 1200, agent="worker")

    assert answer.status_code == 422
    assert len(answer.json()["faults"]) == 1000
    assert answer.json()["detail"].startswith("1,200 of 1,200 lines")


async def test_rows_of_a_csv_file_go_through_the_template(host: Host) -> None:
    body = b"custom_id,name\r\na,Ann\r\nb,Bob\r\n"
    async with host(WORKER) as client, calling(client) as ana:
        query = {"agent": "worker", "template": "Greet {name}.", "id": fresh()}
        made = await send(ana.asked, body, {"Content-Type": "text/csv"}, **query)
        await stands(ana, made.json()["batch"], "ended")
        found = await rows(ana, made.json()["batch"])
        without = await send(ana.asked, body, {"Content-Type": "text/csv"}, agent="worker")
        said = await ana.get(f"/jobs/{made.json()['batch']}-000001/transcript")

    assert [row["custom_id"] for row in found] == ["a", "b"]
    assert said["entries"][0]["entry"]["text"] == "Greet Ann."
    assert (without.status_code, without.json()["type"]) == (422, "urn:surefoot:problem:invalid-request")


async def test_the_same_idempotency_key_is_the_same_batch_and_no_other_file_s(host: Host) -> None:
    key = {"Idempotency-Key": fresh()}
    async with host(WORKER) as client, calling(client) as ana, calling(client, "bob") as bob:
        first = await send(ana.asked, file(2), key, agent="worker")
        again = await send(bob.asked, file(2), key, agent="worker")
        other = await send(ana.asked, file(3), key, agent="worker")
        both = await send(ana.asked, file(2), key, agent="worker", id="x")
        await stands(ana, first.json()["batch"], "ended")

    assert (first.status_code, again.status_code) == (201, 201)
    assert first.json() == again.json()
    assert (other.status_code, other.json()["type"]) == (409, "urn:surefoot:problem:job-conflict")
    assert both.status_code == 422


async def test_a_batch_is_paused_changed_resumed_given_up_and_tried_again(host: Host) -> None:
    @tool
    def pay() -> str:
        return "paid"

    agent = Agent("worker", Script([{"calls": [{"tool": "pay"}]}, {"text": "done"}]), tools=[pay])
    async with host(agent) as client, calling(client) as ana:
        batch = (await submitted(ana, file(3), id=fresh(), concurrency=2, budget_tokens=10_000))["batch"]
        await ana.post(f"/batches/{batch}/pause", {"reason": "lunch"}, 202)
        held = await stands(ana, batch, "held")
        await ana.post(f"/batches/{batch}/concurrency", {"concurrency": 7}, 202)
        await ana.post(f"/batches/{batch}/resume", {"budget_tokens": 20_000}, 202)
        waiting = await stands(ana, batch, "waiting")
        await ana.post(f"/batches/{batch}/cancel", {"running": "cancel"}, 202)
        ended = await stands(ana, batch, "ended")
        again = await ana.post(f"/batches/{batch}/retry", {"custom_ids": ["id-2"]}, 202)
        await until(lambda: ana.get(f"/batches/{batch}"), lambda view: view["waiting"] == 1)
        everything = await rows(ana, batch, all=True)
        late = await ana.post(f"/batches/{batch}/cancel", expect=202)
        await client.job(f"{batch}-000002-2").cancel()
        await stands(ana, batch, "ended")
        over = await ana.post(f"/batches/{batch}/pause", expect=409)

    assert (held["hold"], waiting["concurrency"], waiting["budget"]["tokens"]) == ("lunch", 7, 20_000)
    assert (waiting["waiting"], ended["incomplete"]) == (3, 3)
    assert again == {"batch": batch, "again": 1}
    assert [(row["state"], row["attempt"]) for row in everything] == [("ended", 1), ("waiting", 2), ("ended", 1)]
    assert late == {"batch": batch}
    assert over["type"] == "urn:surefoot:problem:batch-ended"


async def test_a_batch_s_events_tell_how_it_stands_until_it_has_ended(host: Host) -> None:
    async with host(WORKER) as client, calling(client) as ana:
        batch = (await submitted(ana, file(5), id=fresh()))["batch"]
        async with ana.asked.stream("GET", f"{URL}/{batch}/events") as stream:
            text = "".join([part async for part in stream.aiter_text()])

    events = [block.partition("\n")[0].removeprefix("event: ") for block in text.strip().split("\n\n")]
    last = json.loads(text.strip().rpartition("data: ")[2])
    assert stream.headers["content-type"].startswith("text/event-stream")
    assert (events[0], events[-1], set(events)) == ("batch", "end", {"batch", "end"})
    assert (last["done"], last["state"]) == (5, "ended")


@pytest.mark.parametrize("path", ["", "/results", "/events"])
async def test_no_such_batch_is_a_404_before_any_stream_begins(host: Host, path: str) -> None:
    async with host(WORKER) as client, calling(client) as ana:
        job = await client.start("worker", "go")
        nothing = await ana.get(f"/batches/nothing{path}", 404)
        no_batch = await ana.get(f"/batches/{job.id}{path}", 404)
        await job.outcome()

    assert nothing["type"] == no_batch["type"] == "urn:surefoot:problem:no-such-batch"


@pytest.mark.parametrize("id_", ["it's", 'a"b', "a\\b", "x" * 101])
async def test_an_id_that_lists_could_not_ask_for_is_refused(nobody: Client, id_: str) -> None:
    async with asking(nobody, Access.open("me")) as asked:
        answer = await send(asked, file(1), agent="worker", id=id_)

    assert answer.status_code == 422
    assert "printable characters" in answer.json()["detail"]


# --- what is sent


@pytest.mark.parametrize(
    ("kind", "status"), [("application/json", 415), ("multipart/form-data; boundary=x", 415), ("", 415)]
)
async def test_what_is_no_file_is_refused_with_the_word_for_one(nobody: Client, kind: str, status: int) -> None:
    async with asking(nobody, Access.open("me")) as asked:
        answer = await asked.post(URL, content=file(1), headers={"Content-Type": kind} if kind else {})

    assert (answer.status_code, answer.json()["type"]) == (status, "urn:surefoot:problem:no-file")
    assert "application/jsonl" in answer.json()["detail"]


@pytest.mark.parametrize(
    ("body", "encoding", "status", "text"),
    [
        (b" " * 2_000, None, 413, "the file has 2,000 bytes, and at most 1,000 are taken"),
        (gzip.compress(b" " * 2_000, mtime=0), "gzip", 413, "more than 1,000 bytes, unpacked"),
        (gzip.compress(file(5), mtime=0)[:-20], "gzip", 422, "the file can't be unpacked"),
        (b"no gzip", "gzip", 422, "the file can't be unpacked"),
        (file(1), "br", 415, "Content-Encoding 'br' is not known; gzip is"),
        (b"", None, 422, "there is no line that could be a job"),
    ],
)
async def test_a_file_that_is_too_large_or_damaged_is_refused(
    nobody: Client, body: bytes, encoding: str | None, status: int, text: str
) -> None:
    access = Access.open("me")
    async with asking(nobody, access) as asked:
        asked._transport.app.state.uploads = Uploads(1000)  # type: ignore[attr-defined]
        answer = await send(asked, body, {"Content-Encoding": encoding} if encoding else {}, agent="worker")

    assert answer.status_code == status, answer.text
    assert text in answer.json()["detail"]


HEAD = (
    b"POST /api/v1/batches HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    b"Content-Type: application/jsonl\r\nContent-Length: 100000000\r\n"
)


async def test_who_may_not_submit_is_refused_before_the_file_is_read(nobody: Client, tmp_path: Path) -> None:
    access, token = known(tmp_path, vera=["view"])
    who = f"Authorization: {bearer(token['vera'])['Authorization']}\r\n\r\n".encode()
    async with served(nobody, access) as (_, running, _asked), connected(running, HEAD + who) as (reader, _writer):
        status = await reader.readline()

    assert status == b"HTTP/1.1 403 Forbidden\r\n"


async def test_a_browser_s_session_sends_a_file_with_its_csrf_token_only(nobody: Client, tmp_path: Path) -> None:
    access, token = known(tmp_path, sam=["submit"])
    async with asking(nobody, access) as asked:
        signed_in = await asked.post("/api/v1/session", json={"token": token["sam"]})
        without = await send(asked, b"", agent="worker")
        with_it = await send(asked, b"", {"X-CSRF-Token": signed_in.json()["csrf"]}, agent="worker")

    assert (without.status_code, without.json()["type"]) == (403, "urn:surefoot:problem:no-csrf-token")
    assert (with_it.status_code, with_it.json()["detail"]) == (422, "there is no line that could be a job")


async def test_a_file_that_does_not_come_is_not_waited_for(nobody: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("surefoot.http.uploads.SILENT_SECONDS", 0.1)
    async with served(nobody) as (_, running, _asked), connected(running, HEAD + b"\r\nslow") as (reader, _writer):
        status = await reader.readline()

    assert status.startswith(b"HTTP/1.1 408 ")


async def test_no_more_files_are_received_at_once_than_there_is_room_for(nobody: Client) -> None:
    async with served(nobody) as (app, running, _asked):
        uploads: Uploads = app.state.uploads

        async def received() -> int:
            return uploads.received

        async with AsyncExitStack() as stack:
            for _ in range(4):
                await stack.enter_async_context(connected(running, HEAD + b"\r\n"))
            await until(received, lambda count: count == 4)
            reader, _writer = await stack.enter_async_context(connected(running, HEAD + b"\r\n"))
            status = await reader.readline()
        await until(received, lambda count: count == 0)

    assert status.startswith(b"HTTP/1.1 503 ")


async def test_the_jobs_of_a_batch_begin_in_a_named_queue(host: Host) -> None:
    async with host(WORKER, queues=[Queue("nightly", concurrency=1)]) as client, calling(client) as ana:
        sent = await submitted(ana, file(3), id=fresh(), queue="nightly")
        view = await stands(ana, sent["batch"], "ended")
        bad = await send(ana.asked, file(1), agent="worker", queue="by night")

    assert (view["queue"], view["done"], view["in_queue"]) == ("nightly", 3, 0)
    assert (bad.status_code, bad.json()["type"]) == (422, "urn:surefoot:problem:wrong-value")
