"""What both benchmarks do with their contestants: options, progress on stderr, the table, the targets, a JSON file."""

import argparse
import json
import os
import platform
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from bench.report import LEGEND, Target, speed, table
from bench.runs import Contestant, Row, interleaved
from bench.shapes import QUICK, SHAPES, Shape

Targets = Callable[[Sequence[Row], Sequence[Shape]], Iterable[Target]]


def run(description: str | None, contestants: Sequence[Contestant], targets: Targets, *, limit: float) -> None:
    """Measure and print. `limit` is the seconds that one measurement may take."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--quick", action="store_true", help="fewer shapes, one repetition")
    parser.add_argument("--repetitions", type=int, metavar="N", help="how often each is measured; the median counts")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every single measurement there")
    options = parser.parse_args()
    shapes = QUICK if options.quick else SHAPES
    rows: list[Row] = []
    _say(machine())
    for row in interleaved(contestants, shapes, options.repetitions or (1 if options.quick else 3), limit):
        rows.append(row)
        _note(row)
        if options.json:
            options.json.write_text(json.dumps({"machine": machine(), "rows": [asdict(row) for row in rows]}, indent=1))
    _say("", *table(rows), LEGEND, "", *map(str, targets(rows, shapes)))


def machine() -> str:
    """When and where this was measured."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (
        f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC, {os.cpu_count()} cores, {memory:.0f} GB,"
        f" {platform.system()} {platform.machine()}, Python {platform.python_version()},"
        f" temporalio {version('temporalio')}, load {os.getloadavg()[0]:.1f}"
    )


def _note(row: Row) -> None:
    seen = row.measured.problem or f"{speed(row.measured):.1f} rounds/s"
    sys.stderr.write(f"  {row.repetition + 1}. {row.name}, {row.shape}: {seen}\n")


def _say(*lines: str) -> None:
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    sys.stdout.flush()
