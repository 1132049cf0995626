"""Whatever a server answers, an adapter makes a turn of it that can be recorded, or says what is wrong.

Answers are good ones in which one value was replaced, as servers, proxies and new versions of an API do.
"""

import asyncio
import json
from collections.abc import Callable, Iterator
from typing import Any, Final

import httpx2
import pytest
from anthropic import AsyncAnthropic
from hypothesis import given, settings
from hypothesis import strategies as st
from openai import AsyncOpenAI

from activities.providers.anthropic_messages import AnthropicMessages
from activities.providers.errors import ModelError
from activities.providers.openai_chat import OpenAIChat
from activities.providers.openai_responses import OpenAIResponses
from activities.providers.protocol import ModelRequest, Provider, ToolDeclaration
from tests.extras import HAS_GOOGLE
from tests.streaming import Heard
from tests.wire import bodies, streams
from tests.wire.answers import Said, said
from tests.wire.bodies import Issued
from workflows.contracts import Message, Turn

ASKED: Final = {"model": "m", "messages": [{"role": "user", "content": []}], "input": []}
TOOLS: Final = (ToolDeclaration("look", "Look.", {"type": "object", "properties": {"key": {"type": "string"}}}),)
ODD: Final[st.SearchStrategy[Any]] = st.sampled_from(
    [
        *(None, True, False, 0, -1, 0.5, 10**400, "", " ", "x", "\ud800", "\x00", "null"),
        *([], [None], [[]], ["x"], [{}], {}, {"type": None}, {"type": "text"}, {"text": 1}, {"error": "no"}),
    ]
)


def deep() -> Any:
    value: Any = "x"
    for _ in range(150):
        value = [value]
    return value


def openai(transport: httpx2.AsyncBaseTransport) -> AsyncOpenAI:
    http = httpx2.AsyncClient(transport=transport)
    return AsyncOpenAI(api_key="test-key", base_url="https://host.invalid/v1", max_retries=0, http_client=http)


def anthropic(transport: httpx2.AsyncBaseTransport) -> Provider:
    http = httpx2.AsyncClient(transport=transport)
    return AnthropicMessages(AsyncAnthropic(api_key="test-key", max_retries=0, http_client=http))


def google(transport: httpx2.AsyncBaseTransport) -> Provider:
    from activities.providers.google_client import GoogleClient
    from activities.providers.google_generate_content import GoogleGenerateContent, sdk_client

    http = GoogleClient(transport=transport)
    return GoogleGenerateContent(sdk_client(http, api_key="test-key"), http)


ADAPTERS: Final[dict[str, Callable[[httpx2.AsyncBaseTransport], Provider]]] = {
    "anthropic": anthropic,
    "chat": lambda transport: OpenAIChat(openai(transport)),
    "responses": lambda transport: OpenAIResponses(openai(transport)),
    **({"google": google} if HAS_GOOGLE else {}),
}


def written(api: str, answer: Said) -> Any:
    if api == "google":
        return bodies.google(answer, Issued(), ASKED, "gemini-3-pro")
    return getattr(bodies, api)(answer, Issued(), ASKED)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of each value inside a JSON value."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in items:
        yield from places(each, (*path, key))


def replaced(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    copy = value.copy()
    copy[path[0]] = replaced(value[path[0]], path[1:], new)
    return copy


def events_of(stream: str) -> list[Any]:
    lines = [line.removeprefix("data: ") for line in stream.splitlines() if line.startswith("data: ")]
    return [json.loads(line) if line != "[DONE]" else line for line in lines]


def as_stream(events: list[Any]) -> str:
    return "".join(f"data: {each if each == '[DONE]' else json.dumps(each)}\n\n" for each in events)


@st.composite
def spoilt(draw: st.DrawFn, api: str) -> tuple[str, bool]:
    """The text of an answer in which one value, or one event, is not as it should be; and whether it is a stream."""
    whole = written(api, draw(said()))
    new = draw(ODD | st.builds(deep))
    if draw(st.booleans()):
        return json.dumps(replaced(whole, draw(st.sampled_from(list(places(whole)))), new)), False
    events = events_of(getattr(streams, api)(whole))
    place = draw(st.integers(0, len(events) - 1))
    if draw(st.integers(0, 3)) == 0:
        return as_stream([*events[:place], *events[place + 1 :], *draw(st.sampled_from([[], events[place:]]))]), True
    events[place] = replaced(events[place], draw(st.sampled_from(list(places(events[place])))), new)
    return as_stream(events), True


async def result_of(api: str, text: str, *, streamed: bool) -> Turn | ModelError:
    def answer(request: httpx2.Request) -> httpx2.Response:
        kind = "text/event-stream" if streamed else "application/json"
        return httpx2.Response(200, headers={"content-type": kind}, content=text.encode(), request=request)

    provider = ADAPTERS[api](httpx2.MockTransport(answer))
    live = Heard() if streamed else None
    try:
        return await provider.complete(
            ModelRequest("gemini-3-pro", "", [Message(text="Go.")], TOOLS, turn=1, live=live)
        )
    except ModelError as error:
        return error
    finally:
        await provider.close()


@pytest.mark.parametrize("api", list(ADAPTERS))
def test_any_answer_is_a_turn_that_can_be_recorded_or_an_error_that_is_known(api: str) -> None:
    @settings(max_examples=150, deadline=None)
    @given(spoilt(api))
    def check(answer: tuple[str, bool]) -> None:
        text, streamed = answer
        result = asyncio.run(result_of(api, text, streamed=streamed))

        if isinstance(result, Turn):
            recorded = result.model_dump_json()
            assert Turn.model_validate_json(recorded.encode()).model_dump_json() == recorded
            assert [call.id for call in result.calls] == [f"c1-{n}" for n in range(1, len(result.calls) + 1)]
        else:
            str(result).encode()

    check()
