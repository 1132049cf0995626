"""What a program may do with jobs over MCP. Each method is a tool: its name, its docstring and its parameters are told.

What a method returns is one JSON document with the keys of `--json`; what goes wrong is raised as `SurefootError`.
"""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field
from pydantic_core import to_json

from surefoot.cli.documents import inbox_document, job_document, plain
from surefoot.client import Client
from surefoot.errors import WrongValue
from surefoot.job import Applied
from workflows.contracts import JobPhase, JsonObject, Status

Document = dict[str, Any]
JobId = Annotated[str, Field(description="the job's id, as start_job and list_jobs tell it")]
CallId = Annotated[str, Field(description="the call's id, as list_inbox tells it")]
Digest = Annotated[
    str, Field(description="the digest of the arguments, as list_inbox tells it: they are what is decided on")
]

PAGE_BYTES = 200_000
"""Entries beyond so many bytes go to the next page: they are read by a model."""

LONGEST_WAIT = 60.0
STANDING = ("ended", "waiting")
"""States in which a job does nothing until somebody does something."""


class Reading:
    """Tools that change nothing."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def job_status(
        self,
        job: JobId,
        wait_seconds: Annotated[
            float, Field(ge=0, le=LONGEST_WAIT, description="wait so long for its end, or until it waits for a person")
        ] = 0,
    ) -> Document:
        """The state of a job (running, waiting for a person, paused, ended), what it waits for, and its outcome."""
        handle = self._client.job(job)
        view = await handle.view()
        if wait_seconds and view.state not in STANDING:
            with suppress(TimeoutError):
                async with asyncio.timeout(wait_seconds):
                    async for view in handle.follow():
                        if view.state in STANDING:
                            break
        return job_document(view)

    async def job_transcript(
        self,
        job: JobId,
        start: Annotated[int, Field(ge=0, description="number of the first entry")] = 0,
        limit: Annotated[int, Field(ge=1, le=200, description="most entries of a page")] = 50,
    ) -> Document:
        """What was said in a job by people, the model and its tools, a page at a time: `next` is where it goes on."""
        entries, total = await self._client.job(job).read(start, limit)
        page: list[Document] = []
        size = 0
        for entry in entries:
            document = plain(entry)
            size += len(to_json(document))
            if page and size > PAGE_BYTES:
                break
            page.append(document)
        after = start + len(page)
        return {"job": job, "entries": page, "total": total, "next": after if page and after < total else None}

    async def list_jobs(
        self,
        agent: str | None = None,
        state: JobPhase | None = None,
        status: Status | None = None,
        tag: str | None = None,
        limit: Annotated[int, Field(ge=1, le=200)] = 20,
    ) -> Document:
        """Jobs, those under way first, then those that have ended, the last one first."""
        rows = await self._client.jobs(agent=agent, state=state, status=status, tag=tag, limit=limit)
        return {"jobs": [plain(row) for row in rows]}

    async def list_inbox(self, limit: Annotated[int, Field(ge=1, le=200)] = 20) -> Document:
        """Calls that wait for a person's decision, the oldest first."""
        return {"inbox": [inbox_document(item) for item in await self._client.inbox(limit=limit)]}


@dataclass(frozen=True)
class Working:
    """Tools that start jobs and talk to them. `by` is who they are done by.

    `agents` are those that the app has; none, if only its workers know them.
    """

    client: Client
    by: str
    agents: Sequence[str] = ()

    async def start_job(
        self,
        agent: Annotated[str, Field(description="name of the agent")],
        message: Annotated[str, Field(min_length=1, description="what it shall work on")],
        id: Annotated[str | None, Field(description="the job's id; the same id and message is the same job")] = None,
    ) -> Document:
        """Start a durable job: an agent works on a message, also when you are gone. Follow it by job_status."""
        if self.agents and agent not in self.agents:
            raise WrongValue(f"There is no agent {agent!r}. The app has: {', '.join(sorted(self.agents))}.")
        job = await self.client.start(agent, message, id=id, by=self.by)
        return {"job": job.id}

    async def reply(self, job: JobId, message: Annotated[str, Field(min_length=1)]) -> Document:
        """Go on with a job that has ended, with everything said so far and a new allowance."""
        return {"job": (await self.client.reply(job, message, by=self.by)).id}

    async def stop(self, job: JobId) -> Document:
        """Let a running job end at its next step, with a closing answer."""
        await self.client.job(job).stop(by=self.by)
        return {"job": job, "stopping": True}


@dataclass(frozen=True)
class Deciding:
    """Tools that decide in the name of `by`, who has these `roles`."""

    client: Client
    by: str
    roles: tuple[str, ...]

    async def approve(
        self,
        job: JobId,
        call: CallId,
        digest: Digest,
        arguments: Annotated[JsonObject | None, Field(description="run it with these arguments instead")] = None,
    ) -> Document:
        """Let a waiting call run."""
        handle = self.client.job(job)
        return _applied(
            await handle.approve(call, digest=digest, arguments=arguments, by=self.by, roles=list(self.roles))
        )

    async def deny(self, job: JobId, call: CallId, digest: Digest, reason: str | None = None) -> Document:
        """Refuse a waiting call; the job's model is told, with the reason, and the job goes on."""
        handle = self.client.job(job)
        return _applied(await handle.deny(call, digest=digest, reason=reason, by=self.by, roles=list(self.roles)))

    async def answer(self, job: JobId, call: CallId, digest: Digest, text: str) -> Document:
        """Answer a waiting call in its tool's place; the tool does not run."""
        handle = self.client.job(job)
        return _applied(await handle.answer(call, text, digest=digest, by=self.by, roles=list(self.roles)))


def _applied(applied: Applied) -> Document:
    return {"status": applied.status, "decided": plain(applied.decided) if applied.decided else None}
