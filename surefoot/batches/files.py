"""Reads batch files: JSONL (also compressed), one job a line; or CSV, each row put into a template.

Every line is checked before any job begins. Nothing is kept but the ids that were seen, so the size of a file hardly
matters.
"""

import csv
import gzip
import hashlib
import io
import json
import re
import zlib
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from activities.names import NAME
from surefoot.errors import WrongValue
from surefoot.texts import MESSAGE_BYTES
from workflows.batches.contracts import BatchLine
from workflows.contracts import JsonObject, Limits
from workflows.counting import counted
from workflows.faults import faults_of

LINE_BYTES = MESSAGE_BYTES + 200_000
"""Longest line: a message of full size and what belongs to it."""

METADATA_BYTES = 100_000
ID_CHARS = 200
FIELD = re.compile(r"\{([^{}]*)\}")
DAMAGED = (EOFError, gzip.BadGzipFile, zlib.error)
BOM = b"\xef\xbb\xbf"
NO_AGENT = 'it names no "agent", and none was given for the whole batch'


class GivenLimits(Limits):
    """Limits of a line: a word that is none of them is a mistake."""

    model_config = ConfigDict(extra="forbid")


class GivenLine(BaseModel):
    """A line as people write it."""

    model_config = ConfigDict(extra="forbid", strict=True)

    custom_id: str = Field(min_length=1, max_length=ID_CHARS)
    input: str = Field(min_length=1)
    agent: str | None = None
    limits: GivenLimits | None = None
    metadata: JsonObject = {}


@dataclass(frozen=True)
class BadLine:
    """A line that can't be a job, and why."""

    number: int
    problem: str

    def __str__(self) -> str:
        return f"line {self.number}: {self.problem}"


def read_jsonl(
    file: BinaryIO, *, agent: str | None = None, agents: Collection[str] | None = None
) -> Iterator[BatchLine | BadLine]:
    """The lines of a JSONL file, numbered from 1; empty ones are left out. `agent` does what names no agent itself.

    A line may name one of `agents`; None: which there are is not known here.
    """
    check = _Checker(agent, agents)
    for number, raw in enumerate(_lines(file), 1):
        if raw.strip():
            yield check.line(number, raw)


def read_csv(
    file: BinaryIO, template: str, *, agent: str | None = None, agents: Collection[str] | None = None
) -> Iterator[BatchLine | BadLine]:
    """The rows of a CSV file, numbered behind its head; `{name}` in the template is the row's value of that column.

    The columns `custom_id` and `agent` are those of a job; without a `custom_id` it is the row's number.
    """
    rows = csv.reader(io.TextIOWrapper(file, "utf-8-sig", newline=""), strict=True)
    number = 0
    try:
        head = next(rows, [])
        _check_columns(head, template)
        check = _Checker(agent, agents)
        for number, row in enumerate(rows, 1):
            if row:
                yield _row(number, row, head, template, check)
    except DAMAGED as error:
        raise WrongValue(f"the file can't be unpacked ({error}): it is damaged, cut off, or no gzip") from None
    except (csv.Error, UnicodeDecodeError) as error:
        place = f"about line {max(rows.line_num, 1)} of the file"
        yield BadLine(number + 1, f"this is no CSV in UTF-8 ({place}): {error}; from here on nothing was read")


def _check_columns(head: list[str], template: str) -> None:
    if missing := [name for name in FIELD.findall(template) if name not in head]:
        seen = f"the template asks for {', '.join(missing)}, and the file's columns are {', '.join(head) or 'none'}"
        others = len(head) == 1 and any(sign in head[0] for sign in ";\t|")
        raise WrongValue(f"{seen}: separate values by commas" if others else seen)


def _row(number: int, row: list[str], head: list[str], template: str, check: "_Checker") -> BatchLine | BadLine:
    if len(row) != len(head):
        return BadLine(number, f"it has {counted(len(row), 'value')}, and the head has {counted(len(head), 'column')}")
    values = dict(zip(head, row, strict=True))
    given = {
        "custom_id": values.get("custom_id") or str(number),
        "input": FIELD.sub(lambda match: values[match[1]], template),
    }
    if values.get("agent"):
        given["agent"] = values["agent"]
    return check.line(number, json.dumps(given).encode())


