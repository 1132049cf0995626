"""Whatever is sent to a job instead of a decision: nothing executes, the sender is told, and the job goes on."""

import json
from typing import Any

import pytest
from temporalio.api.common.v1 import Payload
from temporalio.client import WorkflowQueryFailedError, WorkflowUpdateFailedError
from temporalio.common import RawValue
from temporalio.exceptions import ApplicationError

from surefoot.client import Client
from surefoot.job import Job
from tests.conftest import Host
from tests.workflows.gated import Ledger, call, cli, ended, started, waiting, writer
from workflows.contracts import Pending

GARBAGE: dict[str, list[Any]] = {
    "null": [None],
    "the word no": ["no"],
    "the word false": ["false"],
    "the word approve": ["approve"],
    "zero": [0],
    "one": [1],
    "true": [True],
    "an empty list": [[]],
    "an empty object": [{}],
    "nothing": [],
    "bytes": [b"\x00\xff"],
    "another encoding": [RawValue(Payload(metadata={"encoding": b"mystery"}, data=b"\xff"))],
    "an encoding that is no text": [RawValue(Payload(metadata={"encoding": b"\xff\xfe"}, data=b"x"))],
    "no encoding": [RawValue(Payload(data=b"x"))],
    "broken JSON": [RawValue(Payload(metadata={"encoding": b"json/plain"}, data=b'{"call": '))],
    "half a character": [RawValue(Payload(metadata={"encoding": b"json/plain"}, data=b'"\\ud800"'))],
    "broken compression": [RawValue(Payload(metadata={"encoding": b"binary/surefoot-zstd"}, data=b"zzz"))],
    "broken inside": [RawValue(Payload(metadata={"encoding": b"binary/surefoot-zstd"}, data=b"(\xb5/\xfd \x03\x19"))],
    "a message of Temporal's": [RawValue(Payload(metadata={"encoding": b"json/protobuf"}, data=b"{}"))],
}


def almost(pending: Pending) -> dict[str, list[Any]]:
    """Decisions with one thing wrong."""
    good = {"call": pending.call, "digest": pending.digest, "choice": "approve", "by": "ann"}
    return {
        "two decisions": [good, good],
        "a decision and a word": [good, "please"],
        "a list of one": [[good]],
        "no digest": [{k: v for k, v in good.items() if k != "digest"}],
        "digest null": [{**good, "digest": None}],
        "another digest": [{**good, "digest": "0" * 64}],
        "a digest beyond all bounds": [{**good, "digest": "0" * 100_000}],
        "no call": [{k: v for k, v in good.items() if k != "call"}],
        "another call": [{**good, "call": "c9-9"}],
        "no choice": [{k: v for k, v in good.items() if k != "choice"}],
        "choice null": [{**good, "choice": None}],
        "choice true": [{**good, "choice": True}],
        "choice yes": [{**good, "choice": "yes"}],
        "choice happened": [{**good, "choice": "happened"}],
        "another tool": [{**good, "tool": "delete_everything"}],
        "arguments as a list": [{**good, "arguments": []}],
        "arguments as text": [{**good, "arguments": '{"key": "b"}'}],
        "deny with arguments": [{**good, "choice": "deny", "arguments": {"key": "b"}}],
        "answer without a text": [{**good, "choice": "answer"}],
        "by a number": [{**good, "by": 7}],
        "by a name without end": [{**good, "by": "x" * 10_000}],
    }


async def refuses(job: Job, client: Client, update: str, sent: list[Any]) -> str:
    handle = client.temporal.get_workflow_handle(job.id)
    with pytest.raises(WorkflowUpdateFailedError) as caught:
        await handle.execute_update(update, args=sent)
    assert isinstance(caught.value.cause, ApplicationError)
    return caught.value.cause.message


@pytest.mark.parametrize("cached", [1000, 0])
async def test_garbage_as_an_update_is_refused_to_its_sender_and_executes_nothing(host: Host, cached: int) -> None:
    ledger = Ledger()
    agent = writer("w", [call("save", key="a")], tools=[ledger.tool()])
    async with host(agent, cached=cached) as client:
        job, (pending,) = await started(client, "w")
        for name, sent in {**GARBAGE, **almost(pending)}.items():
            assert await refuses(job, client, "decide", sent), name
            assert await refuses(job, client, "resolve", sent), name
        view = await job.view()
        written_before = list(ledger.written)
        await job.approve(pending.call, by="ann")
        last = await ended(job)

    assert [each.call for each in view.pending] == [pending.call]
    assert view.decided == []
    assert written_before == []
    assert ledger.written == ["save a"]
    assert last.outcome is not None
    assert last.outcome.status == "complete"


