"""What a client has read of a transcript it need not ask for again, and never shows anything else instead."""

from surefoot.copies import Copies
from tests.conftest import Host
from tests.waiting import until
from tests.workflows.gated import Ledger, call, ended, started, waiting, writer
from tests.workflows.scripting import kinds
from workflows.contracts import Logged, Message


def said(*texts: str) -> list[Logged]:
    return [Message(text=text) for text in texts]


def test_what_was_read_from_an_entry_on_is_known_and_nothing_else() -> None:
    copies = Copies()
    copies.keep("run", 0, said("a", "b"))
    copies.keep("run", 2, [])

    assert copies.get("run", 0) == said("a", "b")
    assert (copies.get("run", 1), copies.get("run", 2), copies.get("other", 0)) == ([], [], [])


def test_what_was_not_used_for_longest_goes_first_and_the_last_one_stays_however_large() -> None:
    copies = Copies(limit=2_500)
    copies.keep("one", 0, said("a"))
    copies.keep("two", 0, said("b"))
    copies.get("one", 0)
    copies.keep("three", 0, said("c"))
    kept = [bool(copies.get(run, 0)) for run in ("one", "two", "three")]
    copies.keep("large", 0, said("x" * 10_000))

    assert kept == [True, False, True]
    assert copies.get("large", 0) == said("x" * 10_000)


def test_a_copy_that_is_read_again_takes_the_place_of_the_shorter_one() -> None:
    copies = Copies(limit=3_500)
    for number in range(1, 4):
        copies.keep("run", 0, said(*"abc"[:number]))

    assert copies.get("run", 0) == said("a", "b", "c")


async def test_a_transcript_that_was_read_is_there_without_a_worker(host: Host) -> None:
    async with host(writer("w", tools=[])) as client:
        job = await client.start("w", "go")
        await ended(job)
        read = await client.job(job.id).log()

    assert await client.job(job.id).log() == read
    assert kinds(read) == "MT"


async def test_a_running_jobs_transcript_grows_behind_what_was_read_before(host: Host) -> None:
    ledger = Ledger()
    async with host(writer("w", [call("save", key="a")], [call("save", key="b")], tools=[ledger.tool()])) as client:
        job, (first,) = await started(client, "w")
        before = await client.job(job.id).log()
        await job.approve(first.call, by="ann")
        await until(job.all_pending, lambda calls: [each.call for each in calls] not in ([], [first.call]))
        between = await client.job(job.id).log()
        (second,) = await waiting(job)
        await job.approve(second.call, by="ann")
        await ended(job)
        after = await client.job(job.id).log()

    assert between[: len(before)] == before
    assert after[: len(between)] == between
    assert len(before) < len(between) < len(after)
