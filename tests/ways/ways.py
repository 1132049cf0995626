"""The five ways in which a person's word reaches a call: command line, HTTP, web page, raw update, raw signal.

Each sends what it is told and says how it was answered: None if it was taken, else what its sender is told. A signal is
never answered, so for it alone None means no more than that the server has it.
"""

import asyncio
import html
import json
import re
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Protocol

from httpx2 import AsyncClient
from temporalio.client import Client as Temporal

from surefoot.client import Client
from surefoot.http.access import Access
from tests.cli.running import Place
from tests.http.conftest import asking
from tests.workflows.gated import cli

PERSON = "ana"


class Way(Protocol):
    """One of the ways. `answers` says whether its sender hears what became of the word."""

    answers: bool

    async def send(
        self, job: str, call: str, digest: str, choice: str, *, arguments: Any = None, text: str | None = None
    ) -> str | None: ...

    async def send_raw(self, job: str, call: str, word: str) -> str | None:
        """Send JSON that may be no decision at all, where this way lets anybody do so."""
        ...


def decision(call: str, digest: str, choice: str, arguments: Any, text: str | None) -> dict[str, Any]:
    """A decision as Temporal's own command line takes it."""
    given = {"arguments": arguments, "text": text}
    word = {"call": call, "digest": digest, "choice": choice, "by": PERSON}
    return {**word, **{name: value for name, value in given.items() if value is not None}}


class Commands:
    """`surefoot approve | answer | deny`."""

    answers = True

    def __init__(self, place: Place) -> None:
        self._place = place

    async def send(
        self, job: str, call: str, digest: str, choice: str, *, arguments: Any = None, text: str | None = None
    ) -> str | None:
        line = [choice, job, call, "--digest", digest]
        stdin = b""
        if arguments is not None:
            line, stdin = [*line, "--args", "-"], json.dumps(arguments).encode()
        if text is not None:
            line = [*line, "--reason", text] if choice == "deny" else [choice, job, call, text, "--digest", digest]
        return await self._run(*line, stdin=stdin)

    async def send_raw(self, job: str, call: str, word: str) -> str | None:
        return await self._run("approve", job, call, "--digest", "none", "--args", word)

    async def _run(self, *line: str, stdin: bytes = b"") -> str | None:
        ended = await asyncio.to_thread(self._place.run, *line, input=stdin)
        return None if ended.code == 0 else ended.err


class Http:
    """`POST /api/v1/jobs/JOB/calls/CALL/decision`."""

    answers = True

    def __init__(self, asked: AsyncClient) -> None:
        self._asked = asked

    async def send(
        self, job: str, call: str, digest: str, choice: str, *, arguments: Any = None, text: str | None = None
    ) -> str | None:
        word: dict[str, Any] = {"choice": choice, "digest": digest}
        if arguments is not None:
            word = {**word, "choice": "edit", "arguments": arguments}
        if text is not None:
            word["reason" if choice == "deny" else "text"] = text
        return await self.send_raw(job, call, json.dumps(word))

    async def send_raw(self, job: str, call: str, word: str) -> str | None:
        answer = await self._asked.post(
            f"/api/v1/jobs/{job}/calls/{call}/decision", content=word, headers={"Content-Type": "application/json"}
        )
        return None if answer.status_code in (200, 202) else answer.text


class Page:
    """The form of the inbox page, as a browser without scripts sends it."""

    answers = True

    def __init__(self, asked: AsyncClient) -> None:
        self._asked = asked

    async def send(
        self, job: str, call: str, digest: str, choice: str, *, arguments: Any = None, text: str | None = None
    ) -> str | None:
        form = {"digest": digest, "choice": choice, "text": text or ""}
        if arguments is not None:
            form["arguments"] = json.dumps(arguments)
        return await self._post(job, call, form)

    async def send_raw(self, job: str, call: str, word: str) -> str | None:
        return await self._post(job, call, {"choice": word, "digest": word})

    async def _post(self, job: str, call: str, form: dict[str, str]) -> str | None:
        answer = await self._asked.post("/inbox/decide", params={"job": job, "call": call}, data=form)
        if answer.status_code in (200, 303):
            return None
        return html.unescape(re.sub(r"<[^>]*>", "", answer.text))


class Raw:
    """`temporal workflow update execute` and `… signal`: what anybody can send who reaches the server."""

    def __init__(self, client: Client, folder: Path, *, answers: bool) -> None:
        self._client, self._file, self.answers = client, folder / "word.json", answers

    async def send(
        self, job: str, call: str, digest: str, choice: str, *, arguments: Any = None, text: str | None = None
    ) -> str | None:
        return await self.send_raw(job, call, json.dumps(decision(call, digest, choice, arguments, text)))

    async def send_raw(self, job: str, call: str, word: str) -> str | None:
        await asyncio.to_thread(self._file.write_text, word)
        command = ("update", "execute") if self.answers else ("signal",)
        code, output = await cli(
            self._client, "workflow", *command, "-w", job, "--name", "decide", "--input-file", str(self._file)
        )
        return None if code == 0 else output


NAMES = ("command line", "HTTP", "web page", "update", "signal")


async def open_way(name: str, client: Client, temporal: Temporal, folder: Path, stack: AsyncExitStack) -> Way:
    """The way of this name to the jobs of `client`; what it holds is let go with `stack`."""
    match name:
        case "command line":
            place = Place.at(
                folder / "place",
                TEMPORAL_ADDRESS=temporal.service_client.config.target_host,
                TEMPORAL_NAMESPACE=temporal.namespace,
                SUREFOOT_TASK_QUEUE=client.task_queue,
            )
            stack.callback(place.close)
            return Commands(place)
        case "HTTP" | "web page":
            asked = await stack.enter_async_context(asking(client, Access.open(PERSON, [])))
            return Http(asked) if name == "HTTP" else Page(asked)
        case _:
            return Raw(client, folder, answers=name == "update")
