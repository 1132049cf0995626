"""An agent as a tool of another one: a child job, its result, its approvals, and how far it is its parent's."""

import uuid
from dataclasses import replace

import pytest
from temporalio.common import RetryPolicy

from activities import apps
from activities.agents import Agent
from activities.errors import OutcomeUnknown
from activities.policy import ask_if, deny_if
from activities.providers.scripted import Script
from activities.tools.tool import tool
from surefoot.client import Client
from surefoot.inbox import InboxItem
from tests.conftest import QUICK, Host
from tests.replaying import assert_replays
from tests.waiting import until
from tests.workflows.families import DONE, child, child_waits, desk, has_child, researcher
from tests.workflows.gated import Ledger, cli, results, waiting
from tests.workflows.scripting import call, calls, kinds, looks
from workflows import policies
from workflows.contracts import ChildJob, Limits, Resolution

pytestmark = pytest.mark.cold


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


async def test_agents_and_reads_that_stand_next_to_each_other_run_together_and_a_write_waits_for_them(
    host: Host,
) -> None:
    ledger = Ledger()
    order: list[str] = []

    @tool(read_only=True)
    async def look(key: str) -> str:
        """Look."""
        order.append(f"look {key}")
        return key

    asked = researcher(calls(call("save", key="its")), {"text": "x"}, tools=[ledger.tool()])
    turn = calls(call("look", key="a"), call("researcher", message="go"), call("look", key="b"), call("put", key="own"))
    script = Script([turn, {"text": "done"}])
    agent = Agent("desk", script, tools=[look, asked.as_tool("Asks."), ledger.tool("put", policy="allow")])
    async with host(agent) as client:
        job = await client.start("desk", "go")
        view = await child_waits(client, job, "c1-2")
        await until(job.view, lambda view: view.usage.tool_calls == 2)
        before = [*ledger.written]
        await child(client, job, "c1-2").approve(view.pending[0].call, by="bob")
        await job.outcome()
        told = results(await job.transcript())

    assert (sorted(order), before) == (["look a", "look b"], [])
    assert ledger.written == ["save its", "put own"]
    assert [each.call for each in told] == ["c1-1", "c1-2", "c1-3", "c1-4"]


async def test_a_child_that_fails_is_an_error_and_its_parent_goes_on(host: Host) -> None:
    asked = researcher({"error": {"kind": "Rejected", "message": "bad request"}})
    async with host(desk(asked)) as client:
        job = await client.start("desk", "go")
        outcome = await job.outcome()
        (told,) = results(await job.transcript())
        view = await job.view()

    assert (outcome.status, told.status) == ("complete", "error")
    assert told.content.startswith("[the agent ended before it was done: The job failed after 0 rounds")
    assert "bad request" in told.content
    assert [each.status for each in view.children] == ["model_failure"]


async def test_an_agent_that_no_worker_knows_is_an_error(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policies, "SEARCH", {**policies.SEARCH, "retry_policy": RetryPolicy(maximum_attempts=1)})
    asked = researcher({"text": "never"})
    ask = asked.as_tool("Asks.")
    ask.agent = renamed = researcher({"text": "never"}, name="gone")
    ask.agent.name = "nobody"
    monkeypatch.setattr(apps, "_with_those_they_ask", iter)
    script = Script([calls(call("researcher", message="go")), {"text": "done"}])
    async with host(Agent("desk", script, tools=[ask])) as client:
        job = await client.start("desk", "go")
        outcome = await job.outcome()
        (told,) = results(await job.transcript())

    assert renamed.name == "nobody"
    assert (outcome.status, told.status) == ("complete", "error")
    assert "There is no agent 'nobody'." in told.content


async def test_a_child_whose_id_is_taken_is_an_error_and_never_a_failing_task(host: Host) -> None:
    asked = researcher({"text": "x"})
    async with host(desk(asked)) as client:
        id_ = f"taken-{uuid.uuid4().hex}"
        await (await client.start("researcher", "mine", id=f"{id_}.c1-1")).outcome()
        job = await client.start("desk", "go", id=id_)
        outcome = await job.outcome()
        (told,) = results(await job.transcript())
        view = await job.view()

    assert (outcome.status, told.status, view.children) == ("complete", "error", [])
    assert told.content.startswith("The agent researcher could not be started: ")
    assert told.content.endswith("Nothing was executed.")


