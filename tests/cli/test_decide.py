"""Decisions and messages from the command line: who may, what they say, and what becomes of them."""

import json

import pytest

from tests.cli import stable_keys
from tests.cli.running import Place, until

pytestmark = pytest.mark.server


def waiting(shop: Place, job: str, agent: str = "shop") -> str:
    """A job of this id that waits for a person."""
    assert shop.run("run", agent, "cups?", "--id", job).code == 4
    return job


def test_the_inbox_tells_all_that_a_decision_needs(shop: Place) -> None:
    job = waiting(shop, "in-the-inbox")
    page = shop.run("inbox").out
    [item] = [each for each in json.loads(shop.run("inbox", "--json").out) if each["job"] == job]

    assert set(item) >= stable_keys.CALL
    assert "parameters" not in item
    assert (item["call"], item["kind"], item["agent"], item["tool"]) == ("c2-1", "decision", "shop", "reorder")
    assert (item["arguments"], item["allowed"]) == (
        {"item": "cup", "pieces": 10},
        ["approve", "edit", "answer", "deny", "grant"],
    )
    assert (item["why"], item["preview"], item["problem"]) == ("Cups have run out.", None, None)
    assert len(item["digest"]) == 64
    assert 'in-the-inbox\nwaits for you: reorder(item="cup", pieces=10)' in page


def test_an_approval_is_used_once_and_told_with_json(shop: Place) -> None:
    job = waiting(shop, "approved-once")
    first = shop.run("approve", job, "c2-1", "--json")
    again = shop.run("approve", job, "c2-1", "--json")
    done, refused = json.loads(first.out), json.loads(again.out)

    assert (first.code, done["job"], done["call"], done["status"]) == (0, job, "c2-1", "applied")
    assert (done["decided"]["choice"], set(done)) == ("approve", {"job", "call", "status", "decided"})
    assert (again.code, refused["kind"], refused["exit_code"]) == (1, "AlreadyDecided", 1)
    assert refused["decided"]["choice"] == "approve"
    assert shop.run("watch", job).code == 0
    assert shop.done() == ["cup 10"]


def test_edited_arguments_come_as_an_option_or_from_stdin_and_have_to_fit(shop: Place) -> None:
    job = waiting(shop, "two-edits", "twice")
    misfit = shop.run("approve", job, "c1-1", "--args", '{"item": "cup"}', "--json")
    option = shop.run("approve", job, "c1-1", "--args", '{"item": "cup", "pieces": 3}')
    stdin = shop.run("approve", job, "c1-2", "--args", "-", input=b'{"item": "k\xc3\xa4nnchen", "pieces": 5}')

    assert (misfit.code, json.loads(misfit.out)["kind"]) == (2, "InvalidArguments")
    assert "reorder(" not in misfit.err
    assert 'reorder(item="cup", pieces=3)\nc1-1: approved; ' in option.err
    assert (option.code, stdin.code) == (0, 0)
    assert shop.run("watch", job).code == 0
    assert shop.done() == ["cup 3", "kännchen 5"]


def test_a_decision_on_other_arguments_than_were_seen_is_refused(shop: Place) -> None:
    job = waiting(shop, "stale")

    ended = shop.run("approve", job, "c2-1", "--digest", "0" * 64, "--json")

    assert (ended.code, json.loads(ended.out)["kind"]) == (1, "StaleArguments")
    assert shop.done() == []


def test_whoever_lacks_the_role_is_told_where_roles_come_from(shop: Place) -> None:
    job = waiting(shop, "no-role", "guarded")

    ended = shop.run("approve", job, "c1-1")

    assert ended.code == 2
    assert "call c1-1 is decided by finance; " in ended.err
    assert "comes with no role; the command line takes yours from SUREFOOT_ROLES, with commas between" in ended.err


def test_one_approval_of_several_says_that_the_call_still_waits(shop: Place) -> None:
    job = waiting(shop, "one-of-two", "guarded")

    approved = shop.run("approve", job, "c1-1", SUREFOOT_ROLES="finance")

    assert approved.code == 0
    assert "c1-1: approved, as one of several: 1 more must approve before it runs; follow" in approved.err
    assert shop.done() == []


def test_a_call_that_is_not_there_is_wrong_use(shop: Place) -> None:
    job = waiting(shop, "one-call")

    ended = shop.run("deny", job, "c9-9", "--json")

    assert (ended.code, json.loads(ended.out)["kind"]) == (2, "UnknownCall")
    assert "no call c9-9 waits in job one-call; waiting: c2-1" in ended.err


def test_an_answer_and_a_denial_reach_the_model(shop: Place) -> None:
    job = waiting(shop, "both", "twice")

    assert shop.run("answer", job, "c1-1", "we have enough").code == 0
    assert shop.run("deny", job, "c1-2", "--reason", "no money").code == 0
    watched = shop.run("watch", job)

    assert "we have enough" in watched.out
    assert "no money" in watched.out
    assert shop.done() == []


