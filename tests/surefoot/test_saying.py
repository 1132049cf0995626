"""From looks at a model call to what a watcher is told: everything once, in order, and what became void."""

from activities.models.speech import Kind, Run, Speech
from surefoot.saying import Forgotten, Heard, Look, Said


def look(*runs: tuple[Kind, int, str], call: str = "run 5", attempt: int = 1, turn: int = 2) -> Look:
    said = [Run(kind=kind, offset=offset, text=text) for kind, offset, text in runs]
    return Look(call, attempt, Speech(turn=turn, attempt=attempt, runs=said) if runs else None)


def said(kind: Kind, offset: int, text: str, attempt: int = 1, turn: int = 2) -> Said:
    return Said(turn=turn, attempt=attempt, kind=kind, offset=offset, text=text)


def news(*looks: Look | None) -> list[list[Said | Forgotten]]:
    heard = Heard()
    return [list(heard.news(each)) for each in looks]


def test_each_look_tells_what_the_one_before_did_not() -> None:
    assert news(
        look(("reasoning", 0, "hm")),
        look(("reasoning", 0, "hmm"), ("text", 3, "He")),
        look(("reasoning", 0, "hmm"), ("text", 3, "He")),
        look(("reasoning", 0, "hmm"), ("text", 3, "Hello"), ("call", 8, "find")),
    ) == [
        [said("reasoning", 0, "hm")],
        [said("reasoning", 2, "m"), said("text", 3, "He")],
        [],
        [said("text", 5, "llo"), said("call", 8, "find")],
    ]


def test_what_was_missed_shows_in_the_offset() -> None:
    assert news(look(("text", 0, "ab")), look(("text", 10, "kl"))) == [
        [said("text", 0, "ab")],
        [said("text", 10, "kl")],
    ]


def test_a_late_beat_that_shows_less_tells_nothing() -> None:
    assert news(look(("text", 0, "abcd")), look(("text", 0, "ab")), look(("text", 0, "abcdef"))) == [
        [said("text", 0, "abcd")],
        [],
        [said("text", 4, "ef")],
    ]


def test_a_new_attempt_makes_void_what_was_heard_once() -> None:
    assert news(look(("text", 0, "ab")), look(attempt=2), look(attempt=2), look(("text", 0, "xy"), attempt=2)) == [
        [said("text", 0, "ab")],
        [Forgotten(turn=2, attempt=1)],
        [],
        [said("text", 0, "xy", attempt=2)],
    ]


def test_of_attempts_that_said_nothing_there_is_nothing_to_forget() -> None:
    assert news(look(), look(attempt=2), look(("text", 0, "ab"), attempt=3)) == [[], [], [said("text", 0, "ab", 3)]]


def test_an_attempt_that_is_over_is_not_heard_again() -> None:
    assert news(look(("text", 0, "xy"), attempt=2), look(("text", 0, "ab"), attempt=1)) == [
        [said("text", 0, "xy", attempt=2)],
        [],
    ]


def test_the_next_turn_begins_anew_and_makes_nothing_void() -> None:
    assert news(look(("text", 0, "abc")), None, look(("text", 0, "x"), call="run 9", attempt=2, turn=3)) == [
        [said("text", 0, "abc")],
        [],
        [said("text", 0, "x", attempt=2, turn=3)],
    ]
