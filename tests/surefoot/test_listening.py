"""Watching a job from Python while its model speaks, on a real server."""

import asyncio
from typing import Any, cast

from temporalio.client import Client as Temporal

from activities.agents import Agent
from activities.models.speech import MOST_CHARS, Run, Speech
from activities.payloads import data_converter
from activities.providers.scripted import Script
from surefoot.glances import Glance
from surefoot.job import Job
from surefoot.listening import Listener, News, Recorded
from surefoot.saying import Forgotten, Look, Said
from tests.conftest import Host, hosts
from tests.waiting import until
from workflows.contracts import JobView, Turn

TEXT = "".join(f"{number} " for number in range(300))
SPOKEN = {"reasoning": "Let me count.", "text": TEXT, "stream_seconds": 2.5}


def speaker(reply: dict[str, Any], *more: dict[str, Any], **options: Any) -> Agent:
    return Agent("speaker", Script([reply, *more]), **options)


async def heard(job: Job) -> list[News]:
    return [each async for each in job.listen()]


def pieces(news: list[News], attempt: int) -> list[Said]:
    return [each for each in news if isinstance(each, Said) and each.attempt == attempt]


def joined(said: list[Said], kind: str) -> str:
    return "".join(each.text for each in said if each.kind == kind)


def turns(news: list[News]) -> list[Turn]:
    return [each.entry for each in news if isinstance(each, Recorded) and isinstance(each.entry, Turn)]


async def kinds(job: Job) -> list[int]:
    """The types of the events in the job's history."""
    return [event.event_type for event in (await job.handle().fetch_history()).events]


class Watched(Job):
    """A job in which nothing is recorded while a model is asked."""

    def __init__(self, look: Look) -> None:
        super().__init__(cast(Temporal, None), "job-1")
        self.looks = look

    async def glance(self) -> Glance:
        return Glance("mark", self.looks)

    async def view(self) -> JobView:
        return JobView(job="job-1", agent="speaker", state="running")


async def pauses(look: Look, *, live: bool) -> list[float]:
    """How long a listener waits after each of its first looks."""
    listener, job = Listener(live=live), Watched(look)
    waited: list[float] = []
    for _ in range(8):
        async for _ in listener.news(job):
            pass
        waited.append(round(listener.pause, 2))
    return waited


SPEAKS = Look("run 5", 1, Speech(turn=1, attempt=1, runs=[Run(kind="text", offset=0, text="Hello")]))
EVER_LESS_OFTEN = [0.2, 0.3, 0.45, 0.68, 1.0, 1.0, 1.0, 1.0]


async def test_the_server_is_asked_often_only_while_a_model_speaks_to_somebody_who_listens() -> None:
    assert await pauses(SPEAKS, live=True) == [0.3] * 8
    assert await pauses(SPEAKS, live=False) == EVER_LESS_OFTEN
    assert await pauses(Look("run 5", 1), live=True) == EVER_LESS_OFTEN


async def test_pieces_come_in_order_and_are_the_beginning_of_the_turn(host: Host) -> None:
    async with host(speaker(SPOKEN)) as client:
        news = await heard(await client.start("speaker", "go"))

    said = pieces(news, 1)
    assert len(said) > 1
    assert [each.offset for each in said] == [0, *(each.end for each in said[:-1])]
    assert joined(said, "reasoning") == "Let me count."
    assert TEXT.startswith(joined(said, "text"))
    assert [each.number for each in turns(news)] == [each.turn for each in said[:1]] == [1]
    assert turns(news)[0].text == TEXT
    assert isinstance(news[-1], JobView)
    assert not [each for each in news if isinstance(each, Forgotten)]


async def test_what_comes_before_a_pause_is_seen_whole(host: Host) -> None:
    async with host(speaker({"text": "abcdef", "stream_seconds": 4, "pieces": 2})) as client:
        job = await client.start("speaker", "go")
        said: list[Said] = []
        async for each in job.listen():
            said += [each] if isinstance(each, Said) else []

    assert joined(said, "text") == "abcdef"


