"""The webhook of OpenAI: which messages are taken, what each is answered, and what of it the log says."""

import asyncio
import base64
import json
import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast, get_args

import openai
import pytest
from httpx2 import ASGITransport, AsyncClient, Response
from openai.types.webhooks import UnwrapWebhookEvent
from temporalio.client import Client as Temporal
from temporalio.service import RPCError, RPCStatusCode

from activities.errors import DefinitionError
from activities.providers.openai_batches import ENDED
from activities.providers.openai_events import ENDS, OpenAIEvents
from stand_ins.webhook import Webhook
from surefoot.cli.doctor_webhooks import openai_hook
from surefoot.client import Client
from surefoot.http.access import Access
from surefoot.http.app import create_app
from tests.http.conftest import known

SECRET = "whsec_" + base64.b64encode(os.urandom(32)).decode()
OTHER = "whsec_" + base64.b64encode(os.urandom(32)).decode()
HOOK = "/hooks/openai"
VARIABLE = "OPENAI_WEBHOOK_SECRET"
ENDED_EVENT = {"object": "event", "id": "evt_1", "type": "batch.completed", "data": {"id": "nobodys"}, "created_at": 1}


@asynccontextmanager
async def hooked(
    client: Client, monkeypatch: pytest.MonkeyPatch, secret: str = SECRET, access: Access | None = None
) -> AsyncIterator[AsyncClient]:
    """The application with a webhook, reached as a tunnel or a proxy does: by a public name."""
    monkeypatch.setenv(VARIABLE, secret)
    app = create_app(client, access or Access.open("me", []))
    async with AsyncClient(transport=ASGITransport(app), base_url="https://agents.example.com") as asked:
        yield asked


def signed(body: str, secret: str = SECRET, *, ago: float = 0.0, **other: str) -> dict[str, str]:
    at = datetime.now(UTC) - timedelta(seconds=ago)
    return {
        **Webhook("", secret).headers("evt_1", body, at),
        **{name.replace("_", "-"): v for name, v in other.items()},
    }


def problem(answer: Response) -> tuple[int, str]:
    assert answer.headers["content-type"] == "application/problem+json"
    return answer.status_code, answer.json()["type"].removeprefix("urn:surefoot:problem:")


BODY = json.dumps(ENDED_EVENT)
FOREIGN: dict[str, Callable[[], Mapping[str, str]]] = {
    # Made when the test runs: the time is signed too.
    "unsigned": dict,
    "signed with another secret": lambda: signed(BODY, OTHER),
    "of another body": lambda: signed(BODY + " "),
    "six minutes old": lambda: signed(BODY, ago=360),
    "six minutes from the future": lambda: signed(BODY, ago=-360),
    "dated by no number": lambda: signed(BODY, webhook_timestamp="now"),
    "dated by a number that is none": lambda: signed(BODY, webhook_timestamp="nan"),
    "dated otherwise than it was signed": lambda: signed(
        BODY, ago=20, webhook_timestamp=str(int(datetime.now(UTC).timestamp()))
    ),
    "called otherwise than it was signed": lambda: signed(BODY, webhook_id="evt_2"),
    "signed with nothing": lambda: signed(BODY, webhook_signature="v1,"),
    "signed without a version": lambda: signed(BODY, webhook_signature="AAAA"),
    "signed with what is no base64": lambda: signed(BODY, webhook_signature="v1,é"),
    "signed by another scheme": lambda: signed(BODY, webhook_signature="v1a,AAAA"),
}


@pytest.mark.parametrize("forged", FOREIGN.values(), ids=FOREIGN.keys())
async def test_a_message_that_openai_did_not_sign_just_now_is_refused(
    nobody: Client, monkeypatch: pytest.MonkeyPatch, forged: Callable[[], Mapping[str, str]]
) -> None:
    async with hooked(nobody, monkeypatch) as asked:
        raw = [(name.encode(), value.encode("latin-1")) for name, value in forged().items()]
        answer = await asked.post(HOOK, content=BODY, headers=raw)

    assert problem(answer) == (403, "not-signed")


