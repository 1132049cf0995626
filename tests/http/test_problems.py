"""Whatever goes wrong is a problem of RFC 9457, each kind of its own, and faults of ours tell nothing."""

import logging
import time
from datetime import UTC, datetime

import pytest
from fastapi import FastAPI
from httpx2 import ASGITransport, AsyncClient
from temporalio.service import RPCError, RPCStatusCode

from surefoot import errors
from surefoot.client import Client
from surefoot.http.access import Access
from surefoot.http.app import create_app
from surefoot.http.problems import ERRORS, REFUSALS, kind_of, problem_of
from surefoot.http.sessions import Sessions
from surefoot.http.shield import HEADERS
from surefoot.rpc import reaching
from tests.http.conftest import HERE, asking
from workflows.contracts import Decided

AT = datetime(2026, 1, 1, tzinfo=UTC)


def tree(error: type[Exception]) -> set[type[Exception]]:
    return {error}.union(*(tree(each) for each in error.__subclasses__() if each.__module__ == "surefoot.errors"))


def test_the_table_knows_every_error_of_the_tree() -> None:
    known = set(ERRORS) | {errors.SurefootError, errors.DecisionRefused}

    assert tree(errors.SurefootError) == known


def test_the_table_knows_every_kind_of_a_refused_decision() -> None:
    """Those that the documentation of the error names, and that of a word too large for a job."""
    named = {name for name in REFUSALS if name in (errors.DecisionRefused.__doc__ or "")}

    assert named | {"TooLarge"} == set(REFUSALS)


def test_no_two_kinds_have_one_type() -> None:
    kinds = {*ERRORS.values(), *REFUSALS.values()}

    assert len({kind.slug for kind in kinds}) == len(kinds)


@pytest.mark.parametrize(
    ("error", "status", "type_"),
    [
        (errors.NoSuchJob("x"), 404, "no-such-job"),
        (errors.NoSuchRound("x"), 404, "no-such-round"),
        (errors.NoWorker("x"), 503, "no-worker"),
        (errors.ServerNotReached("x"), 503, "server-not-reached"),
        (errors.JobConflict("x"), 409, "job-conflict"),
        (errors.JobRunning("x"), 409, "job-running"),
        (errors.JobEnded("x"), 409, "job-ended"),
        (errors.NoSuchBatch("x"), 404, "no-such-batch"),
        (errors.NoSuchLane("x"), 404, "no-such-lane"),
        (errors.BatchEnded("x"), 409, "batch-ended"),
        (errors.BatchGivenUp("x"), 409, "batch-given-up"),
        (errors.BadLines("x", []), 422, "bad-lines"),
        (errors.TooLarge("x"), 413, "too-large"),
        (errors.WrongValue("x"), 422, "wrong-value"),
        (errors.Unreadable("x"), 500, "unreadable"),
        (errors.SurefootError("x"), 400, "unusable"),
        (errors.DecisionRefused("AlreadyDecided", "x"), 409, "already-decided"),
        (errors.DecisionRefused("StaleArguments", "x"), 409, "stale-arguments"),
        (errors.DecisionRefused("UnknownCall", "x"), 404, "unknown-call"),
        (errors.DecisionRefused("InvalidArguments", "x"), 422, "invalid-arguments"),
        (errors.DecisionRefused("NotAllowed", "x"), 403, "not-allowed"),
        (errors.DecisionRefused("JobEnded", "x"), 409, "job-ended"),
        (errors.DecisionRefused("TooLarge", "x"), 413, "too-large"),
        (errors.DecisionRefused("SomethingNew", "x"), 403, "not-allowed"),
    ],
)
def test_each_error_has_its_status_and_type(error: Exception, status: int, type_: str) -> None:
    problem = problem_of(error)

    assert (problem.status, problem.type, problem.detail) == (status, f"urn:surefoot:problem:{type_}", "x")


@pytest.mark.parametrize(
    ("code", "status"),
    [
        (RPCStatusCode.INVALID_ARGUMENT, 400),
        (RPCStatusCode.RESOURCE_EXHAUSTED, 503),
        (RPCStatusCode.UNAVAILABLE, 503),
        (RPCStatusCode.NOT_FOUND, 404),
        (RPCStatusCode.PERMISSION_DENIED, 500),
    ],
)
def test_what_the_server_says_is_told_by_what_can_be_done(code: RPCStatusCode, status: int) -> None:
    with pytest.raises(errors.SurefootError) as raised, reaching("j"):
        raise RPCError("says the server", code, b"")

    assert kind_of(raised.value).status == status


def test_a_second_decision_is_told_of_the_first_in_a_field_of_its_own() -> None:
    decided = Decided(call="c1-1", choice="deny", by="ana", at=AT)

    assert problem_of(errors.DecisionRefused("AlreadyDecided", "x", decided)).decided == decided


def failing(error: Exception) -> FastAPI:
    app = create_app(Client.__new__(Client), Access.open("me", []))

    @app.get("/fails")
    async def fails() -> None:
        raise error

    return app


