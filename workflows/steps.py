"""The activities that a workflow may ask for, by signature alone.

The bodies live in `activities/`, which the workflow must not import; `worker.py` and mypy hold the pairs together.
"""

from temporalio import activity

from workflows.batches.contracts import BatchFound, EndJobs, LookForBatch, TendBatch, Tended
from workflows.contracts import (
    AgentSpec,
    ArgumentsCheck,
    CallDescription,
    CallModel,
    CheckArguments,
    DeliverNotice,
    DescribeCall,
    LoadAgent,
    ModelReply,
    NoticeEnd,
    ReadSegment,
    RunTool,
    Summary,
    ToolReply,
    TranscriptPage,
)
from workflows.lanes.contracts import (
    BatchSeen,
    HandBack,
    HandedBack,
    HandedIn,
    HandIn,
    LaneLook,
    LaneSeen,
    LookAtBatch,
    SubmitBatch,
    Submitted,
)
from workflows.queues.contracts import EnteredQueue, EnterQueue, HoldInQueue, LookAtQueue, QueueSeen
from workflows.rates.contracts import SetRate


@activity.defn
async def load_agent(request: LoadAgent) -> AgentSpec:
    """What the workflow must know of an agent: asked locally first, then of any worker of the queue."""
    raise NotImplementedError


@activity.defn
async def call_model(request: CallModel) -> ModelReply:
    """Ask the model once."""
    raise NotImplementedError


@activity.defn
async def summarize(request: CallModel) -> Summary:
    """Let the model sum up what was said, but for the latest of it."""
    raise NotImplementedError


@activity.defn
async def set_rate(request: SetRate) -> None:
    """Tell the server how fast the tasks of a queue are handed out."""
    raise NotImplementedError


@activity.defn
async def read_segment(request: ReadSegment) -> TranscriptPage:
    """A page of what an earlier run recorded."""
    raise NotImplementedError


@activity.defn
async def run_tool(request: RunTool) -> ToolReply:
    """Execute one call."""
    raise NotImplementedError


@activity.defn
async def compute_tool(request: RunTool) -> ToolReply:
    """Local: execute one call of a pure tool."""
    raise NotImplementedError


@activity.defn
async def describe_call(request: DescribeCall) -> CallDescription:
    """The tool's own preview of a call that waits for a person."""
    raise NotImplementedError


@activity.defn
async def check_arguments(request: CheckArguments) -> ArgumentsCheck:
    """Local: are edited arguments valid for the same tool?"""
    raise NotImplementedError


@activity.defn
async def deliver_notice(request: DeliverNotice) -> NoticeEnd:
    """Tell one webhook of one notice."""
    raise NotImplementedError


@activity.defn
async def tend_batch(request: TendBatch) -> Tended:
    """Begin the jobs of a batch, until something has to be decided."""
    raise NotImplementedError


@activity.defn
async def end_jobs(request: EndJobs) -> None:
    """Stop or cancel the jobs of a batch."""
    raise NotImplementedError


@activity.defn
async def look_for_batch(request: LookForBatch) -> BatchFound:
    """Whether a batch runs."""
    raise NotImplementedError


@activity.defn
async def hand_in(request: HandIn) -> HandedIn:
    """Hand a model call in for a provider batch, if there can be one."""
    raise NotImplementedError


@activity.defn
async def look_at_lane(request: LaneLook) -> LaneSeen:
    """Whether there is more to come before a provider batch is sent."""
    raise NotImplementedError


@activity.defn
async def submit_batch(request: SubmitBatch) -> Submitted:
    """Create a provider batch once."""
    raise NotImplementedError


@activity.defn
async def look_at_batch(request: LookAtBatch) -> BatchSeen:
    """How a provider batch stands."""
    raise NotImplementedError


@activity.defn
async def hand_back(request: HandBack) -> HandedBack:
    """Give each job what came of its request."""
    raise NotImplementedError


@activity.defn
async def enter_queue(request: EnterQueue) -> EnteredQueue:
    """Put a job into a named queue."""
    raise NotImplementedError


@activity.defn
async def look_at_queue(request: LookAtQueue) -> QueueSeen:
    """Which jobs hold places in a named queue."""
    raise NotImplementedError


@activity.defn
async def hold_in_queue(order: HoldInQueue) -> None:
    """Tell a named queue that a batch is held, or goes on."""
    raise NotImplementedError
