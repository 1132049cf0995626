"""What was said becomes too long: old results go first, then a summary takes its place, and the job goes on."""

import asyncio
import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from activities.agents import Agent
from activities.models.epochs import LONG_RESULT, size_of
from activities.models.prompts import SUM_UP, SUMMING_UP
from activities.providers.protocol import ModelRequest
from activities.providers.scripted import Script
from activities.tools.tool import tool
from surefoot.job import Job
from tests.conftest import QUICK, Host
from tests.judge_transcript import judge_transcript
from tests.waiting import until
from tests.workflows.scripting import call, calls, kinds
from workflows.contracts import Audit, Entry, Limits, Message, Note, Result

FREE = Limits(rounds=None, tool_calls=None)
REMEMBERED = 1000
PAGE = 6000
SUMMARY = "The person wants all pages read. The code word is heron."


@tool(read_only=True)
async def read(page: int) -> str:
    """Read a page."""
    return f"page {page} " + "w" * PAGE


class Model:
    """Reads pages until there were `rounds` of them, with a window of so many bytes; what it was asked is noted."""

    def __init__(
        self, rounds: int, *, window: int | None = None, summary: Mapping[str, Any] | None = None, talk: int = 2
    ) -> None:
        self.rounds, self.window, self.talk = rounds, window, talk
        self.summary = {"text": SUMMARY} if summary is None else summary
        self.asked: list[ModelRequest] = []
        self.refused = 0

    def reply(self, request: ModelRequest) -> Mapping[str, Any]:
        if self.window is not None and size_of(request.transcript) > self.window:
            self.refused += 1
            return {"error": {"kind": "ContextTooLong", "message": f"at most {self.window} fit"}}
        self.asked.append(request)
        usage = {"input_tokens": size_of(request.transcript) // 4, "output_tokens": 10}
        if request.purpose == "summary":
            return {"usage": usage, **self.summary}
        if request.tool_choice == "none":
            return {"text": "summed up", "usage": usage}
        if request.turn > self.rounds:
            return {"text": "done", "usage": usage}
        return calls(call("read", page=request.turn), text="t" * self.talk, usage=usage)

    @property
    def turns(self) -> list[ModelRequest]:
        return [request for request in self.asked if request.purpose == "turn"]

    @property
    def summaries(self) -> list[ModelRequest]:
        return [request for request in self.asked if request.purpose == "summary"]

    def agent(self, name: str = "a", **options: Any) -> Agent:
        return Agent(name, Script(self.reply), tools=[read], limits=FREE, **options)


def cut_short(entries: list[Entry]) -> int:
    return sum(isinstance(entry, Result) and "left out to make room" in entry.content for entry in entries)


async def compactions(job: Job) -> list[Audit]:
    return [entry for entry in await job.audit() if entry.deed in ("compacted", "not_compacted")]


async def test_at_the_mark_old_results_are_cut_short_and_the_transcript_stays_whole(host: Host) -> None:
    model = Model(8)
    async with host(model.agent(compact_at=10_000)) as client:
        job = await client.start("a", "read all")
        outcome = await job.outcome()
        transcript, view, noted = await job.transcript(), await job.view(), await compactions(job)

    assert (outcome.status, outcome.answer, len(model.summaries)) == ("complete", "done", 0)
    assert kinds(transcript) == "M" + "TR" * 8 + "T"
    assert all(len(entry.content) > PAGE for entry in transcript if isinstance(entry, Result))
    assert [cut_short(list(request.transcript)) for request in model.turns] == [0] * 7 + [5, 5]
    assert view.epoch == len(noted) == 1
    assert noted[0].by is None
    assert noted[0].epoch is not None
    assert noted[0].text == (
        f"the model sees results before entry 11 by their beginnings: about {noted[0].epoch.before:,} →"
        f" {noted[0].epoch.after:,} tokens"
    )
    assert noted[0].epoch.before > 10_000 > noted[0].epoch.after


async def test_where_trimming_is_not_enough_the_model_sums_up_and_goes_on_from_that(host: Host) -> None:
    model = Model(40)
    async with host(model.agent(compact_at=8_000), cached=REMEMBERED) as client:
        job = await client.start("a", "read all, and mind the herons")
        outcome = await job.outcome()
        transcript, noted = await job.transcript(), await compactions(job)

    summarized = [entry for entry in noted if entry.summary]
    assert (outcome.status, outcome.answer) == ("complete", "done")
    assert kinds(transcript) == "M" + "TR" * 40 + "T"
    judge_transcript(transcript)
    assert len(summarized) == len(model.summaries) >= 1
    assert all(entry.summary == SUMMARY for entry in summarized)
    after = next(request for request in model.turns if request.turns_before)
    assert after.transcript[0] == Message(text="read all, and mind the herons")
    assert isinstance(after.transcript[1], Note)
    assert SUMMARY in after.transcript[1].text
    for request in model.asked:
        judge_transcript(request.transcript)
    assert outcome.usage.model_calls == len(model.asked)
    assert outcome.usage.input_tokens == sum(size_of(request.transcript) // 4 for request in model.asked)


async def test_the_summary_is_asked_for_with_the_tools_declared_and_forbidden(host: Host) -> None:
    model = Model(6, window=30_000)
    async with host(model.agent(instructions="Be kind.")) as client:
        job = await client.start("a", "read all")
        await job.outcome()
        await client.reply(job.id, "x" * 28_000)
        await job.outcome()

    asked = model.summaries[0]
    assert (asked.tool_choice, [each.name for each in asked.tools], asked.chains) == ("none", ["read"], False)
    assert asked.instructions == f"Be kind.\n\n{SUMMING_UP}"
    assert asked.transcript[-1] == Message(text=SUM_UP)
    judge_transcript(asked.transcript)


async def test_two_hundred_rounds_of_large_results_end_and_no_request_outgrows_the_mark(host: Host) -> None:
    model = Model(200)
    async with host(model.agent(compact_at=12_000), cached=REMEMBERED) as client:
        job = await client.start("a", "read all")
        outcome = await job.outcome()
        view = await job.view()

    assert (outcome.status, view.rounds, view.tool_calls) == ("complete", 200, 200)
    assert max(size_of(request.transcript) for request in model.asked) < 4 * 12_000
    assert 2 < len(model.summaries) < 30
    assert view.history_bytes < 200 * 6000


# --- by the provider's word


async def test_a_model_whose_window_nobody_knows_says_so_itself(host: Host) -> None:
    model = Model(6, window=20_000)
    async with host(model.agent()) as client:
        job = await client.start("a", "read all")
        outcome = await job.outcome()
        noted = await compactions(job)

    assert (outcome.status, outcome.answer, len(model.summaries)) == ("complete", "done", 0)
    assert (outcome.usage.failed_attempts, outcome.usage.unmeasured) == (0, 0)
    assert len(noted) == model.refused >= 1


async def test_what_does_not_fit_even_when_trimmed_is_summed_up(host: Host) -> None:
    model = Model(6, window=30_000, talk=4000)
    async with host(model.agent()) as client:
        job = await client.start("a", "read all")
        outcome = await job.outcome()
        noted = await compactions(job)

    assert (outcome.status, outcome.answer, len(model.summaries)) == ("complete", "done", 1)
    assert [entry.summary is not None for entry in noted] == [False, False, False, True, False]
    assert (outcome.usage.failed_attempts, outcome.usage.model_calls) == (0, 8)


async def test_a_message_that_is_too_large_by_itself_is_a_clear_error(host: Host) -> None:
    model = Model(2, window=10_000)
    async with host(model.agent()) as client:
        job = await client.start("a", "m" * 20_000)
        outcome = await job.outcome()

    assert (outcome.status, outcome.usage.model_calls) == ("model_failure", 0)
    assert outcome.error == (
        "ContextTooLong: at most 10000 fit; what can be cut short was, and about 6,707 tokens are left, the largest of"
        " it a person's message of 20,000 bytes: begin a new job with less of it, or take a model with a larger window"
    )


async def test_switched_off_the_providers_word_is_final(host: Host) -> None:
    model = Model(6, window=20_000)
    async with host(model.agent(compact_at=False)) as client:
        job = await client.start("a", "read all")
        outcome = await job.outcome()

    assert outcome.status == "model_failure"
    assert outcome.error == (
        "ContextTooLong: at most 20000 fit; nothing was cut short, since agent a has compact_at=0: take that out, or"
        " begin a new job"
    )
    assert (model.refused, model.summaries) == (1, [])


# --- when the summary fails


@pytest.mark.parametrize(
    ("summary", "why"),
    [
        ({"error": {"kind": "Rejected", "message": "not today"}}, "Rejected: not today"),
        ({"text": ""}, "the model's answer ended with end: it said nothing"),
        ({"text": "no", "stop": "refusal"}, "the model's answer ended with refusal: it said nothing"),
        (calls(call("read", page=1), text="first"), "the model's answer ended with tool_calls: first"),
        ({"text": "y" * 39_000}, "the summary has 39,0"),
    ],
    ids=["error", "empty", "refusal", "call", "long"],
)
async def test_without_a_summary_the_job_goes_on_with_what_it_has(
    host: Host, summary: Mapping[str, Any], why: str
) -> None:
    model = Model(30, summary=summary)
    async with host(model.agent(compact_at=7_000), cached=REMEMBERED) as client:
        job = await client.start("a", "read all")
        outcome = await job.outcome()
        noted = [entry for entry in await compactions(job) if entry.deed == "not_compacted"]
        view = await job.view()

    assert (outcome.status, outcome.answer) == ("complete", "done")
    assert noted
    assert all(
        entry.text and entry.text.startswith(f"what was said before could not be summed up: {why}") for entry in noted
    )
    assert view.rounds == 30


async def test_neither_summary_nor_room_ends_the_job_with_a_text_that_says_so(host: Host) -> None:
    model = Model(2, window=16_000, summary={"text": ""})
    async with host(model.agent()) as client:
        job = await client.start("a", "read")
        await job.outcome()
        await client.reply(job.id, "m" * 15_000)
        outcome = await job.outcome()
        noted = await compactions(job)

    assert outcome.status == "model_failure"
    assert outcome.error is not None
    assert outcome.error.startswith("ContextTooLong: at most 16000 fit; what can be cut short was, and about ")
    assert [entry.deed for entry in noted] == ["compacted", "not_compacted"]
    assert model.refused == 3  # whole, trimmed, and once more after the summary that failed


# --- limits and people


def crowded(model: Model, **options: Any) -> Agent:
    return model.agent(compact_at=7_000, **options)


async def test_a_limit_that_the_summary_reaches_closes_the_job(host: Host) -> None:
    model = Model(30, summary={"text": SUMMARY, "usage": {"input_tokens": 1_000_000}})
    async with host(crowded(model), cached=REMEMBERED) as client:
        job = await client.start("a", "read all", limits=Limits(rounds=None, tool_calls=None, tokens=900_000))
        outcome = await job.outcome()

    assert (outcome.status, outcome.answer) == ("hit_token_cap", "summed up")
    assert [request.purpose for request in model.asked[-2:]] == ["summary", "turn"]
    assert SUMMARY in str(model.asked[-1].transcript[1])


async def test_a_closing_call_is_trimmed_and_never_summed_up(host: Host) -> None:
    model = Model(30)
    async with host(model.agent(compact_at=5_000), cached=REMEMBERED) as client:
        job = await client.start("a", "read all", limits=Limits(rounds=3))
        outcome = await job.outcome()

    closing = model.asked[-1]
    assert (outcome.status, outcome.answer, closing.tool_choice) == ("hit_iteration_cap", "summed up", "none")
    assert model.summaries == []
    assert cut_short(list(closing.transcript)) >= 1


async def test_a_job_is_cancelled_while_it_is_summed_up_and_can_be_replied_to(host: Host) -> None:
    model = Model(9, window=30_000, talk=4000, summary={"text": SUMMARY, "seconds": 60})
    async with host(model.agent()) as client:
        job = await client.start("a", "read all")
        await until(lambda: _value(len(model.summaries)))
        await job.cancel()
        outcome = await job.outcome()
        model.summary = {"text": SUMMARY}
        model.rounds = 0
        await client.reply(job.id, "go on")
        again = await job.outcome()
        transcript = await job.transcript()

    assert (outcome.status, outcome.usage.failed_attempts) == ("cancelled", 1)
    assert (again.status, again.answer) == ("complete", "done")
    judge_transcript(transcript)


async def _value(value: int) -> int:
    return value


# --- over runs, jobs and workers


async def test_an_epoch_outlives_new_runs_and_a_reply(host: Host) -> None:
    model = Model(40)
    often = dataclasses.replace(QUICK, history_events=60)
    async with host(model.agent(compact_at=8_000), settings=often, cached=REMEMBERED) as client:
        job = await client.start("a", "read all")
        outcome = await job.outcome()
        before = await job.view()
        await client.reply(job.id, "and now?")
        again = await job.outcome()
        transcript, noted = await job.transcript(), await compactions(job)

    epochs = [entry.epoch for entry in noted if entry.epoch is not None]
    assert (outcome.status, again.status, again.answer) == ("complete", "complete", "done")
    assert kinds(transcript) == "M" + "TR" * 40 + "TMT"
    assert [epoch.number for epoch in epochs] == list(range(1, len(epochs) + 1))
    assert before.epoch >= 2
    assert model.turns[-1].turns_before > 0
    assert model.turns[-1].transcript[0] == Message(text="read all")
    assert model.turns[-1].transcript[-1] == Message(text="and now?")
    assert max(size_of(request.transcript) for request in model.asked) < 4 * 8_000


async def test_a_new_run_may_begin_between_a_summary_and_the_call_that_it_was_made_for(host: Host) -> None:
    model = Model(12, window=30_000, talk=4000)
    at_once = dataclasses.replace(QUICK, history_events=1)
    async with host(model.agent(), settings=at_once) as client:
        job = await client.start("a", "read all")
        outcome = await job.outcome()
        transcript, noted = await job.transcript(), await compactions(job)

    assert (outcome.status, outcome.answer) == ("complete", "done")
    assert kinds(transcript) == "M" + "TR" * 12 + "T"
    assert len(model.summaries) == sum(entry.summary is not None for entry in noted) >= 2
    assert outcome.usage.failed_attempts == 0


async def test_a_person_who_writes_during_the_summary_is_heard_in_the_next_call(host: Host) -> None:
    model = Model(6, window=30_000, talk=4000, summary={"text": SUMMARY, "seconds": 1})
    async with host(model.agent()) as client:
        job = await client.start("a", "read all")
        await until(lambda: _value(len(model.summaries)))
        await job.steer("quickly, please", by="ann")
        outcome = await job.outcome()

    after = next(request for request in model.turns if request.turns_before)
    assert outcome.status == "complete"
    assert after.transcript[-1] == Message(text="quickly, please", by="ann")


async def test_a_summary_that_fails_for_a_moment_is_tried_again_and_counted(host: Host) -> None:
    failing = {"error": {"kind": "Overloaded", "message": "full", "times": 2}, "text": SUMMARY}
    model = Model(6, window=30_000, talk=4000, summary=failing)
    async with host(model.agent()) as client:
        job = await client.start("a", "read all")
        outcome = await job.outcome()

    assert (outcome.status, outcome.answer) == ("complete", "done")
    assert (outcome.usage.failed_attempts, outcome.usage.unmeasured) == (2, 2)


async def test_what_is_too_long_even_to_be_summed_up_is_cut_to_fit(host: Host) -> None:
    model = Model(8, talk=4000)

    def shrinks(request: ModelRequest) -> Mapping[str, Any]:
        """As a model does that is stood in for by one with a smaller window."""
        model.window = 26_000 if request.turn > 8 else None
        return model.reply(request)

    async with host(Agent("a", Script(shrinks), tools=[read], limits=FREE)) as client:
        job = await client.start("a", "read all")
        outcome = await job.outcome()

    (summary,) = model.summaries
    assert (outcome.status, outcome.answer) == ("complete", "done")
    assert summary.transcript[0] == Message(text="read all")
    assert isinstance(summary.transcript[1], Note)
    assert "are left out: it is too long even to be summed up" in summary.transcript[1].text
    assert 10_000 < size_of(summary.transcript) < 26_000
    judge_transcript(summary.transcript)


async def test_a_fork_sees_what_was_seen_at_the_end_of_its_round(host: Host) -> None:
    model = Model(40)
    async with host(model.agent(compact_at=8_000), cached=REMEMBERED) as client:
        job = await client.start("a", "read all")
        await job.outcome()
        summarized = next(request.turn for request in model.turns if request.turns_before)
        model.rounds = 0
        views = [await _ended(await client.fork(job.id, 3, "tell"))]
        late = await client.fork(job.id, summarized, "tell")
        views.append(await _ended(late))
        transcript = await late.transcript()

    asked = model.turns[-2:]
    assert [request.turns_before > 0 for request in asked] == [False, True]
    assert SUMMARY in str(asked[1].transcript[1])
    assert [view.epoch == 0 for view in views] == [True, False]
    assert kinds(transcript) == "M" + "TR" * summarized + "MT"


async def _ended(job: Job) -> Any:
    await job.outcome()
    return await job.view()


async def test_a_worker_that_never_saw_the_job_sees_the_same_of_it(host: Host) -> None:
    model = Model(40)
    gate = asyncio.Event()
    reply = model.reply

    def held(request: ModelRequest) -> Mapping[str, Any]:
        if request.purpose == "turn" and request.turns_before and not gate.is_set():
            return {"text": "never", "seconds": 60}
        return reply(request)

    agent = Agent("a", Script(held), tools=[read], limits=FREE, compact_at=8_000)
    async with host(agent, cached=REMEMBERED) as client:
        job = await client.start("a", "read all")
        await until(lambda: _summarized(job))
    gate.set()
    async with host(agent, cached=REMEMBERED):
        outcome = await job.outcome()
        summaries = sum(entry.summary is not None for entry in await job.audit())

    after = next(request for request in model.turns if request.turns_before)
    assert outcome.status == "complete"
    assert SUMMARY in str(after.transcript[1])
    assert len(model.summaries) == summaries


async def _summarized(job: Job) -> bool:
    return any(entry.summary for entry in await job.audit())


async def test_references_to_results_that_the_model_no_longer_sees_whole_are_right(host: Host) -> None:
    model = Model(8)
    answer: Callable[[ModelRequest], Mapping[str, Any]] = model.reply

    def cites(request: ModelRequest) -> Mapping[str, Any]:
        given = dict(answer(request))
        return {**given, "text": "as page 1 says [#c1-1]"} if request.turn > 8 else given

    agent = Agent("a", Script(cites), tools=[read], limits=FREE, compact_at=10_000, cite=True)
    async with host(agent) as client:
        job = await client.start("a", "read all")
        outcome = await job.outcome()

    old = next(entry for entry in model.turns[-1].transcript if isinstance(entry, Result))
    assert (outcome.citations, outcome.citation_problem) == (["c1-1"], None)
    assert old.content.startswith("[#c1-1]\npage 1 ")
    assert len(old.content) < LONG_RESULT
