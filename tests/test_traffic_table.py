"""The table of recordings in docs/traffic.md: it names each of them, and tests that did read it.

What was read is only known of tests that ran before in this process: conftest.py puts these last.
"""

import ast
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.activities.providers import openai_traffic, test_anthropic_messages_traffic, test_google_traffic
from tests.traffic import FOLDER, OPENED, names, require_traffic

TESTS = Path(__file__).parent
TABLE = TESTS.parent / "docs" / "traffic.md"
ROW = re.compile(r"\| `([\w-]+)` \| (passed|`\w+`) \| (.+) \|")
ERRORS = {
    **openai_traffic.ERRORS,
    **{name: kind for name, (kind, _) in test_google_traffic.ERRORS.items()},
    **{name: kind for name, (kind, _) in test_anthropic_messages_traffic.ERRORS.items()},
}


@dataclass(frozen=True)
class Row:
    """A recording, what became of it, and the tests that say so: file and function."""

    recording: str
    result: str
    tests: tuple[tuple[str, str], ...]


def rows() -> list[Row]:
    folder, found = "", []
    for line in TABLE.read_text().splitlines():
        if line.startswith("## "):
            folder = line.removeprefix("## ")
        elif row := ROW.fullmatch(line):
            found.append(Row(f"{folder}/{row[1]}", row[2].strip("`"), tuple(_tests(row[3]))))
    return found


def _tests(cell: str) -> list[tuple[str, str]]:
    named = [part.split("`: ") for part in cell.split("; ")]
    return [(file.strip("`"), "test_" + words.replace(" ", "_")) for file, said in named for words in said.split(", ")]


def test_each_recording_stands_in_the_table_once() -> None:
    require_traffic()
    folders = sorted(path.name for path in FOLDER.iterdir() if path.is_dir())

    assert sorted(row.recording for row in rows()) == sorted(names(folders))


def test_the_tests_that_the_table_names_exist() -> None:
    files = {path.name: path for path in TESTS.rglob("test_*.py")}
    named = {test for row in rows() for test in row.tests}
    existing = {(file, function) for file in {file for file, _ in named} for function in _functions(files[file])}

    assert named - existing == set()


def _functions(file: Path) -> set[str]:
    return {
        node.name
        for node in ast.parse(file.read_text()).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }


def test_the_table_says_which_error_each_recorded_error_becomes() -> None:
    said = {row.recording: row.result for row in rows() if row.result != "passed"}

    assert said == {name: kind.__name__ for name, kind in ERRORS.items()}


def test_each_recording_was_read_by_the_tests_that_the_table_names(request: pytest.FixtureRequest) -> None:
    require_traffic()
    named = {file for row in rows() for file, _ in row.tests}
    if not named <= _whole_files(request):
        pytest.skip("what the tests read is known behind a run of all of them in one process: make check")
    for row in rows():
        assert set(row.tests) <= OPENED[row.recording], f"{row.recording} was not read by all tests of its row"


def _whole_files(request: pytest.FixtureRequest) -> set[str]:
    """The test files all of whose tests ran before this one."""
    config = request.config
    some = config.getoption("keyword") or config.getoption("lf") or any("::" in arg for arg in config.args)
    return set() if some or hasattr(config, "workerinput") else {item.path.name for item in request.session.items}
