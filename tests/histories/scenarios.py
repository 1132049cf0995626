"""The main ways that a job can go, played on a real server: `record.py` keeps their histories, test_replay.py replays.

Whoever adds a command to the workflow adds a scenario that meets it.
"""

import asyncio
import dataclasses
import os
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from temporalio.client import Client as Temporal

from activities.agents import Agent
from activities.apps import App
from activities.errors import OutcomeUnknown, ToolError
from activities.notices.webhooks import Webhook
from activities.providers.scripted import Script
from activities.queues.queue import Queue
from activities.tools.tool import Tool, tool
from stand_ins.books import Body
from surefoot.batches.batch import Batch
from surefoot.batches.submitting import submit
from surefoot.client import Client
from surefoot.errors import NoSuchJob
from surefoot.job import Job
from tests.batch_apis import StandIn, responses_answer, stand_in
from tests.mcp_servers.declared import desk
from tests.waiting import until
from tests.webhook_receiver import receiver
from worker import Settings, hosting
from workflows.batches.contracts import BatchLine, BatchOrder
from workflows.contracts import Decision, JobView, JsonObject, Limits, Resolution
from workflows.lanes.contracts import LaneTerms

QUICK = Settings(heartbeat_seconds=3.0, retry_seconds=0.01, shutdown_seconds=1.0)
Play = Callable[[Client], Awaitable[Job | Batch]]


@dataclass(frozen=True)
class Scenario:
    """What is played: `play` starts a job and brings it to its end, on a worker with `settings`."""

    name: str
    play: Play
    settings: Settings = field(default=QUICK)


SCENARIOS: list[Scenario] = []


def scenario(settings: Settings = QUICK) -> Callable[[Play], Play]:
    def add(play: Play) -> Play:
        SCENARIOS.append(Scenario(play.__name__.replace("_", "-"), play, settings))
        return play

    return add


async def played(temporal: Temporal, chosen: Scenario, *, cached: int = 1000, queue: str = "histories") -> Job | Batch:
    """The job (or batch) of a scenario that was played to its end."""
    settings = dataclasses.replace(chosen.settings, max_cached_workflows=cached)
    async with hosting(
        temporal, App(agents(), queues=[Queue("nightly", concurrency=1)]), task_queue=queue, settings=settings
    ):
        return await chosen.play(Client(temporal, task_queue=queue))


# --- tools and agents


@tool(read_only=True)
async def look_up(key: str) -> str:
    """Look something up."""
    return f"value of {key}"


@tool(read_only=True)
async def look_slowly(key: str, seconds: float) -> str:
    """Look something up, which takes its time."""
    await asyncio.sleep(seconds)
    return f"value of {key}"


@tool(read_only=True)
async def read_page(number: int) -> str:
    """Read a page of a text."""
    return f"page {number} " + "of a long story " * 100


@tool(pure=True)
async def double(number: int) -> int:
    """Compute."""
    return 2 * number


@tool(preview=lambda key: f"saves {key}")
async def save(key: str) -> str:
    """Save something."""
    return f"saved {key}"


@tool(policy="allow")
async def note(text: str) -> str:
    """Note something, without asking anybody."""
    return f"noted {text}"


@tool(policy="allow")
async def send(text: str) -> str:
    """Send something, and do not learn whether it arrived."""
    raise OutcomeUnknown


@tool(read_only=True)
async def fail(message: str) -> str:
    """Fail."""
    raise ToolError(message)


TOOLS: list[Tool] = [look_up, look_slowly, read_page, double, save, note, send, fail]


def call(name: str, /, **arguments: object) -> dict[str, object]:
    return {"tool": name, "arguments": arguments}


def calls(*made: dict[str, object], **rest: object) -> dict[str, object]:
    return {"calls": list(made), **rest}


def looks(*keys: str) -> dict[str, object]:
    return calls(*(call("look_up", key=key) for key in keys))


