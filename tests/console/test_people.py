"""Who may do what in the browser: sessions, roles, and pages of others that try to decide."""

import pytest

from activities.approval import Approval
from tests.conftest import Host
from tests.console.conftest import Serve, Tab
from tests.console.desk import REFUND, Desk, agent, asked
from tests.workflows.gated import ended


async def sent(tab: Tab, address: str, form: dict[str, str], csrf: str | None = None) -> int:
    """The status of a form that a script of the page itself sends."""
    body = {**form, **({"csrf_token": csrf} if csrf else {})}
    status: int = await tab.page.evaluate(
        "([address, form]) => fetch(address, {method: 'POST', body: new URLSearchParams(form)}).then(it => it.status)",
        [address, body],
    )
    return status


async def csrf_of(tab: Tab) -> str:
    found: str = await tab.page.input_value("input[name=csrf_token] >> nth=0")
    return found


async def test_who_signs_in_gets_to_where_he_wanted_and_out_again(host: Host, serve: Serve) -> None:
    nobody = agent("desk", [REFUND], tools=[Desk().refund()])
    async with (
        host(nobody) as client,
        serve(client, ann=["approve"]) as console,
        console.tab(expected=("401",)) as tab,
    ):
        await tab.open("/jobs?state=waiting")
        asked_to = tab.page.url
        await tab.page.fill("#token", "sf_wrong")
        await tab.page.click("button:text-is('Sign in')")
        await tab.says("nobody has this token", ".alert")
        await tab.page.fill("#token", console.tokens["ann"])
        await tab.page.click("button:text-is('Sign in')")
        await tab.page.wait_for_url("**/jobs?state=waiting")
        who = await tab.text(".who")
        await tab.page.click("text=Sign out")
        await tab.page.wait_for_url("**/login")
        await tab.open("/inbox")
        after = tab.page.url

    assert asked_to == f"{tab.origin}/login?next=%2Fjobs%3Fstate%3Dwaiting"
    assert who.startswith("ann")
    assert after == f"{tab.origin}/login?next=%2Finbox"


@pytest.mark.parametrize(
    "target", ["https://evil.example/", "//evil.example", "/\\evil.example", "javascript:alert(1)"]
)
async def test_signing_in_leads_to_no_foreign_page(host: Host, serve: Serve, target: str) -> None:
    nobody = agent("desk", [REFUND], tools=[Desk().refund()])
    async with host(nobody) as client, serve(client, ann=["view"]) as console, console.tab() as tab:
        await tab.page.goto(f"{tab.origin}/login?next={target}")
        await tab.page.fill("#token", console.tokens["ann"])
        await tab.page.click("button:text-is('Sign in')")
        await tab.page.wait_for_url("**/inbox")

    assert tab.page.url == f"{tab.origin}/inbox"


async def test_who_may_only_look_sees_no_buttons_and_is_refused(host: Host, serve: Serve) -> None:
    desk = Desk()
    async with host(agent("desk", [REFUND], tools=[desk.refund()])) as client:
        job = await asked(client)
        (pending,) = (await job.view()).pending
        call = f"?job={job.id}&call={pending.call}"
        async with serve(client, vic=["view"]) as console, console.tab(who="vic", expected=("403",)) as tab:
            buttons = await tab.text("main button, main .button")
            note = await tab.text("article.call")
            csrf = await csrf_of(tab)
            said = {"digest": pending.digest, "choice": "approve", "by": "root", "roles": "finance"}
            statuses = [
                await sent(tab, f"/inbox/decide{call}", said, csrf),
                await sent(tab, f"/inbox/resolve{call}", {"choice": "give_up"}, csrf),
                await sent(tab, f"/inbox/review{call}", {"digest": pending.digest}, csrf),
                await sent(tab, f"/tell/stop?job={job.id}", {}, csrf),
                await sent(tab, "/new", {"agent": "desk", "message": "x"}, csrf),
            ]
            await tab.open(f"/jobs/{job.id}")
            told = await tab.count("form[action^='/tell']")
            state = (await job.view()).state
        await job.cancel(by="ann")

    assert buttons.split() == ["?", "keys", "Filter"] or buttons.split() == ["Filter", "?", "keys"]
    assert "You may look, and not decide: that takes the role approve." in note
    assert statuses == [403, 403, 403, 403, 403]
    assert (told, state, desk.done) == (0, "waiting", [])


