"""`python -m bench`: Surefoot against a bare workflow of two empty activities a round, on the embedded server."""

from collections.abc import Iterator, Sequence

from bench.command import run
from bench.report import Target, bytes_per_round, of, ratio
from bench.runs import Contestant, Row
from bench.shapes import Shape

BARE, SUREFOOT, STOCK = "bare workflow", "Surefoot", "Surefoot, stock server"
LONE = Shape(1, 100)
"""The shape in which the servers are compared: long enough to use up the stock server's burst allowance."""

CONTESTANTS = (
    Contestant(BARE, "bare"),
    Contestant(SUREFOOT, "surefoot"),
    Contestant(STOCK, "surefoot", "stock server", only=(LONE,)),
)
LIMIT_SECONDS = 600.0
SPEED = 0.9
BYTES = 6_000
FLAT = 0.10
SERVER = 3.0


def targets(rows: Sequence[Row], shapes: Sequence[Shape]) -> Iterator[Target]:
    """What Surefoot promises, against what was measured."""
    for shape in shapes:
        seen = ratio(rows, SUREFOOT, BARE, shape)
        yield Target(f"{shape}: at least {SPEED:g} × the bare workflow's rounds/s", f"{seen:.2f}", seen >= SPEED)
    lone = [shape for shape in shapes if shape.jobs == 1]
    sizes = [bytes_per_round(run, shape) for shape in lone for run in of(rows, SUREFOOT, shape)]
    seen_bytes, middle = f"{min(sizes):,.0f} to {max(sizes):,.0f}", (min(sizes) + max(sizes)) / 2
    span = f"from {lone[0].rounds:,} to {lone[-1].rounds:,} rounds"
    yield Target(f"bytes a round within ±10 % {span}", seen_bytes, max(sizes) <= middle * (1 + FLAT))
    yield Target(f"at most {BYTES:,} bytes a round", seen_bytes, max(sizes) <= BYTES)
    last = of(rows, SUREFOOT, lone[-1])
    yield Target(
        f"the job of {lone[-1].rounds:,} rounds ends",
        next((run.problem for run in last if run.problem), "complete"),
        not any(run.problem for run in last),
    )
    faster = ratio(rows, SUREFOOT, STOCK, LONE)
    yield Target(f"{LONE}: at least {SERVER:g} × the stock server's rounds/s", f"{faster:.2f}", faster >= SERVER)


if __name__ == "__main__":
    run(__doc__, CONTESTANTS, targets, limit=LIMIT_SECONDS)
