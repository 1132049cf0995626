"""A write that was started and whose end nobody saw: a person says how it ended."""

import pytest

from activities.errors import OutcomeUnknown
from activities.tools.tool import Tool, tool
from surefoot.client import Client
from surefoot.errors import DecisionRefused
from surefoot.job import Job
from tests.conftest import Host
from tests.waiting import until
from tests.workflows.gated import call, ended, results, writer
from workflows.contracts import Decision, Pending, Resolution, Settlement

pytestmark = pytest.mark.cold


class Doubtful:
    """A tool that does not know how its first `times` runs ended."""

    def __init__(self, times: int = 1, says: str = "the bank did not answer") -> None:
        self.left, self.runs, self.says = times, 0, says

    def tool(self) -> Tool:
        @tool
        async def pay(to: str) -> str:
            """Pay somebody."""
            self.runs += 1
            if self.left:
                self.left -= 1
                raise OutcomeUnknown(self.says)
            return f"paid {to}"

        return pay


async def doubted(client: Client) -> tuple[Job, Pending]:
    """A job whose approved payment has an unknown outcome."""
    job = await client.start("w", "go")
    await until(job.view, lambda view: bool(view.pending))
    await job.approve("c1-1", by="ann")
    view = await until(job.view, lambda view: [p.kind for p in view.pending] == ["unknown_outcome"])
    return job, view.pending[0]


def word(choice: Settlement, result: str | None = None, by: str = "bob") -> Resolution:
    return Resolution(call="c1-1", choice=choice, result=result, by=by)


async def test_it_is_in_the_inbox_and_not_yet_performed(host: Host) -> None:
    doubtful = Doubtful()
    async with host(writer("w", [call("pay", to="eve")], tools=[doubtful.tool()])) as client:
        job, pending = await doubted(client)
        items = await until(client.inbox, lambda items: any(
            i.job == job.id and i.kind == "unknown_outcome" for i in items
        ))  # fmt: skip
        view = await job.view()
        await job.cancel()
        last = await ended(job)
        (result,) = results(await job.transcript())

    (item,) = [item for item in items if item.job == job.id]
    assert (item.call, item.tool, item.arguments) == ("c1-1", "pay", {"to": "eve"})
    assert item.problem == pending.problem == "the bank did not answer"
    assert item.allowed == pending.allowed == ["happened", "not_happened", "give_up"]
    assert (view.state, [(d.choice, d.performed) for d in view.decided]) == ("waiting", [("approve", False)])
    assert last.outcome is not None
    assert last.outcome.status == "cancelled"
    assert (result.status, "outcome unknown" in result.content) == ("unknown", True)
    assert doubtful.runs == 1


async def test_a_long_text_about_it_is_cut_and_reaches_the_inbox_all_the_same(host: Host) -> None:
    doubtful = Doubtful(says="no answer " * 200)
    async with host(writer("w", [call("pay", to="eve")], tools=[doubtful.tool()])) as client:
        job, pending = await doubted(client)
        items = await until(client.inbox, lambda items: any(
            i.job == job.id and i.kind == "unknown_outcome" for i in items
        ))  # fmt: skip
        await job.cancel()
        await ended(job)

    assert pending.problem == f"{'no answer ' * 99}no answer…"
    assert [item.problem for item in items if item.job == job.id] == [pending.problem]


async def test_happened_gives_the_result_to_the_model_and_runs_nothing(host: Host) -> None:
    doubtful = Doubtful()
    async with host(writer("w", [call("pay", to="eve")], tools=[doubtful.tool()])) as client:
        job, _ = await doubted(client)
        applied = await job.resolve(word("happened", "paid, says the bank"))
        last = await ended(job)
        (result,) = results(await job.transcript())

    assert applied.decided is not None
    assert (applied.decided.choice, applied.decided.by, applied.decided.performed) == ("happened", "bob", True)
    assert result.status == "ok"
    assert result.content == ("paid, says the bank\n[the tool's own answer was lost; bob found out that it happened]")
    assert last.outcome is not None
    assert last.outcome.status == "complete"
    assert doubtful.runs == 1


async def test_not_happened_runs_it_once_more_with_the_approval_that_it_has(host: Host) -> None:
    doubtful = Doubtful()
    async with host(writer("w", [call("pay", to="eve")], tools=[doubtful.tool()])) as client:
        job, _ = await doubted(client)
        applied = await job.resolve(word("not_happened"))
        last = await ended(job)
        (result,) = results(await job.transcript())

    assert applied.decided is not None
    assert not applied.decided.performed
    assert (result.status, result.content) == ("ok", "paid eve")
    assert [(d.choice, d.by, d.performed) for d in last.decided] == [("not_happened", "bob", True)]
    assert doubtful.runs == 2


async def test_a_second_doubt_about_the_same_call_is_asked_again(host: Host) -> None:
    doubtful = Doubtful(times=2)
    async with host(writer("w", [call("pay", to="eve")], tools=[doubtful.tool()])) as client:
        job, first = await doubted(client)
        await job.resolve(word("not_happened"))
        await until(job.view, lambda view: [p.asked_at > first.asked_at for p in view.pending] == [True])
        await job.resolve(word("happened", "paid"))
        last = await ended(job)

    assert [(d.choice, d.performed) for d in last.decided] == [("happened", True)]
    assert doubtful.runs == 2


