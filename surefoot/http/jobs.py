"""Jobs: start them, find them, look at one, and what people tell them while they run and after."""

import hashlib
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Annotated

from fastapi import APIRouter, Depends, Header, Query, Request
from pydantic import BaseModel, ConfigDict, Field

from surefoot.client import Client
from surefoot.http.access import needs
from surefoot.http.answers import JobPage, JobRef
from surefoot.http.offered import Offered
from surefoot.http.paths import JOB
from surefoot.http.people import Person
from surefoot.http.problems import PROBLEMS, Refusal
from surefoot.http.requests import ForkJob, Name, Reply, StartJob, Steering, limits_of
from surefoot.job import Job
from surefoot.job_pages import list_page
from surefoot.lists import JobFilter
from workflows.batches.contracts import LineClass
from workflows.contracts import JobPhase, JobView, Status

router = APIRouter(prefix="/jobs", tags=["jobs"], responses=PROBLEMS)

Viewer = Annotated[Person, Depends(needs("view"))]
Submitter = Annotated[Person, Depends(needs("submit"))]
Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=200,
        description="Sent again with the same key, a request is the same request: nothing is done twice.",
    ),
]


def client_of(request: Request) -> Client:
    client: Client = request.app.state.client
    return client


def job_of(job: str, request: Request) -> Job:
    """The job that the path names."""
    return client_of(request).job(job)


def offered_of(request: Request) -> Offered | None:
    offered: Offered | None = request.app.state.offered
    return offered


Agents = Annotated[Offered | None, Depends(offered_of)]
Jobs = Annotated[Client, Depends(client_of)]
TheJob = Annotated[Job, Depends(job_of)]


class JobQuery(BaseModel):
    """Which jobs a list has."""

    model_config = ConfigDict(extra="forbid")

    agent: Name | None = None
    state: JobPhase | None = None
    status: Status | None = None
    tenant: Name | None = None
    tag: Name | None = None
    batch: Name | None = None
    queue: Name | None = None
    end: LineClass | None = Field(default=None, description="How they ended: done, before they were, or not at all.")
    limit: int = Field(default=50, ge=1, le=200)
    cursor: str | None = Field(default=None, max_length=4000)


@router.get("")
async def list_jobs(_: Viewer, client: Jobs, query: Annotated[JobQuery, Query()]) -> JobPage:
    """Jobs, those under way first, then those that have ended, the last one first."""
    wanted = JobFilter(**query.model_dump(exclude={"limit", "cursor"}))
    rows, following = await list_page(client.temporal, wanted, limit=query.limit, cursor=query.cursor)
    return JobPage(jobs=rows, next=following)


@router.post("", status_code=201)
async def start_job(person: Submitter, client: Jobs, agents: Agents, sent: StartJob, key: Key = None) -> JobRef:
    """Start a job, or find the one that was started with the same Idempotency-Key (or `id`) and content."""
    _one_name(key, sent.id)
    if agents is not None:
        await agents.check(sent.agent)
        await agents.check_queue(sent.queue)
    job = await client.start(
        sent.agent,
        sent.message,
        id=sent.id,
        key=key,
        limits=limits_of(sent.limits),
        total=limits_of(sent.total),
        model=sent.model,
        tenant=sent.tenant,
        tags=sent.tags,
        by=person.name,
        delay=None if sent.delay_seconds is None else timedelta(seconds=sent.delay_seconds),
        priority=sent.priority,
        weight=sent.weight,
        queue=sent.queue,
    )
    return JobRef(job=job.id)


def _one_name(key: str | None, id: str | None) -> None:
    if key is not None and id is not None:
        raise Refusal(422, "invalid-request", "an Idempotency-Key and an id are two names for one job: send one")


@router.get(f"/{JOB}")
async def show_job(_: Viewer, job: TheJob) -> JobView:
    """A job as it stands now."""
    return await job.view()


@router.post(f"/{JOB}/fork", status_code=201)
async def fork_job(person: Submitter, client: Jobs, job: TheJob, sent: ForkJob, key: Key = None) -> JobRef:
    """Start a new job that has said what this one had at the end of a round, or find the one with this key."""
    _one_name(key, sent.id)
    new = await client.fork(
        job.id,
        sent.round,
        sent.message,
        new_id=sent.id,
        key=key,
        by=person.name,
        limits=limits_of(sent.limits),
        model=sent.model,
    )
    return JobRef(job=new.id)


@router.post(f"/{JOB}/reply", status_code=202)
async def reply(person: Submitter, client: Jobs, job: TheJob, sent: Reply, key: Key = None) -> JobRef:
    """Go on with a job that has ended, with a new allowance."""
    limits = limits_of(sent.limits)
    await client.reply(job.id, sent.message, key=key, by=person.name, limits=limits, model=sent.model)
    return JobRef(job=job.id)


@router.post(f"/{JOB}/steer", status_code=202)
async def steer(person: Submitter, job: TheJob, sent: Steering, key: Key = None) -> JobRef:
    """Tell a running job something; it enters after the results of the current round."""
    id_ = hashlib.sha256(key.encode()).hexdigest() if key is not None else None
    await job.steer(sent.message, by=person.name, id=id_)
    return JobRef(job=job.id)


async def _signal(job: Job, send: Callable[..., Awaitable[None]], person: Person) -> JobRef:
    await send(by=person.name)
    return JobRef(job=job.id)


@router.post(f"/{JOB}/pause", status_code=202)
async def pause(person: Submitter, job: TheJob) -> JobRef:
    """Hold a job before its next step."""
    return await _signal(job, job.pause, person)


@router.post(f"/{JOB}/resume", status_code=202)
async def resume(person: Submitter, job: TheJob) -> JobRef:
    """Let a paused job go on."""
    return await _signal(job, job.resume, person)


@router.post(f"/{JOB}/stop", status_code=202)
async def stop(person: Submitter, job: TheJob) -> JobRef:
    """End a job at its next step, with a closing answer."""
    return await _signal(job, job.stop, person)


@router.post(f"/{JOB}/cancel", status_code=202)
async def cancel(person: Submitter, job: TheJob) -> JobRef:
    """End a job now."""
    return await _signal(job, job.cancel, person)
