"""Background mode over a real HTTP server: one POST, polled until it is over by whichever attempt is alive."""

import asyncio
import json
from typing import Any

import pytest

from activities.providers import openai_background
from activities.providers.errors import (
    MalformedAnswer,
    NotFound,
    Overloaded,
    QuotaExhausted,
    RateLimited,
)
from activities.providers.openai_responses import OpenAIResponses
from tests.activities.providers.openai_streams import Watcher, sdk_at
from tests.activities.providers.openai_wire import request
from tests.judge import judge_responses
from tests.streaming import Stream, StreamServer, serving
from tests.traffic import exchanges
from tests.waiting import until
from workflows.contracts import CallPart, Entry, JsonObject, Message, Native, Result, Turn

IN_BACKGROUND = {"background": True}
CALL: JsonObject = {"type": "function_call", "call_id": "call_1", "name": "add", "arguments": "{}"}
CHAINED: list[Entry] = [
    Message(text="Go"),
    Turn(
        parts=[CallPart(id="c1-1", provider_id="call_1", tool="add", arguments={})],
        native=Native(api="openai_responses", items=[CALL], response_id="resp_0"),
    ),
    Result(call="c1-1", tool="add", content="5"),
]


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openai_background, "FIRST_PAUSE", 0.01)


class Memory:
    """What attempts keep; `wanted` as if another may come, or not."""

    def __init__(self, value: str | None = None, *, more: bool = True) -> None:
        self.value, self._more = value, more
        self.kept: list[str | None] = []

    async def keep(self, value: str | None) -> None:
        self.value = value
        self.kept.append(value)

    async def wanted(self) -> bool:
        return self._more


def said(status: str | None, **fields: Any) -> Stream:
    output = [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "done"}]}]
    body = {"id": "resp_1", "status": status, "output": output if status == "completed" else [], **fields}
    return whole(body)


def whole(body: Any, status: int = 200) -> Stream:
    return Stream([json.dumps(body).encode()], status=status, content_type="application/json")


async def ask(server: StreamServer, kept: Memory | None, **fields: Any) -> Turn:
    provider = OpenAIResponses(sdk_at(server))
    try:
        return await provider.complete(request(settings=IN_BACKGROUND, kept=kept, **fields))
    finally:
        await provider.close()


async def test_the_recorded_dialogue_is_polled_to_its_ends_and_posts_once_a_turn() -> None:
    recorded = exchanges("openai-responses/background_mode_poll_with_tool")
    kept, again = Memory(), Memory()
    async with serving(*(whole(exchange.response_body) for exchange in recorded)) as server:
        first = await ask(server, kept)
        result = Result(call="c1-1", tool="get_weather", content="Sunny and 72F in Paris")
        last = await ask(
            server, again, transcript=[Message(text=recorded[0].request_body["input"][0]["content"]), first, result]
        )

    ids = [exchange.response_body["id"] for exchange in recorded]
    assert server.methods == [exchange.method for exchange in recorded] == ["POST", "GET", "POST", "GET", "GET"]
    assert server.paths[1:] == [
        f"/v1/responses/{ids[0]}",
        "/v1/responses",
        f"/v1/responses/{ids[2]}",
        f"/v1/responses/{ids[2]}",
    ]
    assert (kept.kept, again.kept) == ([ids[0]], [ids[2]])
    assert [(call.tool, call.arguments) for call in first.calls] == [("get_weather", {"city": "Paris"})]
    assert last.text == "The weather in Paris is currently sunny with a temperature of 72°F."
    assert server.sent[0]["background"] is True
    judge_responses(server.sent[2])
    sent = [item.get("call_id") for item in server.sent[2]["input"] if "call_id" in item]
    assert sent == [item["call_id"] for item in recorded[2].request_body["input"] if "call_id" in item]


async def test_an_attempt_that_finds_an_id_polls_it_and_never_posts() -> None:
    async with serving(said("in_progress"), said("completed")) as server:
        turn = await ask(server, Memory("resp_1"), transcript=CHAINED)

    assert turn.text == "done"
    assert server.methods == ["GET", "GET"]
    assert set(server.paths) == {"/v1/responses/resp_1"}


async def test_what_was_chained_to_and_is_gone_is_told_whole_and_only_what_was_begun_is_kept() -> None:
    gone = whole({"error": {"code": "previous_response_not_found", "message": "Previous response not found."}}, 400)
    kept = Memory()
    async with serving(gone, said("queued"), said("completed")) as server:
        turn = await ask(server, kept, transcript=CHAINED)

    assert turn.text == "done"
    assert server.methods == ["POST", "POST", "GET"]
    assert "previous_response_id" in server.sent[0]
    assert "previous_response_id" not in server.sent[1]
    assert kept.kept == ["resp_1"]


async def test_a_server_that_answers_at_once_is_not_polled() -> None:
    kept = Memory()
    async with serving(said("completed")) as server:
        turn = await ask(server, kept)

    assert (turn.text, server.methods, kept.kept) == ("done", ["POST"], [])


async def test_a_post_that_is_answered_by_an_id_alone_has_begun_something_and_is_polled() -> None:
    kept = Memory()
    async with serving(whole({"id": "resp_1"}), said("completed")) as server:
        turn = await ask(server, kept)

    assert (turn.text, server.methods, kept.kept) == ("done", ["POST", "GET"], ["resp_1"])


