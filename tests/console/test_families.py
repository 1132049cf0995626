"""A job and the jobs that work for it lead to each other in the console."""

import html

from surefoot.console.rendering import job_url
from surefoot.http.access import Access
from tests.conftest import Host
from tests.http.conftest import asking
from tests.waiting import until
from tests.workflows.families import child, child_waits, desk, researcher
from tests.workflows.gated import Ledger
from tests.workflows.scripting import call, calls


async def test_the_pages_of_parent_and_child_and_the_childs_card_link_to_each_other(host: Host) -> None:
    asked = researcher(calls(call("save", key="a")), {"text": "saved"}, tools=[Ledger().tool()])
    async with host(desk(asked)) as client:
        job = await client.start("desk", "go")
        await child_waits(client, job)
        await until(client.inbox, lambda items: any(item.parent == job.id for item in items))
        async with asking(client, Access.open("me", ["approve"])) as browser:
            parent = html.unescape((await browser.get(job_url(job.id))).text)
            its = html.unescape((await browser.get(job_url(f"{job.id}.c1-1"))).text)
            inbox = html.unescape((await browser.get("/inbox")).text)
        await job.cancel()
        await child(client, job).outcome()

    to_parent = f'works for <a href="{job_url(job.id)}"><bdi>{job.id}</bdi></a>'
    assert f'<a href="{job_url(f"{job.id}.c1-1")}"><bdi>{job.id}.c1-1</bdi></a>' in parent
    assert to_parent in its
    assert to_parent in inbox
