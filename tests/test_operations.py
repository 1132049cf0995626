"""docs/operations.md tells the truth about settings."""

import re
from dataclasses import fields
from pathlib import Path

import pytest

from surefoot.settings import DEFAULT_IDLE_SECONDS, DEFAULT_TASK_QUEUE
from worker import Settings

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "operations.md").read_text()
DEFAULTS = dict(re.findall(r"^\| `(SUREFOOT_\w+)` \| (.+?) \|", PAGE, re.MULTILINE))
OF_THE_DEMO = {"SUREFOOT_DEMO_LOG", "SUREFOOT_DEMO_SECONDS"}
OBJECTS = ("artifacts", "lane_terms")
"""Settings that are no numbers."""

OF_COMPOSE = {
    "SUREFOOT_RETENTION",
    "SUREFOOT_APP_FOLDER",
    "SUREFOOT_APP_FILE",
    "SUREFOOT_CONSOLE_PORT",
    "SUREFOOT_TOKENS_FILE",
}


def test_the_table_names_every_variable_that_the_code_reads() -> None:
    files = [ROOT / "worker.py", *(ROOT / "surefoot").rglob("*.py"), *(ROOT / "activities").rglob("*.py")]
    read = {name for file in files for name in re.findall(r"\bSUREFOOT_[A-Z_]*[A-Z]\b", file.read_text())}
    settings = {f"SUREFOOT_{each.name.upper()}" for each in fields(Settings)}

    assert DEFAULTS.keys() == (read | settings) - OF_THE_DEMO


def test_the_page_names_no_variable_that_nothing_reads() -> None:
    named = set(re.findall(r"`(SUREFOOT_\w+)", PAGE))

    assert named == DEFAULTS.keys() | OF_COMPOSE


@pytest.mark.parametrize("name", [each.name for each in fields(Settings) if each.name not in OBJECTS])
def test_a_workers_defaults_are_those_of_the_table(name: str) -> None:
    written = DEFAULTS[f"SUREFOOT_{name.upper()}"].split()[0]

    assert float(written) == getattr(Settings(), name)


def test_other_defaults_are_those_of_the_table() -> None:
    assert float(DEFAULTS["SUREFOOT_IDLE_SECONDS"]) == DEFAULT_IDLE_SECONDS
    assert DEFAULTS["SUREFOOT_TASK_QUEUE"] == f"`{DEFAULT_TASK_QUEUE}`"


def test_what_compose_can_be_told_is_on_the_page_with_its_default() -> None:
    compose = (ROOT / "docker-compose.yml").read_text()
    told = set(re.findall(r"\$\{(\w+):-([^}]*)\}", compose))

    lines = PAGE.splitlines()
    silent = [
        name
        for name, default in told
        if not any(default in line.partition(f"`{name}`")[2].split("`, `")[0] for line in lines)
    ]
    assert silent == []
