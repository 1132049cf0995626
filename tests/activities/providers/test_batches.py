"""Both batch APIs against their stand-ins: what is sent, what is read, and what is found again."""

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from activities.providers.batches import BatchLook, BatchProvider, Intent, Line, never_began
from activities.providers.errors import (
    MalformedAnswer,
    ModelError,
    NotFound,
    Overloaded,
    QuotaExhausted,
    RateLimited,
    Rejected,
)
from activities.providers.protocol import ModelRequest, ToolDeclaration
from tests.batch_apis import APIS, StandIn, stand_in
from tests.waiting import until
from workflows.contracts import CallPart, Message, Result, Turn

TOOL = ToolDeclaration(name="look", description="Looks.", schema={"type": "object", "properties": {}})


@pytest.fixture(params=APIS)
async def server(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[StandIn]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    async with stand_in(request.param) as server:
        yield server


@pytest.fixture
async def provider(server: StandIn) -> AsyncIterator[BatchProvider]:
    provider = server.provider()
    yield provider
    await provider.close()


def asked(place: int) -> ModelRequest:
    return ModelRequest(
        model="gpt-4o", instructions="Be brief.", transcript=[Message(text=f"line {place}")], tools=[TOOL]
    )


def an_intent(provider: BatchProvider, count: int = 4, id: str = "lane/a") -> Intent:
    request = provider.batch_request(asked(0))
    return Intent(id, request.endpoint, request.betas, count, datetime.now(UTC))


def written(provider: BatchProvider, intent: Intent) -> list[bytes]:
    return [
        json.dumps(provider.batches.line(intent.custom_id(place), provider.batch_request(asked(place)))).encode()
        for place in range(intent.requests)
    ]


async def created(provider: BatchProvider, intent: Intent) -> str:
    lines = written(provider, intent)
    return await provider.batches.create(intent, lines, await provider.batches.upload(lines))


async def ended(provider: BatchProvider, batch: str) -> BatchLook:
    return await until(lambda: provider.batches.look(batch), lambda look: look.ended)


async def read(provider: BatchProvider, intent: Intent) -> dict[int | None, Line]:
    batch = await created(provider, intent)
    look = await ended(provider, batch)
    return {intent.place_of(line.custom_id): line async for line in provider.batches.lines(batch, look)}


def errors(lines: dict[int | None, Line]) -> list[type[ModelError] | None]:
    return [type(error) if (error := lines[place].error) else None for place in range(len(lines))]


# --- what is sent


async def test_the_body_in_a_batch_equals_the_one_that_is_sent_alone(server: StandIn, provider: BatchProvider) -> None:
    turn = Turn(number=1, parts=[CallPart(id="c1-1", provider_id="call_9", tool="look", arguments={})])
    request = replace(
        asked(1),
        transcript=[Message(text="go"), turn, Result(call="c1-1", tool="look", content="seen"), Message(text="on")],
        settings={"temperature": 0.5, **({"betas": ["b-1"]} if server.api == "anthropic" else {})},
        max_output_tokens=77,
        turn=2,
    )
    await provider.complete(request)
    sent = provider.batch_request(request)

    assert server.books.alone == [sent.body]
    assert sent.body["tools"]
    assert sent.betas == (("b-1",) if server.api == "anthropic" else ())


async def test_an_answer_of_a_batch_is_read_as_one_that_comes_alone(server: StandIn, provider: BatchProvider) -> None:
    alone = await provider.complete(asked(2))
    lines = await read(provider, an_intent(provider))
    answer = lines[2].answer

    assert answer is not None
    assert provider.turn_of(answer, asked(2)) == alone
    assert alone.text == "heard line 2"


async def test_each_answer_has_the_name_of_its_request(server: StandIn, provider: BatchProvider) -> None:
    server.books.faults["shuffled"] = 1
    lines = await read(provider, an_intent(provider))
    texts = [provider.turn_of(lines[place].answer or {}, asked(place)).text for place in range(4)]

    assert texts == [f"heard line {place}" for place in range(4)]
    assert server.books.most_billed == 1


def test_a_name_of_another_intent_is_no_place() -> None:
    own = Intent("a", "", (), 3, datetime.now(UTC))
    other = Intent("b", "", (), 3, datetime.now(UTC))

    assert own.place_of(own.custom_id(2)) == 2
    assert own.place_of(other.custom_id(2)) is None
    assert [own.place_of(name) for name in (own.custom_id(3), "", None, "x-1")] == [None] * 4


# --- what becomes of requests


@pytest.mark.parametrize(
    ("fault", "kinds"),
    [
        ("half_failed", {"openai": RateLimited, "openai-chat": RateLimited, "anthropic": Overloaded}),
        ("credit", dict.fromkeys(APIS, QuotaExhausted)),
    ],
)
async def test_errors_of_single_requests_are_told_in_either_shape(
    server: StandIn, provider: BatchProvider, fault: str, kinds: dict[str, type[ModelError]]
) -> None:
    server.books.faults[fault] = 1
    found = errors(await read(provider, an_intent(provider)))
    kind = kinds[server.api]

    assert found == ([None, kind, None, kind] if fault == "half_failed" else [None, kind, kind, kind])


@pytest.mark.parametrize("fate", ["expired", "cancelled"])
async def test_what_was_answered_before_a_batch_ended_early_is_there(
    server: StandIn, provider: BatchProvider, fate: str
) -> None:
    server.books.faults[fate] = 1
    lines = await read(provider, an_intent(provider))

    assert [lines[place].fate for place in range(4)] == ["answered", fate, fate, fate]


async def test_a_batch_without_a_file_of_answers_has_an_error_for_each(
    server: StandIn, provider: BatchProvider
) -> None:
    server.books.faults["no_output_file"] = 1

    assert errors(await read(provider, an_intent(provider))) == [Rejected] * 4


async def test_a_batch_without_any_file_has_nothing(server: StandIn, provider: BatchProvider) -> None:
    server.books.faults["no_files"] = 1

    assert await read(provider, an_intent(provider)) == {}


async def test_too_many_enqueued_tokens_are_no_room_for_now(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    async with stand_in("openai") as server:
        server.books.faults["token_limit"] = 1
        provider = server.provider()
        look = await ended(provider, await created(provider, an_intent(provider)))
        await provider.close()

    assert look.status == "failed"
    assert isinstance(look.error, QuotaExhausted)
    assert "token_limit_exceeded" in str(look.error)


# --- what is found again


@pytest.mark.parametrize(("fault", "kind"), [("reply_dropped", Overloaded), ("empty_id", MalformedAnswer)])
async def test_a_batch_whose_id_was_not_told_is_found(
    server: StandIn, provider: BatchProvider, fault: str, kind: type[ModelError]
) -> None:
    await created(provider, an_intent(provider, 3, "lane/before"))
    intent = an_intent(provider)
    server.books.faults[fault] = 1
    with pytest.raises(kind) as lost:
        await created(provider, intent)

    assert not never_began(lost.value)
    assert await provider.batches.find(intent) == server.books.batches[-1].id
    assert len(server.books.batches) == 2


async def test_what_was_never_created_is_not_found(server: StandIn, provider: BatchProvider) -> None:
    await created(provider, an_intent(provider, 3, "lane/before"))
    later = replace(an_intent(provider, 3, "lane/other"), since=datetime.now(UTC) + timedelta(hours=3))

    assert await provider.batches.find(later) is None


async def test_a_batch_that_proved_to_be_foreign_is_passed_over(server: StandIn, provider: BatchProvider) -> None:
    intent = an_intent(provider)
    batch = await created(provider, intent)

    assert await provider.batches.find(intent, [batch]) is None


async def test_the_list_is_read_beyond_its_first_page(server: StandIn, provider: BatchProvider) -> None:
    intent = an_intent(provider)
    batch = await created(provider, intent)
    for number in range(105):
        await created(provider, an_intent(provider, 1, f"lane/{number}"))

    assert await provider.batches.find(intent) == batch


async def test_a_batch_that_was_refused_never_began(server: StandIn, provider: BatchProvider) -> None:
    server.books.faults["billing_limit"] = 1
    with pytest.raises(QuotaExhausted) as refused:
        await created(provider, an_intent(provider))

    assert never_began(refused.value)
    assert server.books.batches == []


async def test_a_file_that_is_not_found_yet_began_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    async with stand_in("openai") as server:
        server.books.faults["file_not_found"] = 1
        provider = server.provider()
        with pytest.raises(NotFound) as refused:
            await created(provider, an_intent(provider))
        await provider.close()

    assert never_began(refused.value)
    assert server.books.batches == []


async def test_the_credential_tells_accounts_apart_and_gives_nothing_away(server: StandIn) -> None:
    one, same, other = server.provider(), server.provider(), replace(server, port=1).provider()

    assert one.credential == same.credential != other.credential
    assert "none-needed" not in one.credential
    for provider in (one, same, other):
        await provider.close()
