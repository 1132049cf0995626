"""What a transcript costs: history grows with what is said and nothing else, and no size of it stops a job."""

import asyncio
import base64
import random
import re
from collections.abc import Sequence

import pytest

from activities.agents import Agent
from activities.apps import App
from activities.mcp.servers import McpServers
from activities.models.opening import CallOpener
from activities.tools.tool import tool
from activities.transcripts import Transcripts
from surefoot.client import Client
from surefoot.inbox import InboxItem
from tests.conftest import Host
from tests.judge_transcript import judge_transcript
from tests.waiting import until
from tests.workflows.scripting import call, calls, kinds, look_up, looks, watched
from workflows.contracts import CallModel, Entry, Limits, Result

FREE = Limits(rounds=None, tool_calls=None)
REMEMBERED = 1000
"""A worker that forgets each job replays all of it at every step: with hundreds of rounds that takes minutes."""

WORDS = re.findall(
    r"\w+",
    "the pump of the second line was replaced in march after its seal had leaked for weeks and pressure fell below what"
    " operators call safe so that output went down by a tenth until a spare part came from abroad and two engineers"
    " spent four nights to fit it while others watched gauges valves temperatures and wrote each number down by hand"
    " because nobody trusted sensors any more which had shown nothing wrong",
)


def prose(seed: int, length: int) -> str:
    """Text as tools return it: no two are alike, and it compresses as text does."""
    chosen = random.Random(seed)
    text = ""
    while len(text) < length:
        text += f"{chosen.choice(WORDS)} " if chosen.random() < 0.9 else f"{chosen.randrange(10**6)}. "
    return text[:length]


def noise(seed: int, length: int) -> str:
    """Text that hardly compresses."""
    return base64.b64encode(random.Random(seed).randbytes(length)).decode()[:length]


@tool(read_only=True, max_output_chars=300_000)
async def read(seed: int, length: int) -> str:
    """Read a page."""
    return prose(seed, length)


@tool(read_only=True, max_output_chars=300_000)
async def dump(seed: int, length: int) -> str:
    """Read something that hardly compresses."""
    return noise(seed, length)


def pages(rounds: int, length: int) -> list[dict[str, object]]:
    return [calls(call("read", seed=n, length=length)) for n in range(rounds)]


async def test_history_grows_by_the_same_few_bytes_each_round(host: Host) -> None:
    agents = [
        Agent(f"a{rounds}", watched(*pages(rounds, 2000), {"text": "done"})[0], tools=[read], limits=FREE)
        for rounds in (20, 60, 200)
    ]
    async with host(*agents, cached=REMEMBERED) as client:
        jobs = [await client.start(agent.name, "read them all") for agent in agents]
        outcomes = await asyncio.gather(*(job.outcome() for job in jobs))
        views = [await job.view() for job in jobs]

    first, second, third = (view.history_bytes for view in views)
    early, late = (second - first) / 40, (third - second) / 140
    assert [outcome.status for outcome in outcomes] == ["complete"] * 3
    assert [view.rounds for view in views] == [20, 60, 200]
    assert early <= 6000
    assert late == pytest.approx(early, rel=0.1)


async def test_a_hundred_rounds_of_large_results_on_a_transcript_of_200k_tokens_end(host: Host) -> None:
    script, asked = watched(*pages(100, 5000), {"text": "done"})
    async with host(Agent("a", script, tools=[read], limits=FREE), cached=REMEMBERED) as client:
        job = await client.start("a", prose(7, 300_000))
        outcome = await job.outcome()
        view = await job.view()

    assert (outcome.status, outcome.usage.tool_calls) == ("complete", 100)
    assert sum(len(entry.model_dump_json()) for entry in asked[-1].transcript) > 800_000
    assert view.history_bytes < 2_000_000


async def test_thirty_parallel_reads_of_40_kb_come_back_in_order(host: Host) -> None:
    made = [call("dump", seed=n, length=40_000) for n in range(30)]
    script, asked = watched(calls(*made), {"text": "done"})
    async with host(Agent("a", script, tools=[dump])) as client:
        job = await client.start("a", "go")
        outcome = await job.outcome()
        transcript = await job.transcript()

    assert outcome.status == "complete"
    assert [e.content for e in transcript if isinstance(e, Result)] == [noise(n, 40_000) for n in range(30)]
    assert list(asked[1].transcript) == transcript[:-1]


# --- reading it again


class Forgetful(Transcripts):
    """Keeps next to nothing, as a worker does that has just started."""

    async def read(self, client, job, run_id, request):  # type: ignore[no-untyped-def]
        self._copies.clear()
        self._bytes = 0
        return await super().read(client, job, run_id, request)


