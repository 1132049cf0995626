"""Commands that only look, and how their pages read: on a terminal, in a pipe, and when a text is hostile."""

import json
import re

import pytest

from tests.cli import stable_keys
from tests.cli.running import Place
from tests.cli.terminal import CTRL_C

pytestmark = pytest.mark.server

CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


@pytest.mark.parametrize(("command", "said"), [("jobs", "No jobs yet."), ("inbox", "Nothing waits for a person.")])
def test_where_nothing_was_ever_started_lists_are_empty_at_once(place: Place, command: str, said: str) -> None:
    page, document = place.run(command), place.run(command, "--json")

    assert (page.code, page.out, document.code, document.out) == (0, "", 0, "[]\n")
    assert said in page.err
    assert not place.home.exists()


def test_a_list_of_jobs_that_are_otherwise_does_not_say_that_there_are_none(place: Place) -> None:
    ended = place.run("jobs", "--batch", "night", "--end", "failed")

    assert (ended.code, ended.err) == (0, "No jobs are like that.\n")


def test_jobs_are_listed_with_their_stable_keys_those_under_way_before_those_that_ended(shop: Place) -> None:
    shop.run("run", "shop", "x", "--id", "listed-waiting")
    shop.run("run", "plain", "x", "--id", "listed-one")
    shop.run("run", "capped", "x", "--id", "listed-two")
    rows = json.loads(shop.run("jobs", "--json", "--limit", "1000").out)
    ours = [row for row in rows if row["job"].startswith("listed-")]

    assert [stable_keys.ROW - set(row) for row in ours] == [set(), set(), set()]
    assert [(row["job"], row["agent"], row["state"], row["status"]) for row in ours] == [
        ("listed-waiting", "shop", "waiting", None),
        ("listed-two", "capped", "ended", "hit_iteration_cap"),
        ("listed-one", "plain", "ended", "complete"),
    ]
    assert json.loads(shop.run("jobs", "--agent", "no'body", "--json").out) == []


def test_a_piped_list_has_a_line_for_each_job_however_long(shop: Place) -> None:
    job = "long-" + "x" * 200
    shop.run("run", "plain", "x", "--id", job)

    lines = shop.run("jobs", "--state", "ended", "--limit", "3").out.splitlines()

    assert lines[1].split()[:4] == [job, "plain", "ended", "complete"]
    assert [line for line in lines if line != line.rstrip()] == []


def test_show_and_transcript_of_a_job_that_ended(shop: Place) -> None:
    shop.run("run", "shop", "cups?", "--approve", "all", "--id", "shown")
    page, document = shop.run("show", "shown"), json.loads(shop.run("show", "shown", "--json").out)
    said, entries = shop.run("transcript", "shown"), json.loads(shop.run("transcript", "shown", "--json").out)

    assert (page.code, said.code) == (0, 0)
    assert set(document) >= stable_keys.JOB
    assert "2 rounds, 3 tool calls" in page.out
    assert "decided  c2-1: approved by " in page.out
    assert (document["status"], document["rounds"], document["tool_calls"]) == ("complete", 2, 3)
    assert document["history_events"] > 10
    assert document["history_bytes"] > 1000
    assert [entry["kind"] for entry in entries] == [
        "message", "turn", "result", "result", "turn", "result", "turn",
    ]  # fmt: skip
    assert 'c2-1 → reorder(item="cup", pieces=10)' in said.out
    assert "  c2-1 ok: 10 x cup ordered" in said.out


def test_show_of_a_job_that_failed_says_why(shop: Place) -> None:
    shop.run("run", "failing", "x", "--id", "failed")

    page, document = shop.run("show", "failed"), json.loads(shop.run("show", "failed", "--json").out)

    assert (page.code, document["status"], document["state"]) == (0, "model_failure", "ended")
    assert "no such luck" in page.out


def test_an_answer_of_a_stand_in_says_so_where_it_is_read(shop: Place) -> None:
    followed = shop.run("run", "listed", "x", "--id", "stood-in")
    page = shop.run("show", "stood-in")

    assert followed.code == 0
    for said in (followed.err, page.out):
        assert "answered by plain.json for scripted:overloaded.json (Overloaded: too much to do)" in said


def test_an_answer_that_cites_wrongly_says_so_where_it_is_read(shop: Place) -> None:
    followed = shop.run("run", "citing", "x", "--id", "cited")
    page = shop.run("show", "cited")

    assert followed.code == 0
    for said in (followed.err, page.out):
        assert "citations: The answer refers to no result" in said


