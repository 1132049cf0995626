"""How often a step is tried on a real server, and what the job makes of its end."""

import asyncio
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from activities.agents import Agent
from activities.artifacts import Artifacts
from activities.errors import ToolError
from activities.providers.scripted import Script
from activities.tools.tool import Tool, tool
from tests.conftest import QUICK, Host
from tests.waiting import until
from tests.workflows.gated import cli, results
from tests.workflows.scripting import call, calls, watched
from workflows.contracts import ToolReply

FAILED = "The tool failed: ValueError: no luck"
BEATING = replace(QUICK, heartbeat_seconds=0.6)
"""A beat every 0.2 seconds, so that a step of half a second has sent some."""


def failing(kind: str, **more: Any) -> dict[str, Any]:
    seconds = more.pop("seconds", 0.0)
    return {"seconds": seconds, "error": {"kind": kind, "message": "not now", **more}}


# --- the model


@pytest.mark.parametrize("seconds", [0.0, 0.5], ids=["at once", "after some beats"])
async def test_an_overloaded_model_is_called_exactly_as_often_as_allowed(host: Host, seconds: float) -> None:
    script, asked = watched(failing("Overloaded", seconds=seconds))
    async with host(Agent("asker", script), settings=replace(BEATING, model_attempts=3)) as client:
        outcome = await (await client.start("asker", "go")).outcome()

    assert len(asked) == 3
    assert outcome.status == "model_failure"
    assert outcome.error == "Overloaded: not now"
    assert (outcome.usage.failed_attempts, outcome.usage.unmeasured, outcome.usage.model_calls) == (3, 3, 0)


async def test_a_permanent_error_is_met_once(host: Host) -> None:
    script, asked = watched(failing("Unauthenticated"))
    async with host(Agent("asker", script)) as client:
        outcome = await (await client.start("asker", "go")).outcome()

    assert len(asked) == 1
    assert (outcome.status, outcome.error) == ("model_failure", "Unauthenticated: not now")
    assert outcome.usage.failed_attempts == 1


async def test_the_delay_that_a_provider_asks_for_is_kept(host: Host) -> None:
    at: list[float] = []

    def reply(_: object) -> dict[str, Any]:
        at.append(time.monotonic())
        return failing("RateLimited", delay=0.5) if len(at) == 1 else {"text": "hi"}

    async with host(Agent("asker", Script(reply))) as client:
        outcome = await (await client.start("asker", "go")).outcome()

    assert outcome.status == "complete"
    assert 0.5 <= at[1] - at[0] < 2.0


async def test_failed_attempts_are_counted_apart_from_the_call_that_succeeded(host: Host) -> None:
    error = {"kind": "Overloaded", "message": "full", "times": 2}
    usage = {"input_tokens": 7, "output_tokens": 3}
    script = Script([{"error": error, "text": "hi", "usage": usage}])
    async with host(Agent("asker", script)) as client:
        outcome = await (await client.start("asker", "go")).outcome()

    assert outcome.status == "complete"
    assert (outcome.usage.input_tokens, outcome.usage.output_tokens, outcome.usage.model_calls) == (7, 3, 1)
    assert (outcome.usage.failed_attempts, outcome.usage.unmeasured) == (2, 2)


async def test_healthy_steps_longer_than_many_heartbeat_timeouts_run_once(host: Host) -> None:
    # The SDK itself gives up an activity without a heartbeat, five seconds after the timeout.
    saved: list[str] = []

    @tool(policy="allow")
    async def save() -> str:
        saved.append("save")
        await asyncio.sleep(6.5)
        return "saved"

    slow_model, asked = watched({"text": "at last", "seconds": 6.5})
    slow_tool = Script([calls(call("save")), {"text": "done"}])
    agents = (Agent("thinker", slow_model), Agent("saver", slow_tool, tools=[save]))
    async with host(*agents, settings=replace(BEATING, heartbeat_seconds=1.0)) as client:
        thinking, saving = await client.start("thinker", "go"), await client.start("saver", "go")
        thought, done = await asyncio.gather(thinking.outcome(), saving.outcome())

    assert (thought.status, thought.answer, len(asked)) == ("complete", "at last", 1)
    assert thought.usage.failed_attempts == 0
    assert (done.status, saved) == ("complete", ["save"])
    assert [(finding.content, finding.is_error) for finding in done.findings] == [("saved", False)]


# --- tools


