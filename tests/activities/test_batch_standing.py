"""How the lines of a batch stand when the server's lists and the batch's own word are both late."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from activities.batches.jobs import Counts
from activities.batches.standing import standing
from workflows.batches.contracts import BatchNote, BatchSpent, Tended

LONG_AGO = datetime.now(UTC) - timedelta(minutes=1)


def note(**more: Any) -> BatchNote:
    return BatchNote(**{"lines": 10, "ordered": 10, "concurrency": 4, "submitted": LONG_AGO, "begun": 0, **more})


def counts(**more: int) -> Counts:
    return Counts(**{"running": 0, "waiting": 0, "done": 0, "incomplete": 0, "failed": 0, **more})


def beat(begun: int, *refused: int) -> Tended:
    return Tended(begun=begun, spent=BatchSpent(), refused=dict.fromkeys(refused, "no"))


def test_jobs_that_were_begun_and_are_on_no_list_yet_run() -> None:
    seen = standing(note(), beat(6), counts(running=2, done=1), ended=False)

    assert (seen.queued, seen.running, seen.done, seen.forgotten) == (4, 5, 1, 0)


def test_a_late_beat_makes_no_line_stand_twice() -> None:
    seen = standing(note(), beat(2), counts(running=4, done=3), ended=False)

    assert (seen.queued, seen.running, seen.done, seen.forgotten) == (3, 4, 3, 0)


def test_jobs_that_wait_since_the_others_were_counted_make_no_number_negative() -> None:
    seen = standing(note(begun=6), beat(6), counts(running=4, waiting=6), ended=False)

    assert (seen.queued, seen.running, seen.waiting) == (4, 0, 6)


@pytest.mark.parametrize(("seconds", "running", "forgotten"), [(0, 2, 0), (60, 0, 2)])
def test_who_is_missing_for_long_is_forgotten(seconds: int, running: int, forgotten: int) -> None:
    begun_at = datetime.now(UTC) - timedelta(seconds=seconds)
    seen = standing(note(begun=6, begun_at=begun_at), None, counts(done=4), ended=False)

    assert (seen.queued, seen.running, seen.forgotten) == (4, running, forgotten)


def test_in_a_batch_that_has_ended_who_is_missing_is_forgotten_and_what_never_began_is_queued() -> None:
    seen = standing(note(begun=6, begun_at=datetime.now(UTC)), None, counts(done=3, incomplete=1), ended=True)

    assert (seen.queued, seen.running, seen.forgotten) == (4, 0, 2)


def test_the_batch_of_a_version_that_did_not_say_how_many_have_begun_has_none_forgotten() -> None:
    seen = standing(note(begun=None, ordered=0), beat(6), counts(done=4), ended=False)

    assert (seen.queued, seen.running, seen.forgotten) == (6, 0, 0)


def test_lines_that_are_tried_again_stand_as_their_last_attempt_does() -> None:
    again = note(begun=12, ordered=13, begun_at=LONG_AGO, superseded={"failed": 3})
    seen = standing(again, None, counts(running=1, done=8, failed=3), ended=False)

    assert (seen.queued, seen.running, seen.done, seen.failed, seen.forgotten) == (1, 1, 8, 0, 0)


def test_earlier_attempts_that_the_server_has_no_more_take_nothing_from_the_others() -> None:
    again = note(begun=11, ordered=11, superseded={"failed": 1})
    seen = standing(again, None, counts(done=10), ended=True)

    assert (seen.done, seen.failed, seen.queued, seen.forgotten) == (10, 0, 0, 0)


def test_lines_that_no_job_could_be_started_for_have_failed() -> None:
    seen = standing(note(begun=2, refused=1), beat(6, 4), counts(done=4), ended=False)

    assert (seen.failed, seen.queued, seen.running) == (2, 4, 0)
