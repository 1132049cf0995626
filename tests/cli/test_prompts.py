"""Questions on a terminal: every answer, every way out, and a decision that somebody else makes meanwhile."""

import json
import signal
from pathlib import Path

import pytest

from tests.cli.running import Place, until
from tests.cli.terminal import CTRL_C, CTRL_D

pytestmark = pytest.mark.server

QUESTION = "[a]pprove, [e]dit and approve, a[n]swer in its place, [d]eny? "
OUTCOME = "it [h]appened, it did [n]ot, or [g]ive up? "


def decided(shop: Place, job: str) -> list[tuple[str, str | None]]:
    """What was decided in a job, and in which words."""
    return [(each["choice"], each["text"]) for each in json.loads(shop.run("show", job, "--json").out)["decided"]]


def test_a_call_is_shown_and_approved(shop: Place) -> None:
    terminal = shop.terminal("run", "shop", "cups?")
    shown = terminal.expect(QUESTION)
    terminal.type("a\n")

    assert terminal.end() == 0
    assert 'waits for you: reorder(item="cup", pieces=10)' in shown
    assert "why      Cups have run out." in shown
    assert "No cups were left: 10 x cup ordered.\n" in terminal.text
    assert shop.done() == ["cup 10"]
    assert terminal.sane()


def test_only_the_answer_goes_to_a_stdout_that_is_no_terminal(shop: Place, tmp_path: Path) -> None:
    terminal = shop.terminal("run", "shop", "cups?", out=tmp_path / "answer")
    terminal.expect(QUESTION)
    terminal.type("a\n")

    assert terminal.end() == 0
    assert (tmp_path / "answer").read_text() == "No cups were left: 10 x cup ordered.\n"


def test_an_edit_is_asked_again_until_it_is_json_and_fits_the_tool(shop: Place) -> None:
    terminal = shop.terminal("run", "shop", "cups?", "--id", "edited")
    terminal.expect(QUESTION)
    terminal.type("e\n")
    terminal.expect('arguments as JSON [{"item": "cup", "pieces": 10}]: ')
    terminal.type("{'item'\n")
    terminal.expect("the arguments are no JSON")
    terminal.expect("arguments as JSON")
    terminal.type('{"item": "cup", "pieces": "many"}\n')
    terminal.expect("no effect: edited arguments for reorder: The arguments do not fit the tool reorder:")
    terminal.expect('pieces: Input should be a valid integer, got "many"')
    terminal.expect(QUESTION)
    terminal.type("e\n")
    terminal.expect("arguments as JSON")
    terminal.type('{"item": "cup", "pieces": 4}\n')

    assert terminal.end() == 0
    assert shop.done() == ["cup 4"]
    assert decided(shop, "edited") == [("approve", None)]


def test_an_answer_takes_the_tools_place(shop: Place) -> None:
    terminal = shop.terminal("run", "shop", "cups?")
    terminal.expect(QUESTION)
    terminal.type("what?\n")
    terminal.expect("please type one of: a, e, n, d")
    terminal.expect(QUESTION)
    terminal.type("n\n")
    terminal.expect("answer: ")
    terminal.type("geht schon übers Lager\n")

    assert terminal.end() == 0
    assert "geht schon übers Lager.\n" in terminal.text
    assert shop.done() == []


def test_a_denial_takes_its_reason_along(shop: Place) -> None:
    terminal = shop.terminal("run", "shop", "cups?", "--id", "denied")
    terminal.expect(QUESTION)
    terminal.type("d\n")
    terminal.expect("reason: ")
    terminal.type("too many\n")

    assert terminal.end() == 0
    assert decided(shop, "denied") == [("deny", "too many")]
    assert shop.done() == []


