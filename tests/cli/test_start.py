"""How fast the command line starts, as a count of what it imports: times differ, imports do not."""

import subprocess
import sys

import pytest

from tests.cli.running import Place

HEAVY = {"temporalio", "pydantic", "rich", "openai", "anthropic", "asyncio", "httpx2", "cryptography"}
SDKS = {"openai", "anthropic", "httpx2", "genai_prices", "worker"}


def imported(place: Place, *arguments: str) -> set[str]:
    """The top-level packages that a command imports."""
    code = "import sys; from surefoot.cli import main; sys.argv[0] = 'surefoot'; main()"
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", code, *arguments],
        cwd=place.folder,
        env=place.environment,
        capture_output=True,
        text=True,
        timeout=60,
    )
    lines = [line for line in done.stderr.splitlines() if line.startswith("import time:")]
    return {line.rpartition("|")[2].strip().partition(".")[0] for line in lines}


@pytest.mark.parametrize("arguments", [["--help"], ["-h"], ["--version"], []])
def test_help_imports_nothing_heavy(place: Place, arguments: list[str]) -> None:
    assert imported(place, *arguments) & HEAVY == set()


@pytest.mark.parametrize("arguments", [["jobs"], ["inbox"], ["run", "plain", ""]])
def test_no_command_imports_a_provider_or_a_worker(place: Place, arguments: list[str]) -> None:
    assert imported(place, *arguments) & SDKS == set()
