"""Decisions over HTTP: only clear words by people who may, each taken once, and never more than what was shown."""

import asyncio
import json
from datetime import timedelta
from typing import Any

import pytest

from activities.approval import Approval
from surefoot.client import Client
from surefoot.http import cursors
from surefoot.http.access import Access
from surefoot.job import Job
from tests.conftest import Host
from tests.http.conftest import asking, calling
from tests.waiting import until
from tests.workflows.gated import Ledger, call, ended, results, started, waiting, writer
from tests.workflows.test_gate_unknown_outcomes import Doubtful, doubted

SAVE = [call("save", key="a")]


def at(job: Job, pending_call: str) -> str:
    return f"/jobs/{job.id}/calls/{pending_call}"


async def test_what_waits_is_listed_shown_whole_and_approved_in_the_persons_name(host: Host) -> None:
    ledger = Ledger()
    async with host(writer("w", SAVE, tools=[ledger.tool()])) as client, calling(client, "ana", "finance") as ana:
        job, (pending,) = await started(client, "w", tenant="acme")
        listed = await until(lambda: ana.get("/inbox", job=job.id), lambda page: bool(page["items"]))
        whole = await ana.get(at(job, pending.call))
        taken = await ana.post(at(job, pending.call) + "/decision", {"choice": "approve", "digest": pending.digest})
        view = await ended(job)
        audit = await ana.get(f"/jobs/{job.id}/audit")

    (item,) = listed["items"]
    assert (item["job"], item["call"], item["arguments"]) == (job.id, pending.call, {"key": "a"})
    assert (whole["digest"], whole["tenant"], whole["job"]) == (pending.digest, "acme", job.id)
    assert (taken["status"], taken["decided"]["by"], taken["decided"]["choice"]) == ("applied", "ana", "approve")
    assert ledger.written == ["save a"]
    assert [(d.choice, d.by, d.performed) for d in view.decided] == [("approve", "ana", True)]
    first = audit["entries"][0]["entry"]
    assert (first["deed"], first["by"]) == ("approved", "ana")
    assert "finance" in first["roles"]


@pytest.mark.parametrize(
    "body",
    [
        None,
        "null",
        "approve",
        0,
        False,
        {},
        {"choice": None, "digest": "d"},
        {"choice": "no", "digest": "d"},
        {"choice": 0, "digest": "d"},
        {"choice": "false", "digest": "d"},
        {"choice": True, "digest": "d"},
        {"choice": "approve"},
        {"choice": "approve", "digest": None},
        {"choice": "approve", "digest": ""},
        {"choice": "approve", "digest": "d", "by": "the boss"},
        {"choice": "approve", "digest": "d", "roles": ["finance"]},
        {"choice": "approve", "digest": "d", "arguments": {"key": "b"}},
        {"choice": "approve", "digest": "d", "tool": "other"},
        {"choice": "approve", "digest": "d", "grant": {"count": 0, "seconds": 1}},
        {"choice": "approve", "digest": "d", "grant": {"count": 1}},
        {"choice": "edit", "digest": "d"},
        {"choice": "edit", "digest": "d", "arguments": None},
        {"choice": "edit", "digest": "d", "arguments": [1]},
        {"choice": "answer", "digest": "d"},
        {"choice": "deny", "digest": "d", "reason": 1},
    ],
)
async def test_what_is_no_clear_decision_is_refused_and_executes_nothing(host: Host, body: Any) -> None:
    ledger = Ledger()
    async with host(writer("w", SAVE, tools=[ledger.tool()])) as client, calling(client) as ana:
        job, (pending,) = await started(client, "w")
        body = {**body, "digest": pending.digest} if isinstance(body, dict) and body.get("digest") == "d" else body
        refused = await ana.post(at(job, pending.call) + "/decision", body, 422)
        (still,) = (await job.view()).pending
        await job.cancel()
        await ended(job)

    assert refused["type"] == "urn:surefoot:problem:invalid-request"
    assert still.call == pending.call
    assert ledger.written == []


async def test_a_decision_on_other_arguments_or_another_call_is_refused(host: Host) -> None:
    ledger = Ledger()
    async with host(writer("w", SAVE, tools=[ledger.tool()])) as client, calling(client) as ana:
        job, (pending,) = await started(client, "w")
        stale = await ana.post(at(job, pending.call) + "/decision", {"choice": "approve", "digest": "other"}, 409)
        unknown = await ana.post(at(job, "c9-9") + "/decision", {"choice": "approve", "digest": pending.digest}, 404)
        shown = await ana.get(at(job, "c9-9"), 404)
        await job.cancel()
        await ended(job)

    assert stale["type"] == "urn:surefoot:problem:stale-arguments"
    assert [each["type"] for each in (unknown, shown)] == ["urn:surefoot:problem:unknown-call"] * 2
    assert ledger.written == []


