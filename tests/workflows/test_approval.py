"""Who may decide on a call, how many of them it takes, and what happens when nobody does."""

import pytest

from activities.approval import Approval
from activities.errors import OutcomeUnknown
from activities.tools.tool import tool
from surefoot.client import Client
from surefoot.errors import DecisionRefused
from surefoot.job import Job
from tests.conftest import Host
from tests.waiting import until
from tests.workflows.gated import Ledger, ended, results, started, waiting, writer
from tests.workflows.scripting import call
from workflows.contracts import Audit, Decision, GrantTerms, Pending, Resolution

SAVE = call("save", key="a")


def by(person: str, pending: Pending, choice: str = "approve", **more: object) -> Decision:
    return Decision.model_validate(
        {"call": pending.call, "digest": pending.digest, "choice": choice, "by": person, **more}
    )


async def refused(job: Job, decision: Decision) -> str:
    with pytest.raises(DecisionRefused) as caught:
        await job.decide(decision)
    return str(caught.value)


async def deeds(job: Job) -> list[tuple[str, str | None]]:
    return [(entry.deed, entry.by) for entry in await job.audit()]


async def test_only_who_has_a_role_of_the_approvers_decides(host: Host) -> None:
    ledger = Ledger()
    tools = [ledger.tool(approval=Approval(approvers=["finance", "owner"]))]
    async with host(writer("w", [SAVE], tools=tools)) as client:
        job, (pending,) = await started(client, "w")
        nobody = await refused(job, by("ann", pending))
        other = await refused(job, by("ann", pending, "deny", roles=["support"]))
        before = list(ledger.written)
        await job.decide(by("bob", pending, roles=["support", "finance"]))
        await ended(job)
        audit = await job.audit()

    assert pending.approvers == ["finance", "owner"]
    assert nobody == f"call {pending.call} is decided by finance or owner; ann comes with no role"
    assert other.endswith("ann comes with the role support")
    assert (before, ledger.written) == ([], ["save a"])
    assert [(entry.deed, entry.by, entry.roles) for entry in audit] == [
        ("approved", "bob", ["support", "finance"]),
        ("performed", None, []),
    ]


async def test_a_quorum_is_reached_by_different_people_alone(host: Host) -> None:
    ledger = Ledger()
    async with host(writer("w", [SAVE], tools=[ledger.tool(approval=Approval(quorum=2))])) as client:
        job, (pending,) = await started(client, "w")
        first = await job.decide(by("ann", pending))
        again = await refused(job, by("ann", pending, text="once more"))
        (still,) = await waiting(job)
        before = list(ledger.written)
        second = await job.decide(by("bob", pending))
        await ended(job)

    assert first.decided is not None
    assert second.decided is not None
    assert (first.decided.missing, second.decided.missing) == (1, 0)
    assert again == f"ann approved call {pending.call} already; 1 more must approve it"
    assert (still.quorum, still.approved_by) == (2, ["ann"])
    assert (before, ledger.written) == ([], ["save a"])


async def test_other_arguments_are_another_question_to_everybody(host: Host) -> None:
    ledger = Ledger()
    async with host(writer("w", [SAVE], tools=[ledger.tool(approval=Approval(quorum=2))])) as client:
        job, (pending,) = await started(client, "w")
        await job.decide(by("ann", pending))
        await job.decide(by("bob", pending, arguments={"key": "b"}))
        (edited,) = await waiting(job)
        stale = await refused(job, by("cyd", pending))
        await job.decide(by("cyd", edited))
        await ended(job)
        audit = await job.audit()

    assert (edited.arguments, edited.approved_by) == ({"key": "b"}, ["bob"])
    assert "read the inbox again" in stale
    assert ledger.written == ["save b"]
    assert [(entry.by, entry.digest, entry.edited_digest) for entry in audit[:3]] == [
        ("ann", pending.digest, None),
        ("bob", pending.digest, edited.digest),
        ("cyd", edited.digest, None),
    ]


async def test_an_approval_that_an_edit_set_aside_counts_when_it_is_given_again(host: Host) -> None:
    ledger = Ledger()
    async with host(writer("w", [SAVE], tools=[ledger.tool(approval=Approval(quorum=2))])) as client:
        job, (pending,) = await started(client, "w")
        await job.decide(by("ann", pending))
        await job.decide(by("bob", pending, arguments={"key": "b"}))
        (edited,) = await waiting(job)
        await job.decide(by("cyd", edited, arguments=dict(pending.arguments)))
        (back,) = await waiting(job)
        applied = await job.decide(by("ann", back))
        await ended(job)

    assert (back.digest, back.approved_by, back.renewed) == (pending.digest, ["cyd"], 2)
    assert applied.decided is not None
    assert applied.decided.missing == 0
    assert ledger.written == ["save a"]


