"""Tools of MCP servers in jobs: the same gate, the same steps, the same limits of size as for every other tool."""

from pathlib import Path
from typing import Any

import pytest
from temporalio.client import Client as Temporal

from activities.agents import Agent
from activities.approval import Approval
from activities.artifacts import Artifacts
from activities.mcp import link
from activities.mcp.server import Env, McpServer
from activities.providers.scripted import Script
from surefoot.client import Client
from tests.conftest import Host
from tests.histories.recorded import payload_texts
from tests.mcp_servers.declared import calls as called
from tests.mcp_servers.declared import desk, lines
from tests.waiting import until
from tests.workflows.gated import call, ended, results, started
from tests.workflows.scripting import calls, watched
from workflows.contracts import GrantTerms, Outcome, Resolution, Result

DONE: dict[str, object] = {"text": "done", "repeat": True}


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "desk.log"


def clerk(server: McpServer, *rounds: dict[str, object], **options: Any) -> Agent:
    """An agent that asks for one call in each round, and then is done."""
    return Agent("clerk", Script([*(calls(each) for each in rounds), DONE]), mcp=[server], **options)


async def done(client: Client) -> tuple[Outcome, list[Result]]:
    job = await client.start("clerk", "go")
    outcome = await job.outcome()
    return outcome, results(await job.transcript())


# --- the gate


async def test_a_tool_of_a_server_that_is_not_trusted_asks_whatever_its_hints_say(host: Host, log: Path) -> None:
    async with host(clerk(desk(log), call("desk_add", a=2, b=3))) as client:
        job, [pending] = await started(client, "clerk")
        before = called(log)
        await job.approve(pending.call, by="ann")
        outcome = await job.outcome()

    assert (pending.kind, pending.tool, pending.arguments) == ("decision", "desk_add", {"a": 2, "b": 3})
    assert before == []
    assert called(log) == ["add"]
    assert [finding.content for finding in outcome.findings] == ["5"]


async def test_a_policy_that_asks_is_asked_for_a_tool_that_only_reads(host: Host, log: Path) -> None:
    agent = clerk(desk(log, trusted=True), call("desk_add", a=2, b=3), policy={"desk_*": "ask"})
    async with host(agent) as client:
        job, [pending] = await started(client, "clerk")
        await job.deny(pending.call, by="ann", reason="no sums today")
        await ended(job)
        said = results(await job.transcript())

    assert [result.status for result in said] == ["denied"]
    assert called(log) == []


async def test_policies_go_by_the_name_that_the_model_knows(host: Host, log: Path) -> None:
    policy = {"desk_add": "deny", "desk_fail": "allow"}
    async with host(clerk(desk(log), call("desk_add", a=2, b=3), call("desk_fail"), policy=policy)) as client:
        _, said = await done(client)

    assert [result.status for result in said] == ["denied", "error"]
    assert called(log) == ["fail"]


async def test_approvals_go_by_the_name_that_the_model_knows(host: Host, log: Path) -> None:
    agent = clerk(
        desk(log), call("desk_add", a=2, b=3), approval={"desk_*": Approval(approvers=["finance"], risk="low")}
    )
    async with host(agent) as client:
        job, [pending] = await started(client, "clerk")
        await job.cancel(by="ann")

    assert (pending.approvers, pending.risk) == (["finance"], "low")


async def test_a_grant_lets_the_next_call_of_the_tool_through(host: Host, log: Path) -> None:
    agent = clerk(desk(log), call("desk_add", a=2, b=3), call("desk_add", a=2, b=4))
    async with host(agent) as client:
        job, [pending] = await started(client, "clerk")
        await job.approve(pending.call, by="ann", grant=GrantTerms(count=1, seconds=60))
        outcome = await job.outcome()

    assert [finding.content for finding in outcome.findings] == ["5", "6"]


async def test_a_person_may_edit_the_arguments_within_the_servers_schema(host: Host, log: Path) -> None:
    async with host(clerk(desk(log), call("desk_add", a=2, b=3))) as client:
        job, [pending] = await started(client, "clerk")
        await job.approve(pending.call, by="ann", arguments={"a": 10, "b": 1})
        outcome = await job.outcome()

    assert pending.parameters["required"] == ["a", "b"]
    assert outcome.findings[0].content.endswith('it ran with {"a":10,"b":1}]\n11')


async def test_arguments_that_do_not_fit_are_told_to_the_model_and_nobody_is_asked(host: Host, log: Path) -> None:
    async with host(clerk(desk(log), call("desk_add", a="two"))) as client:
        _, [said] = await done(client)

    assert said.status == "error"
    assert '- a: "two" is not of type "integer"' in said.content
    assert called(log) == []


# --- steps


@pytest.mark.parametrize("tool", ["fail", "refuse"])
async def test_an_error_of_the_server_is_told_at_once_and_not_tried_again(host: Host, log: Path, tool: str) -> None:
    async with host(clerk(desk(log, read_only=["*"]), call(f"desk_{tool}"))) as client:
        outcome, [said] = await done(client)

    assert (outcome.status, said.status) == ("complete", "error")
    assert called(log) == [tool]


async def test_a_write_whose_server_dies_in_the_call_asks_a_person_and_is_not_made_again(host: Host, log: Path) -> None:
    async with host(clerk(desk(log), call("desk_die"), policy={"desk_die": "allow"})) as client:
        job, [pending] = await started(client, "clerk")
        before = called(log)
        await job.resolve(Resolution(call=pending.call, choice="happened", result="it did", by="ann"))
        outcome = await job.outcome()

    assert pending.kind == "unknown_outcome"
    assert before == called(log) == ["die"]
    assert outcome.status == "complete"
    assert "it did" in outcome.findings[0].content


