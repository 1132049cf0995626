"""The turn in the making on a job's page: it grows by itself, is text and nothing else, and becomes the turn."""

import os
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Page

from activities.agents import Agent
from activities.models.speech import Run, Speech
from activities.providers.scripted import Script
from surefoot.console.rendering import job_url, saying_url
from surefoot.console.saying import making
from surefoot.http.access import Access
from surefoot.saying import Look, Said
from tests.conftest import Host
from tests.console.conftest import PHONE, Serve
from tests.http.conftest import asking
from tests.waiting import until

SCREENS = os.environ.get("SUREFOOT_SCREENSHOTS")
MARKUP = "<img src=x onerror=alert(1)><script>alert(2)</script> & so on. "
TEXT = MARKUP + "".join(f"word{number} " for number in range(200))
SPOKEN = {"reasoning": "Let me think about it.", "text": TEXT, "stream_seconds": 8}


def look(end: int, *, attempt: int = 1, offset: int = 0) -> Look:
    run = Run(kind="text", offset=offset, text="abcdefghij"[offset:end])
    return Look("run 5", attempt, Speech(turn=1, attempt=attempt, runs=[run]))


def told(found: object) -> list[str]:
    return [each.text for each in getattr(found, "said", []) if isinstance(each, Said)]


def test_a_browser_is_told_what_it_has_not_heard() -> None:
    first = making(look(4))
    more = making(look(6), "run 5", 1, 4)
    nothing = making(look(6), "run 5", 1, 6)

    assert [(told(each), each and each.end) for each in (first, more, nothing)] == [(["abcd"], 4), (["ef"], 6), ([], 6)]


def test_a_browser_that_heard_another_attempt_or_call_is_told_all() -> None:
    assert told(making(look(3, attempt=2), "run 5", 1, 9)) == ["abc"]
    assert told(making(look(3), "run 1", 1, 9)) == ["abc"]


def test_a_gap_is_shown_where_the_beginning_is_not_known_any_more() -> None:
    found = making(look(9, offset=5), "run 5", 1, 2)

    assert found is not None
    assert (found.has_gap, told(found)) == (True, ["fghi"])
    assert making(None) is None


@pytest.mark.parametrize("wide", [True, False], ids=["desktop", "phone"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_the_answer_grows_on_the_page_and_becomes_the_turn(
    host: Host, serve: Serve, wide: bool, scheme: str
) -> None:
    options: dict[str, Any] = {"color_scheme": scheme, **({} if wide else {"viewport": PHONE})}
    async with host(Agent("speaker", Script([SPOKEN]))) as client, serve(client) as console:
        job = await client.start("speaker", "go")
        async with console.tab(job_url(job.id), **options) as tab:
            await tab.says("word20 ", ".making")
            first = await tab.text(".making .text")
            await tab.page.evaluate("document.querySelector('.making').dataset.mine = 'same'")
            await until(lambda: tab.text(".making .text"), lambda seen: len(seen) > len(first), seconds=20)
            whole = await tab.text(".making .text")
            kept = await tab.count(".making[data-mine=same]")
            await _screenshot(tab.page, f"saying-{'wide' if wide else 'phone'}-{scheme}")
            scrolls = await tab.page.evaluate("document.documentElement.scrollWidth > innerWidth")
            reasoning = await tab.text(".making .reasoning")
            images = await tab.count(".making img, .making script")
            await tab.says("word0 word1 word2", ".timeline .words")
            await tab.counts(".making", 0)
            turns = await tab.count(".timeline .round")

    assert (reasoning, images, kept, scrolls, turns) == ("Let me think about it.", 0, 1, False, 1)
    assert whole.startswith(MARKUP)
    assert TEXT.startswith(whole.rstrip())


async def _screenshot(page: Page, name: str) -> None:
    if SCREENS:
        await page.screenshot(path=Path(SCREENS) / f"{name}.png", full_page=True)


async def test_an_attempt_that_fails_gives_way_to_the_next_one(host: Host, serve: Serve) -> None:
    cut = {"kind": "Overloaded", "message": "cut", "times": 1, "after": 80}
    script = Script([{"text": TEXT, "stream_seconds": 8, "error": cut}])
    async with host(Agent("speaker", script)) as client, serve(client) as console:
        job = await client.start("speaker", "go")
        async with console.tab(job_url(job.id)) as tab:
            await tab.says("word20 ", ".making")
            await tab.says("attempt 2", ".making")
            again = await tab.text(".making .text")
            await tab.says(MARKUP.strip(), ".making .text")
            await tab.counts(".making", 0)

    assert "word40 " not in again


async def test_a_page_without_scripts_shows_what_is_known_when_it_is_opened(host: Host, serve: Serve) -> None:
    async with host(Agent("speaker", Script([SPOKEN]))) as client, serve(client) as console:
        job = await client.start("speaker", "go")
        await until(job.glance, lambda seen: bool(seen.look and seen.look.speech))
        async with console.tab(job_url(job.id), java_script_enabled=False) as tab:
            shown = await tab.text(".making")
            await tab.open(job_url(job.id, show="audit"))
            elsewhere = await tab.count(".making")
        async with asking(client, Access.open("ann", [])) as asked:
            part = await asked.get(saying_url(job.id))
            await job.cancel(by="ann")
            await until(job.has_ended)
            over = await asked.get(saying_url(job.id))

    assert "Turn 1" in shown
    assert elsewhere == 0
    assert "<img" not in part.text
    assert "&lt;img" in part.text
    assert (part.status_code, over.status_code) == (200, 204)