async def test_an_approval_that_an_escalation_set_aside_counts_when_it_is_given_again(host: Host) -> None:
    ledger = Ledger()
    approval = Approval(quorum=2, expires=5.0, on_timeout="escalate", escalate_to=["head"])
    async with host(writer("w", [SAVE], tools=[ledger.tool(approval=approval)])) as client:
        job, (pending,) = await started(client, "w")
        await job.decide(by("ann", pending, roles=["head"]))
        view = await until(job.view, lambda view: bool(view.pending) and view.pending[0].escalated)
        (escalated,) = view.pending
        await job.decide(by("ann", escalated, roles=["head"]))
        await job.decide(by("eve", escalated, roles=["head"]))
        await ended(job)

    assert (escalated.approved_by, escalated.renewed) == ([], 1)
    assert ledger.written == ["save a"]


async def test_one_denial_is_enough(host: Host) -> None:
    ledger = Ledger()
    async with host(writer("w", [SAVE], tools=[ledger.tool(approval=Approval(quorum=3))])) as client:
        job, (pending,) = await started(client, "w")
        await job.decide(by("ann", pending))
        await job.decide(by("bob", pending, "deny", text="no"))
        await ended(job)
        (result,) = results(await job.transcript())

    assert (result.status, ledger.written) == ("denied", [])


async def test_whom_the_job_works_for_does_not_approve_it(host: Host) -> None:
    ledger = Ledger()
    async with host(writer("w", [SAVE], tools=[ledger.tool(approval=Approval(self_approval=False))])) as client:
        job = await client.start("w", "go", by="ann")
        (pending,) = await waiting(job)
        text = await refused(job, by("ann", pending))
        await job.decide(by("bob", pending))
        await ended(job)

    assert (pending.self_approval, pending.barred) == (False, ["ann"])
    assert text == f"the job works for ann, who can't approve its call {pending.call}"
    assert ledger.written == ["save a"]


async def test_who_steered_the_job_does_not_approve_what_it_may_ask_for_because_of_that(host: Host) -> None:
    ledger = Ledger()
    async with host(writer("w", [SAVE], tools=[ledger.tool(approval=Approval(self_approval=False))])) as client:
        job = await client.start("w", "go", by="ann")
        (pending,) = await waiting(job)
        await job.steer("save it, will you", by="bob")
        await until(job.audit, lambda audit: any(entry.deed == "steered" for entry in audit))
        text = await refused(job, by("bob", pending))
        barred = await until(
            client.inbox,
            lambda items: [each.barred for each in items if each.job == job.id] == [["ann", "bob"]],
        )
        await job.decide(by("cyd", pending))
        await ended(job)

    assert [each.self_approval for each in barred if each.job == job.id] == [False]
    assert text == f"bob steered the job, and so can't approve its call {pending.call}"
    assert ledger.written == ["save a"]


@pytest.mark.parametrize(
    ("allowed", "decision"),
    [
        (["approve", "deny"], {"choice": "answer", "text": "x"}),
        (["approve", "deny"], {"choice": "approve", "arguments": {"key": "b"}}),
        (["answer", "deny"], {"choice": "approve"}),
        (["approve", "deny"], {"choice": "approve", "grant": {"count": 1, "seconds": 60}}),
        (["approve", "deny", "grant"], {"choice": "approve", "grant": {"count": 1, "seconds": 1e300}}),
    ],
    ids=["answer", "edit", "approve", "grant", "a grant whose end can't be computed"],
)
async def test_what_is_not_allowed_is_refused(host: Host, allowed: list[str], decision: dict[str, object]) -> None:
    ledger = Ledger()
    async with host(writer("w", [SAVE], tools=[ledger.tool(approval=Approval(allowed=allowed))])) as client:
        job, (pending,) = await started(client, "w")
        sent = Decision.model_validate({"call": pending.call, "digest": pending.digest, "by": "ann", **decision})
        text = await refused(job, sent)
        await job.cancel()
        await ended(job)

    assert pending.allowed == allowed
    assert "not allowed" in text or "can't be granted" in text or "a grant lasts" in text
    assert ledger.written == []


# --- nobody decides


async def test_an_expired_call_is_neither_denied_nor_executed_and_may_be_made_again(host: Host) -> None:
    ledger = Ledger()
    tools = [ledger.tool(approval=Approval(expires=0.3, on_timeout="deny"))]
    async with host(writer("w", [SAVE], [SAVE], tools=tools)) as client:
        job = await client.start("w", "go")
        await ended(job)
        first, second = results(await job.transcript())
        audit = await job.audit()

    assert (first.status, second.status) == ("expired", "expired")
    assert (
        first.content
        == "Expired: nobody decided within 0.3 seconds. The call was not executed; no person has denied it."
    )
    assert [(entry.deed, entry.by) for entry in audit] == [("expired", None), ("expired", None)]
    assert ledger.written == []


