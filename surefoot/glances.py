"""One question to the server alone that tells a watcher whether to ask more: did anything happen, is a model speaking?

It costs no worker anything, so it may be asked several times a second.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import ValidationError
from temporalio.api.common.v1 import Payload
from temporalio.client import WorkflowExecutionDescription, WorkflowExecutionStatus
from temporalio.converter import DataConverter

from activities.models.speech import Speech
from surefoot.saying import Look

CALL_MODEL = "call_model"


@dataclass(frozen=True)
class Glance:
    """`mark` equals an earlier one if nothing was recorded in between; `look` is there while a model is asked."""

    mark: object
    look: Look | None


def mark_of(description: WorkflowExecutionDescription) -> object:
    return description.run_id, description.history_length, description.status


async def glance_at(description: WorkflowExecutionDescription) -> Glance:
    """What a job's description tells. Raises `UnreadablePayload`."""
    look = None
    # The server also keeps what was pending when a job was ended from outside.
    runs = description.status == WorkflowExecutionStatus.RUNNING
    for each in description.raw_description.pending_activities if runs else ():
        if each.activity_type.name == CALL_MODEL:
            speech = await _speech(description.data_converter, each.heartbeat_details.payloads)
            # What an earlier attempt said stays with the server until the next one says something.
            speech = speech if speech is not None and speech.attempt == each.attempt else None
            look = Look(f"{description.run_id} {each.activity_id}", each.attempt, speech)
    return Glance(mark_of(description), look)


async def _speech(converter: DataConverter, details: Sequence[Payload]) -> Speech | None:
    if len(details) < 2:
        return None
    _, shown, *_ = await converter.decode(details)
    try:
        return Speech.model_validate(shown)
    except ValidationError:  # another version's
        return None