class _Checker:
    """Turns lines into jobs to be, and remembers the ids that were there."""

    def __init__(self, agent: str | None, agents: Collection[str] | None) -> None:
        self._agent, self._agents = agent, agents
        self._seen: dict[bytes, int] = {}

    def line(self, number: int, raw: bytes) -> BatchLine | BadLine:
        if len(raw) > LINE_BYTES:
            return BadLine(number, f"it is longer than {LINE_BYTES:,} bytes, more than one job can be started with")
        try:
            given = GivenLine.model_validate_json(raw.rstrip(b"\r\n"))
        except ValidationError as error:
            said = faults_of(error, "the line", GivenLine).replace("at line 1 column", "at column")
            return BadLine(number, _no_utf8(raw) or said)
        problem = self._problem(given)
        if problem is None and (first := self._seen.setdefault(_print(given.custom_id), number)) != number:
            problem = f"custom_id {given.custom_id!r} stands in line {first} already; each line needs its own"
        if problem is not None:
            return BadLine(number, problem)
        return BatchLine(number=number, **given.model_dump(exclude_unset=True))

    def _problem(self, given: GivenLine) -> str | None:
        agent = given.agent or self._agent
        if agent is None:
            return NO_AGENT
        if not NAME.fullmatch(agent):
            return f"agent {agent[:80]!r} can't be a name: give 1 to 64 letters, digits, _ or -"
        if given.agent and self._agents is not None and agent not in self._agents:
            return f"there is no agent {agent!r}; the app has: {', '.join(sorted(self._agents))}"
        if not given.custom_id.isprintable():
            return f"custom_id {given.custom_id!r} has characters that can't be printed"
        if (size := len(given.input.encode())) > MESSAGE_BYTES:
            return f"its input has {size:,} bytes, at most {MESSAGE_BYTES:,} fit; put the rest where a tool can read it"
        if (size := len(json.dumps(given.metadata))) > METADATA_BYTES:
            return f"its metadata have {size:,} bytes, at most {METADATA_BYTES:,} fit"
        return None


def _no_utf8(raw: bytes) -> str | None:
    try:
        raw.decode()
    except UnicodeDecodeError as error:
        return (
            f"it is not in UTF-8: {error.reason} {raw[error.start : error.start + 1].hex()} at byte {error.start + 1}"
        )
    return None


def _print(custom_id: str) -> bytes:
    """A hundred thousand long ids would take more memory than all else."""
    return hashlib.blake2b(custom_id.encode(), digest_size=12).digest()


def _lines(file: BinaryIO) -> Iterator[bytes]:
    """The lines of a file, none much longer than `LINE_BYTES`: of a longer one the rest is passed over."""
    first = True
    while raw := _read(file, LINE_BYTES + 1):
        if len(raw) > LINE_BYTES and not raw.endswith(b"\n"):
            while (rest := _read(file, LINE_BYTES)) and not rest.endswith(b"\n"):
                pass
        yield raw.removeprefix(BOM) if first else raw
        first = False


def _read(file: BinaryIO, most: int) -> bytes:
    """A line, or the beginning of a long one. Raises `WrongValue` for a compressed file that is damaged or cut off."""
    try:
        return file.readline(most)
    except DAMAGED as error:
        raise WrongValue(f"the file can't be unpacked ({error}): it is damaged, cut off, or no gzip") from None


def open_batch(path: Path) -> BinaryIO:
    """The file's bytes, unpacked if its name ends with `.gz`. Raises `WrongValue`."""
    try:
        if path.suffix == ".gz":
            return gzip.open(path, "rb")  # type: ignore[return-value]
        return path.open("rb")
    except OSError as error:
        raise WrongValue(f"{path} can't be read: {error.strerror}") from None