async def test_a_second_decision_is_told_of_the_first(host: Host) -> None:
    ledger = Ledger()
    async with (
        host(writer("w", SAVE, SAVE, tools=[ledger.tool()])) as client,
        calling(client) as ana,
        calling(client, "bob") as bob,
    ):
        job, (pending,) = await started(client, "w")
        path, word = at(job, pending.call) + "/decision", {"digest": pending.digest}
        first = await ana.post(path, {"choice": "deny", "reason": "no", **word})
        second = await bob.post(path, {"choice": "approve", **word}, 409)
        view = await ended(job)
        after_the_end = await bob.post(path, {"choice": "approve", **word}, 409)

    assert first["decided"]["choice"] == "deny"
    assert second["type"] == "urn:surefoot:problem:already-decided"
    assert (second["decided"]["by"], second["decided"]["choice"], second["decided"]["text"]) == ("ana", "deny", "no")
    assert after_the_end["decided"]["by"] == "ana"
    assert ledger.written == []  # nor did the same call in the next round run
    assert view.outcome is not None


async def test_edited_arguments_run_after_they_were_checked_for_the_same_tool(host: Host) -> None:
    ledger = Ledger()
    async with host(writer("w", SAVE, tools=[ledger.tool()])) as client, calling(client) as ana:
        job, (pending,) = await started(client, "w")
        path, word = at(job, pending.call) + "/decision", {"choice": "edit", "digest": pending.digest}
        invalid = await ana.post(path, {**word, "arguments": {"key": 1}}, 422)
        other = await ana.post(path, {**word, "arguments": {"file": "a"}}, 422)
        taken = await ana.post(path, {**word, "arguments": {"key": "b"}})
        await ended(job)
        (result,) = results(await job.transcript())

    assert [each["type"] for each in (invalid, other)] == ["urn:surefoot:problem:invalid-arguments"] * 2
    assert taken["decided"]["edited_digest"] not in (None, pending.digest)
    assert ledger.written == ["save b"]
    assert result.edited


async def test_an_answer_takes_the_tools_place(host: Host) -> None:
    ledger = Ledger()
    async with host(writer("w", SAVE, tools=[ledger.tool()])) as client, calling(client) as ana:
        job, (pending,) = await started(client, "w")
        word = {"choice": "answer", "digest": pending.digest, "text": "saved by hand"}
        await ana.post(at(job, pending.call) + "/decision", word)
        await ended(job)
        (result,) = results(await job.transcript())

    assert result.status == "answered"
    assert result.content == "Not executed. ana answered in the tool's place: saved by hand"
    assert ledger.written == []


async def test_a_grant_lets_the_calls_to_come_through(host: Host) -> None:
    ledger = Ledger()
    rounds = [[call("save", key="a")], [call("save", key="b")]]
    async with host(writer("w", *rounds, tools=[ledger.tool()])) as client, calling(client) as ana:
        job, (pending,) = await started(client, "w")
        word = {"choice": "approve", "digest": pending.digest, "grant": {"count": 1, "seconds": 60}}
        await ana.post(at(job, pending.call) + "/decision", word)
        await ended(job)
        audit = await ana.get(f"/jobs/{job.id}/audit")

    assert ledger.written == ["save a", "save b"]
    deeds = [each["entry"]["deed"] for each in audit["entries"]]
    assert deeds == ["approved", "granted", "performed", "used_grant", "performed"]


async def test_only_who_has_the_tools_role_decides_and_only_others_than_the_jobs_own_person(host: Host) -> None:
    ledger = Ledger()
    tool = ledger.tool(approval=Approval(approvers=["finance"], quorum=2, self_approval=False))
    async with (
        host(writer("w", SAVE, tools=[tool])) as client,
        calling(client, "ana", "finance") as ana,
        calling(client, "bob", "finance") as bob,
        calling(client, "eve") as eve,
        calling(client, "kim", "finance") as kim,
    ):
        name = (await kim.post("/jobs", {"agent": "w", "message": "go"}, 201))["job"]
        job = client.job(name)
        (pending,) = await waiting(job)
        path, word = at(job, pending.call) + "/decision", {"choice": "approve", "digest": pending.digest}
        refused = [await eve.post(path, word, 403), await kim.post(path, word, 403)]
        first = await ana.post(path, word)
        again = await ana.post(path, word)
        second = await bob.post(path, word)
        await ended(job)

    assert [each["type"] for each in refused] == ["urn:surefoot:problem:not-allowed"] * 2
    assert again == first
    assert (first["decided"]["missing"], second["decided"]["missing"]) == (1, 0)
    assert ledger.written == ["save a"]