@pytest.mark.parametrize("cached", [1000, 0])
async def test_garbage_as_a_signal_executes_nothing_and_the_job_goes_on(host: Host, cached: int) -> None:
    ledger = Ledger()
    agent = writer("w", [call("save", key="a")], tools=[ledger.tool()])
    async with host(agent, cached=cached) as client:
        job, (pending,) = await started(client, "w")
        handle = client.temporal.get_workflow_handle(job.id)
        for sent in {**GARBAGE, **almost(pending)}.values():
            for signal in ("decide", "resolve", "steer"):
                await handle.signal(signal, args=sent)
        (still,) = await waiting(job)
        written_before = list(ledger.written)
        await job.approve(pending.call, by="ann")
        last = await ended(job)

    assert still.call == pending.call
    assert written_before == []
    assert ledger.written == ["save a"]
    assert [decided.by for decided in last.decided] == ["ann"]
    assert last.outcome is not None
    assert last.outcome.status == "complete"


async def test_signals_that_take_nothing_bear_whatever_is_sent_along(host: Host) -> None:
    ledger = Ledger()
    async with host(writer("w", [call("save", key="a")], tools=[ledger.tool()])) as client:
        job, (pending,) = await started(client, "w")
        handle = client.temporal.get_workflow_handle(job.id)
        for signal in ("pause", "resume"):
            for sent in GARBAGE.values():
                await handle.signal(signal, args=[*sent, *sent])
        await job.approve(pending.call, by="ann")
        last = await ended(job)

    assert ledger.written == ["save a"]
    assert last.outcome is not None
    assert last.outcome.status == "complete"


@pytest.mark.parametrize("sent", GARBAGE.values(), ids=GARBAGE)
async def test_stop_stops_whatever_is_sent_along(host: Host, sent: list[Any]) -> None:
    ledger = Ledger()
    async with host(writer("w", [call("save", key="a")], tools=[ledger.tool()])) as client:
        job, _ = await started(client, "w")
        await client.temporal.get_workflow_handle(job.id).signal("stop", args=[*sent, *sent])
        last = await ended(job)

    assert ledger.written == []
    assert last.outcome is not None
    assert last.outcome.status == "cancelled"


async def test_signals_and_updates_that_do_not_exist_change_nothing(host: Host) -> None:
    ledger = Ledger()
    async with host(writer("w", [call("save", key="a")], tools=[ledger.tool()])) as client:
        job, (pending,) = await started(client, "w")
        handle = client.temporal.get_workflow_handle(job.id)
        await handle.signal("approve", {"call": pending.call})
        text = await refuses(job, client, "approve", [{"call": pending.call}])
        await job.approve(pending.call, by="ann")
        last = await ended(job)

    assert "'approve' expected but not found" in text
    assert ledger.written == ["save a"]
    assert last.outcome is not None
    assert last.outcome.status == "complete"


async def test_queries_with_bad_arguments_fail_for_their_sender_alone(host: Host) -> None:
    ledger = Ledger()
    bad: list[tuple[str, list[Any]]] = [
        ("transcript", ["x"]), ("transcript", [0, 0]), ("transcript", [None]), ("transcript", [[]]),
        ("transcript", GARBAGE["broken compression"]), ("no_such_query", []),
        ("pending_call", []), ("pending_call", [1, 2]),
    ]  # fmt: skip
    async with host(writer("w", [call("save", key="a")], tools=[ledger.tool()])) as client:
        job, (pending,) = await started(client, "w")
        handle = client.temporal.get_workflow_handle(job.id)
        for query, sent in bad:
            with pytest.raises(WorkflowQueryFailedError):
                await handle.query(query, args=sent)
        beyond = await handle.query("transcript", 10**9)
        below = await handle.query("transcript", -5)
        await job.approve(pending.call, by="ann")
        last = await ended(job)

    assert beyond["entries"] == []
    assert len(below["entries"]) == 2
    assert last.outcome is not None
    assert last.outcome.status == "complete"


async def test_temporals_own_command_line_is_refused_and_served_like_every_sender(host: Host) -> None:
    ledger = Ledger()
    async with host(writer("w", [call("save", key="a")], tools=[ledger.tool()])) as client:
        job, (pending,) = await started(client, "w")
        good = json.dumps({"call": pending.call, "digest": pending.digest, "choice": "approve", "by": "ann"})
        for given in (["null"], ['"no"'], ["0"], ['"false"'], ["1"], ["[]"], ["{}"], [good, good], []):
            inputs = [part for each in given for part in ("--input", each)]
            code, text = await cli(client, "workflow", "update", "execute", "-w", job.id, "--name", "decide", *inputs)
            assert code != 0, given
            assert "nothing was executed" in text
            code, _ = await cli(client, "workflow", "signal", "-w", job.id, "--name", "decide", *inputs)
            assert code == 0
        (still,) = await waiting(job)
        written_before = list(ledger.written)
        # It can't show the answer, which is compressed; the decision counts all the same.
        await cli(client, "workflow", "update", "execute", "-w", job.id, "--name", "decide", "--input", good)
        last = await ended(job)

    assert still.call == pending.call
    assert written_before == []
    assert ledger.written == ["save a"]
    assert last.outcome is not None
    assert last.outcome.status == "complete"
