"""Nothing that anybody can send changes or removes what the audit of a job says: entries are only ever added."""

import json
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from temporalio import workflow
from temporalio.client import Client as Temporal
from temporalio.client import WorkflowUpdateFailedError

from activities.approval import Approval
from surefoot.client import Client
from surefoot.http.access import Access
from surefoot.job import Job
from tests.conftest import Host
from tests.http.conftest import asking
from tests.waiting import until
from tests.ways.ways import open_way
from tests.workflows.gated import Ledger, call, ended, started, waiting, writer
from workflows.agent_job import AgentJob
from workflows.contracts import Audit

FORGED = {"kind": "audit", "deed": "approved", "at": "2020-01-01T00:00:00Z", "by": "mallory", "call": "c1-1"}
SENT: list[object] = [None, [], {}, "x", FORGED, [FORGED], {"transcript": [FORGED]}, {"own": [], "entries": []}]


def names(kind: str) -> list[str]:
    """What the job's workflow takes: its signals, or its updates."""
    definition = workflow._Definition.must_from_class(AgentJob)
    return [name for name in getattr(definition, kind) if name is not None]


async def send_everything(client: Client, job: Job) -> None:
    """Every signal and update that the job knows, with what a forger might try."""
    handle = client.temporal.get_workflow_handle(job.id)
    for value in SENT:
        for name in names("signals"):
            if name not in ("stop", "cancelled_by"):  # tried last, by the caller
                await handle.signal(name, value)
        for name in names("updates"):
            with pytest.raises(WorkflowUpdateFailedError):
                await handle.execute_update(name, value)


async def test_whatever_is_sent_to_a_job_its_audit_only_grows(host: Host, temporal: Temporal, tmp_path: Path) -> None:
    tools = [Ledger().tool(approval=Approval(quorum=2))]
    rounds = [[call("save", key=key)] for key in ("a", "b", "c")]
    async with host(writer("w", *rounds, tools=tools)) as client, AsyncExitStack() as stack:
        commands = await open_way("command line", client, temporal, tmp_path, stack)
        job, (pending,) = await started(client, "w")
        for person in ("ann", "bob"):
            await job.approve(pending.call, by=person)
        (second,) = await until(job.all_pending, lambda calls: [each.call for each in calls] == ["c2-1"])
        await job.deny(second.call, reason="no", by="cid")
        await until(job.all_pending, lambda calls: [each.call for each in calls] == ["c3-1"])
        before = await job.audit()

        await send_everything(client, job)
        after_words = await job.audit()
        await commands.send(job.id, pending.call, pending.digest, "deny", text="rewritten")
        await job.stop(by="dan")
        await ended(job)
        after_end = await job.audit()
        await client.reply(job.id, "go on")
        await ended(job)
        after_reply = await job.audit()
        fork = await client.fork(job.id, 1)
        await waiting(fork)
        await fork.cancel(by="eve")
        await ended(fork)
        after_fork, of_fork = await job.audit(), await fork.audit()

    deeds = [(entry.deed, entry.by) for entry in before]
    assert deeds == [("approved", "ann"), ("approved", "bob"), ("performed", None), ("denied", "cid")]
    assert after_words[: len(before)] == before
    assert after_end[: len(after_words)] == after_words
    assert after_reply[: len(after_end)] == after_end
    assert after_fork == after_reply
    assert of_fork[:3] == before[:3]
    assert all(entry.by != "mallory" for entry in after_fork)


async def test_no_route_of_the_http_api_writes_to_an_audit(host: Host) -> None:
    async with host(writer("w", [call("save", key="a")], tools=[Ledger().tool()])) as client:
        job, (pending,) = await started(client, "w")
        await job.approve(pending.call, by="ann")
        await ended(job)
        before = await job.audit()
        async with asking(client, Access.open("ana", [])) as asked:
            document = (await asked.get("/openapi.json")).json()
            paths = [path for path in document["paths"] if "audit" in path]
            tried = {
                method: (
                    await asked.request(method, f"/api/v1/jobs/{job.id}/audit", content=json.dumps([FORGED]))
                ).status_code
                for method in ("POST", "PUT", "PATCH", "DELETE")
            }
            told = (await asked.get(f"/api/v1/jobs/{job.id}/audit")).json()
        after = await job.audit()

    assert [list(document["paths"][path]) for path in paths] == [["get"]]
    assert tried == dict.fromkeys(("POST", "PUT", "PATCH", "DELETE"), 405)
    assert after == before
    assert [entry["deed"] for entry in _entries(told)] == [entry.deed for entry in before]


def _entries(told: object) -> list[dict[str, object]]:
    assert isinstance(told, dict | list)
    found = told if isinstance(told, list) else next(value for value in told.values() if isinstance(value, list))
    return [Audit.model_validate(each["entry"]).model_dump() for each in found]
