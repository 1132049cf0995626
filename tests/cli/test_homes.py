"""Homes: several commands in one, several homes at once, leftovers of dead processes, folders that can't be used."""

import json
import os
import socket

import pytest

from tests.cli.running import Place

pytestmark = pytest.mark.server


def test_two_runs_in_one_home_do_not_disturb_each_other(place: Place) -> None:
    slow = place.start("run", "slow", "x")
    quick = place.start("run", "twice", "x", "--approve", "all")
    out, _ = quick.communicate(timeout=60)
    (place.folder / "go").touch()
    slow_out, _ = slow.communicate(timeout=60)

    assert (quick.returncode, out.decode()) == (0, "1 x cup ordered and 2 x pot ordered\n")
    assert (slow.returncode, slow_out.decode()) == (0, "It said: at last\n")
    assert place.done() == ["cup 1", "pot 2"]


def test_leftovers_of_dead_processes_and_a_taken_port_are_no_obstacle(place: Place) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        place.home.mkdir()
        record = {"state": "ready", "supervisor": 1, "server": 1, "port": taken.getsockname()[1]}
        (place.home / "server.json").write_text(json.dumps(record))
        (place.home / "server.lock").touch()
        (place.home / "leases.lock").write_text("4711")
        (place.home / "workers").mkdir()
        (place.home / "workers" / "surefoot.json").write_text("{half")

        ended = place.run("run", "plain", "x")

    assert (ended.code, ended.out) == (0, "Grüße an alle\n")


def test_what_was_encrypted_with_a_key_that_is_not_there_names_the_setting(place: Place) -> None:
    place.run("run", "plain", "x", "--id", "sealed", SUREFOOT_ENCRYPTION_KEYS=f"k1:{'A' * 43}=")
    place.run("run", "plain", "x", "--id", "open")
    page, listed = place.run("jobs"), json.loads(place.run("jobs", "--json").out)
    told = [place.run(*command) for command in (("show", "sealed"), ("reply", "sealed", "more"))]

    problem = (
        "job sealed can't be read here: history is encrypted with key 'k1', this process has: none; add that key to"
        " SUREFOOT_ENCRYPTION_KEYS"
    )
    assert {row["job"]: (row["state"], row["status"], row["problem"]) for row in listed} == {
        "open": ("ended", "complete", None),
        "sealed": ("ended", "complete", problem),
    }
    assert (page.code, page.err) == (0, f"{problem}\n")
    assert [(ended.code, ended.out) for ended in told] == [(2, "")] * 2
    assert [ended.err.splitlines()[-1] for ended in told] == [f"surefoot: {problem}"] * 2


@pytest.mark.parametrize(
    ("home", "said"),
    [
        ("{folder}/shop.py/home", "there is a file where a folder should be"),
        ("/proc/surefoot", "can't be used"),
        ("{folder}/" + "x" * 300, "the path is too long"),
    ],
)
def test_a_home_that_can_not_be_used_is_told_with_5(place: Place, home: str, said: str) -> None:
    ended = place.run("run", "plain", "x", "--json", SUREFOOT_HOME=home.format(folder=place.folder))

    assert (ended.code, json.loads(ended.out)["exit_code"]) == (5, 5)
    assert said in ended.err
    assert "Traceback" not in ended.err


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_home_is_told_with_5(place: Place) -> None:
    place.home.mkdir(mode=0o500)

    ended = place.run("run", "plain", "x")

    assert ended.code == 5
    assert "this user may not write there" in ended.err


def test_a_home_is_beside_the_caller_if_none_is_named_and_knows_nothing_of_others(place: Place, shop: Place) -> None:
    place.environment["SUREFOOT_HOME"] = str(place.folder / ".surefoot")
    ended = place.run("run", "plain", "x", "--id", "only-here", SUREFOOT_HOME="")
    rows = json.loads(place.run("jobs", "--json").out)

    assert (ended.code, [row["job"] for row in rows]) == (0, ["only-here"])
    assert (place.folder / ".surefoot" / "temporal.db").is_file()
    assert (place.folder / ".surefoot" / ".gitignore").read_text() == "*\n"
    assert shop.run("show", "only-here").code == 2
