"""kill -9 around a write: one that may have happened is never called again, and a person says what became of it."""

import asyncio

import pytest

from surefoot.client import Client
from surefoot.job import Job
from tests.crash.processes import Workers
from tests.workflows.gated import waiting
from workflows.contracts import Outcome, Resolution, Settlement

pytestmark = pytest.mark.crash


async def soon(job: Job) -> Outcome:
    return await asyncio.wait_for(job.outcome(), 30)


def found(outcome: Outcome) -> list[tuple[str, bool]]:
    return [(finding.content, finding.is_error) for finding in outcome.findings]


async def killed_at(workers: Workers, client: Client, agent: str, point: str, visit: int = 1) -> Job:
    """A job whose first worker died at this point, and which has a new one."""
    workers.stop(point, visit)
    worker = await workers.start()
    job = await client.start(agent, "go")
    await workers.reached(point)
    await worker.kill()
    await workers.start()
    return job


async def test_a_write_killed_before_its_mark_simply_runs(workers: Workers, client: Client) -> None:
    job = await killed_at(workers, client, "charger", "rule-charge", visit=2)
    outcome = await soon(job)

    assert (outcome.status, found(outcome)) == ("complete", [("charged 1", False)])
    assert workers.effects() == ["charge 1"]


@pytest.mark.parametrize(
    ("choice", "status", "content", "effects"),
    [
        ("happened", "complete", "it is on the statement\n", ["charge 1"]),
        ("not_happened", "complete", "charged 1", ["charge 1", "charge 1"]),
        ("give_up", "tool_failure", "Outcome unknown: ", ["charge 1"]),
    ],
)
async def test_a_write_killed_before_its_record_asks_a_person(
    workers: Workers, client: Client, choice: Settlement, status: str, content: str, effects: list[str]
) -> None:
    job = await killed_at(workers, client, "charger", "charged-1")
    [pending] = await waiting(job)
    [item] = [each for each in await client.inbox() if each.job == job.id]
    asked = workers.effects()
    result = "it is on the statement" if choice == "happened" else None
    applied = await job.resolve(Resolution(call=pending.call, choice=choice, result=result, by="ann"))
    outcome = await soon(job)

    assert (pending.kind, pending.tool, pending.arguments) == ("unknown_outcome", "charge", {"amount": 1})
    assert pending.allowed == ["happened", "not_happened", "give_up"]
    assert pending.problem == "its worker was gone, or cut off from the server, before it had ended"
    assert (item.job, item.call, item.kind) == (job.id, pending.call, "unknown_outcome")
    assert asked == ["charge 1"]
    assert applied.status == "applied"
    assert outcome.status == status
    assert outcome.findings[0].content.startswith(content)
    assert workers.effects() == effects


async def test_a_write_that_is_killed_again_after_it_did_not_happen_asks_again(
    workers: Workers, client: Client
) -> None:
    workers.stop("charged-1", 1, 2)
    first = await workers.start()
    job = await client.start("charger", "go")
    await workers.reached("charged-1", visit=1)
    await first.kill()
    second = await workers.start()
    [before] = await waiting(job)
    await job.resolve(Resolution(call=before.call, choice="not_happened", by="ann"))
    await workers.reached("charged-1", visit=2)
    await second.kill()
    await workers.start()
    [again] = await waiting(job)
    await job.resolve(Resolution(call=again.call, choice="not_happened", by="ann"))
    outcome = await soon(job)

    assert again.asked_at > before.asked_at
    assert (outcome.status, found(outcome)) == ("complete", [("charged 1", False)])
    assert workers.effects() == ["charge 1"] * 3


async def test_an_idempotent_write_is_called_again_with_the_same_key(workers: Workers, client: Client) -> None:
    job = await killed_at(workers, client, "payer", "paid-1")
    outcome = await soon(job)

    assert (outcome.status, found(outcome)) == ("complete", [("paid 1", False)])
    assert workers.effects() == ["pay 1", "pay 1"]
    [key] = set(workers.keys())
    assert key.startswith(f"{job.id}/")


async def test_a_write_whose_result_is_recorded_is_done(workers: Workers, client: Client) -> None:
    job = await killed_at(workers, client, "charger-and-reader", "begin-a")
    outcome = await soon(job)

    assert (outcome.status, found(outcome)) == ("complete", [("charged 1", False), ("value of a", False)])
    assert workers.effects() == ["charge 1", "read a"]


async def test_a_kill_between_two_writes_repeats_neither(workers: Workers, client: Client) -> None:
    job = await killed_at(workers, client, "charger-of-two", "rule-charge", visit=4)  # two plans, and the first write
    outcome = await soon(job)

    assert (outcome.status, found(outcome)) == ("complete", [("charged 1", False), ("charged 2", False)])
    assert workers.effects() == ["charge 1", "charge 2"]


async def test_a_kill_in_the_second_of_two_writes_asks_for_the_second_alone(workers: Workers, client: Client) -> None:
    job = await killed_at(workers, client, "charger-of-two", "charged-2")
    [pending] = await waiting(job)
    await job.resolve(Resolution(call=pending.call, choice="happened", result="seen", by="ann"))
    outcome = await soon(job)

    assert pending.arguments == {"amount": 2}
    assert outcome.status == "complete"
    assert workers.effects() == ["charge 1", "charge 2"]


async def test_a_decision_after_the_worker_died_lets_the_write_run_once(workers: Workers, client: Client) -> None:
    worker = await workers.start()
    job = await client.start("refunder", "go")
    [pending] = await waiting(job)
    await worker.kill()
    await workers.start()
    applied = await job.approve(pending.call, digest=pending.digest, by="ann")
    outcome = await soon(job)

    assert applied.status == "applied"
    assert (outcome.status, found(outcome)) == ("complete", [("refunded 1", False)])
    assert workers.effects() == ["refund 1"]
