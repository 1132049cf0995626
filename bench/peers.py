"""`python -m bench.peers`: Surefoot against other agents that keep their state, on the same server where they need one.

Each peer runs a model of its own framework's making, the same tool and the same shapes, in an environment of its own
(.venv-peers, made here with the versions of peers.txt). What a peer can't do is shown as where and how it ended.
"""

import subprocess
import sys
import venv
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.command import run
from bench.report import Target, ratio
from bench.runs import Contestant, Row
from bench.shapes import MANY, Shape
from bench.slices import ROOT

SUREFOOT = "Surefoot"
TEMPORAL_PEERS = ("Pydantic AI, Temporal", "OpenAI Agents, Temporal")
LIMIT_SECONDS = 300.0
SPEED = 2.0
COMPARED = (Shape(1, 20), Shape(1, 100), MANY)


def environment() -> Path:
    """The Python of .venv-peers, which is made or brought up to date first."""
    folder, pins = ROOT / ".venv-peers", Path(__file__).with_name("peers.txt")
    python, installed = folder / "bin" / "python", folder / "installed.txt"
    if not installed.exists() or installed.read_text() != pins.read_text():
        sys.stderr.write(f"installing the peers into {folder.name} (once)\n")
        venv.create(folder, with_pip=True, clear=True)
        quiet = ["--quiet", "--quiet", "--disable-pip-version-check"]
        subprocess.run([python, "-m", "pip", "install", *quiet, "--requirement", pins], check=True)
        installed.write_text(pins.read_text())
    return python


def contestants(python: Path) -> tuple[Contestant, ...]:
    pydantic_ai, openai_agents = TEMPORAL_PEERS
    return (
        Contestant(SUREFOOT, "surefoot"),
        Contestant(pydantic_ai, "pydantic_ai_temporal", python=python),
        Contestant(openai_agents, "openai_agents_temporal", python=python),
        Contestant("LangGraph, SQLite", "langgraph_sqlite", "folder", python=python),
    )


def targets(rows: Sequence[Row], shapes: Sequence[Shape]) -> Iterator[Target]:
    """What Surefoot promises, against what was measured."""
    for peer in TEMPORAL_PEERS:
        for shape in COMPARED:
            if shape in shapes:
                seen = ratio(rows, SUREFOOT, peer, shape)
                yield Target(f"{shape}: at least {SPEED:g} × the rounds/s of {peer}", f"{seen:.2f}", seen >= SPEED)


if __name__ == "__main__":
    run(__doc__, contestants(environment()), targets, limit=LIMIT_SECONDS)
