"""How long each activity may take and how often it is tried: one table.

An activity counts its own failures (`activities/attempts.py`) and ends its retries itself; what is counted
here are attempts of any kind, so that a deploy or a crash of the worker does not use up a tool's retries.
"""

from datetime import timedelta
from typing import TypedDict, cast

from temporalio import workflow
from temporalio.common import RetryPolicy
from temporalio.workflow import ActivityCancellationType

from workflows.contracts import AgentSpec, CallPlan
from workflows.lanes.contracts import LaneTerms
from workflows.rates.contracts import rated_queue

INTERRUPTIONS = 30
"""How many attempts may be lost to dying workers before a step is given up."""

REFUSALS = 100
"""How often a provider may refuse one rated call for coming too fast, beside its other failures."""

RATED_WAIT = timedelta(days=7)
"""How long a rated call may wait: the rate may be gone from the app, and then no worker ever takes it up."""

SLACK = timedelta(seconds=30)
"""What an attempt may take beside the function that it runs."""

NOTICE_DAYS = 3
"""How long an endpoint may be out of order before a notice for it is given up."""


class Options(TypedDict):
    start_to_close_timeout: timedelta
    heartbeat_timeout: timedelta
    retry_policy: RetryPolicy
    cancellation_type: ActivityCancellationType


class Asking(Options, total=False):
    task_queue: str
    schedule_to_start_timeout: timedelta


class Brief(TypedDict):
    start_to_close_timeout: timedelta
    retry_policy: RetryPolicy


class Patient(Brief):
    schedule_to_close_timeout: timedelta


LOCAL = Brief(
    start_to_close_timeout=timedelta(seconds=30),
    retry_policy=RetryPolicy(initial_interval=timedelta(milliseconds=100), maximum_attempts=3),
)

LOOKS = 15
"""How many workers may be asked for an agent before there is none of that name."""

SEARCH = Brief(
    start_to_close_timeout=timedelta(seconds=30),
    retry_policy=RetryPolicy(initial_interval=timedelta(seconds=1), backoff_coefficient=1.0, maximum_attempts=LOOKS),
)

NOTICE = Patient(
    # The activity itself says how long to wait after a failure; these are for attempts that were lost with a worker.
    start_to_close_timeout=timedelta(seconds=20),
    schedule_to_close_timeout=timedelta(days=NOTICE_DAYS),
    retry_policy=RetryPolicy(initial_interval=timedelta(seconds=1), maximum_interval=timedelta(hours=1)),
)

BATCH = Options(
    # It is one long step: it goes on from its last beat wherever a worker takes it up, however often that is.
    start_to_close_timeout=timedelta(hours=24),
    heartbeat_timeout=timedelta(seconds=15),
    retry_policy=RetryPolicy(initial_interval=timedelta(seconds=1), maximum_interval=timedelta(seconds=30)),
    cancellation_type=ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
)

PART = Brief(
    start_to_close_timeout=timedelta(seconds=30),
    retry_policy=RetryPolicy(initial_interval=timedelta(seconds=1), maximum_interval=timedelta(hours=1)),
)

LANE_HOURS = 30
"""How long a provider batch is asked for: a day is what providers take, and their results stay longer."""


RATE = Brief(
    start_to_close_timeout=timedelta(seconds=10),
    retry_policy=RetryPolicy(initial_interval=timedelta(seconds=1), maximum_attempts=5),
)

QUEUE = Brief(
    start_to_close_timeout=timedelta(minutes=2),
    retry_policy=RetryPolicy(initial_interval=timedelta(seconds=1), maximum_attempts=5),
)

QUEUE_WORD = Brief(
    # Without end: a batch that is held would begin jobs all the same.
    start_to_close_timeout=timedelta(seconds=30),
    retry_policy=RetryPolicy(initial_interval=timedelta(seconds=1), maximum_interval=timedelta(seconds=30)),
)


def lane(terms: LaneTerms) -> Options:
    """For the steps of a lane: none is given up for a provider that is out of order, as its jobs have deadlines."""
    return Options(
        start_to_close_timeout=timedelta(hours=2),
        heartbeat_timeout=timedelta(seconds=terms.beat),
        retry_policy=RetryPolicy(initial_interval=timedelta(seconds=1), maximum_interval=timedelta(minutes=5)),
        cancellation_type=ActivityCancellationType.TRY_CANCEL,
    )


def model(spec: AgentSpec) -> Options:
    return _options(spec, spec.model_seconds, spec.model_attempts)


def asking(spec: AgentSpec) -> Asking:
    """For calls that ask a model: those of a rate wait on its own queue, and being refused uses up none of theirs."""
    # A cast, since mypy does not take a TypedDict for one that may have more.
    if spec.rate is None:
        return cast(Asking, model(spec))
    options = cast(Asking, _options(spec, spec.model_seconds, spec.model_attempts + REFUSALS))
    options["schedule_to_start_timeout"] = RATED_WAIT
    options["task_queue"] = rated_queue(workflow.info().task_queue, spec.rate)
    return options


def tool(spec: AgentSpec, plan: CallPlan) -> Options:
    return _options(spec, plan.seconds, plan.retries + 1)


def pure(plan: CallPlan) -> Brief:
    return Brief(start_to_close_timeout=timedelta(seconds=plan.seconds) + SLACK, retry_policy=LOCAL["retry_policy"])


def preview(spec: AgentSpec) -> Options:
    return _options(spec, 30.0, 1)


def _options(spec: AgentSpec, seconds: float, attempts: int) -> Options:
    return Options(
        start_to_close_timeout=timedelta(seconds=seconds) + SLACK,
        heartbeat_timeout=timedelta(seconds=spec.heartbeat_seconds),
        retry_policy=RetryPolicy(
            initial_interval=timedelta(seconds=spec.retry_seconds),
            maximum_interval=timedelta(seconds=60),
            maximum_attempts=attempts + INTERRUPTIONS,
            non_retryable_error_types=["PayloadsTooLarge"],
        ),
        cancellation_type=ActivityCancellationType.TRY_CANCEL,
    )
