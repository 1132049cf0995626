"""Every page opens, on a phone too, in a browser that complains of nothing."""

from typing import Any

import pytest

from activities.approval import Approval
from surefoot.client import Client
from surefoot.console.rendering import call_url, job_url
from surefoot.job import Job
from tests.conftest import Host
from tests.console.conftest import PHONE, Serve, Tab
from tests.console.desk import HOSTILE, REFUND, Desk, agent, call, find_order
from tests.waiting import until
from tests.workflows.gated import ended, waiting
from workflows.contracts import Limits, Pending

LOOKS = call("find_order", order="A-17")


async def some_jobs(client: Client) -> tuple[Job, Pending, Job]:
    """A job that waits, with the call, and one that has ended."""
    waits = await client.start("desk", "help A-17", tenant="acme", tags=["urgent"])
    (pending,) = await waiting(waits)
    over = await client.start("reader", "look")
    await ended(over)
    await until(client.inbox, lambda items: any(item.job == waits.id for item in items))
    return waits, pending, over


def addresses(waits: Job, pending: Pending, over: Job) -> list[str]:
    sections = [job_url(job.id, show=show) for job in (waits, over) for show in ("rounds", "transcript", "audit")]
    forms = [call_url(page, waits.id, pending.call) for page in ("card", "edit", "grant", "read", "became")]
    as_json = call_url("edit", waits.id, pending.call, **{"as": "json"})
    return ["/", "/inbox", "/jobs", "/jobs?state=waiting&tag=urgent", "/new", *sections, *forms, as_json]


async def is_as_wide_as_the_screen(tab: Tab) -> bool:
    wide: bool = await tab.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    return wide


SCREENS: dict[str, dict[str, Any]] = {
    "desktop": {},
    "phone": {"viewport": PHONE, "is_mobile": True, "has_touch": True},
    "dark": {"color_scheme": "dark"},
}


@pytest.mark.parametrize("screen", SCREENS)
async def test_every_page_opens_and_fits_the_screen(host: Host, serve: Serve, screen: str) -> None:
    desk = Desk()
    writes = agent("desk", [LOOKS], [REFUND], tools=[desk.refund(approval=Approval(risk="high")), find_order])
    reads = agent("reader", [LOOKS], tools=[find_order], limits=Limits(rounds=5, tokens=10_000, seconds=60, cost_usd=1))
    async with host(writes, reads) as client, serve(client) as console, console.tab(**SCREENS[screen]) as tab:
        opened = []
        for address in addresses(*await some_jobs(client)):
            answer = await tab.page.goto(f"{tab.origin}{address}")
            assert answer is not None
            opened.append((address, answer.status, await is_as_wide_as_the_screen(tab)))

    assert [each for each in opened if each[1:] != (200, True)] == []
    assert len(opened) == 17


async def test_a_dark_screen_gets_dark_pages(host: Host, serve: Serve) -> None:
    async with host(agent("reader", [LOOKS], tools=[find_order])) as client, serve(client) as console:
        seen = []
        for scheme in ("light", "dark"):
            async with console.tab("/inbox", color_scheme=scheme) as tab:
                seen.append(await tab.page.evaluate("getComputedStyle(document.body).backgroundColor"))

    assert seen == ["rgb(246, 246, 244)", "rgb(20, 22, 20)"]


async def test_on_paper_there_are_no_buttons(host: Host, serve: Serve) -> None:
    async with host(agent("desk", [REFUND], tools=[Desk().refund()])) as client:
        job = await client.start("desk", "help")
        await waiting(job)
        async with serve(client) as console, console.tab("/inbox") as tab:
            before = await tab.page.locator(".call .actions").first.is_visible()
            await tab.page.emulate_media(media="print")
            printed = await tab.page.locator(".call .actions").first.is_visible()
            read = await tab.page.locator(".arguments").first.is_visible()

    assert (before, printed, read) == (True, False, True)


async def test_what_a_job_says_is_shown_as_text_and_does_nothing(host: Host, serve: Serve) -> None:
    arguments = {"order": HOSTILE, "amount": 1.0, "reason": HOSTILE}
    tools = [Desk().refund(preview=lambda order: HOSTILE)]
    async with host(agent("desk", [call("refund", **arguments)], tools=tools, text=HOSTILE)) as client:
        job = await client.start("desk", HOSTILE, id=f"job {HOSTILE[:60]}/../x")
        (pending,) = await waiting(job)
        await job.steer(HOSTILE, by=HOSTILE)
        edit = call_url("edit", job.id, pending.call)
        async with serve(client) as console, console.tab() as tab:
            shown = []
            for address in ("/inbox", job_url(job.id), job_url(job.id, show="transcript"), edit, "/jobs"):
                await tab.open(address)
                await tab.says("<script>window.pwned")
                shown.append(await tab.text("main"))
                assert await tab.page.evaluate("[window.pwned, document.querySelectorAll('main img').length]") == [
                    None,
                    0,
                ]
        await job.cancel(by="ann")

    assert all("\u202e" not in text and "\x1b" not in text for text in shown)
    assert "\\u202egnp.exe\\u202c \\x1b[31mred\\x1b[0m {{ 7 * 7 }} </textarea>" in shown[0]


async def test_keys_reach_everything_and_landmarks_name_the_parts(host: Host, serve: Serve) -> None:
    async with host(agent("desk", [REFUND], tools=[Desk().refund()])) as client:
        await waiting(await client.start("desk", "help"))
        async with serve(client) as console, console.tab("/inbox") as tab:
            await tab.page.keyboard.press("Tab")
            first = await tab.page.evaluate("document.activeElement.textContent")
            passed = []
            for _ in range(20):
                await tab.page.keyboard.press("Tab")
                passed.append((await tab.page.evaluate("document.activeElement.textContent")).strip())
            unnamed = await tab.page.evaluate(
                "[...document.querySelectorAll('input:not([type=hidden]), select, textarea')]"
                ".filter(field => !field.labels.length && !field.ariaLabel).length"
            )
            marks = [await tab.count(mark) for mark in ("header.top", "nav[aria-label]", "main", "[aria-live=polite]")]

    assert first == "To the content"
    assert [name for name in ("Inbox", "Jobs", "Approve", "Edit…", "Deny…") if name not in passed] == []
    assert unnamed == 0
    assert marks == [1, 1, 1, 1]
