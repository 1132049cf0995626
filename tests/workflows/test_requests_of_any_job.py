"""Whatever happens to a job, every request that it sends to any of the four APIs is one that the API accepts.

The job is real: the workflow on a server, the adapters and their SDKs, and HTTP to a server that judges each request.
An example takes half a second; SUREFOOT_EXAMPLES says how many there are.
"""

import asyncio
import itertools
import os
import time
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Final, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from temporalio.client import Client as Temporal

from activities.apps import App
from activities.models import asker as model_asker
from activities.models.stand_ins import StandIns
from activities.providers import openai_vendors
from surefoot.client import Client
from surefoot.errors import DecisionRefused, JobEnded
from surefoot.job import Job
from tests.conftest import QUICK
from tests.extras import HAS_GOOGLE, NO_GOOGLE
from tests.judge_transcript import judge_transcript
from tests.waiting import EVERY
from tests.wire.agents import AGENTS, MODELS, MODELS_OF, Desk, agents
from tests.wire.answers import Act, Said, said
from tests.wire.server import model_server
from tests.workflows.test_transcript_of_any_script import check_replay
from worker import hosting
from workflows.contracts import JsonObject, Limits, Message, Pending, Resolution, Settlement

if not HAS_GOOGLE:
    pytest.skip(NO_GOOGLE, allow_module_level=True)

QUEUE: Final = "any-job"
CHOICES: Final = ("approve", "edit", "deny", "answer", "cancel", "stop", "steer")
SETTLEMENTS: Final[tuple[Settlement, ...]] = ("happened", "not_happened", "give_up")


@dataclass(frozen=True)
class Chapter:
    """What follows one message of a person: the model's answers, and what people decide on the calls that ask."""

    model: str | None
    answers: list[Said]
    choices: list[str]
    limits: Limits


@dataclass(frozen=True)
class Story:
    agent: str
    chapters: list[Chapter]


LIMITS = st.builds(
    Limits,
    rounds=st.sampled_from([6, 6, 2, 1]),
    tool_calls=st.sampled_from([None, None, 8, 3, 1]),
    tokens=st.sampled_from([None, None, None, 3000]),
)


@st.composite
def stories(draw: st.DrawFn) -> Story:
    agent = draw(st.sampled_from([*AGENTS, "listed", "plain", "short"]))
    models = st.sampled_from([*MODELS_OF.get(agent, MODELS), *([None, None] if agent == "listed" else [])])
    chapter = st.builds(
        Chapter,
        model=models,
        answers=st.lists(said(), min_size=1, max_size=5),
        choices=st.lists(st.sampled_from(CHOICES), min_size=1, max_size=4),
        limits=LIMITS,
    )
    return Story(agent, draw(st.lists(chapter, min_size=2, max_size=5)))


class Order(StandIns):
    """Which models are out of order, forgotten between two examples."""

    def forget(self) -> None:
        self._until.clear()


@dataclass
class Stage:
    client: Client
    desk: Desk
    order: Order


@pytest.fixture(scope="module")
async def stage(temporal: Temporal) -> AsyncIterator[Stage]:
    """A worker for all examples; between two of them every model is in order again."""
    order = Order()
    async with model_server() as server:
        desk = Desk(server, asyncio.get_running_loop())
        with pytest.MonkeyPatch.context() as patched:
            for name, value in server.environment.items():
                patched.setenv(name, value)
            patched.setattr(model_asker, "StandIns", lambda: order)
            patched.setattr(openai_vendors, "VENDORS", (("127.0.0.1", openai_vendors.VENDORS[0][1]),))
            async with hosting(temporal, App(agents(desk)), task_queue=QUEUE, settings=QUICK):
                yield Stage(Client(temporal, task_queue=QUEUE), desk, order)


async def act(job: Job, desk: Desk, act: Act) -> None:
    """What a person does to a job; one that ended a moment before is left alone."""
    with suppress(JobEnded):
        if act == "steer":
            text = f"And be quick, {len(desk.steered)}."
            await job.steer(text)
            desk.steered.append(text)
        elif act == "pause":
            await job.pause()
        else:
            await getattr(job, act)()


async def decide(job: Job, desk: Desk, pending: Pending, choice: str) -> None:
    """Say something on a call that waits; what came too late is no fault."""
    with suppress(DecisionRefused, JobEnded):
        if choice in ("cancel", "stop", "steer"):
            await act(job, desk, cast(Act, choice))
            choice = "approve"
        if pending.kind == "unknown_outcome":
            settlement = SETTLEMENTS[CHOICES.index(choice) % 3]
            desk.again[f"{job.id}/{pending.call}"] += settlement == "not_happened"
            await job.resolve(Resolution(call=pending.call, choice=settlement, result="done", by="ann"))
        elif choice == "answer":
            await job.answer(pending.call, "It is done already.", by="ann")
        elif choice == "deny":
            await job.deny(pending.call, reason="not now", by="ann")
        else:
            edited: JsonObject | None = {**pending.arguments, "key": "edited"} if choice == "edit" else None
            await job.approve(pending.call, arguments=edited, by="ann")


async def finished(job: Job, desk: Desk, choices: Iterator[str]) -> None:
    """See the job to its end: decide what waits, go on where a person paused it."""
    end = time.monotonic() + 60
    while (view := await job.view()).state != "ended":
        assert time.monotonic() < end, f"the job hangs: {view}"
        if view.state == "paused":
            with suppress(JobEnded):
                await job.resume()
        for pending in view.pending:
            await decide(job, desk, pending, next(choices))
        await asyncio.sleep(EVERY)


@settings(
    max_examples=int(os.environ.get("SUREFOOT_EXAMPLES", "25")),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(story=stories())
@pytest.mark.timeout(900)
async def test_every_request_of_any_job_is_one_that_its_api_accepts(stage: Stage, story: Story) -> None:
    server, desk = stage.desk.server, stage.desk
    server.begin(schema_mode=story.agent == "schema")
    stage.order.forget()
    desk.steered.clear()
    job: Job | None = None
    for number, chapter in enumerate(story.chapters):
        server.answers = list(chapter.answers)
        if job is None:
            job = stage.client.job(f"any-{uuid.uuid4().hex}")
            server.person = partial(act, job, desk)
            await stage.client.start(story.agent, "Go.", id=job.id, limits=chapter.limits, model=chapter.model)
        else:
            await stage.client.reply(job.id, f"And then, {number}.", limits=chapter.limits, model=chapter.model)
        await finished(job, desk, itertools.cycle(chapter.choices))
        outcome = await job.outcome()

        assert not server.faults, "\n".join([str(story), *server.faults])
        assert outcome.status != "failed", f"{outcome} of {story}"
        assert {call for call, count in desk.written.items() if count > 1 + desk.again[call]} == set()
    assert job is not None
    transcript = await job.transcript()
    judge_transcript(transcript)
    messages = [entry.text for entry in transcript if isinstance(entry, Message)]
    assert [text for text in messages if text.startswith("And be quick")] == desk.steered
    await check_replay(stage.client.temporal, job.id)