async def test_a_token_or_a_session_does_not_stand_for_a_signature(
    nobody: Client, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    access, token = known(tmp_path, ana=["admin"])
    async with hooked(nobody, monkeypatch, access=access) as asked:
        answer = await asked.post(HOOK, content=BODY, headers={"Authorization": f"Bearer {token['ana']}"})

    assert problem(answer) == (403, "not-signed")


async def test_no_page_of_a_browser_may_read_what_it_answers(nobody: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    asks = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}
    async with hooked(nobody, monkeypatch) as asked:
        before = await asked.options(HOOK, headers=asks)
        answer = await asked.post(HOOK, content=BODY, headers={"Origin": "https://evil.example"})

    assert (before.status_code, answer.status_code) == (405, 403)
    assert [name for name in (*before.headers, *answer.headers) if name.startswith("access-control")] == []


async def test_where_no_secret_is_set_there_is_no_webhook(nobody: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    async with hooked(nobody, monkeypatch, secret="") as asked:
        answer = await asked.post(HOOK, content=BODY, headers=signed(BODY))

    assert problem(answer) == (404, "no-webhook")
    assert VARIABLE in answer.json()["detail"]


@pytest.mark.parametrize(
    "secret",
    ["whsec_", "whsec_AAAA", "not base64 at all", f"{SECRET} whsec_?"],
    ids=["empty", "too short", "no base64", "one of two"],
)
def test_a_secret_that_can_not_be_one_is_said_at_the_start_and_not_shown(nobody: Client, secret: str) -> None:
    with pytest.raises(DefinitionError, match=r"OPENAI_WEBHOOK_SECRET: secret [12] is not whsec_ and") as raised:
        OpenAIEvents.from_environment({VARIABLE: secret})

    assert "OpenAI shows it once" in str(raised.value)
    assert SECRET not in str(raised.value)


async def test_two_secrets_are_taken_while_one_takes_the_place_of_the_other(
    nobody: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = json.dumps({**ENDED_EVENT, "type": "response.completed"})
    seen: dict[str, list[int]] = {}
    for which, secrets in (("before", OTHER), ("both", f"{OTHER} {SECRET}"), ("after", SECRET)):
        async with hooked(nobody, monkeypatch, secret=secrets) as asked:
            answers = [await asked.post(HOOK, content=body, headers=signed(body, each)) for each in (OTHER, SECRET)]
        seen[which] = [answer.status_code for answer in answers]

    assert seen == {"before": [200, 403], "both": [200, 200], "after": [403, 200]}


NONE_OF_OURS: dict[str, Any] = {
    "of another kind": {**ENDED_EVENT, "type": "response.completed"},
    "of a kind that is not known yet": {"type": "batch.paused", "data": {"id": "batch_1"}},
    "without a batch": {"type": "batch.completed", "data": {}},
    "with a batch of no name": {"type": "batch.completed", "data": {"id": ""}},
    "with a name that would be a question to the server": {
        "type": "batch.failed",
        "data": {"id": "x' OR WorkflowId != '"},
    },
    "with a name of any length": {"type": "batch.failed", "data": {"id": "x" * 10_000}},
    "with a name that is none": {"type": "batch.failed", "data": {"id": ["x"]}},
    "without a kind": {"data": {"id": "batch_1"}},
    "that is no object": ["batch.completed"],
}


@pytest.mark.parametrize("event", NONE_OF_OURS.values(), ids=NONE_OF_OURS.keys())
async def test_a_signed_message_that_is_none_of_ours_is_taken_and_never_reaches_the_server(
    nobody: Client, monkeypatch: pytest.MonkeyPatch, event: Any
) -> None:
    body = json.dumps(event)
    async with hooked(nobody, monkeypatch) as asked:
        answer = await asked.post(HOOK, content=body, headers=signed(body))

    assert (answer.status_code, answer.json()) == (200, {"told": 0})


async def test_a_signed_message_that_is_no_json_is_taken_and_noted(
    nobody: Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with hooked(nobody, monkeypatch) as asked:
        answer = await asked.post(HOOK, content="{not json", headers=signed("{not json"))

    assert (answer.status_code, answer.json()) == (200, {"told": 0})
    assert "a message of OpenAI can't be read" in caplog.text
    assert "{not json" not in caplog.text


async def test_bytes_that_are_no_text_are_refused(nobody: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    async with hooked(nobody, monkeypatch) as asked:
        answer = await asked.post(HOOK, content=b"\xff\xfe", headers=signed("x"))

    assert problem(answer) == (403, "not-signed")


async def test_a_large_message_is_refused_whoever_signed_it(nobody: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    body = json.dumps({**ENDED_EVENT, "more": "x" * 64_000})
    async with hooked(nobody, monkeypatch) as asked:
        answer = await asked.post(HOOK, content=body, headers=signed(body))

    assert problem(answer) == (413, "too-large")


async def test_refusals_fill_no_log_and_tell_no_secret(
    nobody: Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with hooked(nobody, monkeypatch) as asked:
        for _ in range(50):
            await asked.post(HOOK, content=BODY, headers=signed(BODY, OTHER))

    said = [record.getMessage() for record in caplog.records if record.name == "surefoot.http.hooks"]
    assert len(said) == 5
    assert set(said) == {
        "a message to /hooks/openai was refused (No matching signature found);"
        " its sender gets 403 until OPENAI_WEBHOOK_SECRET fits"
    }


@pytest.mark.parametrize("kind", ENDS)
async def test_the_end_of_a_batch_that_nobody_waits_for_is_taken(
    temporal: Temporal, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    body = json.dumps({**ENDED_EVENT, "type": kind})
    async with hooked(Client(temporal), monkeypatch) as asked:
        first = await asked.post(HOOK, content=body, headers=signed(body))
        again = await asked.post(HOOK, content=body, headers=signed(body))

    assert [(answer.status_code, answer.json()) for answer in (first, again)] == [(200, {"told": 0})] * 2


class Unreached:
    """In place of a Temporal server's client: it hangs, or says that there is no server. `most` asked at one time."""

    def __init__(self, hangs: bool) -> None:
        self._hangs, self._now, self.most = hangs, 0, 0

    async def list_workflows(self, *_: Any, **__: Any) -> AsyncIterator[None]:
        self._now += 1
        self.most = max(self.most, self._now)
        try:
            await (asyncio.Event().wait() if self._hangs else asyncio.sleep(0))
            raise RPCError("connection refused", RPCStatusCode.UNAVAILABLE, b"")
        finally:
            self._now -= 1
        yield


@pytest.mark.parametrize(("hangs", "slug"), [(True, "too-busy"), (False, "server-not-reached")])
async def test_while_the_server_does_not_answer_openai_is_to_send_it_again_and_it_is_asked_once_at_a_time(
    monkeypatch: pytest.MonkeyPatch, hangs: bool, slug: str
) -> None:
    monkeypatch.setattr("surefoot.http.hooks.ANSWER_SECONDS", 0.2)
    server = Unreached(hangs)
    async with hooked(Client(cast(Temporal, server)), monkeypatch) as asked:
        answers = await asyncio.gather(*(asked.post(HOOK, content=BODY, headers=signed(BODY)) for _ in range(3)))

    assert [problem(answer) for answer in answers] == [(503, slug)] * 3
    assert {answer.headers["retry-after"] for answer in answers} == {"5"}
    assert server.most == 1


def test_doctor_tells_of_the_webhook_where_one_is_set_up() -> None:
    set_up = openai_hook({VARIABLE: f"{OTHER} {SECRET}"})

    assert openai_hook({}) is None
    assert set_up == (
        True,
        "OPENAI_WEBHOOK_SECRET is set: a console here takes events of batches at /hooks/openai",
        "",
    )


def test_events_are_told_for_each_way_in_which_a_batch_ends() -> None:
    assert tuple(f"batch.{status}" for status in ENDED) == ENDS
    known_to_the_sdk = {kind for event in get_args(get_args(UnwrapWebhookEvent)[0]) for kind in kinds_of(event)}
    assert {kind for kind in known_to_the_sdk if kind.startswith("batch.")} == set(ENDS)


def kinds_of(event: Any) -> tuple[str, ...]:
    kinds: tuple[str, ...] = get_args(event.model_fields["type"].annotation)
    return kinds


def test_openais_own_library_takes_what_the_stand_in_signs() -> None:
    sdk = openai.OpenAI(api_key="none-needed", webhook_secret=SECRET)

    event = sdk.webhooks.unwrap(BODY, signed(BODY))

    assert (event.type, event.id) == ("batch.completed", "evt_1")
    with pytest.raises(openai.InvalidWebhookSignatureError):
        sdk.webhooks.unwrap(BODY, signed(BODY, OTHER))