async def test_give_up_ends_the_job_as_a_tool_failure_with_what_was_found(host: Host) -> None:
    doubtful = Doubtful()
    calls = [call("pay", to="eve"), call("pay", to="mal")]
    async with host(writer("w", calls, tools=[doubtful.tool()])) as client:
        job = await client.start("w", "go")
        await until(job.view, lambda view: len(view.pending) == 2)
        await job.approve("c1-1", by="ann")
        await until(job.view, lambda view: "unknown_outcome" in [p.kind for p in view.pending])
        await job.resolve(word("give_up"))
        last = await ended(job)
        said = results(await job.transcript())

    assert last.outcome is not None
    assert (last.outcome.status, last.outcome.requires_human) == ("tool_failure", True)
    assert [(r.call, r.status) for r in said] == [("c1-1", "unknown"), ("c1-2", "not_executed")]
    assert said[0].content == "Outcome unknown: bob gave up finding out whether it happened."
    assert doubtful.runs == 1


async def test_wrong_resolutions_and_decisions_are_refused(host: Host) -> None:
    doubtful = Doubtful()
    async with host(writer("w", [call("pay", to="eve")], tools=[doubtful.tool()])) as client:
        job = await client.start("w", "go")
        await until(job.view, lambda view: bool(view.pending))
        with pytest.raises(DecisionRefused) as too_soon:
            await job.resolve(word("happened", "paid"))
        await job.approve("c1-1", by="ann")
        view = await until(job.view, lambda view: [p.kind for p in view.pending] == ["unknown_outcome"])
        with pytest.raises(DecisionRefused) as no_result:
            await job.resolve(word("happened"))
        with pytest.raises(DecisionRefused) as other_call:
            await job.resolve(Resolution(call="c5-1", choice="give_up", by="bob"))
        with pytest.raises(DecisionRefused) as decided:
            await job.decide(Decision(call="c1-1", digest=view.pending[0].digest, choice="approve", by="ann"))
        with pytest.raises(DecisionRefused) as denied:
            await job.deny("c1-1", by="ann")
        await job.resolve(word("happened", "paid"))
        with pytest.raises(DecisionRefused) as again:
            await job.resolve(word("not_happened", by="carl"))
        await ended(job)

    assert (too_soon.value.kind, no_result.value.kind) == ("NotAllowed", "NotAllowed")
    assert "decide it instead" in str(too_soon.value)
    assert "needs a result" in str(no_result.value)
    assert other_call.value.kind == "UnknownCall"
    for error in (decided, denied):
        assert error.value.kind == "NotAllowed"
        assert "resolve it instead" in str(error.value)
    assert again.value.kind == "AlreadyDecided"
    assert again.value.decided is not None
    assert (again.value.decided.choice, again.value.decided.by) == ("happened", "bob")
    assert doubtful.runs == 1


async def test_a_resolution_by_signal_counts_also_while_no_worker_is_up(host: Host) -> None:
    doubtful = Doubtful()
    agent = writer("w", [call("pay", to="eve")], tools=[doubtful.tool()])
    async with host(agent) as client:
        job, _ = await doubted(client)
        handle = client.temporal.get_workflow_handle(job.id)
        await handle.signal("resolve", word("happened"))
        without_a_result = await job.view()
    await handle.signal("resolve", word("happened", "paid"))
    await handle.signal("resolve", word("not_happened", by="carl"))
    async with host(agent):
        last = await ended(job)

    assert [p.kind for p in without_a_result.pending] == ["unknown_outcome"]
    assert [(d.choice, d.by) for d in last.decided] == [("happened", "bob")]
    assert doubtful.runs == 1


async def test_an_edited_call_with_unknown_outcome_is_still_told_as_edited(host: Host) -> None:
    doubtful = Doubtful()
    async with host(writer("w", [call("pay", to="eve")], tools=[doubtful.tool()])) as client:
        job = await client.start("w", "go")
        await until(job.view, lambda view: bool(view.pending))
        await job.approve("c1-1", arguments={"to": "bob"}, by="ann")
        view = await until(job.view, lambda view: [p.kind for p in view.pending] == ["unknown_outcome"])
        await job.resolve(word("happened", "paid"))
        await ended(job)
        (result,) = results(await job.transcript())

    assert view.pending[0].arguments == {"to": "bob"}
    assert result.edited
    assert result.content.startswith('[a person edited the arguments of this call; it ran with {"to":"bob"}]\npaid\n')


async def test_an_edited_call_that_is_cancelled_before_its_end_is_known_is_still_told_as_edited(host: Host) -> None:
    async with host(writer("w", [call("pay", to="eve")], tools=[Doubtful().tool()])) as client:
        job = await client.start("w", "go")
        await until(job.view, lambda view: bool(view.pending))
        await job.approve("c1-1", arguments={"to": "bob"}, by="ann")
        await until(job.view, lambda view: [p.kind for p in view.pending] == ["unknown_outcome"])
        await job.cancel()
        await ended(job)
        (result,) = results(await job.transcript())

    assert (result.status, result.edited) == ("unknown", True)
    assert result.content == (
        '[a person edited the arguments of this call; it ran with {"to":"bob"}]\n'
        "Interrupted, outcome unknown: the job was ended while this ran; it may or may not have happened."
    )
