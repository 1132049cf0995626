"""Schedules, and jobs that begin later, from the command line."""

import json
import re

import pytest

from tests.cli.running import Place

pytestmark = pytest.mark.server


def test_a_schedule_from_its_making_to_its_end(shop: Place) -> None:
    daily = ("--cron", "0 6 * * 1-5", "--timezone", "Europe/Berlin", "--jitter", "5m", "--tenant", "acme")
    made = shop.run("schedule", "create", "c-daily", "plain", "x", *daily, "--json")
    assert made.code == 0, made.err
    again = shop.run("schedule", "create", "c-daily", "plain", "x", *daily)
    fired = shop.run("schedule", "trigger", "c-daily")
    held = shop.run("schedule", "pause", "c-daily", "--reason", "holidays")
    document = json.loads(made.out)
    listed = json.loads(shop.run("schedule", "list", "--json").out)
    resumed = shop.run("schedule", "resume", "c-daily")
    gone = shop.run("schedule", "delete", "c-daily")
    shown = shop.run("schedule", "show", "c-daily")

    assert (document["schedule"], document["agent"], document["tenant"]) == ("c-daily", "plain", "acme")
    assert (document["terms"]["cron"], document["terms"]["jitter"]) == (["0 6 * * 1-5"], "PT5M")
    assert len(document["next"]) == 5
    assert [each.code for each in (again, fired, held, resumed, gone)] == [0] * 5
    assert "paused" in held.out
    assert "holidays" in held.out
    assert "c-daily" in [each["schedule"] for each in listed]
    assert (shown.code, "there is no schedule 'c-daily'" in shown.err) == (2, True)


def test_a_schedule_is_changed_in_its_place(shop: Place) -> None:
    shop.run(
        "schedule", "create", "c-set", "plain", "x", "--cron", "0 6 * * *", "--jitter", "5m", "--limit", "rounds=3"
    )
    options = ("--every", "6h", "--clear", "cron", "--input", "y", "--limit", "tool_calls=2", "--queue", "nightly")
    changed = shop.run("schedule", "set", "c-set", *options, "--json")
    document = json.loads(changed.out)
    shown = shop.run("schedule", "show", "c-set")

    assert changed.code == 0, changed.err
    assert (document["terms"]["cron"], document["terms"]["every"], document["terms"]["jitter"]) == ([], "PT6H", "PT5M")
    assert (document["message"], document["queue"], document["limits"]["rounds"]) == ("y", "nightly", 3)
    assert document["limits"]["tool_calls"] == 2
    assert "plain (in queue nightly): y" in shown.out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "nothing to change in schedule c-same"),
        (("--cron", "hello"), "CronString does not have 5-7 fields"),
        (("--clear", "cron"), "nothing says when it fires"),
        (("--cron", "0 7 * * *", "--clear", "cron"), "--cron is given a value and cleared"),
        (("--agent", "plian"), "Did you mean 'plain'?"),
        (("--queue", "daily"), "there is no queue 'daily'; the app has: nightly"),
        (("--limit", "turns=2"), "write NAME=VALUE with NAME one of"),
    ],
)
def test_a_change_that_can_not_be_is_wrong_use(shop: Place, options: tuple[str, ...], said: str) -> None:
    shop.run("schedule", "create", "c-same", "plain", "x", "--cron", "0 6 * * *")
    ended = shop.run("schedule", "set", "c-same", *options)
    shown = json.loads(shop.run("schedule", "show", "c-same", "--json").out)

    assert ended.code == 2
    assert said in " ".join(ended.err.split())
    assert (shown["terms"]["cron"], shown["note"].startswith("created by")) == (["0 6 * * *"], True)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--cron", "hello"), "CronString does not have 5-7 fields"),
        (("--cron", "0 6 * * *", "--timezone", "Mars/Base"), "unknown time zone Mars/Base"),
        (("--every", "often"), "'often' is no length of time"),
        ((), "nothing says when it fires"),
        (("--every", "1h", "--start", "soon"), "'soon' is no moment"),
        (("--every", "1h", "--end", "2020-01-01T00:00"), "would never fire"),
    ],
)
def test_times_that_can_not_be_are_wrong_use(shop: Place, options: tuple[str, ...], said: str) -> None:
    ended = shop.run("schedule", "create", "c-wrong", "plain", "x", *options)
    assert ended.code == 2
    assert said in ended.err
    assert "c-wrong" not in shop.run("schedule", "list").out


def test_a_job_that_begins_later_is_started_and_left(shop: Place) -> None:
    started = shop.run("run", "plain", "x", "--id", "c-later", "--after", "1h", "--json")
    shown = shop.run("show", "c-later")
    cancelled = shop.run("cancel", "c-later")

    assert (started.code, json.loads(started.out)["begins_at"] is not None) == (0, True)
    assert re.search(r"begins at \d{4}-", shown.out)
    assert cancelled.code == 0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--at", "2020-01-01T00:00"), "is over"),
        (("--at", "2099-01-01T00:00", "--after", "1h"), "give one of them"),
        (("--priority", "6"), "6 is not in the range"),
    ],
)
def test_a_start_that_can_not_be_is_wrong_use(shop: Place, options: tuple[str, ...], said: str) -> None:
    ended = shop.run("run", "plain", "x", "--id", "c-never", *options)
    assert ended.code == 2
    assert said in ended.err
