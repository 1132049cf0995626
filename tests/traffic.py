"""Recorded provider traffic, and a transport that replays answers to the real SDK clients in this process.

The recordings are no part of the repository: they are found through SUREFOOT_TRAFFIC or in `../shared/traffic`.
Without them the tests that need them are skipped, except under CI=true, where that would hide a hole.
"""

import functools
import json
import os
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest

FOLDER = Path(os.environ.get("SUREFOOT_TRAFFIC") or Path(__file__).parents[1] / ".." / "shared" / "traffic")

OPENED: defaultdict[str, set[tuple[str, str]]] = defaultdict(set)
"""Which tests of this run read which recording: file and function of each."""


@dataclass(frozen=True)
class Exchange:
    """One request and its answer. `response_body` is JSON, or the raw text of an event stream if `sse`."""

    method: str
    url: str
    status: int
    request_body: Any
    response_headers: Mapping[str, str]
    response_body: Any
    sse: bool = False

    @property
    def answer(self) -> "Answer":
        return Answer(self.response_body, self.status, self.response_headers)


@dataclass(frozen=True)
class Answer:
    """What a replayed server says: a JSON body, or a text sent as it stands."""

    body: Any
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)

    def response(self, request: httpx2.Request) -> httpx2.Response:
        content = self.body if isinstance(self.body, str) else json.dumps(self.body)
        headers = {"content-type": "application/json", **self.headers}
        return httpx2.Response(self.status, headers=headers, content=content.encode(), request=request)


class Replay(httpx2.AsyncBaseTransport):
    """Gives the answers in order, one a request; an exception among them is raised. Everything sent is kept."""

    def __init__(self, *answers: Answer | Exchange | Exception) -> None:
        self._answers = list(answers)
        self.requests: list[httpx2.Request] = []
        self.sent: list[Any] = []

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        self.requests.append(request)
        self.sent.append(json.loads(request.content) if request.content else None)
        if not self._answers:
            raise AssertionError(f"request {len(self.requests)} was sent, but no answer is left to replay")
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return (answer.answer if isinstance(answer, Exchange) else answer).response(request)

    def client(self) -> httpx2.AsyncClient:
        """An HTTP client over this transport, for the `http_client` parameter of an SDK."""
        return httpx2.AsyncClient(transport=self)


def require_traffic() -> None:
    """Skip the running test if the recordings are not here; fail under CI=true."""
    if FOLDER.is_dir():
        return
    reason = "no recorded traffic: set SUREFOOT_TRAFFIC to its folder, or put it at ../shared/traffic"
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


def exchanges(name: str) -> list[Exchange]:
    """The exchanges of one recording, such as "openai-chat/error_model_not_found_404", in their order."""
    require_traffic()
    if test := os.environ.get("PYTEST_CURRENT_TEST"):  # "tests/test_it.py::test_name[parameter] (call)"
        file, _, function = test.partition("::")
        OPENED[name].add((Path(file).name, re.split(r"[\[ ]", function)[0]))
    return list(_read(name))


def names(folders: Iterable[str]) -> Sequence[str]:
    """The names of all recordings in these folders; none where the recordings are absent."""
    return [f"{folder}/{path.stem}" for folder in folders for path in sorted((FOLDER / folder).glob("*.json"))]


def or_skipped(recordings: Sequence[str]) -> Sequence[str]:
    """The parameters of a test that is run once a recording: without any, one that says why it is skipped."""
    return recordings or ["absent"]


@functools.cache
def _read(name: str) -> tuple[Exchange, ...]:
    recording = json.loads((FOLDER / f"{name}.json").read_text())
    return tuple(
        Exchange(
            method=each["method"],
            url=each["url"] or "",
            status=each["status"],
            request_body=each["request_body"],
            response_headers=each["response_headers"],
            response_body=each["response_body"],
            sse=each.get("response_is_sse", False),
        )
        for each in recording.get("exchanges", [recording])
    )
