"""Who may decide a call, how many of them it takes, by when, and what they have granted for calls to come."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from workflows.contracts import Asking, CallState, Decision, Grant, GrantTerms, JobState, Vote
from workflows.digest import whole_numbers
from workflows.received import refusal

GRANTS_KEPT = 100
LONGEST_GRANT = 100 * 366 * 86_400.0
"""Seconds; far beyond it no end can be computed, and by then the decision that came with the grant would be applied."""


def word(decision: Decision) -> str:
    """The decision as `Asking.allowed` names it."""
    return "edit" if decision.arguments is not None and decision.choice == "approve" else decision.choice


def approvers(call: CallState) -> list[str]:
    """The roles, one of which whoever decides must have; empty: anybody may."""
    return call.plan.asking.escalate_to if call.escalated_at else call.plan.asking.approvers


def check_person(call: CallState, decision: Decision, state: JobState) -> None:
    """Refuse a decision of a kind, or by a person, that this call does not allow."""
    asking, name = call.plan.asking, decision.call
    if word(decision) not in asking.allowed:
        raise refusal("NotAllowed", f"{word(decision)} is not allowed for call {name}: {', '.join(asking.allowed)}")
    check_roles(call, decision.by, decision.roles)
    if not asking.self_approval and decision.choice != "deny":
        _check_self(decision, state)
    if decision.grant is not None:
        _check_grant(call, decision)
    if word(decision) == "approve" and any(vote.by == decision.by for vote in call.votes):
        raise refusal(
            "AlreadyDecided", f"{decision.by} approved call {name} already; {missing(call)} more must approve it"
        )


def barred(state: JobState) -> list[str]:
    """Who may have made the job ask for what it asks for: by starting it, or by steering it."""
    return [name for name in dict.fromkeys([state.by, *state.steered_by]) if name is not None]


def _check_self(decision: Decision, state: JobState) -> None:
    """Refuse the approval of whoever may have made the job ask for this: by starting it, or by steering it."""
    by, name = decision.by, decision.call
    if by == state.by:
        raise refusal("NotAllowed", f"the job works for {by}, who can't approve its call {name}")
    if by in state.steered_by:
        raise refusal("NotAllowed", f"{by} steered the job, and so can't approve its call {name}")


def check_roles(call: CallState, by: str, roles: Sequence[str]) -> None:
    """Refuse the word of a person who has none of the roles that decide this call."""
    wanted = approvers(call)
    if wanted and not set(wanted) & set(roles):
        has = f"the role{'s' * (len(roles) > 1)} {', '.join(roles)}" if roles else "no role"
        raise refusal("NotAllowed", f"call {call.call.id} is decided by {' or '.join(wanted)}; {by} comes with {has}")


def _check_grant(call: CallState, decision: Decision) -> None:
    asking = call.plan.asking
    if decision.choice != "approve":
        raise refusal("NotAllowed", f"a grant comes with approve, not with {decision.choice}")
    if "grant" not in asking.allowed or asking.quorum > 1:
        why = "it needs several approvals each time" if asking.quorum > 1 else "its policy does not allow that"
        raise refusal("NotAllowed", f"{call.call.tool} can't be granted for calls to come: {why}")
    if decision.grant is not None and decision.grant.seconds > LONGEST_GRANT:
        raise refusal(
            "NotAllowed", f"a grant lasts {LONGEST_GRANT:.0f} seconds at most, not {decision.grant.seconds:g}"
        )


def missing(call: CallState) -> int:
    """How many more people must approve."""
    return max(0, call.plan.asking.quorum - len(call.votes))


def enough(votes: Sequence[Vote], asking: Asking) -> bool:
    """Whether these approvals are what `asking` wants now: it may have become stricter since they were given."""
    roles = {*asking.approvers, *asking.escalate_to} if asking.approvers else set()
    counted = {vote.by for vote in votes if not roles or roles & set(vote.roles)}
    return not (roles or asking.quorum > 1) or len(counted) >= asking.quorum


# --- time


def expires_at(call: CallState) -> datetime | None:
    """When the time for a decision is over; None if there is all the time in the world."""
    asking = call.plan.asking
    if asking.expires is None or asking.on_timeout == "wait" or call.asked_at is None or call.escalated_at is not None:
        return None
    return call.asked_at + timedelta(seconds=asking.expires)


def reminder_at(call: CallState) -> datetime | None:
    """When people are reminded next."""
    if call.plan.asking.remind is None or call.asked_at is None:
        return None
    return call.asked_at + timedelta(seconds=call.plan.asking.remind * (call.reminded + 1))


# --- grants


def give(state: JobState, call: CallState, terms: GrantTerms, by: str, now: datetime) -> Grant:
    """Let calls of the same tool through from now on, as far as the terms say."""
    grant = Grant(
        id=f"grant-{call.call.id}",
        tool=call.call.tool,
        by=by,
        until=now + timedelta(seconds=terms.seconds),
        left=terms.count,
        arguments=terms.arguments,
    )
    state.grants = [*(each for each in state.grants if _stands(each, now)), grant][-GRANTS_KEPT:]
    return grant


def granted(state: JobState, call: CallState, now: datetime) -> Grant | None:
    """The grant that lets this call through, used once more by it."""
    if call.plan.asking.quorum > 1 or "grant" not in call.plan.asking.allowed:
        return None
    for grant in state.grants:
        if grant.tool == call.call.tool and _stands(grant, now) and _covers(grant, call):
            grant.left -= 1
            return grant
    return None


def _stands(grant: Grant, now: datetime) -> bool:
    return grant.left > 0 and now < grant.until


def _covers(grant: Grant, call: CallState) -> bool:
    return all(
        name in call.arguments and whole_numbers(call.arguments[name]) == whole_numbers(value)
        for name, value in grant.arguments.items()
    )