async def test_a_decision_after_the_expiry_is_refused(host: Host) -> None:
    ledger = Ledger()
    tools = [ledger.tool(approval=Approval(expires=0.5, on_timeout="deny"))]
    async with host(writer("w", [SAVE], tools=tools)) as client:
        job, (pending,) = await started(client, "w")
        await ended(job)
        await refused(job, by("ann", pending))

    assert pending.expires_at is not None
    assert ledger.written == []


async def test_an_expiry_can_end_the_job(host: Host) -> None:
    tools = [Ledger().tool(approval=Approval(expires=0.3, on_timeout="fail"))]
    async with host(writer("w", [SAVE, SAVE], tools=tools)) as client:
        job = await client.start("w", "go")
        outcome = await job.outcome()
        with pytest.raises(DecisionRefused) as late:
            await job.approve("c1-1", digest="d", by="ann")

    text = "call c1-1 does not wait any more: nobody decided in time, so it expired and did not run"
    assert (late.value.kind, str(late.value)) == ("JobEnded", f"job {job.id} has ended, and {text}")
    assert (outcome.status, outcome.requires_human) == ("tool_failure", True)
    assert outcome.error is not None
    assert outcome.error.startswith("nobody decided on call")


async def test_an_escalated_call_asks_other_people_and_waits_for_them(host: Host) -> None:
    ledger = Ledger()
    approval = Approval(approvers=["team"], expires=0.3, on_timeout="escalate", escalate_to=["head"])
    async with host(writer("w", [SAVE], tools=[ledger.tool(approval=approval)])) as client:
        job, _ = await started(client, "w")
        view = await until(job.view, lambda view: bool(view.pending) and view.pending[0].escalated)
        (pending,) = view.pending
        text = await refused(job, by("ann", pending, roles=["team"]))
        await job.decide(by("eve", pending, roles=["head"]))
        await ended(job)
        audit = await job.audit()

    assert (pending.approvers, pending.expires_at) == (["head"], None)
    assert "decided by head" in text
    assert [entry.deed for entry in audit] == ["escalated", "approved", "performed"]
    assert ledger.written == ["save a"]


async def test_people_are_reminded_until_they_decide(host: Host) -> None:
    async with host(writer("w", [SAVE], tools=[Ledger().tool(approval=Approval(remind=0.2))])) as client:
        job, (pending,) = await started(client, "w")
        await until(lambda: deeds(job), lambda seen: seen.count(("reminded", None)) >= 2)
        await job.decide(by("ann", pending))
        await ended(job)
        seen = await deeds(job)

    assert seen[-2:] == [("approved", "ann"), ("performed", None)]


# --- grants


async def test_a_grant_lets_so_many_calls_through_and_each_is_written_down(host: Host) -> None:
    ledger = Ledger()
    rounds = [[call("save", key=key)] for key in "abcd"]
    async with host(writer("w", *rounds, tools=[ledger.tool()])) as client:
        job, (pending,) = await started(client, "w")
        await job.decide(by("ann", pending, grant=GrantTerms(count=2, seconds=600)))
        (fourth,) = await waiting(job)
        written = list(ledger.written)
        await job.cancel()
        await ended(job)
        audit = await job.audit()

    assert fourth.arguments == {"key": "d"}
    assert written == ["save a", "save b", "save c"]
    assert [entry.deed for entry in audit] == [
        "approved", "granted", "performed", "used_grant", "performed", "used_grant", "performed",
        "cancelled",
    ]  # fmt: skip
    assert {entry.grant for entry in audit if entry.grant} == {f"grant-{pending.call}"}


async def test_a_grant_with_arguments_covers_those_alone(host: Host) -> None:
    ledger = Ledger()
    rounds = [[call("save", key=key)] for key in ("a", "a", "b")]
    async with host(writer("w", *rounds, tools=[ledger.tool()])) as client:
        job, (pending,) = await started(client, "w")
        await job.decide(by("ann", pending, grant=GrantTerms(count=9, seconds=600, arguments={"key": "a"})))
        (other,) = await waiting(job)
        await job.cancel()

    assert other.arguments == {"key": "b"}
    assert ledger.written == ["save a", "save a"]


async def test_a_grant_ends_with_its_time(host: Host) -> None:
    rounds = [[call("save", key=key)] for key in "ab"]
    async with host(writer("w", *rounds, tools=[Ledger().tool()])) as client:
        job, (pending,) = await started(client, "w")
        await job.decide(by("ann", pending, grant=GrantTerms(count=9, seconds=0.000001)))
        (second,) = await waiting(job)
        await job.cancel()

    assert second.arguments == {"key": "b"}


