"""The transcript as the workflow keeps it: what is handed over, in which pages it is read, where earlier parts lie."""

from datetime import UTC, datetime

from tests.workflows.scripting import kinds
from workflows.contracts import Logged, Message, Note, Segment
from workflows.transcript import HANDED_BYTES, PAGE_BYTES, Transcript

NOW = datetime(2026, 1, 2, tzinfo=UTC)


def filled(*texts: str, earlier: list[Segment] | None = None) -> Transcript:
    transcript = Transcript(earlier or [])
    transcript.append(*(Message(text=text) for text in texts))
    return transcript


def texts(entries: list[Logged] | None) -> list[str]:
    return [entry.text for entry in entries or [] if isinstance(entry, Message | Note)]


def test_each_entry_is_handed_over_once() -> None:
    transcript = filled("a", "b")
    first = transcript.hand_over()
    transcript.append(Note(text="c"))
    second, third = transcript.hand_over(), transcript.hand_over()

    assert (first[0], texts(first[1])) == (0, ["a", "b"])
    assert (second[0], texts(second[1])) == (2, ["c"])
    assert third == (3, [])
    assert kinds(transcript.own) == "MMN"


def test_what_no_call_was_handed_is_the_tail_that_the_next_run_hands_over_once() -> None:
    first = filled("a", "b")
    first.hand_over()
    first.append(Note(text="c"), Message(text="d"))
    second = Transcript([Segment(run_id="one", entries=4)], first.tail(1000))
    unsaid = second.tail(1000)
    handed, again = second.hand_over_tail(), second.hand_over_tail()

    assert texts(handed) == texts(unsaid) == ["c", "d"]
    assert (again, second.tail(1000), first.tail(10)) == ([], [], [])


def test_a_run_that_adopts_everything_has_no_tail_left_to_hand_over() -> None:
    transcript = Transcript([Segment(run_id="one", entries=1)], [Note(text="c")])
    transcript.adopt([Note(text="c")])

    assert transcript.hand_over_tail() == []
    assert texts(transcript.hand_over()[1]) == ["c"]


def test_what_is_too_large_is_not_handed_over_and_what_follows_is() -> None:
    transcript = filled("x" * HANDED_BYTES)
    large = transcript.hand_over()
    transcript.append(Message(text="small"))
    small = transcript.hand_over()

    assert large == (0, None)
    assert (small[0], texts(small[1])) == (1, ["small"])


def test_sizes_are_counted_in_bytes_not_in_characters() -> None:
    transcript = filled("😀" * (HANDED_BYTES // 4))

    assert transcript.hand_over() == (0, None)


def test_a_page_holds_as_many_entries_as_fit_and_at_least_one() -> None:
    third = "x" * (PAGE_BYTES // 3 + 1)
    transcript = filled(third, third, third, "y" * (2 * PAGE_BYTES), "z")
    starts, sizes = 0, []
    while (page := transcript.page(starts)).entries:
        sizes.append(len(page.entries))
        starts += len(page.entries)

    assert sizes == [2, 1, 1, 1]
    assert page.total == 5


def test_a_page_behind_the_end_is_empty_and_says_how_many_there_are() -> None:
    page = filled("a").page(7)

    assert (page.start, page.entries, page.total) == (7, [], 1)


def test_length_and_segments_count_earlier_runs() -> None:
    earlier = [Segment(run_id="r1", entries=3), Segment(run_id="r2", entries=4)]
    transcript = filled("a", "b", earlier=earlier)

    assert len(transcript) == 9
    assert transcript.segments("r3", NOW) == [*earlier, Segment(run_id="r3", entries=2, ended=NOW)]
    assert transcript.page(0).earlier == earlier
    assert filled(earlier=earlier).segments("r3", NOW) == earlier
