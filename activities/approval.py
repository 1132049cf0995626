"""How a tool's calls are put to people, as its author writes it: checked when it is defined, never inside a job."""

from collections.abc import Mapping
from typing import Any

from pydantic import ConfigDict, ValidationError, model_validator

from activities.errors import DefinitionError
from workflows.contracts import Asking
from workflows.faults import faults_of

DECISIONS = tuple(Asking().allowed)


class Approval(Asking):
    """Who decides on a tool's calls, and what happens when nobody does. Times are in seconds.

    allowed         the decisions that may be made: approve, edit (approve with other arguments), answer, deny,
                    grant (approve calls to come); all of them if not given
    approvers       roles, one of which whoever decides must have; empty: anybody may
    quorum          how many different people must approve
    self_approval   whether the person for whom the job works may approve its calls
    remind          how often people are reminded
    risk            "low", "normal" or "high": for people to sort by
    expires         how long a call waits before `on_timeout`: "wait" (go on waiting), "deny", "fail" (end the job),
                    "escalate" (ask the roles `escalate_to` instead)
    """

    model_config = ConfigDict(extra="forbid")

    def __init__(self, **given: Any) -> None:
        try:
            super().__init__(**given)
        except ValidationError as error:
            raise DefinitionError(
                f"Approval({_shown(given)}) can't be used: {faults_of(error, 'Approval', Approval)}."
            ) from None

    @model_validator(mode="after")
    def _holds_together(self) -> "Approval":
        for name in self.allowed:
            if name not in DECISIONS:
                raise ValueError(f"there is no decision {name!r}; there are {', '.join(DECISIONS)}")
        if not {"approve", "answer", "deny"} & set(self.allowed):
            raise ValueError("a call that can't be approved, answered or denied would wait for ever")
        if self.quorum < 1:
            raise ValueError(f"quorum={self.quorum}: at least one person must approve")
        for name in ("expires", "remind"):
            if (value := getattr(self, name)) is not None and not 0 < value < float("inf"):
                raise ValueError(f"{name}={value:g}: give a positive number of seconds")
        if (self.on_timeout != "wait") != (self.expires is not None):
            raise ValueError("expires and on_timeout belong together: say after how long, and what happens then")
        if (self.on_timeout == "escalate") != bool(self.escalate_to):
            raise ValueError("on_timeout='escalate' and escalate_to=[roles] belong together")
        return self

    def asking(self) -> Asking:
        """The same, as history keeps it: only what was given."""
        return Asking(**{name: getattr(self, name) for name in self.model_fields_set})


def checked(approval: object, where: str) -> Asking | None:
    """The approval that a user wrote, or None; raises `DefinitionError` for anything else."""
    if approval is None:
        return None
    if isinstance(approval, Approval):
        return approval.asking()
    raise DefinitionError(f"{where} has approval={approval!r}. Write approval=Approval(quorum=2, …).")


def _shown(given: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in given.items())
