"""The jobs that work for a job: its children, and theirs, as far as they are under way.

Each job knows its own children, so they are found by asking from parent to child; a list of the server could be late.
"""

from contextlib import suppress

from surefoot.errors import NoSuchJob
from surefoot.job import Job
from workflows.contracts import JobView


async def descendants(job: Job, view: JobView) -> list[JobView]:
    """The states of all jobs that work for `job`, whose own state is `view`; a child comes before its children.

    Raises `NoWorker`.
    """
    found: list[JobView] = []
    for child in view.children:
        if child.status is not None:
            continue
        with suppress(NoSuchJob):  # the server has forgotten it
            other = job.other(child.job)
            seen = await other.view()
            if seen.state != "ended":
                found += [seen, *await descendants(other, seen)]
    return found