# --- a policy that changes while a call waits


async def test_approvals_that_a_stricter_policy_does_not_accept_any_more_are_asked_for_again(host: Host) -> None:
    ledger = Ledger()
    async with host(writer("w", [SAVE], tools=[ledger.tool()])) as client:
        job, (pending,) = await started(client, "w")
    async with host(writer("w", [SAVE], tools=[ledger.tool(approval=Approval(quorum=2))])):
        await job.decide(by("ann", pending))
        (again,) = await waiting_for_quorum(job)
        before = list(ledger.written)
        await job.decide(by("ann", again))
        await job.decide(by("bob", again))
        await ended(job)

    assert (again.quorum, again.approved_by, before) == (2, [], [])
    assert ledger.written == ["save a"]


async def waiting_for_quorum(job: Job) -> list[Pending]:
    view = await until(job.view, lambda view: bool(view.pending) and view.pending[0].quorum == 2)
    return view.pending


# --- the audit


async def test_the_audit_names_who_steered_paused_resumed_and_stopped(host: Host) -> None:
    async with host(writer("w", [SAVE], tools=[Ledger().tool()])) as client:
        job, _ = await started(client, "w")
        await job.steer("look again", by="ann")
        await job.pause(by="bob")
        await job.resume(by="cyd")
        await job.stop(by="dan")
        await ended(job)
        seen = await deeds(job)

    assert seen == [("steered", "ann"), ("paused", "bob"), ("resumed", "cyd"), ("stopped", "dan")]


async def test_the_audit_names_who_cancelled(host: Host) -> None:
    async with host(writer("w", [SAVE], tools=[Ledger().tool()])) as client:
        job, _ = await started(client, "w")
        await job.cancel(by="ann")
        end = await ended(job)
        noted = await deeds(job)

    assert end.outcome is not None
    assert end.outcome.status == "cancelled"
    assert noted == [("cancelled", "ann")]


async def test_an_unknown_outcome_is_settled_by_those_alone_who_decide_the_call(host: Host) -> None:
    def pay(key: str) -> str:
        raise OutcomeUnknown("the bank did not answer")

    tools = [tool(pay, approval=Approval(approvers=["finance"]))]
    async with host(writer("w", [call("pay", key="a")], tools=tools)) as client:
        job, (pending,) = await started(client, "w")
        await job.decide(by("bob", pending, roles=["finance"]))
        (doubt,) = await until(job.all_pending, lambda calls: [each.kind for each in calls] == ["unknown_outcome"])
        word = Resolution(call=doubt.call, choice="happened", result="paid", by="ann", roles=["support"])
        with pytest.raises(DecisionRefused) as refusal:
            await job.resolve(word)
        await job.resolve(word.model_copy(update={"roles": ["finance"]}))
        await ended(job)
        audit = await job.audit()

    assert doubt.approvers == ["finance"]
    assert str(refusal.value).endswith("is decided by finance; ann comes with the role support")
    assert [(entry.deed, entry.by, entry.roles) for entry in audit if entry.deed == "happened"] == [
        ("happened", "ann", ["finance"])
    ]


async def test_the_audit_is_never_told_to_the_model_and_goes_on_in_a_reply(host: Host) -> None:
    ledger = Ledger()
    agent = writer("w", [SAVE], tools=[ledger.tool()])
    async with host(agent) as client:
        job, (pending,) = await started(client, "w")
        await job.decide(by("ann", pending))
        await ended(job)
        await client.reply(job.id, "and now?", by="bob")
        await until(lambda: ended_twice(client, job))
        audit, transcript = await job.audit(), await job.transcript()

    assert [entry.deed for entry in audit] == ["approved", "performed"]
    assert not [entry for entry in transcript if isinstance(entry, Audit)]


async def ended_twice(client: Client, job: Job) -> bool:
    view = await job.view()
    return view.state == "ended" and sum(entry.kind == "message" for entry in await job.transcript()) == 2


async def test_a_pending_call_brings_the_schema_of_its_arguments_and_lists_do_without(host: Host) -> None:
    ledger = Ledger()
    async with host(writer("w", [SAVE], tools=[ledger.tool()])) as client:
        job, (pending,) = await started(client, "w")
        items = await until(client.inbox, lambda items: any(item.job == job.id for item in items))
        await job.cancel(by="ann")
        await ended(job)

    assert pending.parameters["properties"] == {"key": {"type": "string"}}
    assert pending.parameters["required"] == ["key"]
    assert [item.parameters for item in items if item.job == job.id] == [{}]