async def test_many_are_decided_each_for_itself(host: Host) -> None:
    ledger = Ledger()
    calls = [call("save", key=key) for key in "abc"]
    async with host(writer("w", calls, tools=[ledger.tool()])) as client, calling(client) as ana:
        job, pending = await started(client, "w", 3)
        decisions = [
            {"job": job.id, "call": pending[0].call, "decision": {"choice": "approve", "digest": pending[0].digest}},
            {"job": job.id, "call": pending[1].call, "decision": {"choice": "approve", "digest": "stale"}},
            {"job": "none", "call": "c1-1", "decision": {"choice": "deny", "digest": "d"}},
            {"job": job.id, "call": pending[2].call, "decision": {"choice": "deny", "digest": pending[2].digest}},
        ]
        told = await ana.post("/inbox/decisions", {"decisions": decisions})
        left = (await job.view()).pending
        await ana.post(at(job, left[0].call) + "/decision", {"choice": "deny", "digest": left[0].digest})
        await ended(job)

    assert [each["status"] for each in told["results"]] == ["applied", "refused", "refused", "applied"]
    assert [each["problem"] and each["problem"]["type"].rpartition(":")[2] for each in told["results"]] == [
        None,
        "stale-arguments",
        "no-such-job",
        None,
    ]
    assert [each.call for each in left] == [pending[1].call]
    assert ledger.written == ["save a"]


async def test_one_word_that_is_none_refuses_all_of_many(host: Host) -> None:
    ledger = Ledger()
    async with host(writer("w", SAVE, tools=[ledger.tool()])) as client, calling(client) as ana:
        job, (pending,) = await started(client, "w")
        good = {"job": job.id, "call": pending.call, "decision": {"choice": "approve", "digest": pending.digest}}
        await ana.post("/inbox/decisions", {"decisions": [good, {**good, "decision": None}]}, 422)
        await ana.post("/inbox/decisions", {"decisions": []}, 422)
        await ana.post("/inbox/decisions", {"decisions": [good] * 101}, 422)
        still = (await job.view()).pending
        await job.cancel()
        await ended(job)

    assert [each.call for each in still] == [pending.call]
    assert ledger.written == []


async def test_the_inbox_is_filtered_and_read_page_by_page_oldest_first(host: Host) -> None:
    ledger = Ledger()
    agents = [
        writer("inbox-a", SAVE, tools=[ledger.tool()]),
        writer("inbox-b", SAVE, tools=[ledger.tool(approval=Approval(risk="high"))]),
    ]
    async with host(*agents) as client, calling(client) as ana:
        jobs = [(await started(client, "inbox-a", tenant="t-inbox"))[0] for _ in range(3)]
        jobs.append((await started(client, "inbox-b", tenant="t-inbox"))[0])
        mine: dict[str, Any] = {"tenant": "t-inbox"}
        await until(lambda: ana.get("/inbox", **mine), lambda page: len(page["items"]) == 4)
        first = await ana.get("/inbox", limit=3, **mine)
        second = await ana.get("/inbox", limit=3, cursor=first["next"], **mine)
        high = await ana.get("/inbox", risk="high", **mine)
        other_tool = await ana.get("/inbox", tool="other", **mine)
        unknown = await ana.get("/inbox", kind="unknown_outcome", **mine)
        old = await ana.get("/inbox", older_than=3600, **mine)
        await ana.get("/inbox", 422, cursor="nonsense")
        for job in jobs:
            await job.cancel()
            await ended(job)

    assert [item["job"] for page in (first, second) for item in page["items"]] == [job.id for job in jobs]
    assert second["next"] is None
    assert [item["job"] for item in high["items"]] == [jobs[-1].id]
    assert [page["items"] for page in (other_tool, unknown, old)] == [[], [], []]


async def test_a_decision_without_a_worker_is_kept_and_says_so(host: Host) -> None:
    ledger = Ledger()
    agent = writer("w", SAVE, tools=[ledger.tool()])
    async with host(agent) as client:
        job, (pending,) = await started(client, "w")
    impatient = Client(client.temporal, task_queue=client.task_queue, answer_within=timedelta(seconds=0.5))
    async with calling(impatient) as ana:
        shown = await ana.get(f"/jobs/{job.id}", 503)
        kept = await ana.post(at(job, pending.call) + "/decision", {"choice": "approve", "digest": pending.digest}, 202)
    async with host(agent):
        await ended(job)

    assert shown["type"] == "urn:surefoot:problem:no-worker"
    assert kept["status"] == "sent"
    assert ledger.written == ["save a"]


