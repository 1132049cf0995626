"""What is kept of an answer while it comes: its end, with the place where that begins."""

from hypothesis import given
from hypothesis import strategies as st

from activities.models.speech import MOST_CHARS, MOST_RUNS, Kind, Run, Tail


def told(*pieces: tuple[Kind, str]) -> list[Run]:
    tail = Tail()
    for kind, text in pieces:
        tail.add(kind, text)
    return tail.runs()


def test_neighbours_of_one_kind_are_joined_and_each_begun_call_stands_alone() -> None:
    runs = told(
        ("reasoning", "Let "), ("reasoning", "me see."), ("text", "I "), ("text", "look."), ("call", "a"), ("call", "b")
    )

    assert runs == [
        Run(kind="reasoning", offset=0, text="Let me see."),
        Run(kind="text", offset=11, text="I look."),
        Run(kind="call", offset=18, text="a"),
        Run(kind="call", offset=19, text="b"),
    ]


def test_a_megabyte_in_one_piece_is_kept_by_its_end() -> None:
    assert told(("text", "x" * 1_000_000 + "end")) == [
        Run(kind="text", offset=1_000_003 - MOST_CHARS, text="x" * (MOST_CHARS - 3) + "end")
    ]


def test_a_megabyte_in_small_pieces_is_kept_by_its_end() -> None:
    runs = told(*[("text", f"{number:07}") for number in range(150_000)])

    assert [(run.offset, run.end, len(run.text)) for run in runs] == [(1_050_000 - MOST_CHARS, 1_050_000, MOST_CHARS)]
    assert runs[0].text.endswith("01499980149999")


def test_many_changes_between_thinking_and_speaking_are_bounded_too() -> None:
    pieces: list[tuple[Kind, str]] = [("text", "t"), ("reasoning", "r")]
    runs = told(*pieces * 2000)

    assert (len(runs), runs[-1]) == (MOST_RUNS, Run(kind="reasoning", offset=3999, text="r"))


def test_a_pair_of_surrogates_in_two_pieces_is_one_character() -> None:
    assert told(("text", "a\ud83d"), ("text", "\ude00b")) == [Run(kind="text", offset=0, text="a😀b")]


def test_half_a_pair_is_replaced_so_that_it_can_be_sent() -> None:
    assert told(("text", "a\ud83d"), ("text", "b"), ("text", "\ude00")) == [Run(kind="text", offset=0, text="a�b�")]


@given(st.lists(st.tuples(st.sampled_from(["text", "reasoning"]), st.text(max_size=3000)), max_size=12))
def test_what_is_kept_is_always_the_end_of_what_was_said(pieces: list[tuple[Kind, str]]) -> None:
    runs, whole = told(*pieces), "".join(text for _, text in pieces)

    kept = "".join(run.text for run in runs)
    assert kept == whole[-MOST_CHARS:]
    assert [run.offset for run in runs[1:]] == [run.end for run in runs[:-1]]
    assert not runs or (runs[0].offset, runs[-1].end) == (len(whole) - len(kept), len(whole))
