"""A person decides in the browser: what is clicked takes effect once, and the page says what became of it."""

from datetime import timedelta

import pytest

from activities.approval import Approval
from surefoot.client import Client
from surefoot.job import Job
from tests.conftest import Host
from tests.console.conftest import Serve
from tests.console.desk import REFUND, Desk, agent, asked, call, find_order
from tests.waiting import until
from tests.workflows.gated import ended, results
from workflows.contracts import Result

ANSWER_SOON = timedelta(seconds=1)
OTHER = call("refund", order="B-2", amount=5.0)
LOOKS = call("find_order", order="A-17")


async def of_call(job: Job, place: int = 0) -> Result:
    return results(await job.transcript())[place]


@pytest.mark.parametrize("script", [True, False], ids=["script", "no script"])
async def test_an_approved_call_is_shown_as_decided_and_then_as_performed(
    host: Host, serve: Serve, script: bool
) -> None:
    desk = Desk()
    async with host(agent("desk", [REFUND], tools=[desk.refund()])) as client, serve(client) as console:
        job = await asked(client)
        async with console.tab("/inbox", java_script_enabled=script) as tab:

            async def became() -> str:
                if not script:  # such a page stands still, and may have come before the tool had run
                    await tab.page.reload()
                return await tab.text(".became")

            await tab.press("approve")
            await tab.page.wait_for_selector(".became")
            said = await until(became, lambda seen: "Performed" in seen)
        await ended(job)
        audit = await job.audit()

    assert desk.done == ["A-17 80 EUR"]
    assert "refunded 80 EUR for A-17" in said
    assert [(entry.deed, entry.by) for entry in audit] == [("approved", "ann"), ("performed", None)]


async def test_decided_is_said_before_performed_and_a_pause_in_between_too(host: Host, serve: Serve) -> None:
    desk = Desk()
    async with host(agent("desk", [REFUND], tools=[desk.refund()])) as client, serve(client) as console:
        job = await asked(client)
        await job.pause(by="bob")
        async with console.tab("/inbox") as tab:
            await tab.press("approve")
            await tab.says("The job is paused", ".became")
            decided = await tab.text(".became strong")
            before = list(desk.done)
            await job.resume(by="bob")
            await tab.says("Performed", ".became")

    assert (decided, before, desk.done) == ("Approved by ann", [], ["A-17 80 EUR"])


async def test_a_call_that_was_approved_and_never_performed_is_shown_as_lapsed(host: Host, serve: Serve) -> None:
    desk = Desk()
    async with host(agent("desk", [REFUND], tools=[desk.refund()])) as client, serve(client) as console:
        job = await asked(client)
        await job.pause(by="bob")
        async with console.tab("/inbox") as tab:
            await tab.press("approve")
            await tab.says("Approved by ann", ".became")
            await job.cancel(by="bob")
            await tab.says("Lapsed: decided, and not performed", ".became")

    assert desk.done == []


async def test_a_tool_that_fails_is_not_shown_as_done(host: Host, serve: Serve) -> None:
    desk = Desk()
    desk.fault = "the bank is closed"
    async with host(agent("desk", [REFUND], tools=[desk.refund()])) as client, serve(client) as console:
        await asked(client)
        async with console.tab("/inbox") as tab:
            await tab.press("approve")
            await tab.says("Performed, and failed", ".became")
            said = await tab.text(".became")

    assert "the bank is closed" in said


async def test_a_denial_has_a_reason_and_the_tool_does_not_run(host: Host, serve: Serve) -> None:
    desk = Desk()
    async with host(agent("desk", [REFUND], tools=[desk.refund()])) as client, serve(client) as console:
        job = await asked(client)
        async with console.tab("/inbox") as tab:
            await tab.speak("deny", "over the budget")
            await tab.says("Denied by ann", ".became")
        await ended(job)
        result = await of_call(job)

    assert desk.done == []
    assert (result.status, "over the budget" in result.content) == ("denied", True)


async def test_an_answer_goes_to_the_model_in_the_place_of_the_tool(host: Host, serve: Serve) -> None:
    desk = Desk()
    async with host(agent("desk", [REFUND], tools=[desk.refund()])) as client, serve(client) as console:
        job = await asked(client)
        async with console.tab("/inbox") as tab:
            await tab.speak("answer", "it was paid back\nyesterday")
            await tab.says("Answered by ann", ".became")
        await ended(job)
        result = await of_call(job)

    assert desk.done == []
    assert (result.status, "it was paid back\nyesterday" in result.content) == ("answered", True)


