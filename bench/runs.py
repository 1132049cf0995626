"""Runs the measurements: each in a fresh process on a fresh server, all contestants of a shape one after the other.

The machine is never quiet, so only neighbours in time are compared; the order turns with every repetition, so that none
is always the first.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from bench.measure import Measured
from bench.server import running
from bench.shapes import Shape
from bench.slices import ROOT

GRACE_SECONDS = 60.0
"""For what a measuring process does beside its jobs."""


@dataclass(frozen=True)
class Contestant:
    """A system as the table names it: its module in `bench.systems`, where it runs, and the Python that can import it.

    `only` restricts it to some shapes.
    """

    name: str
    module: str
    place: Literal["tuned server", "stock server", "folder"] = "tuned server"
    python: Path = Path(sys.executable)
    only: tuple[Shape, ...] | None = None


@dataclass(frozen=True)
class Row:
    """One measurement."""

    name: str
    shape: Shape
    repetition: int
    measured: Measured


def interleaved(
    contestants: Sequence[Contestant], shapes: Sequence[Shape], repetitions: int, limit: float
) -> Iterator[Row]:
    """Every contestant in every shape, so often; `limit` is the seconds that one measurement may take."""
    for repetition in range(repetitions):
        first = repetition % len(contestants)
        for shape in shapes:
            for contestant in (*contestants[first:], *contestants[:first]):
                if contestant.only is None or shape in contestant.only:
                    yield Row(contestant.name, shape, repetition, _measured(contestant, shape, limit))


def _measured(contestant: Contestant, shape: Shape, limit: float) -> Measured:
    with _place(contestant) as (place, server):
        module = [str(contestant.python), "-m", "bench.measure", contestant.module]
        line = [*module, str(shape.jobs), str(shape.rounds), place, str(server), str(limit)]
        process = subprocess.Popen(line, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            said, complained = process.communicate(timeout=limit + GRACE_SECONDS)
            end = f"its process ended with {process.returncode}"
        except subprocess.TimeoutExpired:
            process.kill()
            said, complained = process.communicate()
            end = f"its process did not end within {limit + GRACE_SECONDS:g} s"
    for result in (line for line in said.splitlines() if line.startswith("{")):  # the SDK logs there too
        return Measured(**json.loads(result))
    return Measured(problem=f"{end}: {(complained.strip().splitlines() or ['it said nothing'])[-1][:300]}")


@contextmanager
def _place(contestant: Contestant) -> Iterator[tuple[str, int]]:
    """Where its jobs are kept, and the process id of the server, or 0."""
    if contestant.place == "folder":
        with tempfile.TemporaryDirectory(prefix="surefoot-bench-") as folder:
            yield folder, 0
        return
    with running(tuned=contestant.place == "tuned server") as server:
        yield server.address, server.process