DONE: dict[str, object] = {"text": "done"}
WRITES = calls(*(call("save", key=key) for key in "abcd"), text="All four must be saved.")
SCRIPTS: dict[str, Sequence[dict[str, object]]] = {
    "reader": [
        calls(*(call("look_slowly", key=key, seconds=taken) for key, taken in (("a", 0.2), ("b", 0.0), ("c", 0.1)))),
        calls(call("double", number=1), call("double", number=2), call("look_up", key="d"), call("double", number=3)),
        DONE,
    ],
    "stumbler": [
        calls(call("nope"), call("look_up", wrong=1), {"tool": "note", "raw": "{"}, call("fail", message="no")),
        calls(call("note", text="cut"), stop="max_tokens"),
        {"text": "", "stop": "pause"},
        {"text": "to be continued", "stop": "pause"},
        DONE,
    ],
    "writer": [WRITES, DONE],
    "thinker": [{**WRITES, "seconds": 0.5}, DONE],
    "sender": [calls(*(call("send", text=text) for text in "abc"), call("note", text="d")), DONE],
    "plodder": [looks(f"k{number}") for number in range(40)],
    "repeater": [{**looks("same"), "repeat": True}],
    "spender": [{**looks(f"k{number}"), "usage": {"input_tokens": 60, "cost_usd": 0.3}} for number in range(9)],
    "worker": [calls(call("look_up", key="a"), call("note", text="b"), call("note", text="c")), DONE, DONE],
    "slow": [calls(call("look_slowly", key="a", seconds=30), call("note", text="b")), DONE, DONE],
    "answerer": [{**DONE, "seconds": 0.3}, {"text": "done again"}, {"text": "and again"}],
    "unlucky": [{"error": {"kind": "Overloaded", "message": "full", "times": 2}, "text": "done"}],
    "rejected": [{"error": {"kind": "Rejected", "message": "no such model"}}],
    "teller": [WRITES, DONE],
    "caller": [calls(call("desk_add", a=1, b=2), call("desk_issue_create_c3b580", title="x"), call("desk_fail")), DONE],
    "novelist": [calls(call("read_page", number=number), text="I read. " * 60) for number in range(9)] + [DONE, DONE],
    "vague": [{"text": "five euros"}, {"text": '{"euros": 5}'}],
}  # fmt: skip
ERRANDS = calls(call("answerer", message="say"), call("writer", message="save"))
ENDED_ONE = {"c1-1": "complete", "c1-2": None}
HOOK = Webhook("http://127.0.0.1:9", name="hook", format="slack")
"""Told of the jobs of one agent; its URL is that of the endpoint which is up for a scenario."""

EUROS: JsonObject = {"type": "object", "properties": {"euros": {"type": "integer"}}, "required": ["euros"]}


DESK = desk(Path(os.devnull), trusted=True, read_only=["fail"])
"""The MCP server of one agent."""


def agents() -> list[Agent]:
    """Fresh ones for each worker: a script counts the attempts of its errors."""
    plain = [
        Agent(
            name,
            Script(replies),
            tools=TOOLS,
            output=EUROS if name == "vague" else None,
            notify=[HOOK] if name == "teller" else [],
            mcp=[DESK] if name == "caller" else [],
            compact_at=1800 if name == "novelist" else None,
        )
        for name, replies in SCRIPTS.items()
    ]
    plain.append(Agent("laned", "openai:gpt-4o", tools=TOOLS))
    asked = [agent.as_tool(f"Asks the {agent.name}.") for agent in plain if agent.name in ("answerer", "writer")]
    return [*plain, Agent("chief", Script([ERRANDS, DONE, DONE]), tools=asked)]


# --- complete


@scenario()
async def complete(client: Client) -> Job:
    return await ended(await client.start("reader", "look at all"))


@scenario()
async def odd_turns(client: Client) -> Job:
    return await ended(await client.start("stumbler", "try"))


@scenario()
async def model_retried(client: Client) -> Job:
    return await ended(await client.start("unlucky", "try"))


@scenario()
async def output_asked_again(client: Client) -> Job:
    return await ended(await client.start("vague", "how much?"))


@scenario()
async def model_failure(client: Client) -> Job:
    return await ended(await client.start("rejected", "try"))


@scenario()
async def no_such_agent(client: Client) -> Job:
    return await ended(await client.start("nobody", "go"))


@scenario()
async def mcp(client: Client) -> Job:
    job = await client.start("caller", "add up")
    view = await until(job.view, waits)
    await job.approve(view.pending[0].call, digest=view.pending[0].digest, by="ann")
    return await ended(job)


# --- the gate


async def four_words(job: Job) -> list[Decision]:
    """One of each kind: approve, approve edited, deny, answer."""
    view = await until(job.view, lambda seen: len(seen.pending) == 4 and all(p.preview for p in seen.pending))
    (one, two, three, four) = ((pending.call, pending.digest) for pending in view.pending)
    return [
        Decision(call=one[0], digest=one[1], choice="approve", by="ann"),
        Decision(call=two[0], digest=two[1], choice="approve", arguments={"key": "B"}, by="ann"),
        Decision(call=three[0], digest=three[1], choice="deny", text="not that one", by="bob"),
        Decision(call=four[0], digest=four[1], choice="answer", text="it is saved already", by="bob"),
    ]


@scenario()
async def gate_by_update(client: Client) -> Job:
    job = await client.start("writer", "save all")
    for decision in await four_words(job):
        await job.decide(decision)
    return await ended(job)


@scenario()
async def gate_by_signal(client: Client) -> Job:
    job = await client.start("writer", "save all")
    handle = client.temporal.get_workflow_handle(job.id)
    for decision in reversed(await four_words(job)):
        await handle.signal("decide", decision)
    return await ended(job)