@pytest.fixture
def cold(monkeypatch: pytest.MonkeyPatch) -> list[Transcripts]:
    """Workers whose every model call begins with an empty cache, and their caches."""
    made: list[Transcripts] = []
    initialise = CallOpener.__init__

    def forget(self: CallOpener, app: App, servers: McpServers, _: Transcripts) -> None:
        made.append(Forgetful())
        initialise(self, app, servers, made[-1])

    monkeypatch.setattr(CallOpener, "__init__", forget)
    return made


def same(asked: Sequence[Entry], transcript: Sequence[Entry]) -> bool:
    return list(asked) == list(transcript)


async def test_a_cold_worker_reads_the_transcript_from_the_job(host: Host, cold: list[Transcripts]) -> None:
    script, asked = watched(looks("a"), looks("b", "c"), {"text": "done"})
    async with host(Agent("a", script, tools=[look_up])) as client:
        job = await client.start("a", "go")
        await job.outcome()
        await client.reply(job.id, "go on")
        outcome = await job.outcome()
        transcript = await job.transcript()

    assert outcome.status == "complete"
    assert kinds(transcript) == "MTRTRRTMT"
    assert [len(request.transcript) for request in asked] == [1, 3, 6, 8]
    assert all(same(request.transcript, transcript[: len(request.transcript)]) for request in asked)
    # The first call was handed everything; each later one had to ask, in the reply for both runs.
    assert cold[0].misses == 3


async def test_a_cold_worker_reads_a_transcript_larger_than_one_answer_may_be(
    host: Host, cold: list[Transcripts]
) -> None:
    sizes = [calls(*(call("dump", seed=n * 5 + k, length=300_000) for k in range(5))) for n in range(4)]
    script, asked = watched(*sizes, {"text": "done"})
    async with host(Agent("a", script, tools=[dump])) as client:
        job = await client.start("a", "go")
        outcome = await job.outcome()
        transcript = await job.transcript()

    assert (outcome.status, outcome.usage.tool_calls) == ("complete", 20)
    assert sum(len(entry.content) for entry in transcript if isinstance(entry, Result)) == 20 * 300_000
    assert same(asked[-1].transcript, transcript[:-1])


