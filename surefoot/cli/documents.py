"""What `--json` prints: stable keys, one document."""

from collections.abc import Sequence
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


def job_document(view: JobView, others: Sequence[JobView] = ()) -> dict[str, object]:
    """A job for `run`, `show` and `watch`: the outcome's fields, and where the job stands.

    What waits in the `others` that work for it is among its pending calls; each names its job.
    """
    outcome = plain(view.outcome) if view.outcome else dict.fromkeys(Outcome.model_fields)
    state = plain(view)
    for name in ("outcome", "usage", "entries"):
        del state[name]
    pending = [
        inbox_document(InboxItem(job=each.job, **dict(call))) for each in (view, *others) for call in each.pending
    ]
    states = {each.job: each.state for each in others}
    children = [{**plain(child), "state": states.get(child.job, "ended")} for child in view.children]
    return {**outcome, **state, "usage": plain(view.usage), "pending": pending, "children": children}


def inbox_document(item: InboxItem) -> dict[str, JsonValue]:
    """A pending call; the schema of its arguments is for forms."""
    return {"job": item.job, **{name: value for name, value in plain(item).items() if name != "parameters"}}
