"""Of what all contracts are made: values that never change, and state that does and is carried on.

Whoever changes `model_post_init` changes what is written to history: fields that were not set are left out of it
(`activities/payloads.py`).
"""

from typing import Any

from pydantic import BaseModel, ConfigDict, JsonValue

JsonObject = dict[str, JsonValue]


class Record(BaseModel):
    """Base of all that is written to history: immutable values."""

    model_config = ConfigDict(frozen=True)

    def model_post_init(self, _context: Any) -> None:
        # Unset fields are not written; the tag of a union member must be.
        if "kind" in type(self).model_fields:
            self.model_fields_set.add("kind")


class State(BaseModel):
    """Base of what changes in place during a run, and is carried whole into the next one."""

    def model_post_init(self, _context: Any) -> None:
        # A list that is appended to would count as unset, and be left out.
        self.model_fields_set.update(type(self).model_fields)
