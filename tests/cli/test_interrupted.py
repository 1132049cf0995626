"""Ctrl-C, kill and lost processes at every moment: the job is kept, nothing stays behind, and `watch` goes on."""

import os
import re
import signal

import pytest

from surefoot.embedded.record import read
from tests.cli.running import Place, until
from tests.cli.terminal import CTRL_C

pytestmark = pytest.mark.crash

KEPT = "is kept and goes on from here; follow it again: surefoot watch"


def nothing_is_left(place: Place) -> bool:
    return place.processes() == []


def test_ctrl_c_while_the_server_starts_leaves_nothing_behind(place: Place) -> None:
    terminal = place.terminal("run", "slow", "x")
    until(lambda: (place.home / "server.json").exists())
    terminal.type(CTRL_C)

    assert terminal.end() == 130
    assert terminal.text.count("nothing was started\n") == 1
    assert "Traceback" not in terminal.text
    assert terminal.sane()
    until(lambda: nothing_is_left(place))


def test_ctrl_c_while_the_app_is_loaded_starts_nothing(place: Place) -> None:
    terminal = place.terminal("run", "plain", "x", SHOP_SLEEPS="30")
    terminal.expect("an app may print")
    terminal.type(CTRL_C)

    assert terminal.end(seconds=5) == 130
    assert terminal.text.count("nothing was started\n") == 1
    assert "Traceback" not in terminal.text
    assert not place.home.exists()


def test_ctrl_c_while_it_reads_its_input_starts_nothing(place: Place) -> None:
    terminal = place.terminal("run", "plain", "-")
    terminal.expect("an app may print")
    terminal.type("half an inp")
    terminal.type(CTRL_C)

    assert terminal.end() == 130
    assert terminal.text.count("nothing was started\n") == 1
    assert "Traceback" not in terminal.text
    assert not place.home.exists()


def test_ctrl_c_of_a_reply_before_it_was_sent_says_that_nothing_was(place: Place) -> None:
    assert place.run("run", "plain", "x", "--id", "over").code == 0
    terminal = place.terminal("reply", "over", "go on", "--model", "scripted:plain.json", SHOP_SLEEPS="2")
    terminal.expect("an app may print")
    terminal.type(CTRL_C)

    assert terminal.end() == 130
    assert "nothing was sent to job over\n" in terminal.text


def test_ctrl_c_while_a_job_runs_keeps_it_and_watch_goes_on(place: Place) -> None:
    terminal = place.terminal("run", "slow", "x", "--id", "kept")
    terminal.expect("linger()")
    until((place.folder / "lingers").exists)
    terminal.type(CTRL_C)
    terminal.expect(f"job kept {KEPT} kept")
    (place.folder / "go").touch()

    assert terminal.end() == 130
    assert "nothing was started" not in terminal.text
    assert terminal.sane()
    assert place.workers() == []
    watched = place.run("watch", "kept")
    assert (watched.code, watched.out) == (0, "It said: at last\n")
    until(lambda: nothing_is_left(place))


def test_a_second_ctrl_c_does_not_wait_for_running_steps(place: Place) -> None:
    terminal = place.terminal("run", "slow", "x", "--id", "kept", SUREFOOT_SHUTDOWN_SECONDS="10")
    until((place.folder / "lingers").exists, seconds=40)
    terminal.type(CTRL_C)
    terminal.expect("the worker gives its running steps a few seconds to finish; Ctrl-C leaves at once")
    terminal.type(CTRL_C)

    assert terminal.end(seconds=5) == 130
    assert "Traceback" not in terminal.text
    assert terminal.sane()
    (place.folder / "go").touch()
    until(lambda: nothing_is_left(place))


def test_ctrl_c_at_the_shutdown_of_the_worker_comes_after_the_answer(place: Place) -> None:
    terminal = place.terminal("run", "plain", "x")
    terminal.expect("The job is complete")
    terminal.type(CTRL_C)

    assert terminal.end() in (0, 130)
    assert "Traceback" not in terminal.text
    assert terminal.sane()
    until(lambda: nothing_is_left(place))


