"""The support desk: parallel reads, errors under their own ids, a refund behind the gate, and each tool once."""

import threading
from decimal import Decimal
from pathlib import Path

import pytest
from pydantic import JsonValue

from activities.errors import InvalidArguments, ToolCancelled, ToolError
from activities.tools.context import ToolContext
from surefoot.client import Client
from surefoot.errors import DecisionRefused
from surefoot.inbox import InboxItem
from surefoot.job import Job
from tests.conftest import QUICK
from tests.examples.conftest import Example, Load, Log, tool_of
from tests.waiting import until
from worker import Settings
from workflows.contracts import Pending, Result, Turn

QUESTION = "Order A-1001 arrived broken. Can I have my money back?"
STATUS = "A-1001 (a stoneware teapot) was delivered on 12 June."
PAYMENT = "49.90 EUR were paid for A-1001 on 9 June."


async def asked(job: Job) -> Pending:
    """The refund that waits for a person, once its preview is there."""
    view = await until(job.view, lambda view: bool(view.pending) and view.pending[0].preview is not None)
    [pending] = view.pending
    return pending


async def inbox(client: Client, job: Job) -> list[InboxItem]:
    return [item for item in await client.inbox() if item.job == job.id]


def ran(log: Log) -> list[tuple[str, str]]:
    return sorted((str(line["tool"]), str(line["call"])) for line in log())


async def first_to_run(log: Log) -> list[tuple[str, str]]:
    async def look() -> list[tuple[str, str]]:
        return ran(log)

    return await until(look)


async def threads_end() -> None:
    """Wait until no tool runs any more in a thread of a worker that has gone."""

    async def look() -> list[str]:
        return [thread.name for thread in threading.enumerate() if thread.name.startswith("tool")]

    await until(look, lambda running: not running)


async def test_two_reads_a_refund_that_a_person_approves_and_an_answer(example: Example, log: Log) -> None:
    async with example("support_desk.py") as client:
        job = await client.start("support", QUESTION)
        pending = await asked(job)
        before = ran(log)
        await job.approve(pending.call, by="ann")
        outcome = await job.outcome()
        transcript = await job.transcript()

    assert before == [("order_status", "c1-1"), ("payment_history", "c1-2")]
    assert pending.tool == "refund"
    assert pending.preview == "Pay 49.90 EUR back to Mara Lind, who paid 49.90 EUR"
    assert pending.why.startswith(f"{STATUS} {PAYMENT} ")
    assert outcome.status == "complete"
    assert outcome.answer == ("I am sorry about the teapot. About your refund: 49.90 EUR were paid back to Mara Lind.")
    assert ran(log) == [("order_status", "c1-1"), ("payment_history", "c1-2"), ("refund", "c2-1")]
    assert [line for line in log() if line["tool"] == "refund"] == [
        {"tool": "refund", "job": job.id, "call": "c2-1", "attempt": 1, "order": "A-1001", "amount": "49.90"}
    ]
    assert [entry.kind for entry in transcript] == [
        "message", "turn", "result", "result", "turn", "result", "turn",
    ]  # fmt: skip
    calls = [call.id for entry in transcript if isinstance(entry, Turn) for call in entry.calls]
    assert [entry.call for entry in transcript if isinstance(entry, Result)] == calls == ["c1-1", "c1-2", "c2-1"]


async def test_the_read_that_fails_is_an_error_under_its_own_id_beside_the_one_that_does_not(
    example: Example, log: Log
) -> None:
    async with example("support_desk.py") as client:
        job = await client.start("support", QUESTION, model="scripted:scripts/support_desk_wrong_number.json")
        outcome = await job.outcome()
        results = [entry for entry in await job.transcript() if isinstance(entry, Result)]

    missing = "There is no order A-9999. Ask the customer for the number on the invoice."
    assert [(result.call, result.tool, result.status, result.content) for result in results] == [
        ("c1-1", "order_status", "ok", STATUS),
        ("c1-2", "payment_history", "error", missing),
    ]
    assert outcome.status == "complete"
    assert outcome.answer == f"{STATUS} I found no payment, though: {missing}"
    assert ran(log) == [("order_status", "c1-1")]


