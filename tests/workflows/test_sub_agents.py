"""An agent as a tool of another one: a child job, its result, its approvals, and how far it is its parent's."""

from surefoot.client import Client
from surefoot.inbox import InboxItem
from tests.conftest import Host
from tests.waiting import until
from tests.workflows.families import child, child_waits, desk, has_child, researcher
from tests.workflows.gated import Ledger, results
from tests.workflows.scripting import call, calls, kinds, looks
from workflows.contracts import ChildJob


async def test_the_answer_of_the_agent_that_was_asked_is_the_calls_result(host: Host) -> None:
    asked = researcher(looks("a"), {"text": "it is a"})
    async with host(desk(asked)) as client:
        job = await client.start("desk", "go", tenant="acme", tags=["night"], by="ann")
        outcome = await job.outcome()
        view = await job.view()
        its = await child(client, job).view()

        assert (outcome.status, outcome.answer) == ("complete", "they say: it is a")
        assert kinds(await job.transcript()) == "MTRT"
        assert view.children == [ChildJob(job=f"{job.id}.c1-1", agent="researcher", call="c1-1", status="complete")]
        assert (its.parent, its.root, its.by, its.tenant, its.tags) == (job.id, job.id, "ann", "acme", ["night"])
        assert (await child(client, job).transcript())[0].model_dump(exclude_unset=True) == {
            "kind": "message", "text": "look 1", "by": "ann",
        }  # fmt: skip


async def test_a_childs_write_waits_in_the_inbox_with_its_parent_and_runs_once_approved(host: Host) -> None:
    ledger = Ledger()
    asked = researcher(calls(call("save", key="a")), {"text": "saved"}, tools=[ledger.tool()])
    async with host(desk(asked)) as client:
        job = await client.start("desk", "go")
        await child_waits(client, job)
        (item,) = await until(lambda: waiting_in(client, job.id), bool)
        await client.job(item.job).approve(item.call, by="bob")
        outcome = await job.outcome()

    assert (item.job, item.parent, item.root) == (f"{job.id}.c1-1", job.id, job.id)
    assert outcome.answer == "they say: saved"
    assert ledger.written == ["save a"]


async def waiting_in(client: Client, parent: str) -> list[InboxItem]:
    return [item for item in await client.inbox() if item.parent == parent]


async def test_two_calls_of_one_agent_run_side_by_side_and_answer_in_their_order(host: Host) -> None:
    ledger = Ledger()
    asked = researcher(calls(call("save", key="x")), {"text": "answer to {result:1}"}, tools=[ledger.tool()])
    async with host(desk(asked, times=2)) as client:
        job = await client.start("desk", "go")
        await has_child(job, 2)
        for number in (2, 1):  # the later one is let go first
            view = await child_waits(client, job, f"c1-{number}")
            await child(client, job, f"c1-{number}").approve(view.pending[0].call, by="bob")
            await child(client, job, f"c1-{number}").outcome()
        await job.outcome()
        told = results(await job.transcript())

    assert [(each.call, each.status) for each in told] == [("c1-1", "ok"), ("c1-2", "ok")]
    assert ledger.written == ["save x", "save x"]