def test_a_cut_output_is_fetched_whole(shop: Place) -> None:
    shop.run("run", "wordy", "x", "--id", "wordy")
    told = json.loads(shop.run("transcript", "wordy", "--json").out)[2]
    whole = shop.run("transcript", "wordy", "--call", "c1-1")
    document = json.loads(shop.run("transcript", "wordy", "--call", "c1-1", "--json").out)
    missing = shop.run("transcript", "wordy", "--call", "c7-7")

    assert len(told["content"]) < 100_000
    assert whole.out == "ä" * 300_000 + "END\n"
    assert (document["kind"], document["call"], document["content"]) == ("result", "c1-1", whole.out[:-1])
    assert missing.code == 2
    assert "no result of call 'c7-7' in this job; calls with results: c1-1" in missing.err


def test_hostile_texts_do_nothing_to_a_terminal(shop: Place) -> None:
    terminal = shop.terminal("run", "rude", "\x1b[2Jhi [red]x[/]", "--id", "rude")
    terminal.expect("[d]eny? ")
    terminal.type("a\n")
    assert terminal.end() == 0
    pages = [terminal, shop.terminal("transcript", "rude"), shop.terminal("show", "rude")]
    pages += [shop.terminal("transcript", "rude", "--json"), shop.terminal("jobs")]

    for page in pages:
        page.end()
        assert CONTROL.findall(COLOUR.sub("", page.raw).replace("\r\n", "")) == []
    assert r"\x1b[2J\x1b]0;owned [bold red]markup[/]" in pages[1].text
    assert r'reorder(item="\x1b[31m \u202epuc", pieces=1)' in pages[1].text.replace(r"\u001b", r"\x1b")
    assert r"done \x1b[31mred\x1b[0m \x9b1m [link=x]y[/link]" in pages[0].text


def test_an_answer_in_a_pipe_is_what_the_model_said(shop: Place) -> None:
    ended = shop.run("run", "rude", "x", "--approve", "all")

    assert ended.out == "done \x1b[31mred\x1b[0m \x9b1m [link=x]y[/link]\n"


def test_colour_is_for_terminals_that_want_it(shop: Place) -> None:
    shop.run("run", "plain", "x")
    coloured, plain = shop.terminal("jobs"), shop.terminal("jobs", NO_COLOR="1")
    coloured.end()
    plain.end()

    assert "\x1b[32mcomplete" in coloured.raw
    assert "\x1b[32m" not in plain.raw
    assert "\x1b" not in shop.run("jobs").out


def test_a_narrow_terminal_folds_a_list_within_its_columns(shop: Place) -> None:
    shop.run("run", "plain", "x", "--id", "narrow-" + "y" * 60)
    terminal = shop.terminal("jobs", "--state", "ended", "--limit", "3", columns=40)
    terminal.end()

    assert max(len(line) for line in terminal.text.splitlines()) <= 40
    assert terminal.text.replace("\n", "").count("y") >= 40


def test_an_answer_is_shown_once_and_broken_between_words(shop: Place) -> None:
    terminal = shop.terminal("run", "chatty", "x", columns=40)

    assert terminal.end() == 0
    assert terminal.text.count("remarkable") == 20
    assert "remarkable teapots, remarkable teapots, \nremarkable" in terminal.text
    assert max(len(line) for line in terminal.text.splitlines() if "teapots" in line) <= 40


def test_a_command_to_be_copied_is_in_one_piece_on_a_narrow_terminal(shop: Place) -> None:
    shop.run("run", "shop", "x", "--id", "narrow-and-waiting")
    terminal = shop.terminal("show", "narrow-and-waiting", columns=30)
    terminal.end()

    assert "\n  surefoot approve narrow-and-waiting c2-1   or   deny / answer\n" in terminal.text


def test_watch_follows_live_and_ctrl_c_leaves_the_job_alone(shop: Place) -> None:
    shop.run("run", "slow", "x", "--id", "watched", "--detach")
    terminal = shop.terminal("watch", "watched")
    terminal.expect("c1-1 → linger()")
    terminal.type(CTRL_C)
    assert terminal.end() == 130
    again = shop.start("watch", "watched", "--json")
    (shop.folder / "go").touch()
    out, _ = again.communicate(timeout=30)

    assert (again.returncode, json.loads(out)["answer"]) == (0, "It said: at last")


@pytest.mark.parametrize(
    "command", [["show"], ["watch"], ["transcript"], ["approve", "c1"], ["cancel"], ["reply", "x"]]
)
def test_a_job_that_is_not_there_is_wrong_use(shop: Place, command: list[str]) -> None:
    ended = shop.run(command[0], "no-such-job", *command[1:])

    assert (ended.code, ended.out) == (2, "")
    assert "there is no job 'no-such-job' on this server" in ended.err
