"""The inbox: what waits for a person, and what people say to it.

Who decides is always who was authenticated, with the roles that this person has: nothing in a body can say otherwise.
"""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Query, Response
from pydantic import BaseModel, ConfigDict, Field

from surefoot.http import cursors
from surefoot.http.access import needs
from surefoot.http.answers import InboxPage, ManyTaken, Taken, TakenOrNot, WaitingCall
from surefoot.http.jobs import Jobs, TheJob, Viewer
from surefoot.http.paths import CALL, JOB
from surefoot.http.people import Person
from surefoot.http.problems import PROBLEMS, problem_of
from surefoot.http.requests import (
    Answer,
    Approve,
    Deny,
    Edit,
    Id,
    ManyDecisions,
    Name,
    OneOfMany,
    Settle,
    Word,
    terms_of,
)
from surefoot.inbox import InboxItem
from surefoot.job import Applied, Job
from workflows.contracts import Resolution, Risk

router = APIRouter(tags=["inbox"], responses=PROBLEMS)

Approver = Annotated[Person, Depends(needs("approve"))]
AT_ONCE = 10
PAGES = 20
"""How many pages of jobs one request looks through for calls that it wants; the next one goes on from there."""


class InboxQuery(BaseModel):
    """Which calls a list has."""

    model_config = ConfigDict(extra="forbid")

    job: Id | None = None
    agent: Name | None = None
    tool: Name | None = None
    tenant: Name | None = None
    risk: Risk | None = None
    kind: Literal["decision", "unknown_outcome"] | None = None
    older_than: float | None = Field(default=None, ge=0, le=1e9, description="Seconds since it was asked.")
    limit: int = Field(default=50, ge=1, le=500)
    cursor: str | None = Field(default=None, max_length=4000)

    def has(self, item: InboxItem) -> bool:
        for name in ("job", "agent", "tool", "tenant", "risk", "kind"):
            wanted = getattr(self, name)
            if wanted is not None and getattr(item, name) != wanted:
                return False
        return self.older_than is None or datetime.now(UTC) - item.asked_at >= timedelta(seconds=self.older_than)


@router.get("/inbox")
async def list_inbox(person: Viewer, client: Jobs, query: Annotated[InboxQuery, Query()]) -> InboxPage:
    """Calls that wait for a person; those of a job come together, the job first that has waited for longest."""
    after = cursors.read(query.cursor, 1)[0] if query.cursor is not None else None
    found: list[InboxItem] = []
    for _more in range(PAGES):
        page = await client.inbox_page(jobs=query.limit, after=after, agent=query.agent, tenant=query.tenant)
        found += [item for item in page.items if query.has(item)]
        after = page.after
        if after is None or len(found) >= query.limit:
            break
    return InboxPage(
        items=[WaitingCall.seen_by(person, item) for item in found],
        next=cursors.write(after) if after is not None else None,
    )


@router.get(f"/jobs/{JOB}/calls/{CALL}")
async def show_call(person: Viewer, job: TheJob, call: str) -> WaitingCall:
    """One waiting call, whole."""
    pending = await job.pending(call)
    return WaitingCall.seen_by(person, InboxItem(job=job.id, **dict(pending)))


@router.post(f"/jobs/{JOB}/calls/{CALL}/decision", responses={202: {"model": Taken}})
async def decide(person: Approver, job: TheJob, call: str, word: Word, response: Response) -> Taken:
    """Decide on a call. 200: it took effect. 202: no worker is up, so it takes effect when one is."""
    return _taken(job, call, await say(job, call, word, person), response)


@router.post(f"/jobs/{JOB}/calls/{CALL}/resolution", responses={202: {"model": Taken}})
async def resolve(person: Approver, job: TheJob, call: str, sent: Settle, response: Response) -> Taken:
    """Say how a call ended that was started and whose end nobody saw."""
    resolution = Resolution(
        call=call, choice=sent.choice, result=sent.result, by=person.name, roles=sorted(person.roles)
    )
    return _taken(job, call, await job.resolve(resolution), response)


def _taken(job: Job, call: str, applied: Applied, response: Response) -> Taken:
    response.status_code = 200 if applied.status == "applied" else 202
    return Taken(job=job.id, call=call, status=applied.status, decided=applied.decided)


@router.post("/inbox/decisions")
async def decide_many(person: Approver, client: Jobs, sent: ManyDecisions) -> ManyTaken:
    """Decide on many calls, each for itself: some may be refused while others take effect."""
    places = asyncio.Semaphore(AT_ONCE)

    async def one(each: OneOfMany) -> TakenOrNot:
        async with places:
            try:
                applied = await say(client.job(each.job), each.call, each.decision, person)
            except Exception as error:  # the others were decided, which must be told
                return TakenOrNot(job=each.job, call=each.call, status="refused", problem=problem_of(error))
        return TakenOrNot(job=each.job, call=each.call, status=applied.status, decided=applied.decided)

    return ManyTaken(results=await asyncio.gather(*(one(each) for each in sent.decisions)))


async def say(job: Job, call: str, word: Word, person: Person) -> Applied:
    """A person's word on a call, brought to its job. Raises `DecisionRefused`."""
    by, roles = person.name, sorted(person.roles)
    match word:
        case Approve():
            grant = terms_of(word.grant)
            return await job.approve(call, digest=word.digest, grant=grant, by=by, roles=roles)
        case Edit():
            grant = terms_of(word.grant)
            return await job.approve(
                call, digest=word.digest, arguments=word.arguments, grant=grant, by=by, roles=roles
            )
        case Answer():
            return await job.answer(call, word.text, digest=word.digest, by=by, roles=roles)
        case Deny():
            return await job.deny(call, reason=word.reason, digest=word.digest, by=by, roles=roles)