async def test_a_fault_of_ours_tells_nothing_and_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    app = failing(RuntimeError("the password is hunter2"))
    async with AsyncClient(transport=ASGITransport(app), base_url=HERE) as asked:
        answer = await asked.get("/fails")

    assert answer.status_code == 500
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json() == {
        "type": "urn:surefoot:problem:fault",
        "title": "A fault of Surefoot itself",
        "status": 500,
        "detail": "the log of this server has the details; jobs are safe",
    }
    assert answer.headers["content-security-policy"] == HEADERS["Content-Security-Policy"]
    (record,) = [record for record in caplog.records if record.levelno >= logging.ERROR]
    assert "hunter2" in str(record.exc_info)


async def test_what_may_pass_says_when_to_ask_again() -> None:
    async with AsyncClient(transport=ASGITransport(failing(errors.NoWorker("none"))), base_url=HERE) as asked:
        answer = await asked.get("/fails")

    assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/healthz", 200),
        ("GET", "/docs", 200),
        ("GET", "/openapi.json", 200),
        ("GET", "/api/v1/session", 200),
        ("GET", "/api/v1/none", 404),
        ("POST", "/healthz", 405),
        ("POST", "/api/v1/jobs", 422),
    ],
)
async def test_every_answer_has_the_headers_that_browsers_keep_to(
    nobody: Client, method: str, path: str, status: int
) -> None:
    async with asking(nobody, Access.open("me", [])) as asked:
        answer = await asked.request(method, path)

    assert answer.status_code == status
    assert {name: answer.headers.get(name) for name in HEADERS} == HEADERS


async def test_a_refused_host_has_them_as_well(nobody: Client) -> None:
    async with asking(nobody, Access.open("me", [])) as asked:
        answer = await asked.get("/docs", headers={"Host": "evil.example"})
        healthy = await asked.get("/healthz", headers={"Host": "10.0.0.7"})

    assert (answer.status_code, healthy.status_code) == (421, 200)
    assert {name: answer.headers.get(name) for name in HEADERS} == HEADERS


async def test_a_request_that_is_not_valid_is_not_repeated_to_who_sent_it(nobody: Client) -> None:
    async with asking(nobody, Access.open("me", [])) as asked:
        answer = await asked.post("/api/v1/jobs", json={"agent": "a", "message": {"secret": "hunter2"}, "x": "hunter2"})

    assert [(fault["where"], fault["what"]) for fault in answer.json()["faults"]] == [
        ("body.message", "it has to be a text"),
        ("body.x", "there is no such field"),
    ]
    assert "hunter2" not in answer.text


async def test_the_page_about_the_api_loads_nothing_from_anywhere(nobody: Client) -> None:
    async with asking(nobody, Access.open("me", [])) as asked:
        page = (await asked.get("/docs")).text

    assert "<script" not in page
    assert "http://" not in page.replace("http://127.0.0.1", "")
    assert "https://" not in page
    assert "POST /api/v1/jobs/{job}/calls/{call}/decision" in page
    assert "Body: Approve, Edit, Answer, Deny" in page


async def test_a_body_with_any_number_of_unknown_fields_is_refused_in_no_time_and_few_words(nobody: Client) -> None:
    body = {f"field{number}": 1 for number in range(100_000)}
    async with asking(nobody, Access.open("me", [])) as asked:
        before = time.process_time()
        answer = await asked.post("/api/v1/session", json=body)
        took = time.process_time() - before

    assert (answer.status_code, answer.json()["type"]) == (422, "urn:surefoot:problem:invalid-request")
    assert answer.json()["detail"] == "body: it has 100000 fields; those that are known: token"
    assert len(answer.content) < 1_000
    assert took < 1.0  # each told by itself took seconds, in which nobody else was answered


async def test_no_more_faults_are_told_than_anybody_reads(nobody: Client) -> None:
    query = "&".join(f"field{number}={'x' * 20}" for number in range(500))
    async with asking(nobody, Access.open("me", [])) as asked:
        answer = await asked.get(f"/api/v1/jobs?{query}&{'y' * 5000}=1")

    assert answer.status_code == 422
    assert len(answer.json()["faults"]) == 50


async def test_no_answer_leads_to_where_the_host_header_says(nobody: Client) -> None:
    async with asking(nobody, Access(Sessions(secure=False))) as asked:
        answer = await asked.get("/login/", headers={"Host": "evil.example"})

    assert (answer.status_code, answer.headers.get("location")) == (404, None)


async def test_a_form_of_any_number_of_fields_is_refused(nobody: Client) -> None:
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    async with asking(nobody, Access(Sessions(secure=False))) as asked:
        answers = [await asked.post(path, content=b"a=&" * 100_000, headers=form) for path in ("/login", "/decide")]

    assert [answer.status_code for answer in answers] == [400, 400]


async def test_json_under_another_content_type_is_told_which_it_needs(nobody: Client) -> None:
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    async with asking(nobody, Access.open("me", [])) as asked:
        answer = await asked.post("/api/v1/jobs", content=b'{"agent": "shop", "message": "x"}', headers=form)

    assert answer.status_code == 422
    assert answer.json()["detail"] == (
        "header.Content-Type: the body was not read as JSON, since its Content-Type is"
        " 'application/x-www-form-urlencoded': send it with Content-Type: application/json"
    )
