"""Large arguments, texts and transcripts pass the gate; what does not fit is refused, and the job stays usable."""

import json
import random
import string

import pytest

from activities.agents import Agent
from activities.providers.scripted import Script
from activities.tools.tool import Tool, tool
from surefoot.errors import DecisionRefused, TooLarge
from tests.conftest import Host
from tests.waiting import until
from tests.workflows.gated import call, ended, results, started, waiting, writer
from workflows.contracts import Decision, Limits
from workflows.showing import MEMO_BYTES

LETTERS = string.ascii_letters + string.digits + "-_"


def noise(size: int, seed: int = 1) -> str:
    """Text that hardly compresses."""
    return "".join(random.Random(seed).choices(LETTERS, k=size))


class Store:
    """A tool that takes large texts, and what it got."""

    def __init__(self) -> None:
        self.kept: list[str] = []

    def tool(self) -> Tool:
        @tool(preview=lambda text: text[:50])
        async def keep(text: str) -> str:
            """Keep a text."""
            self.kept.append(text)
            return f"kept {len(text)}"

        return keep

    def find(self) -> Tool:
        @tool(read_only=True)
        async def find(size: int) -> str:
            """Find a text."""
            return noise(size, seed=size)

        return find


async def test_a_megabyte_of_arguments_is_shown_whole_approved_and_run_after_a_long_transcript(host: Host) -> None:
    store, large = Store(), noise(1_000_000)
    rounds = [[call("find", size=39_000 + 10 * r + n) for n in range(5)] for r in range(8)]
    agent = writer("w", *rounds, [call("keep", text=large)], tools=[store.tool(), store.find()],
                   limits=Limits(tool_calls=None))  # fmt: skip
    async with host(agent) as client:
        job, (pending,) = await started(client, "w")
        items = await until(client.inbox, lambda items: any(item.job == job.id and not item.problem for item in items))
        await job.approve(pending.call, by="ann")
        last = await ended(job)

    assert pending.arguments == {"text": large}
    assert [item.arguments for item in items if item.job == job.id] == [{"text": large}]
    assert store.kept == [large]
    assert last.outcome is not None
    assert last.outcome.status == "complete"


async def test_a_megabyte_of_edited_arguments_runs(host: Host) -> None:
    store, large = Store(), noise(1_048_576)
    async with host(writer("w", [call("keep", text="a")], tools=[store.tool()])) as client:
        job, (pending,) = await started(client, "w")
        await job.approve(pending.call, arguments={"text": large}, by="ann")
        last = await ended(job)

    assert store.kept == [large]
    assert last.outcome is not None
    assert last.outcome.status == "complete"


async def test_edited_arguments_that_do_not_fit_are_refused_before_they_are_sent(host: Host) -> None:
    store = Store()
    async with host(writer("w", [call("keep", text="a")], tools=[store.tool()])) as client:
        job, (pending,) = await started(client, "w")
        with pytest.raises(TooLarge, match=r"has 2000\d\d\d bytes, at most 1500000 fit"):
            await job.approve(pending.call, arguments={"text": noise(2_000_000)}, by="ann")
        word = Decision(call=pending.call, digest=pending.digest, choice="approve", by="ann",
                        arguments={"text": "x" * 20_000_000})  # fmt: skip
        await client.temporal.get_workflow_handle(job.id).signal("decide", word)
        await job.approve(pending.call, by="ann")
        await ended(job)

    assert store.kept == ["a"]


async def test_arguments_of_the_model_that_do_not_fit_are_an_error_to_the_model(host: Host) -> None:
    store = Store()
    async with host(writer("w", [call("keep", text="x" * 3_000_000)], tools=[store.tool()])) as client:
        job = await client.start("w", "go")
        last = await ended(job)
        (result,) = results(await job.transcript())

    assert (result.status, store.kept) == ("error", [])
    assert result.content == "The arguments of keep have 3000011 bytes, at most 1500000 fit. Send less at once."
    assert last.outcome is not None
    assert last.outcome.status == "complete"


async def test_a_megabyte_of_reason_or_answer_reaches_the_model_and_later_replies(host: Host) -> None:
    texts = [noise(1_000_000, seed) for seed in range(3)]
    calls = [call("keep", text=key) for key in "abc"]
    store = Store()
    async with host(writer("w", calls, tools=[store.tool()])) as client:
        job, pending = await started(client, "w", 3)
        await job.deny(pending[0].call, reason=texts[0], by="ann")
        await job.answer(pending[1].call, texts[1], by="ann")
        await job.deny(pending[2].call, reason=texts[2], by="ann")
        first = await ended(job)
        await client.reply(job.id, "go on")
        last = await ended(job)
        said = results(await job.transcript())

    assert all(text in result.content for text, result in zip(texts, said, strict=True))
    assert [len(d.text or "") < 300 for d in first.decided] == [True, True, True]
    assert last.outcome is not None
    assert last.outcome.status == "complete"
    assert store.kept == []


async def test_the_memo_stays_small_with_many_large_pending_calls_and_the_inbox_has_them_whole(host: Host) -> None:
    store = Store()
    calls = [call("keep", text=noise(50_000, seed)) for seed in range(30)]
    script = Script([{"text": noise(5_000), "calls": calls}, {"text": "done"}])
    async with host(Agent("w", script, tools=[store.tool()])) as client:
        job, pending = await started(client, "w", 30)
        items = await until(
            client.inbox, lambda items: sum(item.job == job.id and not item.problem for item in items) == 30
        )
        whole = await job.pending("c1-30")
        description = await client.temporal.get_workflow_handle(job.id).describe()
        briefs = await description.memo_value("pending")
        for number in range(1, 31):
            await job.deny(f"c1-{number}", by="ann")
        last = await ended(job)
        after = await client.temporal.get_workflow_handle(job.id).describe()

    assert [p.arguments for p in pending] == [each["arguments"] for each in calls]
    assert 0 < len(json.dumps(briefs)) < MEMO_BYTES + 1_000
    assert {brief["whole"] for brief in briefs} == {False}
    assert [item.arguments for item in items if item.job == job.id] == [each["arguments"] for each in calls]
    assert whole.arguments == calls[29]["arguments"]
    assert len(last.decided) == 30
    assert await after.memo_value("pending", None) is None


async def test_more_pending_calls_than_the_memo_holds_are_in_the_inbox_all_the_same(host: Host) -> None:
    store = Store()
    calls = [call("keep", text=f"text {number}") for number in range(300)]
    agent = writer("w", calls, tools=[store.tool()], limits=Limits(tool_calls=None))
    async with host(agent) as client:
        job, _ = await started(client, "w", 300)
        items = await until(client.inbox, lambda items: sum(item.job == job.id for item in items) == 300)
        description = await client.temporal.get_workflow_handle(job.id).describe()
        left_out = await description.memo_value("pending_left_out", 0)
        await job.stop()
        last = await ended(job)

    assert [item.arguments for item in items if item.job == job.id] == [each["arguments"] for each in calls]
    assert 0 < left_out < 300
    assert last.pending == []
    assert store.kept == []


async def test_a_name_without_end_is_refused(host: Host) -> None:
    store = Store()
    async with host(writer("w", [call("keep", text="a")], tools=[store.tool()])) as client:
        job, (pending,) = await started(client, "w")
        with pytest.raises(DecisionRefused, match="by of this decision has 1000000 characters, at most 300 fit"):
            await job.approve(pending.call, by=noise(1_000_000))
        (still,) = await waiting(job)
        await job.cancel()
        await ended(job)

    assert still.call == pending.call
    assert store.kept == []