async def test_a_read_whose_server_dies_in_the_call_is_made_again_as_often_as_a_read_is(host: Host, log: Path) -> None:
    async with host(clerk(desk(log, read_only=["die*"]), call("desk_die_reading"))) as client:
        _, [said] = await done(client)

    assert said.status == "error"
    assert said.content.startswith("The tool failed: the server went away during the call")
    assert called(log) == ["die_reading"] * 3


async def test_an_idempotent_write_of_a_trusted_server_is_made_again_with_the_same_key_and_then_asks(
    host: Host, log: Path
) -> None:
    agent = clerk(desk(log, trusted=True), call("desk_die_same"), policy={"desk_die_same": "allow"})
    async with host(agent) as client:
        job, [pending] = await started(client, "clerk")
        await job.cancel(by="ann")

    keys = {line.split()[1] for line in lines(log) if line.startswith("die_same")}
    assert pending.kind == "unknown_outcome"
    assert called(log) == ["die_same"] * 3
    assert keys == {f"{job.id}/{pending.call}"}


async def test_a_write_that_takes_too_long_asks_a_person(host: Host, log: Path) -> None:
    agent = clerk(desk(log, timeout=10.0), call("desk_hang"), policy={"desk_hang": "allow"})
    async with host(agent) as client:
        job, [pending] = await started(client, "clerk")
        await job.resolve(Resolution(call=pending.call, choice="give_up", by="ann"))
        await ended(job)

    assert pending.kind == "unknown_outcome"
    assert called(log) == ["hang"]


async def test_a_call_that_hangs_does_not_keep_its_job_from_being_cancelled(host: Host, log: Path) -> None:
    async with host(clerk(desk(log), call("desk_hang"), policy={"desk_hang": "allow"})) as client:
        job = await client.start("clerk", "go")
        await until(_called(log), lambda names: names == ["hang"])
        await job.cancel(by="ann")
        view = await ended(job)

    assert view.outcome is not None
    assert view.outcome.status == "cancelled"


def _called(log: Path) -> Any:
    async def ask() -> list[str]:
        return called(log)

    return ask


# --- outputs


async def test_what_is_no_text_is_a_mark_for_the_model_and_kept_for_people(
    host: Host, log: Path, tmp_path: Path
) -> None:
    async with host(clerk(desk(log, read_only=["*"]), call("desk_picture"))) as client:
        _, [said] = await done(client)

    assert said.content == "here:\n[image: image/png, 9 bytes, not shown]\n[the whole output is kept for people]"
    assert said.artifact is not None
    assert "data:image/png;base64,YSBwaWN0dXJl" in Artifacts(tmp_path / "artifacts").read(said.artifact)


async def test_five_megabytes_are_cut_and_kept_whole(host: Host, log: Path, tmp_path: Path) -> None:
    async with host(clerk(desk(log, read_only=["*"]), call("desk_big"))) as client:
        _, [said] = await done(client)

    assert said.content.endswith("\n[cut: 40000 of 5000000 characters are shown; the whole output is kept for people]")
    assert said.artifact is not None
    assert len(Artifacts(tmp_path / "artifacts").read(said.artifact)) == 5_000_000


async def test_a_secret_of_a_server_is_nowhere_in_the_history(
    host: Host, log: Path, temporal: Temporal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DESK_SECRET", "sesame-open")
    server = desk(log, read_only=["*"], env={"DESK_TOKEN": Env("DESK_SECRET")})
    async with host(clerk(server, call("desk_leak"))) as client:
        job = await client.start("clerk", "go")
        await job.outcome()
        history = await temporal.get_workflow_handle(job.id).fetch_history()

    inside = "".join(await payload_texts(history))
    assert "token (DESK_SECRET)" in inside
    assert "sesame-open" not in inside + str(history.to_json())


# --- out of reach


async def test_a_model_is_told_of_a_server_that_is_out_of_reach_and_gets_no_tools_of_it(host: Host, log: Path) -> None:
    script, asked = watched({"text": "done"})
    server = desk(log, "away", mode="hang-start", timeout=0.5)
    async with host(Agent("clerk", script, mcp=[server, desk(log, tools=["add"])])) as client:
        outcome = await (await client.start("clerk", "go")).outcome()

    assert outcome.status == "complete"
    assert [tool.name for tool in asked[0].tools] == ["desk_add"]
    assert asked[0].instructions.endswith(
        "The tools of away can't be used at the moment, since nothing answers there. Do not wait for them."
    )


async def test_an_approved_call_to_a_server_that_went_away_ends_as_an_error_after_some_tries(
    host: Host, log: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(link, "FIRST_PAUSE", 0.01)
    async with host(clerk(desk(log), call("desk_add", a=2, b=3))) as client:
        job, [pending] = await started(client, "clerk")
    async with host(clerk(desk(log, mode="hang-start", timeout=0.2), call("desk_add", a=2, b=3))):
        await job.approve(pending.call, by="ann")
        await ended(job)
        [said] = results(await job.transcript())

    assert said.status == "error"
    assert said.content == (
        "The MCP server desk can't be reached, so nothing was executed: it did not answer within 0.2 seconds"
    )
    assert called(log) == []
    assert len([each for each in caplog.messages if each.startswith("MCP server desk can't be reached")]) > 1
