"""Pages that update themselves, and keys: neither gets into the way of a person who is at work."""

from surefoot.console.rendering import job_url
from tests.conftest import Host
from tests.console.conftest import PHONE, Serve, Tab
from tests.console.desk import Desk, agent, asked, call
from tests.waiting import until
from tests.workflows.gated import ended, recorded, waiting

FOCUSED = "document.activeElement.closest('article.call')?.getAttribute('aria-label') ?? ''"


async def focused(tab: Tab) -> str:
    """The agent of the call that has the focus."""
    label: str = await tab.page.evaluate(FOCUSED)
    return label.removeprefix("refund in ").partition("-")[0]


async def top_of_focused(tab: Tab) -> float:
    top: float = await tab.page.evaluate("document.activeElement.getBoundingClientRect().top")
    return top


async def test_keys_walk_through_the_calls_and_decide_on_the_one_in_focus(host: Host, serve: Serve) -> None:
    desk = Desk()
    agents = [agent(name, [call("refund", order=name, amount=1.0)], tools=[desk.refund()]) for name in "abcd"]
    async with host(*agents) as client:
        jobs = [await asked(client, name) for name in "abcd"]
        async with serve(client) as console, console.tab("/inbox") as tab:
            walked = []
            for key in "jjkk":
                await tab.page.keyboard.press(key)
                walked.append(await focused(tab))
            await tab.page.keyboard.press("j")
            await tab.page.keyboard.press("a")
            await tab.says("Performed", ".became")
            after = await focused(tab)
            await tab.page.keyboard.press("d")
            await tab.page.keyboard.type("jade? no")
            typed = await tab.page.input_value("article.call:focus-within details[open] textarea")
            await tab.page.keyboard.press("Escape")
            await tab.page.keyboard.press("j")
            await tab.page.keyboard.press("e")
            await tab.page.wait_for_url("**/inbox/edit?**")
            edited = await tab.text("h1, .meta")
        for job in jobs[2:]:
            await job.cancel(by="ann")

    assert walked == ["a", "b", "a", "a"]
    assert (after, typed) == ("c", "jade? no")
    assert jobs[3].id in edited
    assert desk.done == ["b 1 EUR"]


async def test_before_a_call_is_chosen_no_key_decides(host: Host, serve: Serve) -> None:
    desk = Desk()
    async with host(agent("a", [call("refund", order="a", amount=1.0)], tools=[desk.refund()])) as client:
        job = await asked(client, "a")
        async with serve(client) as console, console.tab("/inbox") as tab:
            for key in ("a", "d", "e", "Control+a", "?"):
                await tab.page.keyboard.press(key)
            helps = await tab.page.locator("#help").is_visible()
            await tab.page.keyboard.press("a")
            await tab.page.keyboard.press("Escape")
            hidden = await tab.page.locator("#help").is_hidden()
            pending = len((await job.view()).pending)
        await job.cancel(by="ann")

    assert (helps, hidden, pending, desk.done) == (True, True, 1, [])


async def test_what_comes_and_goes_leaves_alone_what_is_being_typed(host: Host, serve: Serve) -> None:
    desk = Desk()
    agents = [agent(name, [call("refund", order=name, amount=1.0)], tools=[desk.refund()]) for name in "abc"]
    async with host(*agents) as client:
        first, second = [await asked(client, name) for name in "ab"]
        async with serve(client) as console, console.tab("/inbox", viewport=PHONE) as tab:
            for key in "jjd":
                await tab.page.keyboard.press(key)
            await tab.page.keyboard.type("over the")
            before = await top_of_focused(tab)
            third = await asked(client, "c")
            (gone,) = (await first.view()).pending
            await first.deny(gone.call, digest=gone.digest, by="bob")
            await tab.says(third.id, "#cards")
            await tab.counts("#cards > section.card:not(.gone)", 2)
            moved = abs(await top_of_focused(tab) - before)
            await tab.page.keyboard.type(" budget")
            typed = await tab.page.input_value("details[open] textarea")
        for job in (second, third):
            await job.cancel(by="ann")

    assert typed == "over the budget"
    assert moved < 2


