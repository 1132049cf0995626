"""A real server on a real port: slow and greedy clients, live streams, and its end."""

import asyncio
import json
import logging
import socket
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import fastapi.routing
import pytest
from fastapi import FastAPI
from httpx2 import AsyncClient, Response

from surefoot.client import Client
from surefoot.http import bodies, following
from surefoot.http import serving as serving_module
from surefoot.http.access import Access
from surefoot.http.app import create_app
from surefoot.http.serving import PORT, Serving, listen, serving
from surefoot.http.streams import Streams
from surefoot.settings import SettingsError
from tests.conftest import Host
from tests.http.conftest import bearer, known
from tests.waiting import until
from tests.workflows.gated import Ledger, call, ended, started, writer

SAVE = [call("save", key="a")]


@dataclass
class Event:
    kind: str
    id: str | None
    data: Any


@asynccontextmanager
async def served(client: Client, access: Access | None = None) -> AsyncIterator[tuple[FastAPI, Serving, AsyncClient]]:
    app = create_app(client, access or Access.open("me", []))
    async with (
        serving(app, listen("127.0.0.1", 0)) as running,
        AsyncClient(base_url=running.url, timeout=30) as asked,
    ):
        yield app, running, asked


@asynccontextmanager
async def connected(running: Serving, sent: bytes) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A connection of our own, to which this was sent."""
    host, _, port = running.url.removeprefix("http://").rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(sent)
    try:
        yield reader, writer
    finally:
        writer.transport.abort()
        with suppress(OSError):
            await writer.wait_closed()


async def events_of(answer: Response) -> AsyncIterator[Event]:
    """The events of a stream as they come."""
    kind, id_, data = "", None, ""
    async for line in answer.aiter_lines():
        name, _, value = line.partition(": ")
        if name == "event":
            kind = value
        elif name == "id":
            id_ = value
        elif name == "data":
            data += value
        elif line == "" and data:
            yield Event(kind, id_, json.loads(data))
            kind, id_, data = "", None, ""


def streams_in(app: FastAPI) -> int:
    streams: Streams = app.state.streams
    return streams.open


async def test_a_stream_tells_what_is_said_what_changes_and_how_it_ends(host: Host) -> None:
    ledger = Ledger()
    async with host(writer("w", SAVE, tools=[ledger.tool()])) as client, served(client) as (app, _, asked):
        job, (pending,) = await started(client, "w")
        seen: list[Event] = []
        async with asked.stream("GET", f"/api/v1/jobs/{job.id}/events") as answer:
            async for event in events_of(answer):
                seen.append(event)
                if event.kind == "job" and event.data["state"] == "waiting":
                    await job.approve(pending.call, digest=pending.digest, by="ana")
        whole = await job.log()

    assert answer.headers["content-type"].startswith("text/event-stream")
    entries = [event for event in seen if event.kind in ("entry", "audit")]
    assert [event.id for event in entries] == [str(number) for number in range(len(whole))]
    assert [event.data["entry"]["kind"] for event in entries] == [entry.kind for entry in whole]
    assert next(event.data["state"] for event in seen if event.kind == "job") == "waiting"
    assert (seen[-1].kind, seen[-1].id, seen[-1].data["status"]) == ("end", None, "complete")
    assert seen[-2].data["state"] == "ended"
    assert ledger.written == ["save a"]
    assert streams_in(app) == 0


@pytest.mark.parametrize("way", ["header", "query"])
async def test_a_stream_goes_on_behind_the_last_event_that_was_seen(host: Host, way: str) -> None:
    async with (
        host(writer("w", SAVE, tools=[Ledger().tool(policy="allow")])) as client,
        served(client) as (_, _, asked),
    ):
        job = await client.start("w", "go")
        await ended(job)
        total = len(await job.log())
        given: dict[str, Any] = {"headers": {"Last-Event-ID": "1"}} if way == "header" else {"params": {"start": 2}}
        async with asked.stream("GET", f"/api/v1/jobs/{job.id}/events", **given) as answer:
            seen = [event async for event in events_of(answer)]

    assert [event.id for event in seen if event.kind in ("entry", "audit")] == [str(n) for n in range(2, total)]
    assert [event.kind for event in seen[-2:]] == ["job", "end"]


@pytest.mark.parametrize("last", ["-1", "x", "99999999", "²", "1" * 30])
async def test_a_last_event_that_nobody_sent_does_no_harm(host: Host, last: str) -> None:
    async with host(writer("w", tools=[])) as client, served(client) as (_, _, asked):
        job = await client.start("w", "go")
        await ended(job)
        headers = {b"Last-Event-ID": last.encode()}
        async with asked.stream("GET", f"/api/v1/jobs/{job.id}/events", headers=headers) as answer:
            seen = [event.kind async for event in events_of(answer)]

    assert (answer.status_code, seen[-1:]) in [(200, ["end"]), (422, [])]


async def test_a_reader_who_goes_away_leaves_nothing_behind(host: Host) -> None:
    async with host(writer("w", SAVE, tools=[Ledger().tool()])) as client, served(client) as (app, running, asked):
        job, _ = await started(client, "w")
        path = f"/api/v1/jobs/{job.id}/events"
        async with asked.stream("GET", path) as answer:
            async for event in events_of(answer):
                if event.kind == "job":
                    break
            open_then = streams_in(app)
        await until(_now(lambda: streams_in(app) == 0))
        async with connected(running, f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode()):
            await until(_now(lambda: streams_in(app) == 1))
        await job.steer("so that there is something to tell")
        await until(_now(lambda: streams_in(app) == 0))
        await job.cancel()
        await ended(job)

    assert open_then == 1


def _now(holds: Any) -> Any:
    async def ask() -> bool:
        return bool(holds())

    return ask


async def test_streams_are_bounded_for_each_person_and_in_all(host: Host, tmp_path: Path) -> None:
    access, token = known(tmp_path, ana=["view"], bob=["view"], kim=["view"])
    async with (
        host(writer("w", SAVE, tools=[Ledger().tool()])) as client,
        served(client, access) as (app, _, asked),
    ):
        app.state.streams = Streams(most=3, each=2)
        job, _ = await started(client, "w")
        path = f"/api/v1/jobs/{job.id}/events"
        ana, bob, kim = (bearer(token[name]) for name in ("ana", "bob", "kim"))
        async with (
            asked.stream("GET", path, headers=ana) as first,
            asked.stream("GET", path, headers=ana) as second,
        ):
            too_many_for_ana = await asked.get(path, headers=ana)
            async with asked.stream("GET", path, headers=bob) as third:
                too_many_in_all = await asked.get(path, headers=kim)
        await job.cancel()
        await ended(job)

    assert [answer.status_code for answer in (first, second, third)] == [200, 200, 200]
    assert (too_many_for_ana.status_code, too_many_in_all.status_code) == (429, 503)
    assert too_many_in_all.json()["type"] == "urn:surefoot:problem:too-many-streams"


async def test_a_stream_ends_when_its_reader_may_no_longer(
    host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "RECHECK_SECONDS", 0.1)
    access, token = known(tmp_path, ana=["view"])
    async with host(writer("w", SAVE, tools=[Ledger().tool()])) as client, served(client, access) as (_, _, asked):
        job, _ = await started(client, "w")
        path, kinds = f"/api/v1/jobs/{job.id}/events", []
        async with asked.stream("GET", path, headers=bearer(token["ana"])) as answer:
            async for event in events_of(answer):
                kinds.append(event.kind)
                if event.kind == "job":
                    (tmp_path / "tokens.toml").write_text("token = []\n")
        state = (await job.view()).state
        await job.cancel()
        await ended(job)

    assert (kinds[-1], state) == ("job", "waiting")


async def test_a_stream_that_has_nothing_to_tell_shows_that_it_lives(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fastapi.routing, "_PING_INTERVAL", 0.05)
    async with host(writer("w", SAVE, tools=[Ledger().tool()])) as client, served(client) as (_, _, asked):
        job, _ = await started(client, "w")
        async with asked.stream("GET", f"/api/v1/jobs/{job.id}/events") as answer:
            comment = await anext(line async for line in answer.aiter_lines() if line.startswith(":"))
        await job.cancel()
        await ended(job)

    assert comment == ": ping"


async def test_a_stream_without_a_worker_says_so_and_goes_on_when_one_is_up(host: Host) -> None:
    agent = writer("w", SAVE, tools=[Ledger().tool()])
    async with host(agent) as client:
        job, _ = await started(client, "w")
    impatient = Client(client.temporal, task_queue=client.task_queue, answer_within=timedelta(seconds=0.5))
    kinds: list[str] = []
    async with served(impatient) as (_, _, asked), asked.stream("GET", f"/api/v1/jobs/{job.id}/events") as answer:
        stream = events_of(answer)
        kinds.append((await anext(stream)).kind)
        async with host(agent):
            kinds += [event.kind async for event in _until_job(stream)]
            await job.cancel()
            await ended(job)

    assert kinds[0] == "unreachable"
    assert kinds[-1] == "job"


async def _until_job(stream: AsyncIterator[Event]) -> AsyncIterator[Event]:
    async for event in stream:
        yield event
        if event.kind == "job":
            return


async def test_the_server_ends_at_once_though_streams_are_open(host: Host) -> None:
    async with host(writer("w", SAVE, tools=[Ledger().tool()])) as client:
        job, _ = await started(client, "w")
        app = create_app(client, Access.open("me", []))
        async with AsyncClient(timeout=30) as asked:
            async with serving(app, listen("127.0.0.1", 0)) as running:
                reading = asyncio.create_task(asked.get(f"{running.url}/api/v1/jobs/{job.id}/events"))
                await until(_now(lambda: streams_in(app) == 1))
                began = time.monotonic()
            took = time.monotonic() - began
            answer = await reading
        await job.cancel()
        await ended(job)

    assert answer.status_code == 200
    assert took < 4
    assert running.task.exception() is None


async def test_a_body_that_says_it_is_too_large_is_refused_unread(nobody: Client) -> None:
    head = "POST /api/v1/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 99999999\r\n\r\n"
    async with served(nobody) as (_, running, _), connected(running, head.encode()) as (reader, _):
        text = await asyncio.wait_for(reader.read(), 10)

    assert text.startswith(b"HTTP/1.1 413 ")
    assert b"urn:surefoot:problem:too-large" in text


async def test_a_body_of_unknown_size_is_refused_as_soon_as_it_is_too_large(nobody: Client) -> None:
    head = "POST /api/v1/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n"
    chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
    async with served(nobody) as (_, running, _), connected(running, head.encode()) as (reader, writer):
        for _ in range(1 + bodies.BODY_BYTES // 0x10000):
            writer.write(chunk)
            await writer.drain()
        text = await asyncio.wait_for(reader.read(), 10)

    assert text.startswith(b"HTTP/1.1 413 ")


async def test_who_sends_a_body_too_slowly_is_told_and_cut_off(nobody: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "BODY_SECONDS", 0.2)
    head = b"POST /api/v1/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\n{"
    async with served(nobody) as (_, running, _), connected(running, head) as (reader, _):
        text = await asyncio.wait_for(reader.read(), 10)

    assert text.startswith(b"HTTP/1.1 408 Request Timeout\r\n")
    assert b"urn:surefoot:problem:too-slow" in text


async def test_all_bodies_together_are_bounded_and_room_comes_back(
    nobody: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bodies, "ALL_BYTES", 1000)
    head = b"POST /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 900\r\n\r\n" + b" " * 899
    async with served(nobody) as (_, running, asked):

        async def status() -> int:
            return (await asked.post("/healthz", content=b" " * 900)).status_code

        async with connected(running, head):
            refused = await until(status, lambda status: status != 405)
        await until(status, lambda status: status == 405)

    assert refused == 503


@pytest.mark.parametrize("sent", [b"", b"GET /healthz HTTP/1.1\r\nHost: 127"])
async def test_who_sends_no_whole_request_in_time_is_cut_off(
    nobody: Client, monkeypatch: pytest.MonkeyPatch, sent: bytes
) -> None:
    monkeypatch.setattr(serving_module, "HEAD_SECONDS", 0.2)
    async with served(nobody) as (_, running, _), connected(running, sent) as (reader, _):
        text = await asyncio.wait_for(reader.read(), 5)

    assert text == b""


async def test_who_had_an_answer_and_begins_another_request_without_end_is_cut_off(
    nobody: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving_module, "HEAD_SECONDS", 0.2)
    request = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    async with served(nobody) as (_, running, _), connected(running, request) as (reader, writer):
        await asyncio.wait_for(reader.readuntil(b"}"), 5)
        writer.write(b"GET /healthz")
        rest = await asyncio.wait_for(reader.read(), 5)

    assert rest == b""


async def test_a_connection_in_use_is_not_cut_off(nobody: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving_module, "HEAD_SECONDS", 0.3)
    async with served(nobody) as (_, _, asked):
        began = time.monotonic()
        codes = set()
        while time.monotonic() < began + 1:
            codes.add((await asked.get("/healthz")).status_code)
            await asyncio.sleep(0.02)

    assert codes == {200}


async def test_requests_are_logged_without_what_may_be_secret(
    nobody: Client, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    access, token = known(tmp_path, ana=["view"])
    caplog.set_level(logging.INFO, "surefoot")
    async with served(nobody, access) as (_, _, asked):
        await asked.get("/api/v1/session?token=secret-1", headers=bearer(token["ana"]))
        await asked.get("/decide/secret-2")
        await asked.get("/none/secret-3")

    lines = [record.getMessage() for record in caplog.records if record.name == "surefoot.http.access_log"]
    assert [line.rsplit(" ", 2)[0] for line in lines] == [
        "127.0.0.1 ana GET who_am_i 200",
        "127.0.0.1 - GET look 403",
        "127.0.0.1 - GET - 404",
    ]


async def test_a_port_that_is_taken_is_another_one_or_an_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(SettingsError, match=f"port {port} of 127.0.0.1 .* another program has it"):
            listen("127.0.0.1", port)


async def test_without_a_wish_any_free_port_will_do(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        monkeypatch.setattr(serving_module, "PORT", taken.getsockname()[1])
        with listen("127.0.0.1", None) as free:
            found = free.getsockname()[1]

    assert PORT == 8230
    assert found not in (0, taken)


async def test_a_body_of_two_lengths_is_refused_and_nothing_behind_it_is_heard(nobody: Client) -> None:
    behind = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    head = b"POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n"
    async with (
        served(nobody) as (_, running, _),
        connected(running, head + b"0\r\n\r\n" + behind) as (reader, _),
    ):
        answered = await asyncio.wait_for(reader.read(), 10)

    assert answered.startswith(b"HTTP/1.1 400 ")
    assert answered.count(b"HTTP/1.1 ") == 1
    assert b"urn:surefoot:problem:two-lengths" in answered