@scenario()
async def gate_decided_early(client: Client) -> Job:
    other = await client.start("writer", "save all")
    words = await four_words(other)
    await other.cancel()
    job = await client.start("thinker", "save all")
    handle = client.temporal.get_workflow_handle(job.id)
    for decision in words:
        await handle.signal("decide", decision)
    return await ended(job)


@scenario()
async def unknown_outcome(client: Client) -> Job:
    job = await client.start("sender", "send all")
    happened = (await until(job.view, waits)).pending[0]
    await job.resolve(Resolution(call=happened.call, choice="happened", result="sent", by="ann"))
    again = (await until(job.view, lambda seen: waits(seen) and seen.pending[0].call != happened.call)).pending[0]
    await job.resolve(Resolution(call=again.call, choice="not_happened", by="ann"))
    await until(job.view, lambda seen: waits(seen) and seen.tool_calls == 3)
    await job.resolve(Resolution(call=again.call, choice="give_up", by="ann"))
    return await ended(job)


@scenario()
async def notices(client: Client) -> Job:
    """Four calls ask at once, and the end: two deliveries, the first of which ends while the job goes on."""
    async with receiver() as endpoint:
        HOOK.url = endpoint.url
        job = await client.start("teller", "save all")
        words = await four_words(job)
        await endpoint.got(4)
        await until(lambda: _delivered(client, job), lambda events: events > 0)
        for decision in words:
            await job.decide(decision)
        await ended(job)
        await endpoint.got(5)
    return job


async def _delivered(client: Client, job: Job) -> int:
    """How many deliveries of the job have ended, as its history says."""
    history = await client.temporal.get_workflow_handle(job.id).fetch_history()
    return sum(event.HasField("child_workflow_execution_completed_event_attributes") for event in history.events)


# --- limits


@scenario()
async def limit_of_rounds(client: Client) -> Job:
    return await ended(await client.start("plodder", "go", limits=Limits(rounds=2)))


@scenario()
async def limit_of_tool_calls(client: Client) -> Job:
    return await ended(await client.start("worker", "go", limits=Limits(tool_calls=2)))


@scenario()
async def limit_of_tokens(client: Client) -> Job:
    return await ended(await client.start("spender", "go", limits=Limits(tokens=100)))


@scenario()
async def limit_of_cost(client: Client) -> Job:
    return await ended(await client.start("spender", "go", limits=Limits(cost_usd=0.5)))


@scenario()
async def limit_of_time(client: Client) -> Job:
    return await ended(await client.start("reader", "go", limits=Limits(seconds=0.1)))


@scenario()
async def no_progress(client: Client) -> Job:
    return await ended(await client.start("repeater", "go"))


# --- people


@scenario()
async def reply(client: Client) -> Job:
    job = await ended(await client.start("plodder", "go", limits=Limits(rounds=1)))
    await client.reply(job.id, "yes, go on", limits=Limits(rounds=2))
    return await ended(job)


@scenario()
async def steer_and_pause(client: Client) -> Job:
    job = await client.start("answerer", "go")
    await job.steer("one more thing", by="ann", id="s1")
    await job.pause()
    await until(job.view, lambda seen: seen.state == "paused" and seen.entries > 1)
    await job.steer("and another", id="s2")
    await job.resume()
    return await ended(job)


@scenario()
async def stop(client: Client) -> Job:
    job = await client.start("writer", "save all")
    await until(job.view, waits)
    await job.stop(by="ann")
    return await ended(job)


@scenario()
async def cancel_in_flight(client: Client) -> Job:
    job = await client.start("slow", "go")
    await until(job.view, lambda seen: seen.entries == 2)
    await job.cancel()
    await ended(job)
    await client.reply(job.id, "go on")
    return await ended(job)


@scenario()
async def sub_agents(client: Client) -> Job:
    job, asking = await _asking_child(client)
    for decision in await four_words(asking):
        await asking.decide(decision)
    return await ended(job)


@scenario()
async def sub_agents_stopped(client: Client) -> Job:
    job, _ = await _asking_child(client)
    await job.stop(by="ann")
    return await ended(job)


@scenario()
async def sub_agents_cancelled(client: Client) -> Job:
    job, _ = await _asking_child(client)
    await job.cancel()
    await ended(job)
    await client.reply(job.id, "go on")
    return await ended(job)


async def _asking_child(client: Client) -> tuple[Job, Job]:
    """A job with two children, and the one of them that waits for decisions when the other has ended."""
    job = await client.start("chief", "go")
    # The server is asked until both are there: a worker without a cache has no time for them while it is queried.
    await until(client.inbox, lambda items: any(item.parent == job.id for item in items))
    await client.job(f"{job.id}.c1-1").outcome()
    await until(job.view, lambda seen: {each.call: each.status for each in seen.children} == ENDED_ONE)
    asking = client.job(f"{job.id}.c1-2")
    await until(asking.view, waits)
    return job, asking


