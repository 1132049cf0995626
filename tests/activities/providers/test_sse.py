"""What of an HTTP answer is read as which events, and that its connection never stays open."""

import asyncio
from collections.abc import AsyncIterator

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from activities.providers import sse
from activities.providers.errors import MalformedAnswer, Overloaded, TimedOut
from activities.providers.sse import Event, answer_of, events, is_stream
from tests.streaming import Stream, StreamServer, cut, serving
from tests.waiting import until
from workflows.contracts import JsonObject

ODD = (
    "\ufeff: a comment\r\n"
    'event: first\r\ndata: {"a":\r\ndata: 1}\r\n\r\n'
    "data:no space\rdata:  two spaces\r\r"
    "event: without data\n\n"
    "id: 7\nretry: 10\nunknown: field\n\n"
    "data: ä€😀 \u2028 stays\n\n"
    "data: cut off\n"
)
READ = [
    Event("first", '{"a":\n1}'),
    Event("message", "no space\n two spaces"),
    Event("message", "ä€😀 \u2028 stays"),
]


def answer(*chunks: bytes, content_type: str = "text/event-stream") -> httpx2.Response:
    async def content() -> AsyncIterator[bytes]:
        for chunk in chunks:
            yield chunk

    request = httpx2.Request("POST", "http://host.invalid")
    return httpx2.Response(200, headers={"content-type": content_type}, content=content(), request=request)


async def read(response: httpx2.Response, idle_seconds: float = 60.0) -> list[Event]:
    async with events(response, idle_seconds) as stream:
        return [event async for event in stream]


async def datas(stream: AsyncIterator[Event]) -> JsonObject:
    return {"events": [event.data async for event in stream]}


async def ask(http: httpx2.AsyncClient, server: StreamServer) -> httpx2.Response:
    return await http.send(http.build_request("POST", server.url), stream=True)


async def test_events_are_read_as_the_specification_says() -> None:
    assert await read(answer(ODD.encode())) == READ


@given(st.lists(st.integers(1, 40), min_size=1))
def test_events_are_the_same_however_their_bytes_are_split(sizes: list[int]) -> None:
    assert asyncio.run(read(answer(*cut(ODD, *sizes)))) == READ


async def test_bytes_that_are_no_text_spoil_their_event_alone() -> None:
    assert await read(answer(b"data: \xff\n\ndata: b\n\n")) == [Event("message", "\ufffd"), Event("message", "b")]


@pytest.mark.parametrize(
    ("content_type", "streamed"),
    [
        ("text/event-stream; charset=utf-8", True),
        ("text/plain", True),
        ("", True),
        ("application/json", False),
        ("text/html", False),
    ],
)
def test_a_server_that_does_not_stream_is_known_by_its_content_type(content_type: str, streamed: bool) -> None:
    assert is_stream(answer(content_type=content_type)) is streamed


def test_the_data_of_an_event_is_json_or_a_text() -> None:
    assert Event("message", "[DONE]").body == "[DONE]"
    assert Event("message", '{"a": 1}').fields == {"a": 1}
    with pytest.raises(MalformedAnswer, match=r"holds no JSON object but: '\[1\]'"):
        _ = Event("message", "[1]").fields


async def test_an_event_without_end_is_not_collected_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "MAX_EVENT_BYTES", 100)

    with pytest.raises(MalformedAnswer, match="exceeded the 100 byte limit"):
        await read(answer(b"data: ", *[b"x" * 10] * 20))


async def test_an_answer_without_end_is_not_read_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "MAX_ANSWER_BYTES", 100)
    events_without_end, json_without_end = [b"data: a\n\n"] * 20, [b'{"a": "', *[b"x" * 10] * 20]

    for chunks in (events_without_end, json_without_end):
        with pytest.raises(MalformedAnswer, match="more than 100 bytes"):
            await answer_of(answer(*chunks), datas, 60.0)


