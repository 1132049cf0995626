"""Holds lines of a batch file where every worker can read them, until they are needed no more.

The lines are its input; whoever needs them reads the first event of its history, so no worker need be up to answer.
"""

from datetime import timedelta

from temporalio import workflow

from workflows import policies, steps
from workflows.batches.contracts import BatchLines, LookForBatch
from workflows.labels import BATCH_PART

LOOKS_FOR_ITS_BATCH = "part-looks-for-its-batch"

UNHEARD = timedelta(days=1)
"""After how long without a word the part looks whether its batch is there: each time, so it outlives none by more."""


@workflow.defn(name=BATCH_PART)
class BatchPart:
    """Stays open until its batch has ended: the server forgets closed runs after a while.

    It also ends when there is no such batch: a submission may have broken off before, and a batch that is terminated
    releases nothing. Who submits once more puts it there again.
    """

    def __init__(self) -> None:
        self._needed = True

    @workflow.run
    async def run(self, lines: BatchLines) -> None:
        if lines.batch is None or not workflow.patched(LOOKS_FOR_ITS_BATCH):
            await workflow.wait_condition(lambda: not self._needed)
            return
        look = LookForBatch(batch=lines.batch)
        while not await self._is_released():
            found = await workflow.execute_activity(steps.look_for_batch, look, **policies.PART)
            if not found.runs:
                return

    async def _is_released(self) -> bool:
        try:
            await workflow.wait_condition(lambda: not self._needed, timeout=UNHEARD)
        except TimeoutError:
            return False
        return True

    @workflow.signal
    def release(self) -> None:
        self._needed = False
