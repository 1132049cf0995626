"""Named queues from the command line."""

import json

import pytest

from tests.cli.running import Place

pytestmark = pytest.mark.server


def test_a_job_goes_through_a_queue_that_is_shown_changed_and_held(shop: Place) -> None:
    ran = shop.run("run", "plain", "x", "--queue", "nightly")
    changed = shop.run("queue", "set", "nightly", "--concurrency", "3", "--rate", "600")
    paused = shop.run("queue", "pause", "nightly", "--reason", "holidays")
    waits = shop.run("run", "plain", "x", "--id", "c-queued", "--queue", "nightly", "--detach")
    held = json.loads(shop.run("queue", "show", "nightly", "--json").out)
    listed = shop.run("queue", "list")
    resumed = shop.run("queue", "resume", "nightly")
    ended = shop.run("watch", "c-queued")
    nothing = shop.run("queue", "set", "nightly")
    unknown = shop.run("queue", "show", "daily")

    assert [each.code for each in (ran, changed, paused, waits, listed, resumed, ended)] == [0] * 7, ran.err
    assert (held["concurrency"], held["rate"], held["hold"]) == (3, 600, "holidays")
    assert "nightly is held: holidays; go on with: surefoot queue resume nightly" in " ".join(listed.out.split())
    assert (nothing.code, "give a concurrency, a rate, or both" in nothing.err) == (2, True)
    assert (unknown.code, "no job was started in a queue 'daily' yet" in unknown.err) == (2, True)
