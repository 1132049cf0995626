"""What goes wrong with tools and agents, in one tree; a model API's failures are in `providers/errors.py`.

    DefinitionError    a tool, agent or app file that can't be used; seen when it is defined, never inside a job
    UnknownAgent       a job names an agent that the app does not have
    InvalidArguments   the model's arguments do not fit the tool; the text is for the model
    ToolError          raised by a tool: told to the model at once, not retried
    OutcomeUnknown     raised by a tool: a change was begun and nobody saw its end; a person decides
    ToolCancelled      raised by `ToolContext.heartbeat` once the job was cancelled

Any other exception of a tool is an ordinary failure: read and idempotent tools are retried.
"""


class DefinitionError(Exception):
    """A tool, agent or app file can't be used as it is written. The text names the place and the remedy."""


class UnknownAgent(LookupError):
    """The app has no agent of this name."""


class InvalidArguments(Exception):
    """The arguments of a call do not fit its tool. The text tells a model what to change."""


class ToolError(Exception):
    """Raise it in a tool to tell the model what went wrong. The call is not retried and the job goes on."""


class OutcomeUnknown(Exception):
    """Raise it in a write tool that began a change and can't tell whether it happened, e.g. when its request timed out.

    The call goes to the inbox, where a person says how it ended.
    """


class ToolCancelled(BaseException):
    """The job was cancelled while the tool ran.

    Not an `Exception`, like asyncio's CancelledError: a tool's own `except Exception` must not swallow it.
    """
