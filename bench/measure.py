"""`python -m bench.measure SYSTEM JOBS ROUNDS PLACE SERVER SECONDS`: one system in one shape, in this fresh process.

Prints one JSON object, the fields of `Measured`, before the worker is stopped: one whose job was killed may never stop.
The process is new for each measurement, so its peak memory is that of this shape alone; a short job before the clock
starts pays for imports and connections.
"""

import asyncio
import importlib
import json
import sys
import time
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import cast

from bench import slices
from bench.processes import own_peak_bytes, own_seconds, seconds_of
from bench.shapes import Shape
from bench.systems import RunJob, System

WARM_ROUNDS = 2


@dataclass
class Measured:
    """One measurement. Times in seconds; `server_cpu` is None without a server; sizes are of one job.

    `problem` says how a job ended that did not complete, and `rounds` how many were done by then.
    """

    rounds: int = 0
    seconds: float = 0.0
    worker_cpu: float = 0.0
    server_cpu: float | None = None
    peak_bytes: int = 0
    events: int = 0
    bytes: int = 0
    problem: str | None = None


async def measure(system: System, shape: Shape, place: str, server: int | None, limit: float) -> None:
    measured = Measured()
    jobs = [f"bench-{time.time_ns()}-{number}" for number in range(shape.jobs)]
    async with system.hosting(place) as run:
        await run(f"{jobs[0]}-warm", WARM_ROUNDS)
        before = slices.taken
        with _clocks(measured, server):
            measured.problem = await _bounded(_all(run, jobs, shape.rounds), limit)
        measured.rounds = shape.all_rounds if measured.problem is None else slices.taken - before
        measured.peak_bytes = own_peak_bytes()
        record = await system.recorded(place, jobs[0])
        measured.events, measured.bytes = record.events, record.bytes
        sys.stdout.write(json.dumps(asdict(measured)) + "\n")
        sys.stdout.flush()


@contextmanager
def _clocks(measured: Measured, server: int | None) -> Iterator[None]:
    at_server = seconds_of(server) if server else 0.0
    here, start = own_seconds(), time.perf_counter()
    yield
    measured.seconds = time.perf_counter() - start
    measured.worker_cpu = own_seconds() - here
    measured.server_cpu = seconds_of(server) - at_server if server else None


async def _all(run: RunJob, jobs: list[str], rounds: int) -> None:
    await asyncio.gather(*[run(job, rounds) for job in jobs])


async def _bounded(work: Awaitable[None], limit: float) -> str | None:
    """How the work failed, or None."""
    try:
        await asyncio.wait_for(work, limit)
    except TimeoutError:
        return f"not done after {limit:g} s"
    except Exception as error:
        return _innermost(error)
    return None


def _innermost(error: BaseException) -> str:
    while (cause := getattr(error, "cause", None) or error.__cause__) is not None:
        error = cause
    return f"{type(error).__name__}: {error}"[:300]


def main(arguments: list[str]) -> None:
    name, jobs, rounds, place, server, limit = arguments
    system = cast(System, importlib.import_module(f"bench.systems.{name}"))
    shape = Shape(int(jobs), int(rounds))
    with asyncio.Runner(loop_factory=getattr(system, "loop_factory", None)) as runner:
        runner.run(measure(system, shape, place, int(server) or None, float(limit)))


if __name__ == "__main__":
    main(sys.argv[1:])
