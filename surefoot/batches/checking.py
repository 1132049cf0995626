"""Checks a batch file from its first line to its last, before any job begins.

What is found good is spooled as it will be uploaded, so a file that can be read once only, such as a pipe, will do.
"""

import hashlib
import sys
import tempfile
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from surefoot.batches.files import BadLine, open_batch, read_csv, read_jsonl
from surefoot.errors import WrongValue
from workflows.batches.contracts import BatchLine, BatchOrder

KEPT = 1000
"""How many bad lines are told one by one."""


@dataclass
class Checked:
    """A file that was read: how many lines are good, which are bad (the first of them), and the good ones' digest."""

    spool: IO[bytes]
    good: int = 0
    bad_count: int = 0
    bad: list[BadLine] = field(default_factory=list)
    agents: set[str] = field(default_factory=set)
    print_: str = ""

    def lines(self) -> Iterator[BatchLine]:
        """The good lines, in order, as often as it is asked for."""
        self.spool.seek(0)
        for raw in self.spool:
            yield BatchLine.model_validate_json(raw)

    def digest(self, order: BatchOrder) -> str:
        """One print of these lines and of what all their jobs begin with, whoever submits them."""
        # Without a queue it is what it was before there were any: the same file is still the same batch.
        whole = order.model_dump_json(exclude={"by"} | ({"queue"} if order.queue is None else set()))
        return hashlib.sha256(f"{self.print_}\n{whole}".encode()).hexdigest()


@contextmanager
def reading(
    file: str | Path,
    *,
    agent: str | None = None,
    template: str | None = None,
    agents: Collection[str] | None = None,
) -> Iterator[Checked]:
    """Read a file from its first line to its last; `-` is stdin. With a `template` it is CSV. Raises `WrongValue`."""
    with nullcontext(sys.stdin.buffer) if str(file) == "-" else open_batch(Path(file)) as opened:
        lines = (
            read_jsonl(opened, agent=agent, agents=agents)
            if template is None
            else read_csv(opened, template, agent=agent, agents=agents)
        )
        with checked(lines) as found:
            yield found


@contextmanager
def checked(lines: Iterable[BatchLine | BadLine]) -> Iterator[Checked]:
    """Read all lines; inside the block the good ones can be read again."""
    with tempfile.TemporaryFile(prefix="surefoot-batch-") as spool:
        found = Checked(spool)
        content = hashlib.sha256()
        for line in lines:
            if isinstance(line, BadLine):
                found.bad_count += 1
                found.bad += [line] if len(found.bad) < KEPT else []
                continue
            raw = line.model_dump_json(exclude_unset=True).encode() + b"\n"
            _write(spool, raw)
            content.update(raw)
            found.good += 1
            found.agents.update({line.agent} if line.agent else ())
        found.print_ = content.hexdigest()
        yield found


def _write(spool: IO[bytes], raw: bytes) -> None:
    try:
        spool.write(raw)
    except OSError as error:
        folder = tempfile.gettempdir()
        raise WrongValue(
            f"the good lines are kept in a file in {folder} while they are checked, and that can't be written"
            f" ({error.strerror}); make room there, or name another folder by TMPDIR"
        ) from None
