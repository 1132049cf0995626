"""What happens to a call that nobody decides: reminders, and in the end what its policy says of that.

Deadlines are looked at only while a job waits; nothing that is under way is ever interrupted by one.
"""

from datetime import datetime

from workflows import words
from workflows.approval import expires_at, reminder_at
from workflows.contracts import CallState, JobState
from workflows.desk import Desk
from workflows.results import finish


class Deadlines:
    """The clocks of the calls that wait for a decision."""

    def __init__(self, state: JobState, desk: Desk) -> None:
        self._state, self._desk = state, desk

    def next(self) -> datetime | None:
        """When something happens next if nobody decides."""
        due = [at for call in self._asking() for at in (expires_at(call), reminder_at(call)) if at is not None]
        return min(due, default=None)

    def pass_by(self, now: datetime) -> None:
        """Do what is due by now."""
        for call in list(self._asking()):
            expiry, reminder = expires_at(call), reminder_at(call)
            if expiry is not None and expiry <= now:
                self._expire(call, now)
            elif reminder is not None and reminder <= now:
                while (following := reminder_at(call)) is not None and following <= now:
                    call.reminded += 1
                self._desk.note("reminded", call)
                self._desk.webhooks.tell_of_call("reminder", call)

    def _asking(self) -> list[CallState]:
        return [call for call in self._state.calls if call.phase == "asking"]

    def _expire(self, call: CallState, now: datetime) -> None:
        asking = call.plan.asking
        if asking.on_timeout == "escalate":
            call.escalated_at, call.votes = now, []
            call.renewed += 1
            self._desk.note("escalated", call, text=f"to {', '.join(asking.escalate_to)}")
            self._desk.webhooks.tell_of_call("escalated", call)
            return
        seconds = f"{asking.expires:g}"
        self._desk.note("expired", call, text=f"nobody decided within {seconds} seconds")
        self._desk.webhooks.tell_of_call("expired", call)
        finish(call, "expired", words.EXPIRED.format(seconds=seconds))
        if asking.on_timeout == "fail":
            self._state.closing = "tool_failure"
            self._state.closing_why = f"nobody decided on call {call.call.id} ({call.call.tool}) in {seconds} seconds"
