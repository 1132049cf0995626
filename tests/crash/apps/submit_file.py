"""Submits a batch from the file and to the queue that its arguments name, and prints the batch's id.

With a number it stops when so many parts of the file are on their way, or once all of it is done if there are fewer.
"""

import asyncio
import os
import sys

from temporalio.client import Client as Temporal

from activities.payloads import data_converter
from surefoot.batches import submitting
from surefoot.cli.output import leave
from surefoot.client import Client
from workflows.batches.contracts import BatchLines

PART_LINES = 2


async def main(file: str, queue: str, stop: int | None) -> None:
    temporal = await Temporal.connect(os.environ["TEMPORAL_ADDRESS"], data_converter=data_converter())
    put_part, put = submitting.put_part, 0

    async def put_or_stop(temporal: Temporal, queue: str, part: str, lines: BatchLines, *, once: bool = False) -> bool:
        nonlocal put
        put += 1
        if put == stop:
            await stand_still()
        return await put_part(temporal, queue, part, lines, once=once)

    submitting.PART_LINES, submitting.put_part = PART_LINES, put_or_stop
    batch = await Client(temporal, task_queue=queue).batches.submit(file, agent="thinker", concurrency=50)
    if stop is not None:
        await stand_still()
    say(batch.id)


async def stand_still() -> None:
    say("reached")
    await asyncio.Event().wait()


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else None))
    leave(0)
