"""A stream of events while a model speaks: pieces without ids, what is void, and silence for those who want that."""

from typing import Any

from activities.agents import Agent
from activities.providers.scripted import Script
from surefoot.client import Client
from surefoot.http.documents import document
from tests.conftest import Host
from tests.http.test_serving import Event, events_of, served
from tests.workflows.gated import ended

TEXT = "".join(f"{number} " for number in range(300))
SPOKEN: dict[str, Any] = {"text": TEXT, "stream_seconds": 2.5}
CUT = {"kind": "Overloaded", "message": "cut", "times": 1, "after": 30}


async def streamed(client: Client, agent: str, **query: str) -> list[Event]:
    """The events of a new job."""
    job = await client.start(agent, "go")
    async with (
        served(client) as (_, _, asked),
        asked.stream("GET", f"/api/v1/jobs/{job.id}/events", params=query) as answer,
    ):
        return [event async for event in events_of(answer)]


def deltas(events: list[Event], attempt: int) -> list[dict[str, Any]]:
    return [event.data for event in events if event.kind == "delta" and event.data["attempt"] == attempt]


async def test_pieces_of_an_answer_come_before_its_entry_and_have_no_id(host: Host) -> None:
    async with host(Agent("speaker", Script([SPOKEN]))) as client:
        events = await streamed(client, "speaker")

    kinds = [event.kind for event in events]
    said = deltas(events, 1)
    turn = next(event for event in events if event.kind == "entry" and event.data["entry"]["kind"] == "turn")
    assert len(said) > 1
    assert TEXT.startswith("".join(each["text"] for each in said))
    assert set(said[0]) == {"turn", "attempt", "kind", "offset", "text"}
    assert {event.id for event in events if event.kind == "delta"} == {None}
    assert events.index(turn) > max(place for place, kind in enumerate(kinds) if kind == "delta")
    assert (turn.data["entry"]["number"], said[0]["turn"]) == (1, 1)
    assert kinds[-1] == "end"


async def test_an_attempt_that_failed_is_to_be_forgotten_before_the_next_one_is_heard(host: Host) -> None:
    async with host(Agent("speaker", Script([{**SPOKEN, "error": CUT}]))) as client:
        events = await streamed(client, "speaker")

    told = [(event.kind, event.data["attempt"]) for event in events if event.kind in ("delta", "forget")]
    place = told.index(("forget", 1))
    assert set(told[:place]) == {("delta", 1)}
    assert set(told[place + 1 :]) == {("delta", 2)}
    assert deltas(events, 2)[0]["offset"] == 0


async def test_who_wants_no_pieces_gets_none(host: Host) -> None:
    async with host(Agent("speaker", Script([SPOKEN]))) as client:
        events = await streamed(client, "speaker", live="false")

    assert {event.kind for event in events} == {"entry", "job", "end"}


async def test_a_reader_that_comes_back_goes_on_behind_entries_and_hears_what_is_being_said(host: Host) -> None:
    async with host(Agent("speaker", Script([SPOKEN]))) as client, served(client) as (_, _, asked):
        job = await client.start("speaker", "go")
        headers = {"Last-Event-ID": "0"}
        async with asked.stream("GET", f"/api/v1/jobs/{job.id}/events", headers=headers) as answer:
            events = [event async for event in events_of(answer)]
        await ended(job)

    assert [event.id for event in events if event.kind == "entry"] == ["1"]
    assert deltas(events, 1)[0]["offset"] == 0


async def test_the_document_tells_of_the_pieces_and_how_to_do_without(host: Host) -> None:
    async with host(Agent("speaker", Script([SPOKEN]))) as client, served(client) as (app, _, _):
        described = document(app)["paths"]["/api/v1/jobs/{job}/events"]["get"]

    assert "`delta`" in described["description"]
    assert "`forget`" in described["description"]
    assert [each["schema"]["default"] for each in described["parameters"] if each["name"] == "live"] == [True]