async def test_reads_of_one_turn_run_at_the_same_time_and_answer_in_the_order_of_the_calls(
    example: Example, log: Log, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SUREFOOT_DEMO_SECONDS", "0.3")
    script = tmp_path / "slow_first.json"
    script.write_text(
        '[{"calls": [{"tool": "payment_history", "arguments": {"order_id": "A-1001"}},'
        ' {"tool": "order_status", "arguments": {"order_id": "A-1001"}}]}, {"text": "{result:1} {result:2}"}]'
    )
    async with example("support_desk.py") as client:
        job = await client.start("support", QUESTION, model=f"scripted:{script}")
        outcome = await job.outcome()

    assert [line["tool"] for line in log()] == ["order_status", "payment_history"]
    assert outcome.answer == f"{PAYMENT} {STATUS}"


async def test_a_denied_refund_is_not_made(example: Example, log: Log) -> None:
    async with example("support_desk.py") as client:
        job = await client.start("support", QUESTION)
        pending = await asked(job)
        await job.deny(pending.call, reason="first ask for a photo", by="ann")
        outcome = await job.outcome()
        results = [entry for entry in await job.transcript() if isinstance(entry, Result)]

    assert outcome.status == "complete"
    assert (results[-1].call, results[-1].status) == ("c2-1", "denied")
    assert "Denied by ann: first ask for a photo" in results[-1].content
    assert [tool for tool, _ in ran(log)] == ["order_status", "payment_history"]


async def test_an_answer_in_the_refund_s_place_makes_none(example: Example, log: Log) -> None:
    async with example("support_desk.py") as client:
        job = await client.start("support", QUESTION)
        pending = await asked(job)
        await job.answer(pending.call, "I sent a voucher instead.", by="ann")
        outcome = await job.outcome()

    assert outcome.answer is not None
    assert "I sent a voucher instead." in outcome.answer
    assert [tool for tool, _ in ran(log)] == ["order_status", "payment_history"]


async def test_an_edited_refund_pays_the_edited_amount_and_the_model_is_told(example: Example, log: Log) -> None:
    async with example("support_desk.py") as client:
        job = await client.start("support", QUESTION)
        pending = await asked(job)
        await job.approve(pending.call, arguments={**pending.arguments, "amount": 30}, by="ann")
        await job.outcome()
        results = [entry for entry in await job.transcript() if isinstance(entry, Result)]

    assert [line.get("amount") for line in log() if line["tool"] == "refund"] == ["30.00"]
    assert results[-1].edited
    assert results[-1].content.startswith("[a person edited the arguments of this call")
    assert results[-1].content.endswith("30.00 EUR were paid back to Mara Lind.")


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"amount": 1000.01}, "Refunds over 1000 EUR are made by the accounts office."),
        ({"amount": -5}, "greater than 0"),
        ({"amount": 4.999}, "decimal places"),
        ({"account": "mine"}, "account"),
    ],
)
async def test_an_edit_that_policy_or_schema_refuses_leaves_the_refund_waiting(
    example: Example, log: Log, change: dict[str, JsonValue], why: str
) -> None:
    async with example("support_desk.py") as client:
        job = await client.start("support", QUESTION)
        pending = await asked(job)
        with pytest.raises(DecisionRefused, match=why):
            await job.approve(pending.call, arguments={**pending.arguments, **change}, by="ann")
        still = await job.pending(pending.call)
        await job.cancel()
        outcome = await job.outcome()

    assert (still.call, still.digest) == (pending.call, pending.digest)
    assert outcome.status == "cancelled"
    assert [missed.tool for missed in outcome.not_done] == ["refund"]
    assert [tool for tool, _ in ran(log)] == ["order_status", "payment_history"]


