"""What one workflow task may hand on: payloads that fit alone can together exceed a message's limit (4 MB)."""

from pydantic_core import to_json

from workflows.contracts import CallState

TASK_BYTES = 1_500_000
"""Most bytes of arguments in the activities that one workflow task starts."""


def size_of(call: CallState) -> int:
    return len(to_json(call.arguments))