async def test_a_call_for_another_role_has_no_buttons_and_the_job_refuses_too(host: Host, serve: Serve) -> None:
    desk = Desk()
    tools = [desk.refund(approval=Approval(approvers=["finance"]))]
    async with host(agent("desk", [REFUND], tools=tools)) as client:
        job = await asked(client)
        (pending,) = (await job.view()).pending
        people = {"ann": ["approve"], "fin": ["approve", "finance"]}
        async with serve(client, **people) as console:
            async with console.tab(who="ann", expected=("403",)) as tab:
                note = await tab.text("article.call")
                actions = await tab.count(".actions")
                form = {"digest": pending.digest, "choice": "approve", "by": "fin"}
                address = f"/inbox/decide?job={job.id}&call={pending.call}"
                status = await sent(tab, address, form, await csrf_of(tab))
                before = list(desk.done)
            async with console.tab(who="fin") as tab:
                await tab.page.click("form[data-word=approve] button")
                await tab.says("Performed", ".became")
        await ended(job)
        audit = await job.audit()

    assert "This is decided by finance." in note
    assert (actions, status, before) == (0, 403, [])
    assert [(entry.by, entry.roles) for entry in audit if entry.deed == "approved"] == [("fin", ["approve", "finance"])]


async def test_a_form_without_the_token_of_its_session_changes_nothing(host: Host, serve: Serve) -> None:
    desk = Desk()
    async with host(agent("desk", [REFUND], tools=[desk.refund()])) as client:
        job = await asked(client)
        (pending,) = (await job.view()).pending
        async with serve(client, ann=["approve", "submit"]) as console:
            async with console.tab(who="ann", expected=("403",)) as tab:
                form = {"digest": pending.digest, "choice": "approve"}
                address = f"/inbox/decide?job={job.id}&call={pending.call}"
                statuses = [await sent(tab, address, form), await sent(tab, address, form, "0" * 64)]
                statuses.append(await sent(tab, f"/tell/cancel?job={job.id}", {}))
            state = (await job.view()).state
        await job.cancel(by="ann")

    assert (statuses, state, desk.done) == ([403, 403, 403], "waiting", [])


async def test_a_page_of_somebody_else_can_not_decide(host: Host, serve: Serve) -> None:
    desk = Desk()
    async with host(agent("desk", [REFUND], tools=[desk.refund()])) as client:
        job = await asked(client)
        (pending,) = (await job.view()).pending
        async with serve(client) as console, console.tab(expected=("403",)) as tab:
            target = f"{tab.origin}/inbox/decide?job={job.id}&call={pending.call}"
            fields = f"<input name=digest value={pending.digest}><input name=choice value=approve>"
            evil = f"<form method=post action='{target}'>{fields}<button>win</button></form>"
            await tab.page.route(
                "http://evil.example/", lambda route: route.fulfill(body=evil, content_type="text/html")
            )
            await tab.page.goto("http://evil.example/")
            await tab.page.click("button")
            await tab.says("refused, since")
            state = (await job.view()).state
        await job.cancel(by="ann")

    assert (state, desk.done) == ("waiting", [])


async def test_a_session_that_ends_loses_nothing_that_was_typed(host: Host, serve: Serve) -> None:
    desk = Desk()
    async with host(agent("desk", [REFUND], tools=[desk.refund()])) as client:
        job = await asked(client)
        async with serve(client, ann=["approve"]) as console, console.tab(who="ann", expected=("401",)) as tab:
            cookies = await tab.page.context.cookies()
            await tab.page.click("details[data-word=deny] >> summary")
            await tab.page.fill("details[data-word=deny] >> textarea", "over the budget")
            await tab.page.context.clear_cookies()
            await tab.page.click("details[data-word=deny] >> button")
            await tab.says("Your session has ended; nothing was sent", "article .alert")
            kept = await tab.page.input_value("details[data-word=deny] >> textarea")
            await tab.page.context.add_cookies([{**cookie} for cookie in cookies])  # type: ignore[typeddict-item]
            await tab.page.click("details[data-word=deny] >> button")
            await tab.says("Denied by ann", ".became")
        await ended(job)

    assert (kept, desk.done) == ("over the budget", [])
