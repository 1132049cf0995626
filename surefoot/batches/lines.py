"""The lines of a batch as people's programs read them, and how they are kept on when the batch runs again.

They lie with the server while their batch runs, and then for as long as its retention says.
"""

from collections.abc import AsyncIterator, Sequence

from activities.batches.lines import read_part
from surefoot.batches.batch import Batch
from surefoot.batches.submitting import put_part
from surefoot.errors import NoSuchBatch, NoSuchJob
from surefoot.rpc import reaching
from workflows.batches.contracts import BatchLine, BatchLines, PartRef


async def lines_of(batch: Batch, parts: Sequence[PartRef]) -> AsyncIterator[BatchLine]:
    """The lines of these parts, one part in memory at a time. Raises `NoSuchBatch` if the server has one no more."""
    for part in parts:
        for line in await _read(batch, part):
            yield line


async def keep_lines(batch: Batch, parts: Sequence[PartRef], queue: str) -> None:
    """Put parts there again that were released at the end of the batch: it is to run again, perhaps for long."""
    for part in parts:
        lines = BatchLines(lines=await _read(batch, part), batch=batch.id)
        await put_part(batch.temporal, queue, part.id, lines)


async def _read(batch: Batch, part: PartRef) -> list[BatchLine]:
    try:
        with reaching(part.id):
            return await read_part(batch.temporal, part.id)
    except NoSuchJob:
        raise NoSuchBatch(
            f"the server has the lines of batch {batch.id} no more ({part.id} is gone): it keeps them for its retention"
            " after the batch has ended. Submit the lines once more, as a batch of another id"
        ) from None
