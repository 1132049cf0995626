"""What the model says appears at a terminal while it says it, once."""

from pathlib import Path

from rich.console import Console

from activities.models.speech import Kind, Run, Speech
from surefoot.cli.live import AGAIN, LiveText
from surefoot.saying import Look
from tests.cli.running import Place
from workflows.contracts import CallPart, Message, ReasoningPart, TextPart, Turn

ANSWER = "Three [bold]teapots[/bold] are left,\nas of this morning, in a row of many words."


def look(*runs: tuple[Kind, int, str], attempt: int = 1) -> Look:
    said = [Run(kind=kind, offset=offset, text=text) for kind, offset, text in runs]
    return Look("run 5", attempt, Speech(turn=1, attempt=attempt, runs=said))


def shown(live: LiveText, console: Console, *looks: Look) -> str:
    with console.capture() as captured:
        for each in looks:
            live.tell(each)
    return captured.get()


def screen() -> tuple[LiveText, Console]:
    console = Console(width=20, color_system=None)
    return LiveText(console), console


def finished(live: LiveText, console: Console, turn: Turn) -> tuple[str, list[object]]:
    with console.capture() as captured:
        left = live.finish([Message(text="hi"), turn])
    return captured.get(), list(left)


def test_pieces_go_on_in_the_line_and_the_turn_adds_what_is_missing() -> None:
    live, console = screen()
    first = shown(live, console, look(("reasoning", 0, "hm")), look(("reasoning", 0, "hm"), ("text", 2, "Hel")))
    call = CallPart(id="c1-1", tool="find", arguments={})
    turn = Turn(number=1, parts=[ReasoningPart(text="hm"), TextPart(text="Hello, you."), call])
    rest, left = finished(live, console, turn)

    assert first == "hm\nmodel: Hel"
    assert rest == "lo, you.\n"
    assert left == [Message(text="hi"), turn.model_copy(update={"parts": [call]})]
    assert live.answer == "Hello, you."


def test_a_text_longer_than_the_terminal_is_wide_is_broken_by_the_terminal_alone() -> None:
    live, console = screen()

    assert shown(live, console, look(("text", 0, "word " * 20))) == "model: " + "word " * 20


def test_a_call_that_begins_has_a_line_of_its_own() -> None:
    live, console = screen()

    assert shown(live, console, look(("text", 0, "Hm."), ("call", 3, "find"))) == "model: Hm.\n  → find …\n"


def test_what_a_failed_attempt_said_is_to_be_forgotten() -> None:
    live, console = screen()
    text = shown(live, console, look(("text", 0, "Hel")), look(("text", 0, "Good"), attempt=2))
    rest, _ = finished(live, console, Turn(number=1, parts=[TextPart(text="Good day")]))

    assert text == f"model: Hel\n{AGAIN}\nmodel: Good"
    assert rest == " day\n"


def test_of_a_turn_that_was_missed_in_part_nothing_is_left_out() -> None:
    live, console = screen()
    text = shown(live, console, look(("text", 0, "ab")), look(("text", 9, "jk")))
    turn = Turn(number=1, parts=[TextPart(text="abcdefghijk")])
    rest, left = finished(live, console, turn)

    assert (text, rest) == ("model: ab … jk", "\n")
    assert (left[1], live.answer) == (turn, None)


def test_a_turn_that_nobody_heard_is_left_as_it_is() -> None:
    live, console = screen()
    turn = Turn(number=1, parts=[TextPart(text="Hello")])

    assert finished(live, console, turn) == ("", [Message(text="hi"), turn])


def test_at_a_terminal_the_answer_comes_piece_by_piece_and_stands_there_once(shop: Place) -> None:
    terminal = shop.terminal("run", "speaker", "how many?")
    terminal.expect("Which pot")
    terminal.expect("model: Looking for it.")
    terminal.expect("model: Three [bold]")
    terminal.expect(AGAIN)
    terminal.expect(f"model: {ANSWER}\n")
    code = terminal.end()

    assert code == 0
    assert terminal.text.count("in a row of many words") == 1
    assert terminal.text.count("Looking for it.") == 1
    assert terminal.sane()


def test_without_a_terminal_it_is_as_ever(shop: Place) -> None:
    ended = shop.run("run", "talker", "how many?")

    assert ended.out == "Three are left.\n"
    assert "Which pot" not in ended.err
    assert AGAIN not in ended.err


def test_an_answer_that_goes_into_a_file_is_there_whole(shop: Place, tmp_path: Path) -> None:
    terminal = shop.terminal("run", "talker", "how many?", out=tmp_path / "answer")

    assert terminal.end() == 0
    assert (tmp_path / "answer").read_text() == "Three are left.\n"
    assert "Which pot" not in terminal.text