async def test_a_megabyte_of_arguments_can_be_approved(host: Host) -> None:
    ledger = Ledger()
    async with (
        host(writer("w", [call("save", key="x" * 1_000_000)], tools=[ledger.tool()])) as client,
        calling(client) as ana,
    ):
        job, (pending,) = await started(client, "w")
        whole = await ana.get(at(job, pending.call))
        await ana.post(at(job, pending.call) + "/decision", {"choice": "approve", "digest": whole["digest"]})
        await ended(job)

    assert len(whole["arguments"]["key"]) == 1_000_000
    assert len(ledger.written) == 1


@pytest.mark.parametrize("text", ['{"key": NaN}', '{"key": Infinity}', '{"key": "\\ud800"}'])
async def test_arguments_that_are_no_json_are_refused(host: Host, text: str) -> None:
    ledger = Ledger()
    async with host(writer("w", SAVE, tools=[ledger.tool()])) as client:
        job, (pending,) = await started(client, "w")
        async with asking(client, Access.open("me", [])) as asked:
            answer = await asked.post(
                f"/api/v1{at(job, pending.call)}/decision",
                content=f'{{"choice": "edit", "digest": {json.dumps(pending.digest)}, "arguments": {text}}}',
                headers={"Content-Type": "application/json"},
            )
        await job.cancel()
        await ended(job)

    assert answer.status_code == 422
    assert ledger.written == []


async def test_five_people_who_decide_at_once_decide_once(host: Host) -> None:
    ledger = Ledger()
    async with host(writer("w", SAVE, tools=[ledger.tool()])) as client:
        job, (pending,) = await started(client, "w")

        async def decide(name: str) -> int:
            async with asking(client, Access.open(name, [])) as asked:
                answer = await asked.post(
                    f"/api/v1{at(job, pending.call)}/decision", json={"choice": "approve", "digest": pending.digest}
                )
                return answer.status_code

        told = await asyncio.gather(*(decide(f"p{n}") for n in range(5)))
        await ended(job)

    assert sorted(told) == [200, 409, 409, 409, 409]
    assert ledger.written == ["save a"]


@pytest.mark.parametrize("choice", ["happened", "not_happened", "give_up"])
async def test_an_unknown_outcome_is_settled_in_the_persons_name(host: Host, choice: str) -> None:
    doubtful = Doubtful()
    async with host(writer("w", [call("pay", to="eve")], tools=[doubtful.tool()])) as client, calling(client) as ana:
        job, pending = await doubted(client)
        listed = await until(lambda: ana.get("/inbox", job=job.id), lambda page: bool(page["items"]))
        path = at(job, pending.call)
        wrong = await ana.post(path + "/decision", {"choice": "approve", "digest": pending.digest}, 403)
        result = {"result": "paid on Monday"} if choice == "happened" else {}
        taken = await ana.post(path + "/resolution", {"choice": choice, **result})
        await ended(job)
        audit = await ana.get(f"/jobs/{job.id}/audit")
        (told,) = results(await job.transcript())

    (item,) = listed["items"]
    assert (item["kind"], item["allowed"]) == ("unknown_outcome", ["happened", "not_happened", "give_up"])
    assert wrong["type"] == "urn:surefoot:problem:not-allowed"
    assert (taken["status"], taken["decided"]["choice"], taken["decided"]["by"]) == ("applied", choice, "ana")
    deed = {"happened": "happened", "not_happened": "not_happened", "give_up": "gave_up"}[choice]
    assert (deed, "ana") in [(each["entry"]["deed"], each["entry"]["by"]) for each in audit["entries"]]
    assert doubtful.runs == (2 if choice == "not_happened" else 1)
    assert ("paid on Monday" in told.content) == (choice == "happened")


@pytest.mark.parametrize(
    "body",
    [
        None,
        {},
        {"choice": None},
        {"choice": "yes"},
        {"choice": "give_up", "result": "x"},
        {"choice": "happened", "by": "x"},
    ],
)
async def test_what_is_no_clear_word_on_an_unknown_outcome_settles_nothing(host: Host, body: Any) -> None:
    doubtful = Doubtful()
    async with host(writer("w", [call("pay", to="eve")], tools=[doubtful.tool()])) as client, calling(client) as ana:
        job, pending = await doubted(client)
        await ana.post(at(job, pending.call) + "/resolution", body, 422)
        (still,) = (await job.view()).pending
        await job.cancel()
        await ended(job)

    assert (still.call, still.kind, doubtful.runs) == (pending.call, "unknown_outcome", 1)


@pytest.mark.parametrize("place", ["0001-01-01T00:00:00+14:00~x", "9999-12-31T23:59:59-14:00~x", "yesterday~x", "~"])
async def test_a_place_in_the_inbox_that_no_page_ended_with_is_refused(nobody: Client, place: str) -> None:
    async with calling(nobody) as ana:
        told = await ana.get("/inbox", expect=422, cursor=cursors.write(place))

    assert told["type"] == "urn:surefoot:problem:wrong-value"
