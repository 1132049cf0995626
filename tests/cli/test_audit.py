"""Who did what, and jobs that begin in the middle of others, from the command line."""

import json

import pytest

from tests.cli.running import Place

pytestmark = pytest.mark.server


def test_the_audit_tells_who_decided_and_what_was_performed(shop: Place) -> None:
    assert shop.run("run", "twice", "order", "--id", "audited").code == 4
    shop.run("approve", "audited", "c1-1", "--args", '{"item": "cup", "pieces": 9}')
    shop.run("deny", "audited", "c1-2", "--reason", "too many pots")
    shop.run("watch", "audited")
    entries = json.loads(shop.run("audit", "audited", "--json").out)
    page = shop.run("audit", "audited").out

    by_deed = {entry["deed"]: entry for entry in entries}
    assert set(by_deed) == {"approved", "denied", "performed"}
    assert by_deed["denied"]["text"] == "too many pots"
    assert by_deed["approved"]["edited_digest"] not in (None, by_deed["approved"]["digest"])
    assert by_deed["performed"]["call"] == "c1-1"
    assert len({entry["by"] for entry in entries if entry["by"]}) == 1
    assert "denied reorder c1-2 by" in page
    assert shop.done() == ["cup 9"]


def test_a_grant_is_shown_before_it_is_sent_and_stands_in_the_audit(shop: Place) -> None:
    assert shop.run("run", "shop", "cups?", "--id", "granted").code == 4
    given = shop.run(
        "approve", "granted", "c2-1", "--grant", "2", "--grant-minutes", "5", "--grant-args", '{"item": "cup"}'
    )
    alone = shop.run("approve", "granted", "c2-1", "--grant-args", "{}")
    shop.run("watch", "granted")
    entries = json.loads(shop.run("audit", "granted", "--json").out)

    assert 'grants 2 more calls of this tool in this job with (item="cup"), for 5 minutes' in given.err
    assert (alone.code, "--grant-args belongs to --grant COUNT" in alone.err) == (2, True)
    (grant,) = [entry for entry in entries if entry["deed"] == "granted"]
    assert grant["text"].startswith('2 calls of reorder with {"item":"cup"} until ')


def test_a_fork_goes_on_after_its_round_and_leaves_the_other_job_waiting(shop: Place) -> None:
    assert shop.run("run", "shop", "cups?", "--id", "forked").code == 4
    fork = shop.run("fork", "forked", "--round", "1", "--id", "the-fork", "--json")
    too_far = shop.run("fork", "forked", "--round", "2")
    shop.run("deny", "the-fork", "c2-1")
    ended = json.loads(shop.run("watch", "the-fork", "--json").out)
    still = json.loads(shop.run("show", "forked", "--json").out)

    assert (fork.code, json.loads(fork.out)["job"]) == (4, "the-fork")
    assert (too_far.code, "has calls without a result" in too_far.err) == (2, True)
    assert ended["status"] == "complete"
    assert [each["call"] for each in still["pending"]] == ["c2-1"]
    assert shop.done() == []
