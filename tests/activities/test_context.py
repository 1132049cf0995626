"""What a model sees in an epoch: orderly whatever was said, never more than before, and the same each time."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activities.models.context import Context
from activities.models.epochs import KEPT_CHARS, LONG_MESSAGE, LONG_RESULT, as_seen, latest, short, size_of
from activities.models.summarize import shortened
from tests.judge_transcript import judge_transcript
from tests.workflows.scripting import kinds
from workflows.contracts import Audit, CallPart, Entry, Epoch, Logged, Message, Note, Result, TextPart, Turn, Usage

NOW = datetime(2026, 11, 30, tzinfo=UTC)
WHOLE = "w" * 5000
BRIEF = short(Result(call="c", tool="t", content=WHOLE))


def audit(**fields: Any) -> Audit:
    return Audit(deed="compacted", at=NOW, **fields)


def turn(number: int, *tools: str, tokens: int = 0) -> Turn:
    calls = [CallPart(id=f"c{number}-{n + 1}", tool=tool, arguments={}) for n, tool in enumerate(tools)]
    usage = Usage(input_tokens=tokens)
    return Turn(number=number, parts=[TextPart(text=f"turn {number}"), *calls], usage=usage)


def round_of(number: int, content: str = WHOLE, tokens: int = 0) -> list[Logged]:
    return [turn(number, "look", tokens=tokens), Result(call=f"c{number}-1", tool="look", content=content)]


def job(rounds: int, content: str = WHOLE, tokens: int = 0) -> list[Logged]:
    entries: list[Logged] = [Message(text="go")]
    return entries + [entry for number in range(1, rounds + 1) for entry in round_of(number, content, tokens)]


def contents(entries: list[Entry]) -> list[int]:
    return [len(entry.content) for entry in entries if isinstance(entry, Result)]


# --- trimming


def test_without_an_epoch_everything_is_seen_but_audits() -> None:
    log = [*job(2), audit(text="x"), Note(text="n")]

    assert as_seen(log, None) == [entry for entry in log if entry.kind != "audit"]


def test_old_results_are_seen_by_their_beginnings_and_their_turns_stay() -> None:
    log = job(4)
    seen = as_seen(log, Epoch(number=1, began=9, trim_until=latest(log)))

    assert latest(log) == 5
    assert kinds(seen) == kinds(log) == "MTRTRTRTR"
    assert contents(seen) == [len(BRIEF.content)] * 2 + [5000] * 2  # type: ignore[union-attr]
    assert [entry for entry in seen if entry.kind != "result"] == [entry for entry in log if entry.kind != "result"]


def test_a_stub_keeps_the_beginning_and_says_how_much_is_gone() -> None:
    assert isinstance(BRIEF, Result)
    assert BRIEF.content == (
        "w" * KEPT_CHARS + "\n[left out to make room: the rest of this result, which had 5,000 characters. The call is"
        " done; make it again only if you need its result and it merely reads]"
    )
    assert short(BRIEF) == BRIEF


@pytest.mark.parametrize("length", [0, 1, LONG_RESULT])
def test_a_short_result_is_left_alone(length: int) -> None:
    result = Result(call="c", tool="t", content="x" * length)

    assert short(result) is result


@pytest.mark.parametrize(("rounds", "expected"), [(0, 0), (1, 0), (2, 1), (3, 3)])
def test_the_last_two_turns_and_what_came_since_are_the_latest(rounds: int, expected: int) -> None:
    assert latest([*job(rounds), Note(text="n"), Message(text="m")]) == expected


# --- summing up


def summed(log: list[Logged], until: int, summary: str = "in short") -> tuple[list[Logged], Epoch]:
    epoch = Epoch(number=1, began=len(log), trim_until=until, summary_at=len(log), summary_until=until)
    return [*log, audit(summary=summary, epoch=epoch)], epoch


def test_a_summary_stands_between_the_first_message_and_the_rest() -> None:
    log, epoch = summed(job(4), 5)
    seen = as_seen(log, epoch)

    assert kinds(seen) == "MNTRTR"
    assert seen[0] == Message(text="go")
    assert isinstance(seen[1], Note)
    assert seen[1].text.endswith("\n\nin short")
    assert seen[2:] == log[5:9]
    judge_transcript(seen)


def test_what_a_person_said_last_stays_word_for_word() -> None:
    entries = [*job(2), Message(text="why?"), Message(text="tell me", by="ann"), *round_of(3), *round_of(4)]
    log, epoch = summed(entries, latest(entries))

    assert [entry.text for entry in as_seen(log, epoch) if isinstance(entry, Message)] == ["go", "tell me"]


def test_a_huge_message_is_cut_once_it_is_old() -> None:
    log, epoch = summed([Message(text="m" * 100_000), *job(4)[1:]], 5)
    first = as_seen(log, epoch)[0]

    assert isinstance(first, Message)
    assert first.text == "m" * LONG_MESSAGE + (
        "\n[the rest of this message, which had 100,000 characters, was left out to make room]"
    )


def test_a_summary_never_leaves_a_result_without_its_call() -> None:
    log, epoch = summed(job(4), 6)  # in the midst of a round

    assert kinds(as_seen(log, epoch)) == "MNTR"


def test_an_epoch_whose_summary_is_not_there_shows_what_was_said() -> None:
    log, epoch = summed(job(4), 5)

    assert kinds(as_seen(log[:-1], epoch)) == "MTRTRTRTR"
    assert kinds(as_seen([*log[:-1], Note(text="n")], epoch)) == "MTRTRTRTRN"


def test_a_late_attempt_sees_the_epoch_that_it_was_handed() -> None:
    log, second = summed(job(6), 9, "second")
    first = Epoch(number=1, began=5, trim_until=3)

    assert kinds(as_seen(log[:9], first)) == "MTRTRTRTR"
    assert contents(as_seen(log[:9], first)) == [len(BRIEF.content), 5000, 5000, 5000]  # type: ignore[union-attr]
    assert kinds(as_seen(log, second)) == "MNTRTR"


# --- how many tokens


def test_the_providers_own_count_is_taken_and_only_what_came_since_is_estimated() -> None:
    log = [*job(2, tokens=1000), Message(text="x" * 300)]

    assert Context(log, None).tokens == 1000 + (5000 + 300) // 3


def test_a_count_from_before_the_epoch_says_nothing_of_what_is_seen_now() -> None:
    log, epoch = summed(job(4, tokens=1_000_000), 5)
    epoch = epoch.model_copy(update={"after": 400})
    context = Context([*log, Message(text="x" * 300)], epoch)

    assert context.tokens == 400 + 300 // 3
    assert not context.continues
    assert Context([*log, *round_of(5, tokens=77)], epoch).tokens == 77 + 5000 // 3
    assert Context([*log, *round_of(5)], epoch).continues


def test_without_any_count_all_that_is_sent_is_estimated() -> None:
    log = job(2)

    assert Context(log, None, overhead=3000).tokens == (3000 + size_of(as_seen(log, None))) // 3


def test_below_the_mark_nothing_is_done() -> None:
    context = Context(job(4, tokens=1000), None)

    assert context.fitted(None) == (context, False)
    assert context.fitted(context.tokens) == (context, False)


def test_above_the_mark_old_results_go_first() -> None:
    log = job(10, tokens=10_000)
    fitted, crowded = Context(log, None).fitted(11_000)

    saved = 8 * (5000 - len(BRIEF.content)) // 4  # type: ignore[union-attr]
    assert not crowded
    assert fitted.tokens == 10_000 + 5000 // 3 - saved
    assert fitted.epoch == Epoch(
        number=1, began=21, trim_until=17, before=10_000 + 5000 // 3, after=10_000 + 5000 // 3 - saved
    )
    assert fitted.trimmed() is fitted


def test_a_summary_is_due_where_trimming_is_not_enough_and_there_is_something_to_sum_up() -> None:
    talk = [*job(0), *(turn(number, tokens=50_000) for number in range(1, 40)), Message(text="x" * 4000)]
    big = [talk[0], Note(text="y" * 80_000), *talk[1:]]
    words = [talk[0], Message(text="y" * 80_000), *talk[1:]]

    assert Context(talk, None).fitted(50_000)[1] is False
    assert Context(big, None).fitted(50_000)[1] is True
    assert Context(words, None).fitted(50_000)[1] is False  # most of that stays
    assert Context(job(1, tokens=90_000), None).fitted(50_000)[1] is False
    assert (Context(job(1), None).old, Context(job(1), None).replaceable) == ([], 0)


def test_trimming_that_frees_next_to_nothing_waits_until_it_is_worth_a_new_epoch() -> None:
    context = Context(job(3, tokens=100_000), None)

    assert context.fitted(100_000) == (context, False)


# --- any transcript, any epoch


TEXTS = st.integers(1, 3000).map(lambda length: "x" * length)
PIECES = st.sampled_from(["round", "round", "round", "answer", "message", "note", "audit"])


@st.composite
def logs(draw: st.DrawFn) -> list[Logged]:
    log: list[Logged] = [Message(text="go")]
    for number, piece in enumerate(draw(st.lists(PIECES, max_size=14)), start=1):
        if piece == "round":
            asked = turn(number, *draw(st.lists(st.sampled_from("ab"), min_size=1, max_size=3)))
            log.append(asked)
            for call in asked.calls:
                log += [audit(text="seen")] * draw(st.integers(0, 1))
                log.append(Result(call=call.id, tool=call.tool, content=draw(TEXTS)))
        else:
            others: dict[str, Logged] = {"answer": turn(number), "note": Note(text="n"), "audit": audit(text="t")}
            log.append(others[piece] if piece in others else Message(text=draw(TEXTS)))
    return log


@given(log=logs(), number=st.integers(0, 60), until=st.integers(0, 60), with_summary=st.booleans())
def test_any_epoch_of_any_transcript_is_orderly(log: list[Logged], number: int, until: int, with_summary: bool) -> None:
    epoch = Epoch(number=1, began=len(log), trim_until=min(number, len(log)))
    if with_summary:
        epoch = epoch.model_copy(update={"summary_at": len(log), "summary_until": min(until, len(log))})
        log = [*log, audit(summary="s", epoch=epoch)]
    seen, after = as_seen(log, epoch), [*log, *round_of(99)]

    judge_transcript(seen)
    assert as_seen(after, epoch) == [*seen, *round_of(99)]
    if not with_summary:
        assert size_of(seen) <= size_of(as_seen(log, None))
        assert as_seen(seen, Epoch(number=1, began=0, trim_until=0)) == seen


@given(log=logs(), more=logs())
def test_a_later_epoch_never_shows_more_than_the_one_before(log: list[Logged], more: list[Logged]) -> None:
    first = Context(log, None).trimmed()
    later = [*log, *(entry for entry in more if entry.kind in ("message", "note"))]
    second = Context(later, first.epoch).trimmed()

    judge_transcript(second.seen)
    assert size_of(second.seen) <= size_of(as_seen(later, first.epoch)) <= size_of(as_seen(later, None))
    assert second.trimmed() is second
    assert (second.epoch.number if second.epoch else 0) <= 2


@given(log=logs(), most=st.integers(1000, 20_000))
def test_what_is_cut_to_be_summed_up_keeps_whole_rounds_and_fits(log: list[Logged], most: int) -> None:
    entries = as_seen(log, None)
    cut = shortened(entries, most)
    turns = [entry for entry in cut if isinstance(entry, Turn)]

    judge_transcript(cut)
    assert turns == [entry for entry in entries if isinstance(entry, Turn)][-len(turns) or len(entries) :]
    assert not turns or size_of(cut) <= most + 200
