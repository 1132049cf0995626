"""What `--json` prints: stable keys, one document."""

from typing import Any

from pydantic import BaseModel, JsonValue
from pydantic_core import to_json

from surefoot.cli.output import write_json
from surefoot.inbox import InboxItem
from workflows.contracts import JobView, Outcome


def emit(document: object) -> None:
    write_json(to_json(document, indent=2).decode())


def plain(model: BaseModel) -> dict[str, JsonValue]:
    """Every field, set or not."""
    dumped: dict[str, Any] = model.model_dump(mode="json")
    return dumped


def job_document(view: JobView) -> dict[str, object]:
    """A job for `run`, `show` and `watch`: the outcome's fields, and where the job stands."""
    outcome = plain(view.outcome) if view.outcome else dict.fromkeys(Outcome.model_fields)
    state = plain(view)
    for name in ("outcome", "usage", "entries"):
        del state[name]
    pending = [inbox_document(InboxItem(job=view.job, **dict(each))) for each in view.pending]
    return {**outcome, **state, "usage": plain(view.usage), "pending": pending}


def inbox_document(item: InboxItem) -> dict[str, JsonValue]:
    """A pending call; the schema of its arguments is for forms."""
    return {"job": item.job, **{name: value for name, value in plain(item).items() if name != "parameters"}}
