"""What one person may decide on a call. The job itself decides: this only spares a person vain attempts."""

from dataclasses import dataclass

from surefoot.http.people import Person
from workflows.contracts import Pending


@dataclass(frozen=True)
class Rights:
    """`may` are words of `Pending.allowed`; `note` says why not all of them."""

    may: frozenset[str]
    note: str = ""


def rights(call: Pending, person: Person) -> Rights:
    """What this person may decide on a call that waits."""
    if not call.allowed:
        return Rights(frozenset())
    if not person.may("approve"):
        return Rights(frozenset(), "You may look, and not decide: that takes the role approve.")
    if call.approvers and not person.roles & set(call.approvers):
        return Rights(frozenset(), f"This is decided by {' or '.join(call.approvers)}.")
    may = frozenset(call.allowed)
    if call.quorum > 1 or "approve" not in may:
        may -= {"grant"}
    if person.name in call.barred:
        return Rights(
            may & {"deny"}, "The job works for you, or you told it something: others approve this, you may deny it."
        )
    if person.name in call.approved_by:
        return Rights(may - {"approve"}, "You have approved this; others must as well.")
    return Rights(may)
