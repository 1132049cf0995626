"""The table, and what is read off it: medians over the repetitions, ratios within one repetition."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from bench.measure import Measured
from bench.runs import Row
from bench.shapes import Shape

TITLES = (
    ("system", "<23"),
    ("shape", "<9"),
    ("rounds/s", ">9"),
    ("ms/round", ">9"),
    ("worker ms", ">10"),
    ("server ms", ">10"),
    ("events", ">8"),
    ("kB", ">9"),
    ("B/round", ">9"),
    ("peak MB", ">8"),
)
LEGEND = (
    "worker ms, server ms: processor time per round. events, kB: recorded of one job, over all its runs."
    " peak MB: of the worker's process."
)


@dataclass(frozen=True)
class Target:
    """What was aimed at, what was seen, and whether that is enough."""

    text: str
    seen: str
    reached: bool

    def __str__(self) -> str:
        return f"{'reached    ' if self.reached else 'NOT reached'}  {self.text}: {self.seen}"


def table(rows: Sequence[Row]) -> Iterable[str]:
    """The lines of the table, in the order in which the systems and shapes first came up."""
    yield "  ".join(f"{title:{form}}" for title, form in TITLES)
    for name, shape in dict.fromkeys((row.name, row.shape) for row in sorted(rows, key=_by_shape)):
        runs = of(rows, name, shape)
        yield "  ".join(f"{cell:{form}}" for cell, (_, form) in zip(_cells(name, shape, runs), TITLES, strict=True))
        for problem in dict.fromkeys(f"after {run.rounds} rounds: {run.problem}" for run in runs if run.problem):
            yield f"    {problem}"


def _by_shape(row: Row) -> tuple[int, int]:
    return row.shape.jobs, row.shape.rounds


def _cells(name: str, shape: Shape, runs: Sequence[Measured]) -> list[str]:
    runs = [run for run in runs if run.rounds]
    if not runs:
        return [name, str(shape), *["–"] * (len(TITLES) - 2)]
    server = [run.server_cpu / run.rounds for run in runs if run.server_cpu is not None]
    return [
        name,
        str(shape),
        f"{median(speed(run) for run in runs):.1f}",
        f"{median(1000 / speed(run) for run in runs):.1f}",
        f"{median(1000 * run.worker_cpu / run.rounds for run in runs):.1f}",
        f"{1000 * median(server):.1f}" if server else "–",
        f"{median(run.events for run in runs):,.0f}",
        f"{median(run.bytes / 1000 for run in runs):,.1f}",
        f"{median(bytes_per_round(run, shape) for run in runs):,.0f}",
        f"{median(run.peak_bytes / 1e6 for run in runs):.0f}",
    ]


def of(rows: Sequence[Row], name: str, shape: Shape) -> list[Measured]:
    return [row.measured for row in rows if (row.name, row.shape) == (name, shape)]


def speed(run: Measured) -> float:
    """Rounds per second."""
    return run.rounds / run.seconds if run.rounds else 0.0


def bytes_per_round(run: Measured, shape: Shape) -> float:
    """Of one job. One that was cut off is divided by the rounds that it did."""
    return run.bytes / max(1, run.rounds / shape.jobs)


def ratio(rows: Sequence[Row], name: str, other: str, shape: Shape) -> float:
    """How many times as fast as `other` `name` is in this shape: the median over the repetitions.

    0 when either did not complete: against a peer that could not run nothing is won.
    """
    pairs = zip(of(rows, name, shape), of(rows, other, shape), strict=True)
    return median(0.0 if run.problem or against.problem else speed(run) / speed(against) for run, against in pairs)
