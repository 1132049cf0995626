"""stdout and stderr on a bad day: full, closed, a reader that left, an encoding that knows few characters."""

import json
import subprocess

import pytest

from activities.escaping import escaped
from tests.cli.running import SUREFOOT, Place

pytestmark = pytest.mark.server


def shell(shop: Place, line: str, **environment: str) -> "subprocess.CompletedProcess[bytes]":
    """A line for bash, in which `$S` is the command."""
    environment = {**shop.environment, "S": str(SUREFOOT), **environment}
    return subprocess.run(["bash", "-c", line], cwd=shop.folder, env=environment, capture_output=True, timeout=60)


@pytest.fixture(scope="module")
def many(open_shop: Place) -> Place:
    """The open shop with a job in it."""
    open_shop.run("run", "plain", "x", "--id", "in-a-stream")
    return open_shop


@pytest.mark.parametrize("command", ["jobs", "jobs --json", "show in-a-stream", "transcript in-a-stream"])
def test_a_reader_that_leaves_ends_nothing_badly(many: Place, command: str) -> None:
    done = shell(many, f'"$S" {command} | true; echo ${{PIPESTATUS[0]}}')

    assert (done.stdout, done.stderr) == (b"0\n", b"")


def test_a_job_that_was_not_done_keeps_its_code_when_the_reader_left(many: Place) -> None:
    done = shell(many, '"$S" run capped x 2>/dev/null </dev/null | true; echo ${PIPESTATUS[0]}')

    assert done.stdout == b"3\n"


@pytest.mark.parametrize("command", ["jobs", "jobs --json", "run plain x"])
def test_a_full_disk_under_stdout_is_said_with_code_1(many: Place, command: str) -> None:
    done = shell(many, f'"$S" {command} >/dev/full')

    assert done.returncode == 1
    assert b"the output can't be read or written: No space left on device" in done.stderr
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("line", ['"$S" jobs >&-', '"$S" jobs 2>&-', '"$S" run plain x <&-', '"$S" jobs >&- 2>&- <&-'])
def test_closed_streams_are_no_reason_to_fail(many: Place, line: str) -> None:
    done = shell(many, line)

    assert done.returncode == 0
    assert b"Traceback" not in done.stderr


def test_without_stdin_there_is_no_input(many: Place) -> None:
    done = shell(many, '"$S" run plain <&-')

    assert done.returncode == 2
    assert b"the input is empty" in done.stderr


@pytest.mark.parametrize(
    "environment",
    [{"LANG": "C", "LC_ALL": "C"}, {"PYTHONIOENCODING": "ascii"}, {"PYTHONIOENCODING": "latin-1", "LANG": "C"}],
)
def test_in_any_encoding_json_is_json_and_answers_are_shown(many: Place, environment: dict[str, str]) -> None:
    document = json.loads(shell(many, '"$S" run plain grüße --json', **environment).stdout)
    answer = shell(many, '"$S" run plain grüße', **environment)

    assert document["answer"] == "Grüße an alle"
    assert answer.returncode == 0
    assert answer.stdout in ("Grüße an alle\n".encode(), b"Gr\\xfc\\xdfe an alle\n", b"Gr\xfc\xdfe an alle\n")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\tb\nc", "a\tb\nc"),
        ("\x1b[31m", r"\x1b[31m"),
        ("\r\x07\x00\x7f", r"\r\x07\x00\x7f"),
        ("\x9b1m", r"\x9b1m"),
        ("\u202egnp.exe", r"\u202egnp.exe"),
        ("ü → 中 👍", "ü → 中 👍"),
    ],
)
def test_what_would_act_on_a_terminal_becomes_visible(text: str, shown: str) -> None:
    assert escaped(text) == shown
    assert escaped(shown) == shown
