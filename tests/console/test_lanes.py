"""Lanes in the browser: what waits in one, and holding it."""

import pytest

from activities.agents import Agent
from tests.batch_apis import stand_in
from tests.batches.lanes import TERMS, ended, running
from tests.conftest import Host
from tests.console.conftest import PHONE, Serve
from tests.console.desk import HOSTILE
from tests.waiting import until


async def test_a_lane_is_held_and_let_go_on_from_its_page(
    host: Host, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with stand_in("openai") as server:
        for name, value in server.settings.items():
            monkeypatch.setenv(name, value)
        terms = TERMS.model_copy(update={"quiet": 10.0, "longest_look": 10.0})
        worker = Agent("worker", server.model)
        async with (
            running(host, server, worker, terms=terms) as run,
            serve(run.client) as console,
            console.tab("/batches", viewport=PHONE) as tab,
        ):
            await tab.page.click("text=Lanes")
            await tab.says("No lanes yet")
            batch = await run.submit("in-the-browser", 2)
            await until(run.lane, lambda lane: len(lane.lines) == 2)
            await tab.says("2 collected, 0 at the provider in 0 batches", ".jobs")
            await tab.page.click("summary:text-is('Pause…')")
            await tab.page.fill("input[name=reason]", HOSTILE)
            await tab.page.click("button:text-is('Pause')")
            await tab.says("<script>", ".warn")
            state = await tab.text(".jobs .state")
            pwned = await tab.page.evaluate("window.pwned")
            wide = await tab.page.evaluate("document.documentElement.scrollWidth - innerWidth")
            await tab.page.click("button:text-is('Resume')")
            await tab.says("open", ".jobs .state")
            await ended(batch)
            await tab.says("2 answers", ".jobs")

    assert (state.strip(), pwned, wide) == ("held", None, 0)