def test_an_unknown_outcome_is_told_by_who_knows_it(shop: Place) -> None:
    terminal = shop.terminal("run", "bank", "pay")
    terminal.expect(QUESTION)
    terminal.type("a\n")
    terminal.expect("outcome unknown: pay(amount=5)")
    terminal.expect("problem  the bank did not answer about 5")
    terminal.expect(OUTCOME)
    terminal.type("h\n")
    terminal.expect("result: ")
    terminal.type("paid, receipt 17\n")

    assert terminal.end() == 0
    assert "The bank: paid, receipt 17\n" in terminal.text


def test_two_calls_are_asked_one_after_the_other(shop: Place) -> None:
    terminal = shop.terminal("run", "twice", "both")
    terminal.expect('waits for you: reorder(item="cup", pieces=1)')
    terminal.expect(QUESTION)
    terminal.type("a\n")
    terminal.expect('waits for you: reorder(item="pot", pieces=2)')
    terminal.expect(QUESTION)
    terminal.type("a\n")

    assert terminal.end() == 0
    assert shop.done() == ["cup 1", "pot 2"]


def test_what_was_typed_before_the_question_is_no_answer(shop: Place) -> None:
    terminal = shop.terminal("run", "shop", "cups?")
    terminal.type("a\n")
    terminal.expect(QUESTION)

    with pytest.raises(AssertionError, match="is not shown after"):
        terminal.expect("approved", seconds=1)
    assert shop.done() == []


def test_when_somebody_else_decides_the_question_is_called_off(shop: Place) -> None:
    terminal = shop.terminal("run", "shop", "cups?", "--id", "shared")
    terminal.expect(QUESTION)
    terminal.type("half a wo")

    other = shop.run("deny", "shared", "c2-1", "--reason", "not today")

    assert other.code == 0
    terminal.expect("c2-1 was decided meanwhile: denied by ")
    assert terminal.end() == 0
    assert terminal.sane()
    assert shop.done() == []


def test_the_end_of_input_leaves_the_call_waiting(shop: Place) -> None:
    terminal = shop.terminal("run", "shop", "cups?", "--id", "left")
    terminal.expect(QUESTION)
    terminal.type(f"a{CTRL_D}{CTRL_D}")

    assert terminal.end() == 4
    assert terminal.text.count("surefoot approve left c2-1") == 1
    assert "job left waits for a person; once decided, follow it with: surefoot watch left" in terminal.text
    assert decided(shop, "left") == []
    assert terminal.sane()


def test_the_end_of_input_shows_the_calls_that_were_not_asked_yet(shop: Place) -> None:
    terminal = shop.terminal("run", "twice", "both", "--id", "two-left")
    terminal.expect(QUESTION)
    terminal.type(CTRL_D)

    assert terminal.end() == 4
    assert [terminal.text.count(f"surefoot approve two-left c1-{number}") for number in (1, 2)] == [1, 1]


def test_ctrl_c_at_a_question_keeps_the_job(shop: Place) -> None:
    terminal = shop.terminal("run", "shop", "cups?", "--id", "stopped")
    terminal.expect(QUESTION)
    terminal.type(CTRL_C)

    assert terminal.end() == 130
    assert "job stopped is kept and goes on from here; follow it again: surefoot watch stopped" in terminal.text
    assert terminal.sane()
    terminal = shop.terminal("watch", "stopped")
    terminal.expect(QUESTION)
    terminal.type("a\n")
    assert terminal.end() == 0
    assert shop.done() == ["cup 10"]


def test_a_closed_terminal_is_no_decision(shop: Place) -> None:
    terminal = shop.terminal("run", "shop", "cups?", "--id", "hung-up")
    terminal.expect(QUESTION)
    terminal.hang_up()
    until(lambda: terminal.process.poll() is not None)

    assert terminal.process.returncode in (4, -signal.SIGHUP)
    assert decided(shop, "hung-up") == []


def test_approve_none_asks_nothing_at_a_terminal_either(shop: Place) -> None:
    assert shop.terminal("run", "shop", "x", "--approve", "none").end() == 4
