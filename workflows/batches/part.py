"""Holds lines of a batch file where every worker can read them, until they are needed no more.

The lines are its input; whoever needs them reads the first event of its history, so no worker need be up to answer.
"""

from temporalio import workflow

from workflows.batches.contracts import BatchLines
from workflows.labels import BATCH_PART


@workflow.defn(name=BATCH_PART)
class BatchPart:
    """Stays open until its batch has ended: the server forgets closed runs after a while."""

    def __init__(self) -> None:
        self._needed = True

    @workflow.run
    async def run(self, lines: BatchLines) -> None:
        await workflow.wait_condition(lambda: not self._needed)

    @workflow.signal
    def release(self) -> None:
        self._needed = False
