"""Runs the tutor on thirty sentences, a job each, and prints how many it got right and what became of the others."""

import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from surefoot import Client, Outcome
from surefoot.errors import SurefootError

SENTENCES = Path(__file__).parent / "data" / "sentences.json"


@dataclass(frozen=True)
class Mark:
    """One sentence, what should have become of it, and how its job ended."""

    sentence: str
    right: str
    outcome: Outcome

    @property
    def written(self) -> str:
        """The corrected sentence; without one, why there is none."""
        output = self.outcome.output
        return str(output["sentence"]) if isinstance(output, dict) else self.outcome.error or "-"

    @property
    def is_right(self) -> bool:
        return self.outcome.status == "complete" and _words(self.written) == _words(self.right)


async def score(client: Client) -> list[Mark]:
    """The mark of each sentence, in the order of the file."""
    sentences = json.loads(SENTENCES.read_text())
    jobs = [await client.start("tutor", each["sentence"]) for each in sentences]
    outcomes = [await job.outcome() for job in jobs]
    return [Mark(each["sentence"], each["right"], outcome) for each, outcome in zip(sentences, outcomes, strict=True)]


def table(marks: list[Mark]) -> Table:
    right = sum(mark.is_right for mark in marks)
    made = Table("", "sentence", "answer", "status", "turns", "calls", caption=f"{right} of {len(marks)} right")
    for mark in marks:
        usage = mark.outcome.usage
        sign = "ok" if mark.is_right else "!!"
        counts = (str(usage.model_calls), str(usage.tool_calls))
        made.add_row(sign, mark.sentence, mark.written, mark.outcome.status, *counts)
    return made


def _words(text: str) -> list[str]:
    return re.findall(r"[\w']+", text.lower().replace("’", "'"))


async def main(app: str) -> None:
    """On the server and worker of `surefoot dev --app APP`, or those of TEMPORAL_ADDRESS."""
    try:
        client = await Client.connect(app=app)
    except SurefootError as error:
        sys.exit(f"{error}\nFor the score: surefoot dev --app examples/grammar_tutor.py, in another terminal.")
    Console().print(table(await score(client)))