async def test_a_call_that_begins_is_told_by_its_name(host: Host) -> None:
    spoken = {"text": "Looking.", "calls": [{"tool": "find", "arguments": {}}], "stream_seconds": 3, "pieces": 1}
    async with host(speaker(spoken, {"text": "There is no such tool."})) as client:
        news = await heard(await client.start("speaker", "go"))

    assert [(each.kind, each.text) for each in pieces(news, 1)] == [("text", "Looking."), ("call", "find")]


async def test_an_attempt_that_fails_in_the_middle_is_forgotten_and_the_next_one_heard_anew(host: Host) -> None:
    cut = {"kind": "Overloaded", "message": "cut", "times": 1, "after": 20}
    async with host(speaker({**SPOKEN, "error": cut})) as client:
        news = await heard(await client.start("speaker", "go"))

    told = [each for each in news if isinstance(each, Said | Forgotten)]
    place = told.index(Forgotten(turn=1, attempt=1))
    assert {each.attempt for each in told[:place]} == {1}
    assert {each.attempt for each in told[place + 1 :]} == {2}
    assert TEXT.startswith(joined(pieces(news, 2), "text"))
    assert pieces(news, 2)[0].offset == 0
    assert turns(news)[0].attempts == 2


async def test_history_is_the_same_with_and_without_streaming(host: Host) -> None:
    async with host(speaker(SPOKEN), Agent("still", Script([SPOKEN]), stream=False)) as client:
        spoken, still = await client.start("speaker", "go"), await client.start("still", "go")
        # The server alone is asked: a query that comes early may cost a workflow task.
        await until(spoken.glance, lambda seen: bool(seen.look and seen.look.speech))
        silent = await still.glance()
        await asyncio.gather(spoken.outcome(), still.outcome())

        assert silent.look is not None
        assert silent.look.speech is None
        assert await kinds(spoken) == await kinds(still)


async def test_a_job_that_nobody_watches_ends_as_ever(host: Host) -> None:
    async with host(speaker(SPOKEN)) as client:
        outcome = await (await client.start("speaker", "go")).outcome()

    assert (outcome.status, outcome.answer) == ("complete", TEXT)


async def test_a_megabyte_with_odd_characters_is_heard_by_its_end(host: Host) -> None:
    text = "\x00\ue000😀x" * 250_000
    async with host(speaker({"text": text, "stream_seconds": 2, "pieces": 10})) as client:
        news = await heard(await client.start("speaker", "go"))

    said = pieces(news, 1)
    assert turns(news)[0].text == text
    assert max(len(each.text) for each in said) == MOST_CHARS
    assert all(text[each.offset : each.end] == each.text for each in said)


async def test_half_a_pair_of_surrogates_in_a_script_disturbs_nobody(host: Host) -> None:
    def reply(request: object) -> dict[str, Any]:
        live = getattr(request, "live", None)
        live.say("text", "a\ud83d")  # type: ignore[union-attr]
        return {"text": "whole", "seconds": 1.5}

    async with host(Agent("speaker", Script(reply))) as client:
        news = await heard(await client.start("speaker", "go"))

    assert turns(news)[0].text == "whole"
    assert joined(pieces(news, 1), "text") == "a"


async def test_with_a_key_nobody_else_reads_what_is_said(
    temporal: Temporal, tmp_path: Any, request: Any, monkeypatch: Any
) -> None:
    converter = data_converter({"SUREFOOT_ENCRYPTION_KEYS": "k1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="})
    sealed = await Temporal.connect(temporal.service_client.config.target_host, data_converter=converter)
    secret = {"text": "the secret " * 40, "stream_seconds": 2}
    raw: list[bytes] = []
    async with hosts(sealed, request.node.name, tmp_path)(speaker(secret)) as client:
        job = await client.start("speaker", "go")
        said: list[Said] = []
        async for each in job.listen():
            said += [each] if isinstance(each, Said) else []
            description = await job.handle().describe()
            for pending in description.raw_description.pending_activities:
                raw += [payload.SerializeToString() for payload in pending.heartbeat_details.payloads]

    assert joined(said, "text").startswith("the secret the secret ")
    assert len(raw) >= 2
    assert all(b"binary/surefoot-aesgcm" in each and b"secret" not in each for each in raw)