async def test_a_small_refund_is_made_without_asking(example: Example, log: Log) -> None:
    async with example("support_desk.py") as client:
        job = await client.start("support", "My napkins have stains.", model="scripted:scripts/support_desk_small.json")
        outcome = await job.outcome()
        view = await job.view()

    assert (outcome.status, outcome.answer) == ("complete", "Settled: 18.00 EUR were paid back to Jon Aske.")
    assert view.decided == []
    assert ran(log) == [("refund", "c1-1")]


async def test_a_large_refund_is_refused_without_asking_and_the_model_is_told_why(example: Example, log: Log) -> None:
    async with example("support_desk.py") as client:
        job = await client.start("support", "My table!", model="scripted:scripts/support_desk_large.json")
        outcome = await job.outcome()
        results = [entry for entry in await job.transcript() if isinstance(entry, Result)]

    assert outcome.status == "complete"
    assert [result.status for result in results] == ["denied"]
    assert outcome.answer is not None
    assert "Refunds over 1000 EUR are made by the accounts office." in outcome.answer
    assert log() == []


async def test_a_worker_that_goes_in_the_middle_of_a_read_leaves_the_finished_one_alone(
    example: Example, log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SUREFOOT_DEMO_SECONDS", "50")
    abrupt = Settings(heartbeat_seconds=3.0, retry_seconds=0.01, shutdown_seconds=0.05)
    async with example("support_desk.py", settings=abrupt) as client:
        job = await client.start("support", QUESTION)
        await until(job.view, lambda view: view.tool_calls == 1)
        before = ran(log)
    await threads_end()
    monkeypatch.setenv("SUREFOOT_DEMO_SECONDS", "0")
    async with example("support_desk.py", settings=QUICK, cached=0) as client:
        # By the inbox, which asks the server alone: a query may still be handed to the worker that has just gone.
        [item] = await until(lambda: inbox(client, job))
        await job.approve(item.call, digest=item.digest, by="ann")
        outcome = await job.outcome()

    assert before == [("order_status", "c1-1")]
    assert outcome.status == "complete"
    assert ran(log) == [("order_status", "c1-1"), ("payment_history", "c1-2"), ("refund", "c2-1")]
    assert [line["attempt"] for line in log() if line["tool"] == "payment_history"] == [2]


async def test_cancelling_ends_a_slow_read_at_its_next_heartbeat(
    example: Example, log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SUREFOOT_DEMO_SECONDS", "50")
    async with example("support_desk.py") as client:
        job = await client.start("support", QUESTION)
        await first_to_run(log)
        await job.cancel()
        outcome = await job.outcome()
    await threads_end()

    assert outcome.status == "cancelled"
    assert ran(log) == [("order_status", "c1-1")]


# --- the tools alone


def test_more_than_was_paid_is_never_refunded(load: Load, log: Log) -> None:
    refund = load("support_desk.py").agent("support").tool("refund")
    assert refund is not None

    with pytest.raises(ToolError, match=r"Only 18\.00 EUR were paid for A-1002; nothing was refunded\."):
        refund("A-1002", Decimal("18.01"), "stains", ToolContext.for_testing())
    assert log() == []


def test_a_slow_read_stops_when_its_heartbeat_says_so(load: Load, log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SUREFOOT_DEMO_SECONDS", "50")
    read = load("support_desk.py").agent("support").tool("payment_history")
    assert read is not None

    def cancelled(_note: str) -> None:
        raise ToolCancelled("the job was cancelled")

    with pytest.raises(ToolCancelled):
        read("A-1001", ToolContext.for_testing(beat=cancelled))
    assert log() == []


@pytest.mark.parametrize("amount", [0, -1, 0.001, "many", None, True])
def test_an_amount_that_can_not_be_paid_is_refused(amount: JsonValue) -> None:
    refund = tool_of("support_desk.py", "support", "refund")

    with pytest.raises(InvalidArguments):
        refund.validate({"order_id": "A-1001", "amount": amount, "reason": "broken"})
