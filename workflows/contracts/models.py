"""What the activities that ask a model are handed, and what they answer."""

from typing import Literal

from pydantic import JsonValue

from workflows.contracts.calls import CallPlan
from workflows.contracts.limits import Usage
from workflows.contracts.messages import Turn
from workflows.contracts.outcome import Status
from workflows.contracts.transcript import Epoch, Logged, Segment
from workflows.contracts.values import Record


class CallModel(Record):
    """One model call. The transcript is `earlier` segments, then this run's first `base` entries, then `new`.

    `new` is None when the entries were too large to be handed over; the worker then reads
    `base` to `length` by query. `tail` are the last entries of the last earlier segment, as far as no call was handed
    them while that run lasted. They are seen as `epoch` says. `compaction` is what may be done when they are too long:
    let old results go, or also answer that they have to be summed up. `flex` asks at the cheaper tier.
    """

    agent: str
    turn: int
    model: str | None = None
    earlier: list[Segment] = []
    base: int = 0
    new: list[Logged] | None = None
    length: int = 0
    closing: Status | None = None
    tail: list[Logged] = []
    epoch: Epoch | None = None
    compaction: Literal["trim", "summarize"] | None = None
    flex: bool = False


class ModelReply(Record):
    """A turn, the plan for each of its calls, and the check of a final answer against the output schema.

    `citations` are the calls whose results an answer refers to, where the agent asks for that.
    `instead_of` are the models of the agent's list that were to be asked first, with what was wrong with each.
    `epoch` begins with this call, if old results were let go for it. `too_long` says that no model answered, since what
    was said has to be summed up first.
    """

    turn: Turn
    plans: list[CallPlan] = []
    output: JsonValue = None
    output_problem: str | None = None
    failed_attempts: int = 0
    instead_of: list[str] = []
    citations: list[str] = []
    citation_problem: str | None = None
    epoch: Epoch | None = None
    too_long: bool = False


class Summary(Record):
    """What a model made of all that was said before entry `until`, or the `problem` for which there is no summary.

    `before` and `after` are about how many tokens a call takes without it and with it.
    """

    text: str = ""
    problem: str | None = None
    until: int
    before: int = 0
    after: int = 0
    model: str = ""
    usage: Usage = Usage()
    failed_attempts: int = 0
    instead_of: list[str] = []
