"""Other arguments and grants in the browser: what changes is shown before it is sent."""

import json

import pytest

from surefoot.client import Client
from surefoot.console.rendering import call_url
from surefoot.job import Job
from tests.conftest import Host
from tests.console.conftest import Serve
from tests.console.desk import REFUND, Desk, agent, call
from tests.workflows.gated import ended, recorded, results, waiting


async def asked(client: Client, name: str = "desk") -> tuple[Job, str]:
    """A new job whose call is in the inbox, and the address of the form that edits it."""
    job = await client.start(name, "help")
    (pending,) = await waiting(job)
    await recorded(client, job)
    return job, call_url("edit", job.id, pending.call)


@pytest.mark.parametrize("script", [True, False], ids=["script", "no script"])
async def test_an_edit_shows_what_changes_before_it_is_sent(host: Host, serve: Serve, script: bool) -> None:
    desk = Desk()
    async with host(agent("desk", [REFUND], tools=[desk.refund()])) as client, serve(client) as console:
        job, _ = await asked(client)
        async with console.tab("/inbox", java_script_enabled=script) as tab:
            await tab.page.click("text=Edit…")
            labels = await tab.text(".field > label")
            await tab.page.get_by_label("amount").fill("70.5")
            await tab.page.get_by_label("currency", exact=True).select_option('"USD"')
            await tab.page.get_by_label("currency: send it?").select_option("given")
            await tab.page.get_by_label("reason: send it?").select_option("absent")
            await tab.page.click("text=See what changes")
            changes = await tab.text(".changes tbody tr")
            before = list(desk.done)
            await tab.page.click("text=Approve with changes")
            await tab.says("Performed", ".became")
        await ended(job)
        (result,) = results(await job.transcript())

    assert labels == "order *\namount *\ncurrency\nreason\nitems"
    assert changes == "amount\t80.0\t70.5\nreason\tlate\tleft out\ncurrency\tnot given\tUSD"
    assert (before, desk.done) == ([], ["A-17 70.5 USD"])
    assert result.edited


async def test_a_value_that_is_typed_is_sent_though_the_call_had_none(host: Host, serve: Serve) -> None:
    desk = Desk()
    async with host(agent("desk", [call("refund", order="A", amount=1.0)], tools=[desk.refund()])) as client:
        job, address = await asked(client)
        async with serve(client) as console, console.tab(address, java_script_enabled=False) as tab:
            await tab.page.get_by_label("reason", exact=True).fill("two weeks late")
            await tab.page.click("text=See what changes")
            changes = await tab.text(".changes tbody tr")
        await job.cancel(by="ann")

    assert changes == "reason\tnot given\ttwo weeks late"


async def test_what_can_not_be_read_is_said_at_its_field_and_nothing_typed_is_lost(host: Host, serve: Serve) -> None:
    async with host(agent("desk", [REFUND], tools=[Desk().refund()])) as client:
        job, address = await asked(client)
        async with serve(client) as console, console.tab(address, expected=("422",)) as tab:
            await tab.page.get_by_label("order").fill("B-9")
            await tab.page.get_by_label("amount").fill("eighty")
            await tab.page.click("text=See what changes")
            said = await tab.text(".wrong .warn")
            kept = [await tab.page.get_by_label(name).input_value() for name in ("order", "amount")]
        await job.cancel(by="ann")

    assert "this can't be read as JSON" in said
    assert kept == ["B-9", "eighty"]


async def test_what_the_tool_does_not_take_is_refused_and_can_be_mended(host: Host, serve: Serve) -> None:
    desk = Desk()
    async with host(agent("desk", [REFUND], tools=[desk.refund()])) as client:
        job, address = await asked(client)
        async with serve(client) as console, console.tab(f"{address}&as=json", expected=("422",)) as tab:
            await tab.page.fill("#raw", '{"order": "A-17"}')
            await tab.page.click("text=See what changes")
            await tab.page.click("text=Approve with changes")
            await tab.says("edited arguments for refund: The arguments do not fit the tool refund", ".alert")
            kept = json.loads(await tab.page.input_value("#raw"))
            await tab.page.fill("#raw", '{"order": "A-17", "amount": 2}')
            await tab.page.click("text=See what changes")
            await tab.page.click("text=Approve with changes")
            await tab.says("Performed", ".became")
        await ended(job)

    assert (kept, desk.done) == ({"order": "A-17"}, ["A-17 2 EUR"])


async def test_an_edit_that_changes_nothing_is_an_approval(host: Host, serve: Serve) -> None:
    desk = Desk()
    odd = call("refund", order="line one\r\nline two \x07\u202e", amount=80, reason="  spaces  ")
    async with host(agent("desk", [odd], tools=[desk.refund(preview=None)])) as client:
        job, address = await asked(client)
        async with serve(client) as console, console.tab(address) as tab:
            await tab.page.click("text=See what changes")
            said = await tab.text("main .lede")
            await tab.page.click("button:text-is('Approve')")
            await tab.says("Performed", ".became")
        await ended(job)
        (result,) = results(await job.transcript())

    assert said == "Nothing is different: this approves the call as it is."
    assert (result.edited, desk.done) == (False, ["line one\r\nline two \x07\u202e 80 EUR"])


async def test_a_grant_shows_the_exact_rule_and_lets_through_what_it_says(host: Host, serve: Serve) -> None:
    desk = Desk()
    later = [[call("refund", order="A-17", amount=2.0)], [call("refund", order="B-2", amount=3.0)]]
    async with host(agent("desk", [REFUND], *later, tools=[desk.refund()])) as client, serve(client) as console:
        job, _ = await asked(client)
        async with console.tab("/inbox") as tab:
            await tab.page.click("text=Grant…")
            await tab.page.get_by_label("How many calls").fill("3")
            await tab.page.get_by_label("For how many minutes").fill("45")
            await tab.page.get_by_label("order").check()
            await tab.page.click("text=See the rule")
            rule = await tab.text(".rule")
            before = list(desk.done)
            await tab.page.click("text=Approve and save the rule")
            await tab.says("B-2", "#cards .arguments")
        audit = await job.audit()
        await job.cancel(by="ann")

    assert f"The next 3 calls of refund in job {job.id}, with exactly these values of these arguments" in rule
    assert "for 45 min from when you save it" in rule
    assert rule.endswith("order\nA-17")
    assert (before, desk.done) == ([], ["A-17 80 EUR", "A-17 2 EUR"])
    assert [entry.deed for entry in audit] == ["approved", "granted", "performed", "used_grant", "performed"]


async def test_terms_that_are_no_grant_are_refused(host: Host, serve: Serve) -> None:
    async with host(agent("desk", [REFUND], tools=[Desk().refund()])) as client, serve(client) as console:
        job, address = await asked(client)
        async with console.tab(address.replace("edit", "grant"), expected=("422",)) as tab:
            await tab.page.evaluate("document.querySelector('form.edit').noValidate = true")
            await tab.page.get_by_label("How many calls").fill("0")
            await tab.page.click("text=See the rule")
            said = await tab.text(".alert")
        await job.cancel(by="ann")

    assert said == "A grant is for 1 to 1000 calls, and for some minutes, a year at most: a number each."
