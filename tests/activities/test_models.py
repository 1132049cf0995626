"""Each prefix of a model string builds its provider, by the SDK's own variables, and asks through it."""

import asyncio
import json
import os
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Event, Thread, current_thread, main_thread
from typing import ClassVar

import pytest

from activities.agents import Agent
from activities.apps import App
from activities.models.registry import ADAPTERS, EXTRAS, Models, has_price, missing_extra, missing_key
from activities.providers import prices
from activities.providers.errors import NotFound, Overloaded, Unauthenticated
from activities.providers.protocol import ModelRequest
from activities.providers.scripted import Script, ScriptError
from tests.extras import needs_google
from tests.waiting import until
from workflows.contracts import JsonObject, Message

ANSWERS: dict[str, JsonObject] = {
    "/v1/messages": {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn",
        "content": [{"type": "text", "text": "hello"}], "usage": {"input_tokens": 3, "output_tokens": 1},
    },
    "/v1/responses": {
        "id": "resp_1", "object": "response", "status": "completed", "model": "m",
        "output": [{"type": "message", "id": "m_1", "role": "assistant", "status": "completed",
                    "content": [{"type": "output_text", "text": "hello", "annotations": []}]}],
        "usage": {"input_tokens": 3, "output_tokens": 1, "total_tokens": 4},
    },
    "/v1/chat/completions": {
        "id": "chat_1", "object": "chat.completion", "model": "m",
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "hello"}}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4},
    },
    "/v1/models/m:generateContent": {
        "candidates": [{"content": {"role": "model", "parts": [{"text": "hello"}]}, "finishReason": "STOP"}],
        "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 1, "totalTokenCount": 4},
    },
}  # fmt: skip
PATHS = {
    "anthropic": "/v1/messages",
    "openai": "/v1/responses",
    "openai-chat": "/v1/chat/completions",
    "google": "/v1/models/m:generateContent",
}
APIS = [pytest.param(api, marks=needs_google) if api == "google" else api for api in PATHS]
VERTEX = {"GOOGLE_GENAI_USE_VERTEXAI": "true", "GOOGLE_CLOUD_PROJECT": "p"}
KEYS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY")
REQUEST = ModelRequest(model="m", instructions="", transcript=[Message(text="hi")])