def test_an_unknown_outcome_is_resolved_by_a_persons_word(shop: Place) -> None:
    job = "at-the-bank"
    shop.run("run", "bank", "x", "--approve", "all", "--id", job)
    [item] = [each for each in json.loads(shop.run("inbox", "--json").out) if each["job"] == job]
    page = shop.run("inbox").out
    resolved = shop.run("resolve", job, "c1-1", "--happened", "paid")

    assert (item["kind"], item["allowed"]) == ("unknown_outcome", ["happened", "not_happened", "give_up"])
    assert item["problem"] == "the bank did not answer about 5"
    assert "  problem  the bank did not answer about 5\n" in page
    assert resolved.code == 0
    assert shop.run("watch", job).out.startswith("The bank: paid\n")


def test_giving_up_ends_the_job_as_failed(shop: Place) -> None:
    shop.run("run", "bank", "x", "--approve", "all", "--id", "hopeless")
    shop.run("resolve", "hopeless", "c1-1", "--give-up")

    ended = shop.run("watch", "hopeless", "--json")

    assert (ended.code, json.loads(ended.out)["status"]) == (1, "tool_failure")


def test_a_running_job_is_paused_steered_and_let_go_on(shop: Place) -> None:
    shop.run("run", "slow", "x", "--id", "steered", "--detach")
    until((shop.folder / "lingers").exists)
    assert shop.run("pause", "steered").code == 0
    paused = json.loads(shop.run("jobs", "--state", "paused", "--json").out)
    assert shop.run("steer", "steered", "hurry up").code == 0
    (shop.folder / "go").touch()
    assert shop.run("resume", "steered").code == 0
    ended = shop.run("watch", "steered")

    assert [row["job"] for row in paused] == ["steered"]
    assert (ended.code, ended.out) == (0, "It said: at last\n")
    assert "hurry up" in shop.run("transcript", "steered").out


def test_stop_closes_with_an_answer_and_cancel_without(shop: Place) -> None:
    waiting(shop, "to-stop")
    waiting(shop, "to-cancel")
    assert shop.run("stop", "to-stop").code == 0
    assert shop.run("cancel", "to-cancel").code == 0
    stopped, cancelled = shop.run("watch", "to-stop"), shop.run("watch", "to-cancel")

    assert (stopped.code, cancelled.code) == (3, 3)
    assert stopped.out.startswith("The work had to stop")
    assert cancelled.out == ""


@pytest.mark.parametrize("arguments", [["steer", "x"], ["pause"], ["resume"], ["stop"], ["cancel"]])
def test_what_is_sent_to_an_ended_job_says_how_to_go_on(shop: Place, arguments: list[str]) -> None:
    shop.run("run", "plain", "x", "--id", "long-over")

    ended = shop.run(arguments[0], "long-over", *arguments[1:])

    assert ended.code == 1
    assert "job long-over has ended; a reply goes on with it: surefoot reply long-over TEXT" in ended.err


def test_with_a_broken_app_a_decision_is_not_sent_into_the_dark(shop: Place) -> None:
    job = waiting(shop, "broken-app")

    ended = shop.run("approve", job, "c2-1", SHOP_IS_BROKEN="1")

    assert ended.code == 2
    assert "KeyError: ''" in ended.err
    assert json.loads(shop.run("show", job, "--json").out)["state"] == "waiting"


def test_approve_brings_a_worker_that_finishes_the_job_and_ends_by_itself(place: Place) -> None:
    assert place.run("run", "shop", "cups?", "--id", "lonely").code == 4
    until(lambda: not place.workers())

    assert place.run("approve", "lonely", "c2-1").code == 0

    until(lambda: place.done() == ["cup 10"])
    until(lambda: not place.processes(), seconds=30)
    assert place.run("watch", "lonely").out == "No cups were left: 10 x cup ordered.\n"


def test_the_newest_code_of_an_app_carries_a_decision_out(place: Place) -> None:
    assert place.run("run", "shop", "cups?", "--id", "newer").code == 4
    app = place.folder / "shop.py"
    app.write_text(app.read_text().replace("pieces} x {item} ordered", "pieces} new {item}"))

    assert place.run("approve", "newer", "c2-1").code == 0

    assert place.run("watch", "newer").out == "No cups were left: 10 new cup.\n"


def test_an_app_file_that_was_moved_takes_its_jobs_along(place: Place) -> None:
    assert place.run("run", "shop", "cups?", "--id", "moved").code == 4
    until(lambda: not place.workers())
    (place.folder / "shop.py").rename(place.folder / "market.py")
    lost = place.run("show", "moved", SUREFOOT_APP="")
    found = place.run("approve", "moved", "c2-1", "--app", "market.py", SUREFOOT_APP="")

    assert lost.code == 1
    assert "name the app file with --app FILE" in lost.err
    assert found.code == 0
    assert place.run("watch", "moved", "--app", "market.py").out == "No cups were left: 10 x cup ordered.\n"


def test_a_worker_that_was_started_for_the_decision_tells_that_there_is_no_such_call(place: Place) -> None:
    assert place.run("run", "shop", "cups?", "--id", "asked-at-once").code == 4
    until(lambda: not place.workers())

    ended = place.run("approve", "asked-at-once", "c9-9", "--json", SHOP_SLEEPS="4")

    assert (ended.code, json.loads(ended.out)["kind"]) == (2, "UnknownCall")
    assert "no call c9-9 waits in job asked-at-once; waiting: c2-1" in ended.err