async def test_a_parent_that_is_reset_does_not_start_its_child_again(host: Host) -> None:
    asked = researcher({"text": "it is a"})
    async with host(desk(asked)) as client:
        job = await client.start("desk", "go")
        before = await job.outcome()
        code, said = await cli(
            client, "workflow", "reset", "--workflow-id", job.id, "--type", "FirstWorkflowTask", "--reason", "test"
        )
        after = await job.outcome()
        (told,) = results(await job.transcript())
        runs = [run async for run in client.temporal.list_workflows(f"WorkflowId = '{job.id}.c1-1'")]

    assert code == 0, said
    assert before.answer == "they say: it is a"
    assert (after.status, told.status, len(runs)) == ("complete", "error", 1)
    assert told.content.startswith("The agent researcher could not be started: ")


async def test_a_child_whose_id_would_be_too_long_is_an_error(host: Host) -> None:
    asked = researcher({"text": "x"})
    async with host(desk(asked)) as client:
        job = await client.start("desk", "go", id=f"long-{uuid.uuid4().hex}".ljust(998, "x"))
        outcome = await job.outcome()
        (told,) = results(await job.transcript())

    assert (outcome.status, told.status) == ("complete", "error")
    assert "its id would have 1003 bytes, at most 1000 are possible" in told.content


async def test_a_policy_can_ask_before_an_agent_is_started(host: Host) -> None:
    asked = researcher({"text": "x"})
    turn = calls(call("researcher", message="a"), call("researcher", message="b"), call("researcher", message="c"))
    policy = [deny_if(lambda message: message == "b", reason="not b"), ask_if(lambda message: message == "c")]
    agent = Agent("desk", Script([turn, DONE]), tools=[asked.as_tool("Asks.", policy=policy)])
    async with host(agent) as client:
        job = await client.start("desk", "go")
        (pending,) = await waiting(job)
        children = [each.call for each in (await job.view()).children]
        await job.approve(pending.call, by="bob")
        await job.outcome()
        told = results(await job.transcript())
        view = await job.view()

    assert children == ["c1-1"]
    assert [(each.status, each.content) for each in told] == [
        ("ok", "x"),
        ("denied", "Denied by policy: not b. The call was not executed."),
        ("ok", "x"),
    ]
    assert [(each.choice, each.performed) for each in view.decided] == [("approve", True)]


async def test_arguments_that_do_not_fit_start_nothing(host: Host) -> None:
    asked = researcher({"text": "x"})
    agent = Agent("desk", Script([calls(call("researcher", question="?")), DONE]), tools=[asked.as_tool("Asks.")])
    async with host(agent) as client:
        job = await client.start("desk", "go")
        await job.outcome()
        (told,) = results(await job.transcript())
        view = await job.view()

    assert (told.status, view.children) == ("error", [])


async def test_a_childs_write_is_approved_after_a_restart_of_the_worker(host: Host) -> None:
    ledger = Ledger()
    asked = researcher(calls(call("save", key="a")), {"text": "saved"}, tools=[ledger.tool()])
    async with host(desk(asked)) as client:
        job = await client.start("desk", "go")
        (pending,) = (await child_waits(client, job)).pending
    async with host(desk(asked)):
        await child(client, job).approve(pending.call, by="bob")
        outcome = await job.outcome()
        await assert_replays(client.temporal, job.id)
        await assert_replays(client.temporal, f"{job.id}.c1-1")

    assert (outcome.answer, ledger.written) == ("they say: saved", ["save a"])


async def test_an_unknown_outcome_in_a_grandchild_is_settled_there(host: Host) -> None:
    @tool(policy="allow")
    async def pay() -> str:
        """Loses sight of its own end."""
        raise OutcomeUnknown("no answer")

    last = researcher(calls(call("pay")), {"text": "{result:1}"}, name="last", tools=[pay])
    turn = calls(call("last", message="go"))
    middle = researcher(turn, {"text": "{result:1}"}, name="middle", tools=[last.as_tool("Asks last.")])
    async with host(desk(middle)) as client:
        job = await client.start("desk", "go")
        await has_child(job)
        grandchild = child(client, child(client, job))
        (pending,) = (await child_waits(client, child(client, job))).pending
        (item,) = await until(lambda: waiting_in(client, child(client, job).id), bool)
        await grandchild.resolve(Resolution(call=pending.call, choice="happened", result="paid", by="bob"))
        outcome = await job.outcome()

    assert (item.kind, item.job, item.root) == ("unknown_outcome", grandchild.id, job.id)
    assert outcome.answer is not None
    assert outcome.answer.startswith("they say: paid")