@pytest.mark.parametrize(
    ("word", "text", "says", "status", "left"),
    [
        ("happened", "refund 4711", "Settled: it happened by ann", "ok", "refund 4711"),
        ("not_happened", None, "Performed", "ok", "refunded 3 EUR"),
        ("give_up", None, "Given up by ann", "unknown", ""),
    ],
)
async def test_an_unknown_outcome_is_settled_in_three_ways(
    host: Host, serve: Serve, word: str, text: str | None, says: str, status: str, left: str
) -> None:
    desk = Desk()
    desk.loses = 1
    wanted = call("refund", order="C-3", amount=3.0)
    async with host(agent("desk", [wanted], tools=[desk.refund(policy="allow")])) as client, serve(client) as console:
        job = await asked(client)
        async with console.tab("/inbox") as tab:
            await tab.says("outcome unknown")
            await (tab.press(word) if text is None else tab.speak(word, text))
            await tab.says(says, ".became")
        await ended(job)
        result = await of_call(job)

    assert (result.status, left in result.content) == (status, True)
    assert desk.done == (["C-3 3 EUR"] if word == "not_happened" else [])


async def test_each_gate_of_a_job_is_decided_and_not_only_its_first(host: Host, serve: Serve) -> None:
    desk = Desk()
    gates = [[call("refund", order=f"A-{number}", amount=1.0)] for number in (1, 2, 3)]
    async with host(agent("desk", *gates, tools=[desk.refund()])) as client, serve(client) as console:
        job = await asked(client)
        async with console.tab("/inbox") as tab:
            for number in (1, 2, 3):
                await tab.says(f"A-{number}", "article.call, .arguments")
                await tab.press("approve")
            await tab.says("Nothing waits for you")
        await ended(job)

    assert desk.done == ["A-1 1 EUR", "A-2 1 EUR", "A-3 1 EUR"]


async def test_of_two_calls_of_a_turn_the_approved_one_leaves_and_runs_once(host: Host, serve: Serve) -> None:
    desk = Desk()
    async with host(agent("desk", [REFUND, OTHER], tools=[desk.refund()])) as client, serve(client) as console:
        job = await asked(client, count=2)
        async with console.tab("/inbox") as tab:
            await tab.press("approve")
            await tab.says("Performed", ".became")
            await tab.open("/inbox")
            left = await tab.text("#cards .arguments")
            before = list(desk.done)
            await tab.press("approve")
            await tab.says("Performed", ".became")
        await ended(job)

    assert ("B-2" in left, "A-17" in left, before) == (True, False, ["A-17 80 EUR"])
    assert desk.done == ["A-17 80 EUR", "B-2 5 EUR"]


async def test_identical_calls_share_a_card_and_are_decided_each_on_its_own(host: Host, serve: Serve) -> None:
    desk = Desk()
    async with host(agent("desk", [REFUND, REFUND], tools=[desk.refund()])) as client, serve(client) as console:
        job = await asked(client, count=2)
        async with console.tab("/inbox") as tab:
            shown = (await tab.count("section.card"), await tab.count("article.call"), await tab.text(".count"))
            await tab.press("approve")
            await tab.says("Performed", ".became")
            left = await tab.count("article.call")
            await tab.speak("deny", "once is enough")
            await tab.says("Denied by ann", ".became >> nth=1")
        await ended(job)
        statuses = [result.status for result in results(await job.transcript())]

    assert (shown, left) == ((1, 2, "2 identical calls"), 1)
    assert (statuses, desk.done) == (["ok", "denied"], ["A-17 80 EUR"])


async def test_one_of_two_approvals_is_counted_and_the_other_awaited(host: Host, serve: Serve) -> None:
    desk = Desk()
    tools = [desk.refund(approval=Approval(quorum=2))]
    async with host(agent("desk", [REFUND], tools=tools)) as client, serve(client) as console:
        job = await asked(client)
        async with console.tab("/inbox") as tab:
            await tab.press("approve")
            await tab.says("Approved by ann; 1 more must approve it.", ".became")
            await tab.says("approved 1 of 2: ann", "article.call")
            buttons = await tab.count("article.call form[data-word=approve]")
            (pending,) = (await job.view()).pending
            before = list(desk.done)
            await job.approve(pending.call, digest=pending.digest, by="bob")
            await tab.says("Nothing waits for you")
        await ended(job)

    assert (buttons, before, desk.done) == (0, [], ["A-17 80 EUR"])


async def test_what_was_read_before_a_call_stands_on_its_card(host: Host, serve: Serve) -> None:
    async with host(agent("desk", [LOOKS, REFUND], tools=[Desk().refund(), find_order])) as client:
        job = await asked(client)
        async with serve(client) as console, console.tab("/inbox") as tab:
            await tab.says("paid 80 EUR on 3 November", ".read")
            read = await tab.text(".read h3")
            why = await tab.text(".why")
        await job.cancel(by="ann")

    assert read == "Before it, in this round"
    assert "The parcel came two weeks late" in why


async def test_without_a_worker_a_decision_is_kept_and_the_page_says_so(host: Host, serve: Serve) -> None:
    desk = Desk()
    writes = agent("desk", [REFUND], tools=[desk.refund()])
    async with host(writes) as client:
        job = await asked(client)
    quick = Client(client.temporal, task_queue=client.task_queue, answer_within=ANSWER_SOON)
    async with serve(quick) as console, console.tab("/inbox") as tab:
        await tab.press("approve")
        await tab.says("No worker is up", ".became")
        async with host(writes):
            await tab.says("Performed", ".became")
            await ended(job)

    assert desk.done == ["A-17 80 EUR"]
