"""The worker's copies of transcripts: right whatever is cached, evicted or handed over, and asked for in pages."""

import asyncio
from collections.abc import Sequence
from typing import Any, cast

import pytest
from temporalio.client import Client as Temporal
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError, RPCStatusCode

from activities.transcripts import ENTRY_BYTES, Transcripts
from workflows.contracts import CallModel, Entry, Message, Segment, TranscriptPage


def said(*texts: str) -> list[Entry]:
    return [Message(text=text) for text in texts]


class Jobs:
    """Stands for the client: runs by their id, read in pages of two, and a list of what was asked."""

    def __init__(self, **runs: Sequence[Entry]) -> None:
        self.runs = runs
        self.asked: list[tuple[str, int]] = []

    def get_workflow_handle(self, job: str, *, run_id: str) -> "Run":
        assert job == "job"
        return Run(self, run_id)

    def __call__(self) -> Temporal:
        return cast(Temporal, self)


class Run:
    def __init__(self, jobs: Jobs, run_id: str) -> None:
        self._jobs, self._run_id = jobs, run_id

    async def query(self, name: str, start: int, *, result_type: Any) -> TranscriptPage:
        assert (name, result_type) == ("transcript", TranscriptPage)
        self._jobs.asked.append((self._run_id, start))
        await asyncio.sleep(0)
        entries = list(self._jobs.runs[self._run_id])
        return TranscriptPage(start=start, entries=entries[start : start + 2], total=len(entries))


ALL = said("a", "b", "c", "d", "e")


def request(base: int, new: list[Entry] | None, length: int, earlier: Sequence[Segment] = ()) -> CallModel:
    return CallModel(agent="a", turn=1, base=base, new=new, length=length, earlier=list(earlier))


async def test_what_was_handed_over_is_all_that_is_needed() -> None:
    jobs, transcripts = Jobs(run=ALL), Transcripts()

    assert await transcripts.read(jobs(), "job", "run", request(0, ALL[:2], 2)) == ALL[:2]
    assert await transcripts.read(jobs(), "job", "run", request(2, ALL[2:5], 5)) == ALL
    assert (jobs.asked, transcripts.misses) == ([], 0)


async def test_a_worker_that_knows_nothing_reads_page_by_page() -> None:
    jobs, transcripts = Jobs(run=ALL), Transcripts()

    assert await transcripts.read(jobs(), "job", "run", request(3, ALL[3:], 5)) == ALL
    assert jobs.asked == [("run", 0), ("run", 2), ("run", 4)]
    assert await transcripts.read(jobs(), "job", "run", request(3, ALL[3:], 5)) == ALL
    assert (len(jobs.asked), transcripts.misses) == (3, 1)


async def test_a_worker_that_knows_the_beginning_reads_the_rest() -> None:
    jobs, transcripts = Jobs(run=ALL), Transcripts()
    await transcripts.read(jobs(), "job", "run", request(0, ALL[:1], 1))

    assert await transcripts.read(jobs(), "job", "run", request(3, ALL[3:], 5)) == ALL
    assert jobs.asked == [("run", 1), ("run", 3)]


async def test_entries_too_large_to_be_handed_over_are_read() -> None:
    jobs, transcripts = Jobs(run=ALL), Transcripts()
    await transcripts.read(jobs(), "job", "run", request(0, ALL[:2], 2))

    assert await transcripts.read(jobs(), "job", "run", request(2, None, 5)) == ALL
    assert jobs.asked == [("run", 2), ("run", 4)]


async def test_a_late_attempt_sees_no_more_than_it_was_meant_to() -> None:
    jobs, transcripts = Jobs(run=ALL), Transcripts()
    await transcripts.read(jobs(), "job", "run", request(0, ALL, 5))

    assert await transcripts.read(jobs(), "job", "run", request(1, ALL[1:3], 3)) == ALL[:3]
    assert await transcripts.read(jobs(), "job", "run", request(0, ALL, 5)) == ALL


async def test_an_overlap_with_what_is_known_is_taken_once() -> None:
    jobs, transcripts = Jobs(run=ALL), Transcripts()
    await transcripts.read(jobs(), "job", "run", request(0, ALL[:3], 3))

    assert await transcripts.read(jobs(), "job", "run", request(1, ALL[1:5], 5)) == ALL
    assert jobs.asked == []