class _Server(HTTPServer):
    """One that speaks all protocols; `asked` are the paths that requests came to, with their keys."""

    asked: list[tuple[str, str]]
    status = 200


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        named = ("x-api-key", "authorization", "x-goog-api-key")
        key = next((key for name in named if (key := self.headers.get(name))), "")
        self.server.asked.append((self.path, key.removeprefix("Bearer ")))
        body = json.dumps(ANSWERS[self.path]).encode()
        self.send_response(self.server.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing goes to stderr."""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[_Server]:
    """A server that the SDKs' variables name, with keys."""
    with _Server(("127.0.0.1", 0), _Handler) as server:
        server.asked = []
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        monkeypatch.setenv("ANTHROPIC_BASE_URL", f"http://127.0.0.1:{server.server_port}")
        monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{server.server_port}/v1")
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", f"http://127.0.0.1:{server.server_port}")
        monkeypatch.delenv("GOOGLE_API_KEY", raising=False)
        for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"):
            monkeypatch.setenv(name, "a-key")
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def models() -> Models:
    return Models(App([Agent("a", model="openai:m")]))


def test_every_api_of_a_model_string_is_tested_here() -> None:
    assert set(PATHS) == set(ADAPTERS)


@pytest.mark.parametrize("api", APIS)
async def test_a_provider_is_built_once_and_asks_where_the_sdks_variables_say(
    api: str, server: _Server, models: Models
) -> None:
    provider, name = models.find(f"{api}:m")
    again, _ = await models.ready(f"{api}:other")
    turn = await provider.complete(REQUEST)
    await models.close()

    assert again is provider
    assert (name, turn.text) == ("m", "hello")
    assert server.asked == [(PATHS[api], "a-key")]


@pytest.mark.parametrize("api", APIS)
async def test_a_server_that_fails_is_asked_once_a_call(api: str, server: _Server, models: Models) -> None:
    server.status = 500
    provider, _ = models.find(f"{api}:m")
    for _ in range(2):
        with pytest.raises(Overloaded, match="HTTP 500"):
            await provider.complete(REQUEST)
    await models.close()

    assert server.asked == [(PATHS[api], "a-key")] * 2


@pytest.mark.parametrize("api", APIS)
async def test_a_missing_key_fails_the_call_and_not_what_finds_its_provider(
    api: str, models: Models, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in KEYS:
        monkeypatch.delenv(name, raising=False)
    provider, _ = models.find(f"{api}:m")

    with pytest.raises(Unauthenticated, match="set"):
        await provider.complete(REQUEST)
    await models.close()


@pytest.mark.parametrize("model", ["gpt-5", "openai:", ":m", "scripted", "claude:m"])
def test_a_model_that_no_api_serves_names_those_that_exist(model: str, models: Models) -> None:
    with pytest.raises(NotFound, match="anthropic:…, openai:…, openai-chat:…, google:…, scripted:…"):
        models.find(model)


class SlowToBuild:
    """An adapter whose SDK takes long to import."""

    begun: ClassVar[list[Event]] = []
    imported: ClassVar[Event] = Event()

    @classmethod
    def from_environment(cls) -> "SlowToBuild":
        cls.begun.append(Event())
        assert cls.imported.wait(30)
        return cls()

    async def close(self) -> None:
        """Nothing is held."""


async def test_jobs_go_on_while_a_provider_is_built_and_it_is_built_once(
    models: Models, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(ADAPTERS, "openai", (__name__, "SlowToBuild"))
    asked = [asyncio.create_task(models.ready(model)) for model in ("openai:m", "openai:m", "openai:n")]

    async def begun() -> bool:
        return bool(SlowToBuild.begun)

    await until(begun)
    waiting = [task.done() for task in asked]
    script, _ = models.find(Script([{"text": "hi"}]))
    SlowToBuild.imported.set()
    found = await asyncio.gather(*asked)
    await models.close()

    assert waiting == [False, False, False]
    assert script.api == "scripted"
    assert [name for _, name in found] == ["m", "m", "n"]
    assert len({id(provider) for provider, _ in found}) == len(SlowToBuild.begun) == 1


async def test_prices_are_loaded_in_a_thread_too_and_not_for_a_script(
    models: Models, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded_in: list[Thread] = []
    monkeypatch.setattr(prices, "load", lambda: loaded_in.append(current_thread()))
    monkeypatch.setenv("OPENAI_API_KEY", "a-key")
    await models.ready(Script([{"text": "hi"}]))
    for_a_script = list(loaded_in)
    await models.ready("openai:m")
    await models.close()

    assert for_a_script == []
    assert [thread is main_thread() for thread in loaded_in] == [False]


async def test_what_could_not_be_built_is_built_again(tmp_path: Path) -> None:
    models = Models(App([Agent("a", model="scripted:s.json")], tmp_path))
    with pytest.raises(ScriptError, match="can't be read"):
        await models.ready("scripted:s.json")
    (tmp_path / "s.json").write_text('[{"text": "hi"}]')
    provider, name = await models.ready("scripted:s.json")

    assert (provider.api, name) == ("scripted", "s.json")


@pytest.mark.parametrize(
    ("model", "environment", "missing"),
    [
        ("anthropic:m", {}, "ANTHROPIC_API_KEY"),
        ("anthropic:m", {"ANTHROPIC_API_KEY": "k"}, None),
        ("anthropic:m", {"ANTHROPIC_AUTH_TOKEN": "k"}, None),
        ("anthropic:m", {"ANTHROPIC_CUSTOM_HEADERS": "X-Api-Key: k"}, None),
        ("openai:m", {}, "OPENAI_API_KEY"),
        ("openai-chat:m", {"OPENAI_API_KEY": "k"}, None),
        ("openai-chat:m", {"OPENAI_BASE_URL": "http://127.0.0.1:1"}, "OPENAI_API_KEY"),
        pytest.param("google:m", {}, "GEMINI_API_KEY", marks=needs_google),
        pytest.param("google:m", {"GEMINI_API_KEY": "k"}, None, marks=needs_google),
        pytest.param("google:m", {"GOOGLE_API_KEY": "k"}, None, marks=needs_google),
        pytest.param("google:m", VERTEX, None, marks=needs_google),
        ("scripted:m.json", {}, None),
        (Script([]), {}, None),
    ],
)
def test_a_missing_key_is_named_unless_the_sdk_finds_one_anywhere(
    model: str | Script,
    environment: dict[str, str],
    missing: str | None,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    for name in list(os.environ):
        if name.startswith(("ANTHROPIC_", "OPENAI_", "GEMINI_", "GOOGLE_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))  # where a profile of the SDK's may lie
    for name, value in environment.items():
        monkeypatch.setenv(name, value)

    assert missing_key(model) == missing


@pytest.mark.parametrize(
    ("model", "module", "missing"),
    [
        ("google:m", "nowhere.genai", "surefoot[google]"),
        ("google:m", "json.nowhere", "surefoot[google]"),
        ("google:m", "json.decoder", None),
        ("openai:m", "nowhere.genai", None),
        (Script([]), "nowhere.genai", None),
    ],
)
def test_a_missing_extra_is_named_and_no_key_is_asked_for(
    model: str | Script, module: str, missing: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in KEYS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setitem(EXTRAS, "google", module)

    assert missing_extra(model) == missing
    assert missing is None or missing_key(model) is None


@pytest.mark.parametrize(
    ("model", "known"),
    [
        ("anthropic:claude-sonnet-4-6", True),
        ("openai:gpt-5", True),
        ("openai-chat:gpt-4o", True),
        ("google:gemini-2.5-pro", True),
        ("openai-chat:our-own-model", False),
        ("anthropic:claude-of-tomorrow", False),
        ("scripted:shop.json", True),
        (Script([]), True),
    ],
)
def test_a_model_has_a_price_if_the_tables_know_it(model: str | Script, known: bool) -> None:
    assert has_price(model) is known