async def test_a_reply_asks_the_agent_anew_in_another_job(host: Host) -> None:
    asked = researcher({"text": "first", "repeat": True})
    script = Script([turn := calls(call("researcher", message="go")), {"text": "a"}, turn, {"text": "b"}])
    async with host(Agent("desk", script, tools=[asked.as_tool("Asks.")])) as client:
        job = await client.start("desk", "go")
        await job.outcome()
        await client.reply(job.id, "again")
        outcome = await job.outcome()
        view = await job.view()

    assert outcome.answer == "b"
    assert [(each.job, each.status) for each in view.children] == [
        (f"{job.id}.c1-1", "complete"),
        (f"{job.id}.c3-1", "complete"),
    ]


async def test_a_reply_to_a_child_changes_nothing_in_its_parent(host: Host) -> None:
    asked = researcher({"text": "it is a"}, {"text": "it is b"}, limits=Limits(tokens=10_000))
    async with host(desk(asked, limits=Limits(tokens=500))) as client:
        job = await client.start("desk", "go")
        before = await job.outcome()
        said = await job.transcript()
        await client.reply(child(client, job).id, "really?")
        again = await child(client, job).outcome()
        its = await child(client, job).view()

        assert (again.answer, its.lent, its.parent) == ("it is b", None, job.id)
        assert (await job.outcome(), await job.transcript()) == (before, said)


async def test_a_fork_of_the_parent_has_the_childs_answer_and_children_of_its_own(host: Host) -> None:
    asked = researcher({"text": "x", "repeat": True})
    script = Script([calls(call("researcher", message="go")), calls(call("researcher", message="on")), DONE])
    async with host(Agent("desk", script, tools=[asked.as_tool("Asks.")])) as client:
        job = await client.start("desk", "go")
        await job.outcome()
        fork = await client.fork(job.id, 1)
        await fork.outcome()
        view = await fork.view()
        told = results(await fork.transcript())

    assert [each.content for each in told] == ["x", "x"]
    assert [each.job for each in view.children] == [f"{fork.id}.c2-1"]
    assert (view.parent, view.root) == (None, None)


async def test_a_new_run_for_a_long_history_waits_until_no_child_runs(host: Host) -> None:
    ledger = Ledger()
    asked = researcher(calls(call("save", key="a")), {"text": "saved"}, tools=[ledger.tool()])
    settings = replace(QUICK, history_events=25)
    async with host(desk(asked), settings=settings) as client:
        job = await client.start("desk", "go")
        (pending,) = (await child_waits(client, job)).pending
        for number in range(30):
            await job.steer(f"message {number}", id=f"m{number}")
        seen = await until(job.view, lambda view: view.history_events > 60)
        await child(client, job).approve(pending.call, by="bob")
        outcome = await job.outcome()
        runs = [run async for run in client.temporal.list_workflows(f"WorkflowId = '{job.id}'")]

    assert [each.status for each in seen.children] == [None]
    assert outcome.status == "complete"
    assert len(runs) > 1
    assert ledger.written == ["save a"]


async def test_a_list_of_jobs_names_the_parent(host: Host) -> None:
    asked = researcher({"text": "x"})
    async with host(desk(asked)) as client:
        job = await client.start("desk", "go", tenant=(tenant := f"t-{uuid.uuid4().hex}"))
        await job.outcome()
        rows = await until(lambda: client.jobs(tenant=tenant), lambda rows: len(rows) == 2)

    assert sorted((row.job, row.parent, row.root) for row in rows) == [
        (job.id, None, None),
        (f"{job.id}.c1-1", job.id, job.id),
    ]


async def test_an_answer_that_is_too_long_is_cut_and_says_where_the_whole_is(host: Host) -> None:
    asked = researcher({"text": "x" * 50})
    tools = [asked.as_tool("Asks.", max_output_chars=20)]
    async with host(Agent("desk", Script([calls(call("researcher", message="go")), DONE]), tools=tools)) as client:
        job = await client.start("desk", "go")
        await job.outcome()
        (told,) = results(await job.transcript())

    assert told.content == "x" * 20 + f"\n[cut: 20 of 50 characters are shown; the whole is in job {job.id}.c1-1]"