@scenario(dataclasses.replace(QUICK, history_events=90))
async def compaction(client: Client) -> Job:
    """Old results are cut short and what was said is summed up, in a job of two runs; then a reply to it."""
    job = await ended(await client.start("novelist", "read it all"))
    await client.reply(job.id, "and how does it end?")
    return await ended(job)


@scenario(dataclasses.replace(QUICK, history_events=60))
async def continue_as_new(client: Client) -> Job:
    return await ended(await client.start("plodder", "go", limits=Limits(rounds=12)))


@scenario(dataclasses.replace(QUICK, history_events=40))
async def continue_as_new_while_waiting(client: Client) -> Job:
    job = await client.start("writer", "save all")
    words = await four_words(job)
    for number in range(30):
        await job.steer(f"message {number}", id=f"m{number}")
    for decision in words:
        await job.decide(decision)
    return await ended(job)


# --- by way of a provider batch

LANED = dataclasses.replace(QUICK, lane_terms=LaneTerms(quiet=0.3, longest_look=1.0, poll=0.1, longest_poll=0.5))


@scenario(LANED)
async def half_price(client: Client) -> Job:
    """Two rounds, each in a provider batch of its own."""
    async with asked_in_batches() as server:
        server.books.answer = looking_up
        return await ended(await begun(client, "half-price"))


@scenario(LANED)
async def half_price_too_late(client: Client) -> Job:
    """A provider batch that does not end before the job's time does."""
    async with asked_in_batches() as server:
        server.books.held = True
        return await ended(await begun(client, "half-price-late", within=3.0))


@asynccontextmanager
async def asked_in_batches() -> AsyncIterator[StandIn]:
    """The stand-in of a batch API, which the worker is to ask from now on."""
    async with stand_in("openai") as server:
        before = {name: os.environ.get(name) for name in server.settings}
        os.environ.update(server.settings)
        try:
            yield server
        finally:
            for name, value in before.items():
                os.environ.pop(name) if value is None else os.environ.update({name: value})


def looking_up(body: Body) -> Body:
    answer = responses_answer(body)
    if "function_call_output" in str(body):
        return answer
    call = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "look_up", "arguments": '{"key": "a"}'}
    return {**answer, "output": [call]}


@scenario()
async def queued(client: Client) -> Job:
    """One that waits in its queue until the job before it has ended."""
    before = await client.start("reader", "wait for me", queue="nightly")
    job = await client.start("reader", "your turn", queue="nightly")
    await ended(before)
    return await ended(job)


async def begun(client: Client, id: str, **order: Any) -> Job:
    """The only job of a batch in the batch lane."""
    id = f"{id}-{client.task_queue}"
    chosen = BatchOrder(agent="laned", lane="batch", **order)
    lines = [BatchLine(number=1, custom_id="one", input="look it up")]
    await submit(client.temporal, client.task_queue, lines, chosen, id=id, digest="x")
    job = client.job(f"{id}-000001")
    await until(lambda: started(job))
    return job


async def started(job: Job) -> bool:
    try:
        await job.view()
    except NoSuchJob:
        return False
    return True


@scenario()
async def batch(client: Client) -> Batch:
    found = await _batch(client)
    await found.pause(by="ann")
    await found.set_concurrency(2, by="ann")
    await found.resume(by="ann")
    await _decide(client, found)
    return found


@scenario()
async def batch_job(client: Client) -> Job:
    """One that waits for people, and tells its batch when it ends."""
    return await _decide(client, await _batch(client))


async def _batch(client: Client) -> Batch:
    """A batch of which all that is left waits for people."""
    id_ = f"batch-{uuid.uuid4().hex[:8]}"
    agents = ("answerer", "answerer", "writer")
    lines = [BatchLine(number=n, custom_id=f"id-{n}", input="go", agent=agent) for n, agent in enumerate(agents, 1)]
    await submit(client.temporal, client.task_queue, lines, BatchOrder(by="ann"), id=id_, digest="")
    found = Batch(client.temporal, id_)
    await until(found.view, lambda view: view.state == "waiting")
    return found


async def _decide(client: Client, batch: Batch) -> Job:
    job = client.job(f"{batch.id}-000003")
    for pending in await job.all_pending():
        await job.deny(pending.call, digest=pending.digest, by="bob")
    await ended(job)
    await until(batch.view, lambda view: view.state == "ended")
    return job


async def ended(job: Job) -> Job:
    await job.outcome()
    return job


def waits(view: JobView) -> bool:
    return view.state == "waiting"
