"""What commands on batches share: the batch with a worker for it, and how it stands, to its end if it is watched."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from temporalio.client import WorkflowExecutionStatus

from surefoot.batches import Batch
from surefoot.cli import exits
from surefoot.cli.batch_pages import Progress, print_batch, print_next
from surefoot.cli.documents import emit, plain
from surefoot.cli.output import say
from surefoot.cli.session import Session
from surefoot.texts import quoted


async def opened_batch(session: Session, id: str, *, look: bool = False) -> Batch:
    """The batch, with a worker for it unless it has ended and is only to be looked at."""
    found = session.client.batches[id]
    description = await found.describe()
    if not look or description.status == WorkflowExecutionStatus.RUNNING:
        await session.worker_of(description.task_queue, look=look)
    return found


@contextmanager
def goes_on(batch: str) -> Iterator[None]:
    """Whoever stops watching is told that the batch does not stop with them."""
    try:
        yield
    except asyncio.CancelledError:
        say(f"\nbatch {batch} goes on; follow it again: surefoot batch watch {quoted(batch)}")
        raise


async def follow_batch(batch: Batch, watched: bool, as_json: bool) -> int:
    """Show how it stands, to its end if it is `watched`; the exit code."""
    view = await batch.view()
    if watched:
        with Progress(quiet=as_json) as progress:
            async for view in batch.follow():
                progress.show(view)
                if view.state == "waiting":
                    break
    emit(plain(view)) if as_json else print_batch(view)
    if not as_json:
        print_next(view)
    if not watched:
        if view.state != "ended":
            say(f"follow it with: surefoot batch watch {quoted(batch.id)}")
        return exits.COMPLETE
    if view.state == "waiting":
        return exits.WAITING
    not_done = view.incomplete or view.queued or view.forgotten
    return exits.FAILED if view.failed else exits.NOT_DONE if not_done else exits.COMPLETE