def test_kill_of_a_run_ends_its_worker_and_watch_goes_on(place: Place) -> None:
    run = place.start("run", "slow", "x", "--id", "orphan")
    until((place.folder / "lingers").exists, seconds=40)
    run.kill()

    until(lambda: place.workers() == [])
    (place.folder / "go").touch()
    watched = place.run("watch", "orphan")
    assert (watched.code, watched.out) == (0, "It said: at last\n")
    until(lambda: nothing_is_left(place))


def test_a_killed_worker_is_replaced_while_the_job_is_followed(place: Place) -> None:
    run = place.start("run", "slow", "x")
    until((place.folder / "lingers").exists, seconds=40)
    (place.folder / "lingers").unlink()
    os.kill(place.workers()[0], signal.SIGKILL)
    until((place.folder / "lingers").exists, seconds=40)
    (place.folder / "go").touch()
    out, _ = run.communicate(timeout=30)

    assert (run.returncode, out.decode()) == (0, "It said: at last\n")


def test_a_killed_server_comes_back_under_a_run(place: Place) -> None:
    run = place.start("run", "slow", "x")
    until((place.folder / "lingers").exists, seconds=40)
    record = read(place.home / "server.json")
    assert record is not None
    assert record.server is not None
    os.kill(record.server, signal.SIGKILL)
    (place.folder / "go").touch()
    out, _ = run.communicate(timeout=60)

    assert (run.returncode, out.decode()) == (0, "It said: at last\n")


def test_no_command_dies_on_its_way_out(shop: Place) -> None:
    """The SDK's threads used to abort every third process at its end; see `surefoot.cli.output.leave`."""
    assert [shop.run("jobs").code for _ in range(8)] == [0] * 8


def test_dev_on_a_server_that_runs_without_a_ui_says_so_unless_none_is_wanted(place: Place) -> None:
    place.environment["SUREFOOT_IDLE_SECONDS"] = "60"
    assert place.run("run", "plain", "x").code == 0
    terminal = place.terminal("dev")
    terminal.expect("no Temporal UI: another command started this server")
    terminal.type(CTRL_C)
    without = place.terminal("dev", "--no-ui")
    told = without.expect("worker for ")
    without.type(CTRL_C)

    assert (terminal.end(), without.end()) == (130, 130)
    assert "Temporal UI" not in told


def test_dev_holds_everything_over_ctrl_c_and_a_new_start(place: Place) -> None:
    terminal = place.terminal("dev")
    terminal.expect("worker for ")
    waiting = place.run("run", "shop", "cups?", "--id", "held")
    told = re.search(
        r"TEMPORAL_ADDRESS=(127\.0\.0\.1:\d+) SUREFOOT_TASK_QUEUE=(surefoot-shop-[0-9a-f]{6})", terminal.text
    )
    assert told is not None
    listed = place.run("jobs", TEMPORAL_ADDRESS=told[1], SUREFOOT_TASK_QUEUE=told[2], SUREFOOT_HOME="elsewhere")
    assert "held" in listed.out
    terminal.type(CTRL_C)
    assert (waiting.code, terminal.end(), terminal.sane()) == (4, 130, True)
    assert "Temporal UI at http://127.0.0.1:" in terminal.text
    until(lambda: nothing_is_left(place))
    again = place.start("dev", "--no-ui")
    until(place.workers, seconds=40)

    second = place.run("dev", "--no-ui")

    assert (second.code, second.out) == (2, "")
    assert "already serves" in second.err
    assert place.run("approve", "held", "c2-1").code == 0
    assert place.run("watch", "held").out == "No cups were left: 10 x cup ordered.\n"
    again.terminate()
    again.wait(timeout=20)
    until(lambda: nothing_is_left(place), seconds=60)
