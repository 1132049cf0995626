"""Whether a job still gets anywhere, judged by the fingerprints of its last rounds.

Successful calls count as well as failed ones; rounds made only of tools that declared `repeatable=True` do not.
"""

import hashlib
from collections.abc import Sequence

from workflows.contracts import CallPart, CallState, RoundPrint
from workflows.digest import digest

WINDOW = 4


def fingerprint(calls: Sequence[CallState]) -> RoundPrint:
    """One round's fingerprint: its calls together, in order, so that twins inside one turn are no repetition."""
    counted = [call for call in calls if not call.plan.repeatable]
    made = hashlib.sha256("\n".join(call.plan.digest or _unplanned(call.call) for call in counted).encode())
    results = hashlib.sha256("\n".join(call.result_print for call in counted).encode())
    return RoundPrint(calls=made.hexdigest()[:32], results=results.hexdigest()[:32], polls=not counted)


def _unplanned(call: CallPart) -> str:
    """For a call that can't be made: of an unknown tool, or with arguments that are no object."""
    return digest(call.tool, call.arguments if call.arguments is not None else {"raw": call.raw})


def stalled(prints: Sequence[RoundPrint]) -> bool:
    """The same round three times in a row, or A-B-A-B with unchanged results."""
    if len(prints) >= 3 and not prints[-1].polls and len({round.calls for round in prints[-3:]}) == 1:
        return True
    if len(prints) < WINDOW or any(round.polls for round in prints[-WINDOW:]):
        return False
    first, second, third, fourth = prints[-WINDOW:]
    return first == third and second == fourth and first.calls != second.calls