async def test_earlier_runs_come_first_and_as_far_as_they_were_meant() -> None:
    jobs, transcripts = Jobs(one=ALL, two=said("f", "g")), Transcripts()
    earlier = [Segment(run_id="one", entries=3), Segment(run_id="two", entries=2)]

    read = await transcripts.read(jobs(), "job", "three", request(0, said("h"), 1, earlier))
    again = await transcripts.read(jobs(), "job", "three", request(1, said("i"), 2, earlier))

    assert read == [*ALL[:3], *said("f", "g", "h")]
    assert again == [*ALL[:3], *said("f", "g", "h", "i")]
    assert jobs.asked == [("one", 0), ("one", 2), ("two", 0)]


@pytest.mark.parametrize(("known", "asked"), [(3, []), (4, []), (2, [("one", 2), ("one", 4)]), (0, [("one", 0)])])
async def test_the_tail_of_the_run_before_is_taken_where_all_before_it_is_known(
    known: int, asked: list[tuple[str, int]]
) -> None:
    jobs, transcripts = Jobs(one=ALL), Transcripts()
    if known:
        await transcripts.read(jobs(), "job", "one", request(0, ALL[:known], known))
    moved = request(0, said("f"), 1, [Segment(run_id="one", entries=5)]).model_copy(update={"tail": ALL[3:]})

    read = [await transcripts.read(jobs(), "job", "two", moved) for _ in range(2)]

    assert read == [[*ALL, *said("f")]] * 2
    assert jobs.asked[: len(asked)] == asked
    assert bool(jobs.asked) == bool(asked)


async def test_runs_do_not_mix_even_when_their_job_is_the_same() -> None:
    jobs, transcripts = Jobs(run=ALL, reset=said("a", "B", "C")), Transcripts()
    await transcripts.read(jobs(), "job", "run", request(0, ALL, 5))

    assert await transcripts.read(jobs(), "job", "reset", request(2, said("C"), 3)) == said("a", "B", "C")


async def test_a_run_that_has_fewer_entries_than_expected_is_an_error_that_says_so() -> None:
    with pytest.raises(LookupError, match="run run of job job has 5 transcript entries, 7 were expected: was the job"):
        await Transcripts().read(Jobs(run=ALL)(), "job", "run", request(7, [], 7))


async def test_the_copy_that_was_not_used_for_longest_goes_first() -> None:
    texts = said("x" * 1000)
    jobs = Jobs(one=texts, two=texts, three=texts)
    transcripts = Transcripts(cached_bytes=2 * (1100 + ENTRY_BYTES))
    for run in ("one", "two", "one", "three", "one", "two"):
        assert await transcripts.read(jobs(), "job", run, request(1, [], 1)) == texts

    assert jobs.asked == [("one", 0), ("two", 0), ("three", 0), ("two", 0)]


@pytest.mark.parametrize("cached_bytes", [0, 1, 10_000])
async def test_jobs_that_push_each_other_out_all_come_to_an_end(cached_bytes: int) -> None:
    runs = {f"run{n}": said(*(f"{n}-{k}" for k in range(20))) for n in range(8)}
    jobs, transcripts = Jobs(**runs), Transcripts(cached_bytes)

    read = await asyncio.gather(
        *(transcripts.read(jobs(), "job", run, request(20, [], 20)) for run in runs for _ in range(3))
    )

    assert read == [runs[run] for run in runs for _ in range(3)]


async def test_a_run_that_the_server_forgot_is_said_so_and_not_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    async def forgotten(*_: Any, **__: Any) -> TranscriptPage:
        raise RPCError("workflow execution not found", RPCStatusCode.NOT_FOUND, b"")

    monkeypatch.setattr(Run, "query", forgotten)
    with pytest.raises(ApplicationError, match="no longer has run r1 of job job") as caught:
        await Transcripts().read(Jobs()(), "job", "run", request(0, [], 0, [Segment(run_id="r1", entries=2)]))

    assert (caught.value.type, caught.value.non_retryable) == ("TranscriptLost", True)
