"""For whom a job works and by which words it is found: from its start through replies and forks, in lists and calls."""

import pytest

from surefoot.errors import WrongValue
from tests.conftest import Host
from tests.surefoot.test_lists import fresh
from tests.waiting import until
from tests.workflows.gated import Ledger, call, ended, started, writer


async def test_jobs_are_found_by_tenant_tag_and_status(host: Host) -> None:
    agent = fresh()
    async with host(writer(agent, tools=[])) as client:
        acme = await client.start(agent, "a", tenant="acme", tags=["night", "eu"])
        other = await client.start(agent, "b", tenant="Müller & Söhne", tags=["night"])
        await ended(acme)
        await ended(other)
        night = await until(lambda: client.jobs(agent=agent, tag="night", state="ended"), lambda rows: len(rows) == 2)
        of_acme = await client.jobs(agent=agent, tenant="acme")
        of_other = await client.jobs(agent=agent, tenant="Müller & Söhne", tag="night", status="complete")
        none = await client.jobs(agent=agent, tenant="acme", status="failed")

    assert {row.job for row in night} == {acme.id, other.id}
    assert [(row.job, row.tenant, set(row.tags)) for row in of_acme] == [(acme.id, "acme", {"night", "eu"})]
    assert [row.job for row in of_other] == [other.id]
    assert none == []


async def test_a_reply_and_a_fork_keep_tenant_and_tags_and_a_view_shows_them(host: Host) -> None:
    agent, ledger = fresh(), Ledger()
    async with host(writer(agent, [call("save", key="a")], tools=[ledger.tool()])) as client:
        job, (pending,) = await started(client, agent, tenant="acme", tags=["eu"])
        await job.approve(pending.call, by="Ann")
        await ended(job)
        await client.reply(job.id, "go on")
        await ended(job)
        fork = await client.fork(job.id, 1)
        await ended(fork)
        rows = await until(lambda: client.jobs(tenant="acme", agent=agent, state="ended"), lambda rows: len(rows) == 2)
        view = await fork.view()

    assert pending.tenant == "acme"
    assert {row.job for row in rows} == {job.id, fork.id}
    assert (view.tenant, view.tags) == ("acme", ["eu"])


@pytest.mark.parametrize(
    ("tenant", "tags", "seen"),
    [
        ("", [], "tenant ''"),
        ("a' OR 1", [], "no quotes"),
        ("a\\", [], "no quotes"),
        (None, ["a\nb"], r"tag 'a\nb'"),
        (None, ["x" * 101], "tag 'xxx"),
        (None, ["t"] * 21, "21"),
    ],
)
async def test_a_tenant_or_tag_that_no_list_could_find_is_refused(
    host: Host, tenant: str | None, tags: list[str], seen: str
) -> None:
    agent = fresh()
    async with host(writer(agent, tools=[])) as client:
        with pytest.raises(WrongValue) as refused:
            await client.start(agent, "a", tenant=tenant, tags=tags)

    assert seen in str(refused.value)
