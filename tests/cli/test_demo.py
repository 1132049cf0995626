"""`surefoot demo` keeps its promise: a worker killed in the middle, and every tool ran once."""

import re

import pytest

from tests.cli.running import Place, until

pytestmark = pytest.mark.crash


def test_the_demo_asks_at_a_terminal_and_leaves_nothing_behind(place: Place) -> None:
    terminal = place.terminal("demo", TEMPORAL_ADDRESS="127.0.0.1:1", TEMPORAL_NAMESPACE="elsewhere")
    terminal.expect("kill -9 ", seconds=60)
    terminal.expect("[a]pprove, [e]dit and approve, a[n]swer in its place, [d]eny? ", seconds=60)
    terminal.type("a\n")
    code = terminal.end(seconds=60)

    assert (code, terminal.text.count("1 time\n"), terminal.text.count("About your refund")) == (0, 3, 1)
    assert "the worker is gone in the middle of payment_history" in terminal.text
    assert " s in all, not counting the decision.\n" in terminal.text
    assert terminal.sane()
    until(lambda: place.processes() == [])


def test_the_demo_left_at_its_question_says_how_to_go_on(place: Place) -> None:
    terminal = place.terminal("demo")
    terminal.expect("[d]eny? ", seconds=60)
    terminal.type("\x04")
    code = terminal.end(seconds=60)
    job = re.search(r"surefoot watch (demo-\w+)", terminal.text)

    assert code == 4
    assert job is not None
    assert "Traceback" not in terminal.text

    approved = place.run("approve", job[1], "c2-1")
    watched = place.run("watch", job[1], seconds=60)

    assert (approved.code, watched.code) == (0, 0)
    assert "About your refund" in watched.out


def test_the_demo_decides_by_itself_where_nobody_can(place: Place) -> None:
    ended = place.run("demo", seconds=90)

    assert (ended.code, ended.out.count("1 time\n")) == (0, 3)
    assert "approved by the demo, since nobody is at a terminal" in ended.out
    assert " s in all.\n" in ended.out
    assert "\x1b" not in ended.out


def test_the_demo_tells_of_a_model_that_fails_and_claims_nothing(place: Place) -> None:
    place.environment |= {"ANTHROPIC_API_KEY": "x", "ANTHROPIC_BASE_URL": "http://127.0.0.1:1"}
    ended = place.run("demo", seconds=90, SUREFOOT_MODEL_ATTEMPTS="3")

    assert ended.code == 1
    assert "the model call is tried again (attempt " in ended.err
    assert "no worker was killed: payment_history was not called, or done too soon\n" in ended.out
    assert "side effects, counted in the tools' own log: none, since no tool ran\n" in ended.out
    assert "answer:" not in ended.out
