"""Decisions that come twice, too late, or for arguments that are not those any more."""

import pytest

from activities.approval import Approval
from tests.conftest import Host
from tests.console.conftest import Serve
from tests.console.desk import REFUND, Desk, agent, asked, call
from tests.waiting import until
from tests.workflows.gated import ended
from workflows.contracts import JsonObject

OTHER = call("refund", order="B-2", amount=5.0)


@pytest.mark.parametrize("script", [True, False], ids=["script", "no script"])
async def test_a_double_click_decides_once(host: Host, serve: Serve, script: bool) -> None:
    desk = Desk()
    async with host(agent("desk", [REFUND, OTHER], tools=[desk.refund()])) as client, serve(client) as console:
        job = await asked(client, count=2)
        async with console.tab("/inbox", java_script_enabled=script) as tab:
            await tab.page.dblclick("article.call >> nth=0 >> form[data-word=approve] >> button")
            await tab.says("Performed", ".became")
            alerts = await tab.count(".alert")
        deeds = [entry.deed for entry in await job.audit()]
        await job.cancel(by="ann")

    assert alerts == 0
    assert (desk.done, deeds) == (["A-17 80 EUR"], ["approved", "performed"])


async def test_the_same_decision_sent_again_is_answered_with_what_became_of_the_first(host: Host, serve: Serve) -> None:
    desk = Desk()
    async with host(agent("desk", [REFUND], tools=[desk.refund()])) as client, serve(client) as console:
        job = await asked(client)
        async with console.tab("/inbox") as first, console.tab("/inbox", java_script_enabled=False) as second:
            await first.press("approve")
            await first.says("Performed", ".became")
            await second.press("approve")
            await second.says("Performed", ".became")
        await ended(job)

    assert desk.done == ["A-17 80 EUR"]


async def test_who_comes_too_late_is_told_who_decided_and_what(host: Host, serve: Serve) -> None:
    desk = Desk()
    async with host(agent("desk", [REFUND], tools=[desk.refund()])) as client, serve(client) as console:
        job = await asked(client)
        async with console.tab("/inbox", java_script_enabled=False, expected=("409",)) as tab:
            (pending,) = (await job.view()).pending
            await job.deny(pending.call, reason="no", digest=pending.digest, by="bob")
            await tab.press("approve")
            await tab.says("was already decided: denied by bob", ".alert")
            became = await tab.text(".became strong")

    assert (became, desk.done) == ("Denied by bob", [])


@pytest.mark.parametrize("script", [True, False], ids=["script", "no script"])
async def test_arguments_that_changed_are_not_approved_unseen(host: Host, serve: Serve, script: bool) -> None:
    desk = Desk()
    tools = [desk.refund(approval=Approval(quorum=2))]
    async with host(agent("desk", [REFUND], tools=tools)) as client, serve(client) as console:
        job = await asked(client)
        async with console.tab("/inbox", java_script_enabled=script, expected=("409",)) as tab:
            # The page does not hear of the change before the button is pressed.
            await tab.page.route("**/inbox", lambda route: route.abort())
            (pending,) = (await job.view()).pending
            changed: JsonObject = {"order": "A-17", "amount": 9_999.0}
            await job.approve(pending.call, digest=pending.digest, arguments=changed, by="bob")
            await tab.press("approve")
            await tab.says("The arguments have changed since you saw them", ".alert")
            shown = await tab.text(".arguments")
            votes = (await job.view()).pending[0].approved_by
            await tab.press("approve")
            await until(job.has_ended)
            tab.complaints.clear()

    assert ("9999.0" in shown, "80" in shown) == (True, False)
    assert (votes, desk.done) == (["bob"], ["A-17 9999 EUR"])
