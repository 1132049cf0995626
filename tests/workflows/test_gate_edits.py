"""Approval with edited arguments: for the same tool, validated like the model's, and told to the model."""

from typing import Annotated

import pytest
from pydantic import Field

from activities.policy import deny_if
from activities.tools.tool import Tool, tool
from surefoot.errors import DecisionRefused
from tests.conftest import Host
from tests.waiting import until
from tests.workflows.gated import call, ended, recorded, results, started, waiting, writer
from workflows.contracts import Decision, JsonObject
from workflows.digest import digest


class Payments:
    """A tool that pays, and what it paid."""

    def __init__(self) -> None:
        self.paid: list[tuple[str, int]] = []

    def tool(self) -> Tool:
        @tool(policy=deny_if(lambda to: to == "mallory", reason="mallory is never paid"))
        async def pay(to: str, amount: Annotated[int, Field(gt=0, le=1000)] = 1) -> str:
            """Pay somebody."""
            self.paid.append((to, amount))
            return f"{amount} to {to}"

        return pay


ASKED = call("pay", to="bob", amount=100)


async def test_edited_arguments_run_and_the_model_is_told_that_a_person_edited_them(host: Host) -> None:
    payments = Payments()
    async with host(writer("w", [ASKED], tools=[payments.tool()])) as client:
        job, (pending,) = await started(client, "w")
        applied = await job.approve(pending.call, arguments={"to": "bob", "amount": 50}, by="ann")
        last = await ended(job)
        (result,) = results(await job.transcript())

    assert payments.paid == [("bob", 50)]
    assert applied.decided is not None
    assert applied.decided.digest == pending.digest
    assert applied.decided.edited_digest == digest("pay", {"to": "bob", "amount": 50})
    assert result.edited
    assert result.content == (
        '[a person edited the arguments of this call; it ran with {"to":"bob","amount":50}]\n50 to bob'
    )
    assert [(d.choice, d.performed) for d in last.decided] == [("approve", True)]


BAD: dict[str, tuple[JsonObject, list[str]]] = {
    "a wrong type": ({"to": "bob", "amount": "much"}, ["amount"]),
    "out of bounds": ({"to": "bob", "amount": 5000}, ["amount", "1000"]),
    "a field too few": ({"amount": 5}, ["to"]),
    "a field too many": ({"to": "bob", "amount": 5, "currency": "EUR"}, ["currency"]),
    "nothing": ({}, ["to"]),
    "denied by policy": ({"to": "mallory"}, ["policy denies", "mallory is never paid"]),
}


async def test_bad_edits_are_refused_with_the_field_and_the_reason_and_the_call_stays_pending(host: Host) -> None:
    payments = Payments()
    async with host(writer("w", [ASKED], tools=[payments.tool()])) as client:
        job, _ = await started(client, "w")
        (pending,) = await recorded(client, job)
        for name, (arguments, told) in BAD.items():
            with pytest.raises(DecisionRefused) as caught:
                await job.approve(pending.call, arguments=arguments, by="ann")
            assert caught.value.kind == "InvalidArguments", name
            assert all(word in str(caught.value) for word in told), (name, str(caught.value))
        (still,) = await waiting(job)
        paid_before = list(payments.paid)
        await job.approve(pending.call, arguments={"to": "carol", "amount": 7}, by="ann")
        last = await ended(job)

    assert still == pending
    assert paid_before == []
    assert payments.paid == [("carol", 7)]
    assert len(last.decided) == 1


async def test_a_bad_edit_sent_by_signal_is_noted_on_the_pending_call(host: Host) -> None:
    payments = Payments()
    async with host(writer("w", [ASKED], tools=[payments.tool()])) as client:
        job, (pending,) = await started(client, "w")
        word = Decision(call=pending.call, digest=pending.digest, choice="approve", arguments={"to": 5}, by="ann")
        await client.temporal.get_workflow_handle(job.id).signal("decide", word)
        view = await until(job.view, lambda view: view.pending[0].problem is not None)
        items = [item for item in await client.inbox() if item.job == job.id]
        await job.deny(pending.call, by="ann")
        await ended(job)

    assert view.pending[0].problem is not None
    assert "edited arguments for pay" in view.pending[0].problem
    assert [item.problem for item in items] == [view.pending[0].problem]
    assert payments.paid == []


async def test_half_a_character_in_edited_arguments_is_refused_before_it_is_sent(host: Host) -> None:
    payments = Payments()
    async with host(writer("w", [ASKED], tools=[payments.tool()])) as client:
        job, (pending,) = await started(client, "w")
        with pytest.raises(DecisionRefused) as caught:
            await job.approve(pending.call, arguments={"to": "b\ud800b"}, by="ann")
        await job.approve(pending.call, arguments={"to": "b\x00b"}, by="ann")
        await ended(job)

    assert caught.value.kind == "InvalidArguments"
    assert payments.paid == [("b\x00b", 1)]


async def test_an_edit_that_changes_nothing_is_none(host: Host) -> None:
    payments = Payments()
    async with host(writer("w", [ASKED], tools=[payments.tool()])) as client:
        job, (pending,) = await started(client, "w")
        applied = await job.approve(pending.call, arguments={"amount": 100.0, "to": "bob"}, by="ann")
        await ended(job)
        (result,) = results(await job.transcript())

    assert applied.decided is not None
    assert applied.decided.edited_digest is None
    assert (result.edited, result.content) == (False, "100 to bob")
    assert payments.paid == [("bob", 100)]


async def test_of_two_edits_at_once_one_is_applied(host: Host) -> None:
    payments = Payments()
    async with host(writer("w", [ASKED], tools=[payments.tool()])) as client:
        job, (pending,) = await started(client, "w")
        handle = client.temporal.get_workflow_handle(job.id)
        for amount in (1, 2, 3):
            word = Decision(
                call=pending.call, digest=pending.digest, choice="approve",
                arguments={"to": "bob", "amount": amount}, by=f"person {amount}",
            )  # fmt: skip
            await handle.signal("decide", word)
        last = await ended(job)

    assert len(payments.paid) == 1
    assert [d.by for d in last.decided] == [f"person {payments.paid[0][1]}"]