class Counted:
    """A tool that fails, and how often it was called."""

    def __init__(self, error: BaseException, seconds: float = 0.0) -> None:
        self.calls = 0
        self._error, self._seconds = error, seconds

    def tool(self, **options: Any) -> Tool:
        async def fail() -> str:
            self.calls += 1
            await asyncio.sleep(self._seconds)
            raise self._error

        return tool(**options)(fail)


def failer(counted: Counted, **options: Any) -> Agent:
    script = Script([calls(call("fail")), {"text": "went on"}])
    return Agent("failer", script, tools=[counted.tool(**options)])


@pytest.mark.parametrize(
    ("error", "options", "seconds", "expected", "told"),
    [
        (ValueError("no luck"), {"read_only": True}, 0.0, 3, FAILED),
        (ValueError("no luck"), {"read_only": True, "retries": 1}, 0.5, 2, FAILED),
        (ValueError("no luck"), {"idempotent": True, "policy": "allow"}, 0.0, 3, FAILED),
        (ValueError("no luck"), {"policy": "allow"}, 0.0, 1, FAILED),
        (ToolError("no such key"), {"read_only": True}, 0.0, 1, "no such key"),
        (asyncio.CancelledError("mine"), {"read_only": True}, 0.0, 3, "The tool failed: CancelledError: mine"),
    ],
    ids=["read", "slow read", "idempotent write", "write", "tool error", "tool's own CancelledError"],
)
async def test_a_failing_tool_is_called_exactly_as_often_as_it_says_and_the_job_goes_on(
    host: Host, error: BaseException, options: dict[str, Any], seconds: float, expected: int, told: str
) -> None:
    counted = Counted(error, seconds)
    async with host(failer(counted, **options), settings=BEATING) as client:
        job = await client.start("failer", "go")
        outcome = await job.outcome()
        transcript = await job.transcript()

    assert counted.calls == expected
    assert [(r.status, r.content) for r in results(transcript)] == [("error", told)]
    assert (outcome.status, outcome.answer) == ("complete", "went on")


class Leaving(Exception):
    def __str__(self) -> str:
        raise SystemExit(1)


@pytest.mark.parametrize("error", [SystemExit(1), KeyboardInterrupt(), RecursionError("deep"), Leaving()])
@pytest.mark.parametrize(
    "options",
    [{"read_only": True, "retries": 0}, {"read_only": True, "retries": 1}, {"pure": True}],
    ids=["read", "read that is tried again", "pure"],
)
async def test_no_tool_can_end_its_worker(host: Host, error: BaseException, options: dict[str, Any]) -> None:
    async with host(failer(Counted(error), **options)) as client:
        outcome = await (await client.start("failer", "go")).outcome()

    assert (outcome.status, outcome.answer) == ("complete", "went on")
    assert [finding.is_error for finding in outcome.findings] == [True]


async def test_an_attempt_that_failed_puts_no_exception_of_a_tool_into_history(host: Host) -> None:
    """It may be of any size, and hold what nobody meant to keep."""
    counted = Counted(ValueError("no luck"))
    async with host(failer(counted, read_only=True, retries=1), settings=BEATING) as client:
        job = await client.start("failer", "go")
        outcome = await job.outcome()
        failures = [
            event.activity_task_started_event_attributes.last_failure
            async for event in job.handle().fetch_history_events()
            if event.activity_task_started_event_attributes.HasField("last_failure")
        ]

    assert (outcome.status, counted.calls) == ("complete", 2)
    assert [(failure.application_failure_info.type, failure.HasField("cause")) for failure in failures] == [
        ("ToolFailed", False)
    ]


@pytest.mark.parametrize("kind", ["plain", "coroutine"])
async def test_a_tool_that_blocks_lets_other_jobs_go_on_and_is_not_taken_for_dead(host: Host, kind: str) -> None:
    release = threading.Event()
    begun = []

    @tool(read_only=True)
    def plain() -> str:
        begun.append(kind)
        release.wait(30)
        return "released"

    @tool(read_only=True)
    async def coroutine() -> str:
        return plain()

    @tool(read_only=True)
    def other_plain() -> str:
        return "read"

    blocker = Agent("blocker", Script([calls(call(kind)), {"text": "done"}]), tools=[plain, coroutine])
    reader = Agent("reader", Script([calls(call("other_plain")), {"text": "done"}]), tools=[other_plain])
    async with host(blocker, reader, settings=BEATING) as client:
        blocked = await client.start("blocker", "go")
        other = await (await client.start("reader", "go")).outcome()
        held = await blocked.view()
        await asyncio.sleep(3 * BEATING.heartbeat_seconds)  # without a sign of life it would now have been tried again
        release.set()
        end = await blocked.outcome()

    assert other.status == "complete"
    assert held.state == "running"
    assert [finding.content for finding in end.findings] == ["released"]
    assert begun == [kind]