async def test_a_call_that_somebody_else_decides_stays_while_a_reason_is_typed_for_it(host: Host, serve: Serve) -> None:
    desk = Desk()
    async with host(agent("a", [call("refund", order="a", amount=1.0)], tools=[desk.refund()])) as client:
        job = await asked(client, "a")
        async with serve(client) as console, console.tab("/inbox", expected=("409",)) as tab:
            for key in "jd":
                await tab.page.keyboard.press(key)
            await tab.page.keyboard.type("no")
            (gone,) = (await job.view()).pending
            await job.approve(gone.call, digest=gone.digest, by="bob")
            await tab.says("This does not wait any more", ".stale")
            typed = await tab.page.input_value("details[open] textarea")
            await tab.page.click("details[open] button")
            await tab.says("Performed", ".became")

    assert (typed, desk.done) == ("no", ["a 1 EUR"])


async def test_nothing_moves_under_a_button_that_is_held_down(host: Host, serve: Serve) -> None:
    desk = Desk()
    agents = [agent(name, [call("refund", order=name, amount=1.0)], tools=[desk.refund()]) for name in "ab"]
    button = "article.call[aria-label*='refund in b'] form[data-word=approve] button"
    async with host(*agents) as client:
        first, second = [await asked(client, name) for name in "ab"]
        async with serve(client) as console, console.tab("/inbox") as tab:
            await tab.page.hover(button)
            before = await tab.page.locator(button).bounding_box()
            await tab.page.mouse.down()
            await first.deny((await first.view()).pending[0].call, by="bob")
            await until(client.inbox, lambda items: [each.job for each in items] == [second.id])
            async with tab.page.expect_response("**/inbox"):
                await tab.page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
            held = await tab.page.locator(button).bounding_box()
            await tab.page.mouse.up()
            await tab.says("Performed", ".became")
            await tab.counts("article.call", 0)
        await ended(second)

    assert (held, desk.done) == (before, ["b 1 EUR"])


async def test_an_empty_inbox_fills_by_itself(host: Host, serve: Serve) -> None:
    desk = Desk()
    async with host(agent("a", [call("refund", order="a", amount=1.0)], tools=[desk.refund()])) as client:
        async with serve(client) as console, console.tab("/inbox?agent=a") as tab:
            await tab.says("Nothing waits for you")
            job = await asked(client, "a")
            await tab.says(job.id, "#cards")
        await job.cancel(by="ann")


async def test_filters_choose_by_agent_tool_tenant_and_risk(host: Host, serve: Serve) -> None:
    desk = Desk()
    agents = [
        agent(name, [call(f"pay_{name}", order=name, amount=1.0)], tools=[desk.refund(name=f"pay_{name}")])
        for name in "ab"
    ]
    async with host(*agents) as client:
        jobs = []
        for name in "ab":
            jobs.append(await client.start(name, "help", tenant=f"tenant-{name}"))
            await waiting(jobs[-1])
            await recorded(client, jobs[-1])
        async with serve(client) as console, console.tab("/inbox") as tab:
            seen = []
            for query in ("", "agent=a", "tool=pay_b", "tenant=tenant-a", "risk=high"):
                await tab.open(f"/inbox?{query}")
                seen.append([job.id[0] for job in jobs if job.id in await tab.text("#cards")])
            await tab.open("/inbox")
            await tab.page.get_by_label("Agent").fill("b")
            await tab.page.keyboard.press("Enter")
            await tab.page.wait_for_url("**/inbox?**agent=b**")
            seen.append([job.id[0] for job in jobs if job.id in await tab.text("#cards")])
        for job in jobs:
            await job.cancel(by="ann")

    assert seen == [["a", "b"], ["a"], ["b"], ["a"], [], ["b"]]


async def test_the_page_of_a_job_follows_it_to_its_end(host: Host, serve: Serve) -> None:
    desk = Desk()
    async with host(agent("a", [call("refund", order="a", amount=1.0)], tools=[desk.refund()])) as client:
        job = await asked(client, "a")
        async with serve(client) as console, console.tab(job_url(job.id)) as tab:
            await tab.says("1 call waits for a person", ".summary")
            await tab.page.fill("#say", "half a sen")
            (pending,) = (await job.view()).pending
            await job.approve(pending.call, digest=pending.digest, by="bob")
            await tab.says("approved by bob", ".timeline")
            await until(job.has_ended)
            await tab.says("All done.", ".outcome")
            typed = await tab.page.input_value("#say")

    assert typed == "half a sen"