async def test_nothing_is_streamed_in_the_background() -> None:
    watcher = Watcher()
    async with serving(said("queued"), said("completed")) as server:
        await ask(server, Memory(), live=watcher)

    assert "stream" not in server.sent[0]
    assert watcher.said == []


async def test_includes_are_asked_for_with_each_look() -> None:
    settings = {"background": True, "include": ["file_search_call.results"]}
    async with serving(said("queued"), said("completed")) as server:
        provider = OpenAIResponses(sdk_at(server))
        await provider.complete(request(settings=settings))
        await provider.close()

    assert server.paths[1] == "/v1/responses/resp_1?include%5B%5D=file_search_call.results"


async def test_an_incomplete_response_is_a_truncated_turn() -> None:
    async with serving(said("incomplete", incomplete_details={"reason": "max_output_tokens"})) as server:
        turn = await ask(server, Memory("resp_1"))

    assert turn.stop == "max_tokens"


@pytest.mark.parametrize(
    ("answer", "kind", "retryable"),
    [
        (said("failed", error={"code": "server_error", "message": "Sorry."}), Overloaded, True),
        (said("failed", error={"code": "insufficient_quota", "message": "No money."}), QuotaExhausted, False),
        (said("failed"), MalformedAnswer, True),
        (said("cancelled"), MalformedAnswer, True),
    ],
    ids=["failed", "quota", "failed without a reason", "cancelled by somebody"],
)
async def test_a_response_that_is_lost_is_forgotten_and_maps_like_any_other(
    answer: Stream, kind: type[Exception], retryable: bool
) -> None:
    kept = Memory("resp_1")
    async with serving(answer) as server:
        with pytest.raises(kind) as caught:
            await ask(server, kept)

    assert getattr(caught.value, "retryable", None) is retryable
    assert kept.kept == [None]
    assert server.methods == ["GET"]


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (whole({"error": {"message": "down"}}, 503), Overloaded),
        (whole({"error": {"code": "rate_limit_exceeded", "message": "slow"}}, 429), RateLimited),
        (whole({"error": {"code": "server_error", "message": "down"}}), Overloaded),
        (Stream([b"<html>Bad gateway</html>"], content_type="text/html"), Overloaded),
        (whole({"message": "upstream is warming up"}), Overloaded),
        (said("", output=[]), Overloaded),
        (said("parked"), Overloaded),
        (said(None), Overloaded),
    ],
    ids=["503", "429", "error inside a 200", "a proxy's page", "a proxy's object", "empty status", "unknown", "null"],
)
async def test_a_look_that_fails_is_retryable_and_keeps_the_id(answer: Stream, kind: type[Exception]) -> None:
    kept = Memory("resp_1")
    async with serving(answer) as server:
        with pytest.raises(kind) as caught:
            await ask(server, kept)

    assert getattr(caught.value, "retryable", None) is True
    assert (kept.value, kept.kept) == ("resp_1", [])
    assert server.methods == ["GET"]


async def test_what_is_not_there_any_more_is_an_error_that_says_so_and_is_not_begun_again() -> None:
    kept = Memory("resp_1")
    async with serving(whole({"error": {"message": "Response with id 'resp_1' not found."}}, 404)) as server:
        with pytest.raises(NotFound, match=r"resp_1, which was begun .* reply to the job") as caught:
            await ask(server, kept)

    assert caught.value.retryable is False
    assert server.methods == ["GET"]


@pytest.mark.parametrize(
    ("kept", "expected"),
    [(Memory(more=False), 1), (Memory(more=True), 0), (None, 1)],
    ids=["nobody will come", "another attempt may come", "nothing can be kept"],
)
async def test_a_cancelled_attempt_stops_the_response_unless_another_may_come_for_it(
    kept: Memory | None, expected: int
) -> None:
    async with serving(said("queued"), *[said("in_progress")] * 200) as server:
        asking = asyncio.create_task(ask(server, kept))

        async def looks() -> int:
            return server.methods.count("GET")

        await until(looks)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking

    assert server.paths.count("/v1/responses/resp_1/cancel") == expected
    assert server.paths.count("/v1/responses") == 1


async def test_a_post_under_way_is_brought_to_its_end_and_its_id_kept_when_the_worker_stops() -> None:
    kept = Memory()
    asked, answered = asyncio.Event(), asyncio.Event()

    async def post() -> dict[str, Any]:
        asked.set()
        await answered.wait()
        return {"id": "resp_1", "status": "queued", "output": []}

    async with serving() as server:
        connection = OpenAIResponses(sdk_at(server))._connection
        background = openai_background.Background(connection, kept, None)
        asking = asyncio.create_task(background.answer(post))
        await asked.wait()
        asking.cancel()
        answered.set()
        with pytest.raises(asyncio.CancelledError):
            await asking
        await connection.close()

    assert kept.kept == ["resp_1"]
    assert server.paths == []


async def test_an_attempt_that_can_keep_nothing_any_more_stops_what_it_began() -> None:
    class Over(Memory):
        async def keep(self, value: str | None) -> None:
            raise RuntimeError("the attempt is over")

    async with serving(said("queued"), said("cancelled")) as server:
        with pytest.raises(RuntimeError, match="over"):
            await ask(server, Over(more=False))

    assert server.paths == ["/v1/responses", "/v1/responses/resp_1/cancel"]