@pytest.mark.parametrize(
    ("text", "content_type", "read_as"),
    [
        ('{"a": 1}', "text/event-stream", {"a": 1}),
        ('\ufeff \n {"a": 1}', "text/plain", {"a": 1}),
        ("<html>Sign in.</html>", "text/event-stream", "<html>Sign in.</html>"),
        ("data: a\n\n", "application/json", {"events": ["a"]}),
        (": ping\n\ndata: a\n\n", "text/html", {"events": ["a"]}),
        ("event: b\ndata: a\n\n", "", {"events": ["a"]}),
        ("null", "application/json", None),
        ("", "application/json", ""),
        ("", "text/event-stream", {"events": []}),
        ("bad gateway", "application/json", "bad gateway"),
    ],
)
async def test_an_answer_is_what_its_first_bytes_say_whatever_its_content_type(
    text: str, content_type: str, read_as: JsonValue
) -> None:
    whole = await answer_of(answer(text.encode(), content_type=content_type), datas, 60.0)
    in_pieces = await answer_of(answer(*cut(text, 1), content_type=content_type), datas, 60.0)

    assert whole == in_pieces == read_as


async def test_a_silent_stream_times_out_and_its_connection_is_closed() -> None:
    async with httpx2.AsyncClient() as http, serving(Stream([b"data: a\n\n"], then="silence")) as server:
        with pytest.raises(TimedOut, match=r"silent for 0\.05 seconds") as raised:
            await read(await ask(http, server), idle_seconds=0.05)
        await left(server)

    assert raised.value.retryable


async def test_comments_are_signs_of_life() -> None:
    async def slow() -> AsyncIterator[bytes]:
        for _ in range(8):
            await asyncio.sleep(0.1)
            yield b": ping\n\n"
        yield b"data: a\n\n"

    response = httpx2.Response(200, content=slow(), request=httpx2.Request("POST", "http://host.invalid"))

    assert await read(response, idle_seconds=0.5) == [Event("message", "a")]


async def test_a_lost_connection_is_retryable() -> None:
    async with httpx2.AsyncClient() as http, serving(Stream([b"data: a\n\n"], then="cut")) as server:
        with pytest.raises(Overloaded, match="RemoteProtocolError") as raised:
            await read(await ask(http, server))

    assert raised.value.retryable


async def test_a_failing_reader_closes_the_connection() -> None:
    async def fail(response: httpx2.Response) -> None:
        async with events(response, 60.0) as stream:
            async for event in stream:
                raise ValueError(f"seen: {event.data}")

    async with httpx2.AsyncClient() as http, serving(Stream([b"data: a\n\n"], then="silence")) as server:
        response = await ask(http, server)
        with pytest.raises(ValueError, match="seen: a"):
            await fail(response)
        await left(server)


async def test_cancelling_closes_the_connection() -> None:
    seen = asyncio.Event()

    async def reading(response: httpx2.Response) -> None:
        async with events(response, 60.0) as stream:
            async for _ in stream:
                seen.set()

    async with httpx2.AsyncClient() as http, serving(Stream([b"data: a\n\n"], then="silence")) as server:
        task = asyncio.create_task(reading(await ask(http, server)))
        await seen.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await left(server)


async def test_a_stream_that_ends_behind_its_last_event_gives_its_connection_back() -> None:
    whole = Stream([b"data: last\n\n", b"data: ignored\n\n"])
    async with httpx2.AsyncClient() as http, serving(whole, whole) as server:
        for _ in range(2):
            async with events(await ask(http, server), 60.0) as stream:
                assert await anext(stream) == Event("message", "last")

    assert server.connections == 1


async def test_a_server_that_stays_silent_behind_the_last_event_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sse, "REST_SECONDS", 0.01)
    async with httpx2.AsyncClient() as http, serving(Stream([b"data: last\n\n"], then="silence")) as server:
        async with events(await ask(http, server), 60.0) as stream:
            assert await anext(stream) == Event("message", "last")
        await left(server)


async def left(server: StreamServer) -> None:
    """Wait until the server has seen that the other side closed the connection."""

    async def count() -> int:
        return server.left

    assert await until(count) == 1