# --- attempts that the server ended while their mark was under way


class Gate:
    """A policy rule that holds a write right before its mark, and the write behind it."""

    def __init__(self) -> None:
        self.held, self.release = threading.Event(), threading.Event()
        self.written: list[str] = []
        self._judged = 0

    def rule(self, key: str) -> str:
        self._judged += 1
        if self._judged == 2:  # the first time is when the turn is planned
            self.held.set()
            self.release.wait(4)
        return "allow"

    def agent(self) -> Agent:
        async def save(key: str) -> str:
            self.written.append(key)
            return f"saved {key}"

        script = Script([calls(call("save", key="a")), {"text": "done"}])
        return Agent("writer", script, tools=[tool(policy=self.rule)(save)])


async def test_a_write_that_is_paused_before_its_mark_runs_once_when_it_goes_on(host: Host) -> None:
    gate = Gate()
    async with host(gate.agent()) as client:
        job = await client.start("writer", "go")
        await asyncio.to_thread(gate.held.wait, 10)
        activity = await _pending_activity(job.id, client.temporal)
        paused = await cli(client, "activity", "pause", "--activity-id", activity, "--workflow-id", job.id)
        gate.release.set()
        await until(lambda: _attempts_failed(job.id, client.temporal))
        before = list(gate.written)
        await cli(client, "activity", "unpause", "--activity-id", activity, "--workflow-id", job.id)
        outcome = await job.outcome()

    assert paused[0] == 0, paused
    assert before == []
    assert gate.written == ["a"]
    assert [finding.content for finding in outcome.findings] == ["saved a"]


async def test_a_write_whose_attempt_was_ended_from_outside_before_its_mark_is_not_called(host: Host) -> None:
    gate = Gate()
    async with host(gate.agent()) as client:
        job = await client.start("writer", "go")
        await asyncio.to_thread(gate.held.wait, 10)
        activity = await _pending_activity(job.id, client.temporal)
        handle = client.temporal.get_async_activity_handle(workflow_id=job.id, run_id=None, activity_id=activity)
        await handle.complete(ToolReply(status="error", content="ended from outside"))
        gate.release.set()
        outcome = await job.outcome()

    assert gate.written == []
    assert [finding.content for finding in outcome.findings] == ["ended from outside"]


async def _pending_activity(job: str, temporal: Any) -> str:
    description = await temporal.get_workflow_handle(job).describe()
    [pending] = description.raw_description.pending_activities
    return str(pending.activity_id)


async def _attempts_failed(job: str, temporal: Any) -> bool:
    description = await temporal.get_workflow_handle(job).describe()
    [pending] = description.raw_description.pending_activities
    return bool(pending.HasField("last_failure"))


# --- outputs of every kind, through history


async def test_odd_outputs_reach_the_model_through_history(host: Host, tmp_path: Path) -> None:
    outputs: dict[str, object] = {
        "long": "0123456789" * 500_000,
        "nul": "a\x00b",
        "surrogate": "x\ud800y \U0001f600",
        "bytes": b"\x00\xff",
        "line": "z" * 1_000_000,
    }

    @tool(read_only=True, max_output_chars=1000)
    async def read(kind: str) -> Any:
        return outputs[kind]

    script, asked = watched(calls(*(call("read", kind=kind) for kind in outputs)), {"text": "done"})
    async with host(Agent("reader", script, tools=[read])) as client:
        job = await client.start("reader", "go")
        outcome = await job.outcome()
        told = dict(zip(outputs, results(await job.transcript()), strict=True))

    whole = "the whole output is kept for people]"
    assert outcome.status == "complete"
    assert told["nul"].content == "a\x00b"
    assert told["surrogate"].content == "x\ufffdy \U0001f600"
    assert told["bytes"].content == "(2 bytes of binary data, not shown)"
    assert told["long"].content == "0123456789" * 100 + f"\n[cut: 1000 of 5000000 characters are shown; {whole}"
    assert told["line"].content == "z" * 1000 + f"\n[cut: 1000 of 1000000 characters are shown; {whole}"
    assert results(asked[-1].transcript) == list(told.values())
    for kind in ("long", "line"):
        artifact = told[kind].artifact
        assert artifact is not None
        assert Artifacts(tmp_path / "artifacts").read(artifact) == outputs[kind]