async def test_entries_too_large_to_be_handed_over_are_asked_for(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    requests: list[CallModel] = []
    ask = Transcripts.read

    async def seen(self, client, job, run_id, request):  # type: ignore[no-untyped-def]
        requests.append(request)
        return await ask(self, client, job, run_id, request)

    monkeypatch.setattr(Transcripts, "read", seen)
    script, asked = watched(
        calls(*(call("dump", seed=n, length=300_000) for n in range(4))), looks("a"), {"text": "done"}
    )
    async with host(Agent("a", script, tools=[dump, look_up])) as client:
        job = await client.start("a", "go")
        await job.outcome()
        transcript = await job.transcript()

    assert [(request.base, request.new is None, request.length) for request in requests] == [
        (0, False, 1), (1, True, 6), (6, False, 8),
    ]  # fmt: skip
    assert same(asked[-1].transcript, transcript[:-1])


# --- extremes


async def test_a_turn_of_more_than_a_megabyte_passes(host: Host) -> None:
    text = noise(1, 1_300_000)
    script, asked = watched(looks("a") | {"text": text}, {"text": "done"})
    async with host(Agent("a", script, tools=[look_up])) as client:
        job = await client.start("a", "go")
        outcome = await job.outcome()
        transcript = await job.transcript()

    assert outcome.status == "complete"
    assert asked[1].transcript[1] == transcript[1]
    assert transcript[1].kind == "turn"
    assert transcript[1].text == text


async def test_a_final_answer_of_more_than_a_megabyte_is_cut_in_the_outcome_and_whole_in_the_transcript(
    host: Host,
) -> None:
    text = noise(2, 1_300_000)
    script, _ = watched({"text": text})
    async with host(Agent("a", script)) as client:
        job = await client.start("a", "go")
        outcome = await job.outcome()
        transcript = await job.transcript()

    assert outcome.answer == text[:500_000] + "\n[… 800000 more characters: see the transcript]"
    assert transcript[1].kind == "turn"
    assert transcript[1].text == text


@pytest.mark.parametrize("calls_made", [0, 1])
async def test_a_turn_too_large_for_history_ends_the_job_with_a_clear_error(host: Host, calls_made: int) -> None:
    script, asked = watched(looks(*"a"[:calls_made]) | {"text": noise(3, 3_000_000)})
    async with host(Agent("a", script, tools=[look_up])) as client:
        job = await client.start("a", "go")
        outcome = await job.outcome()

    assert (outcome.status, len(asked)) == ("model_failure", 1)
    assert "TooLarge" in (outcome.error or "")


async def test_reads_with_large_arguments_side_by_side_pass(host: Host) -> None:
    """What one workflow task sends is bounded as a whole; alike arguments take little room in the turn itself."""
    text = noise(6, 1_400_000)
    script, _ = watched(calls(*(call("measure", text=text) for _ in range(5))), {"text": "done"})
    async with host(Agent("a", script, tools=[measure])) as client:
        job = await client.start("a", "go")
        outcome = await job.outcome()
        transcript = await job.transcript()

    assert outcome.status == "complete"
    assert [entry.content for entry in transcript if isinstance(entry, Result)] == ["1400000"] * 5


async def test_writes_with_large_arguments_side_by_side_wait_for_people(host: Host) -> None:
    text = noise(7, 700_000)
    script, _ = watched(calls(*(call("store", text=text) for _ in range(8))), {"text": "done"})
    async with host(Agent("a", script, tools=[store])) as client:
        job = await client.start("a", "go")
        await until(job.view, lambda seen: seen.state == "waiting")
        inbox = await until(lambda: _items(client, job.id), lambda items: all(item.preview for item in items))
        for item in inbox:
            await job.approve(item.call, digest=item.digest, by="ann")
        outcome = await job.outcome()

    assert [item.preview for item in inbox] == ["stores 700000"] * 2 + [
        "(no preview: the arguments of this turn are too large)"
    ] * 6
    assert outcome.status == "complete"


async def _items(client: Client, job: str) -> list[InboxItem]:
    return [item for item in await client.inbox() if item.job == job]


@tool(preview=lambda text: f"stores {len(text)}")
async def store(text: str) -> int:
    """Store a text."""
    return len(text)


@tool(read_only=True)
async def measure(text: str) -> int:
    """Say how long a text is."""
    return len(text)


async def test_a_message_of_a_megabyte_passes_and_so_does_one_to_a_running_job(host: Host) -> None:
    script, asked = watched({"text": "first", "seconds": 0.5}, {"text": "done"})
    large, larger = noise(4, 1_000_000), noise(5, 1_000_000)
    async with host(Agent("a", script)) as client:
        job = await client.start("a", large)
        await until(lambda: _count(asked))
        await job.steer(larger)
        outcome = await job.outcome()
        transcript = await job.transcript()

    assert outcome.status == "complete"
    assert [entry.text for entry in transcript if entry.kind == "message"] == [large, larger]
    assert same(asked[1].transcript, transcript[:-1])


async def test_of_messages_that_wait_together_only_as_many_bytes_are_kept_as_can_be_carried(host: Host) -> None:
    script, asked = watched({"text": "first", "seconds": 0.5}, {"text": "done"})
    large = "ä" * 300_000
    async with host(Agent("a", script)) as client:
        job = await client.start("a", "go")
        await until(lambda: _count(asked))
        await job.steer(large)
        await job.steer(large)
        await job.steer("the last")
        outcome = await job.outcome()
        transcript = await job.transcript()

    assert outcome.status == "complete"
    assert [entry.text for entry in transcript if entry.kind == "message"] == ["go", large, "the last"]


async def _count(asked: Sequence[object]) -> int:
    return len(asked)


ODD = ["a\0b", "😀🏳️‍🌈", "\u2028\u2029\ufeff\u202e", "\\ud800 \\u0000", '"}]\n\r\t\x1b[31m', "x" * 100_000 + "\0"]


@pytest.mark.parametrize("text", ODD, ids=range(len(ODD)))
async def test_odd_text_passes_unchanged_through_everything(host: Host, text: str) -> None:
    script, asked = watched(calls(call("echo", text=text), text=text), {"text": text})
    async with host(Agent("a", script, tools=[echo])) as client:
        job = await client.start("a", text)
        outcome = await job.outcome()
        transcript = await job.transcript()

    judge_transcript(transcript)
    assert outcome.answer == text
    assert outcome.findings[0].content == text[:4000] + (
        "" if len(text) <= 4000 else outcome.findings[0].content[4000:]
    )
    assert [entry.text if entry.kind != "result" else entry.content for entry in transcript] == [text] * 4
    assert transcript[1].kind == "turn"
    assert transcript[1].calls[0].arguments == {"text": text}
    assert same(asked[1].transcript, transcript[:-1])


@tool(read_only=True, max_output_chars=200_000)
async def echo(text: str) -> str:
    """Give back what came."""
    return text
