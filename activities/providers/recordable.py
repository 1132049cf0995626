"""The last check on a turn: can event history hold it?

A turn is recorded as one payload; above the server's limit the activity could never complete, and the job would hang.
"""

from activities.providers.errors import MalformedAnswer
from workflows.contracts import Turn

MAX_BYTES = 1_400_000  # below Temporal's 2 MB a payload, with room for the reply around it


def recordable(turn: Turn) -> Turn:
    """The turn itself; MalformedAnswer if it is too large to be recorded."""
    size = len(turn.model_dump_json().encode())
    if size > MAX_BYTES:
        raise MalformedAnswer(
            f"the model's answer takes {size:,} bytes and one turn may take {MAX_BYTES:,}, since it is recorded as one "
            "piece; set a lower max_output_tokens, or ask for less in one answer"
        )
    return turn
