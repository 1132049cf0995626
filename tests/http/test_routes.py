"""Every route asks who comes and whether that person may: route by route, role by role."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute, iter_route_contexts

from surefoot import console
from surefoot.client import Client
from surefoot.errors import NoSuchJob
from surefoot.http.access import Access, Needs
from surefoot.http.app import create_app
from surefoot.http.documents import document
from surefoot.http.people import GIVES
from tests.http.conftest import asking, bearer, known

JOB = "/api/v1/jobs/{job}"
CALL = JOB + "/calls/{call}"
BATCH = "/api/v1/batches/{batch}"
SCHEDULE = "/api/v1/schedules/{schedule}"
QUEUE = "/api/v1/queues/{queue}"
LANE = "/api/v1/lanes/{lane}"
PERMISSIONS = {
    ("GET", "/api/v1/session"): "view",
    ("DELETE", "/api/v1/session"): "view",
    ("GET", "/api/v1/jobs"): "view",
    ("POST", "/api/v1/jobs"): "submit",
    ("GET", JOB): "view",
    ("GET", JOB + "/transcript"): "view",
    ("GET", JOB + "/audit"): "view",
    ("GET", JOB + "/events"): "view",
    ("POST", JOB + "/fork"): "submit",
    ("POST", JOB + "/reply"): "submit",
    ("POST", JOB + "/steer"): "submit",
    ("POST", JOB + "/pause"): "submit",
    ("POST", JOB + "/resume"): "submit",
    ("POST", JOB + "/stop"): "submit",
    ("POST", JOB + "/cancel"): "submit",
    ("GET", CALL): "view",
    ("GET", CALL + "/output"): "view",
    ("POST", CALL + "/decision"): "approve",
    ("POST", CALL + "/resolution"): "approve",
    ("GET", "/api/v1/batches"): "view",
    ("POST", "/api/v1/batches"): "submit",
    ("GET", BATCH): "view",
    ("GET", BATCH + "/results"): "view",
    ("GET", BATCH + "/events"): "view",
    ("POST", BATCH + "/pause"): "submit",
    ("POST", BATCH + "/resume"): "submit",
    ("POST", BATCH + "/concurrency"): "submit",
    ("POST", BATCH + "/cancel"): "submit",
    ("POST", BATCH + "/retry"): "submit",
    ("GET", "/api/v1/inbox"): "view",
    ("GET", "/api/v1/schedules"): "view",
    ("POST", "/api/v1/schedules"): "submit",
    ("GET", SCHEDULE): "view",
    ("PATCH", SCHEDULE): "submit",
    ("POST", SCHEDULE + "/pause"): "submit",
    ("POST", SCHEDULE + "/resume"): "submit",
    ("POST", SCHEDULE + "/trigger"): "submit",
    ("DELETE", SCHEDULE): "submit",
    ("GET", "/api/v1/lanes"): "view",
    ("POST", f"{LANE}/pause"): "submit",
    ("POST", f"{LANE}/resume"): "submit",
    ("GET", "/api/v1/queues"): "view",
    ("GET", QUEUE): "view",
    ("PATCH", QUEUE): "submit",
    ("POST", QUEUE + "/pause"): "submit",
    ("POST", QUEUE + "/resume"): "submit",
    ("POST", "/api/v1/inbox/decisions"): "approve",
}
LISTS = ("/api/v1/jobs", "/api/v1/batches", "/api/v1/schedules", SCHEDULE, QUEUE)
"""Paths with a GET that looks, beside a method that changes something."""
OPEN = {
    ("POST", "/api/v1/session"),
    ("POST", "/hooks/openai"),
    ("GET", "/healthz"),
    ("GET", "/openapi.json"),
    ("GET", "/docs"),
}
ROLES = ["view", "submit", "approve", "admin", "finance"]
DENY = {"choice": "deny", "digest": "d"}
BODIES: dict[str, Any] = {
    "/api/v1/jobs": {"agent": "a", "message": "m"},
    "/api/v1/schedules": {"id": "s", "agent": "a", "message": "m", "cron": ["0 6 * * *"]},
    JOB + "/fork": {"round": 1},
    JOB + "/reply": {"message": "m"},
    JOB + "/steer": {"message": "m"},
    BATCH + "/concurrency": {"concurrency": 5},
    QUEUE: {"concurrency": 5},
    SCHEDULE: {"message": "m"},
    CALL + "/decision": DENY,
    CALL + "/resolution": {"choice": "give_up"},
    "/api/v1/inbox/decisions": {"decisions": [{"job": "j", "call": "c", "decision": DENY}]},
}


class Reached(Client):
    """A client with which a request that was let through gets an answer, and never more."""

    def __init__(self) -> None:
        pass

    def __getattribute__(self, name: str) -> Any:
        if name.startswith("__"):
            return super().__getattribute__(name)
        raise NoSuchJob("let through")


def needed(dependant: Dependant) -> Iterator[str]:
    for each in dependant.dependencies:
        if isinstance(each.call, Needs):
            yield each.call.permission
        yield from needed(each)


def routes(app: FastAPI) -> dict[tuple[str, str], str | None]:
    """What each route needs, None for nothing."""
    found: dict[tuple[str, str], str | None] = {}
    for context in iter_route_contexts(app.routes):
        route = context.original_route
        assert isinstance(route, APIRoute), f"{route} is no route that could need anything"
        for method in route.methods or ():
            found[method, str(context.path_format)] = next(iter(set(needed(route.dependant))), None)
    return found


def test_every_route_of_the_api_needs_what_the_table_says(nobody: Client) -> None:
    pages = FastAPI(openapi_url=None)
    pages.include_router(console.router())
    found = {
        each: needs
        for each, needs in routes(create_app(nobody, Access.open("me", []))).items()
        if each not in routes(pages)
    }

    assert {each: needs for each, needs in found.items() if needs is not None} == PERMISSIONS
    assert {each for each, needs in found.items() if needs is None} == OPEN


def test_what_changes_something_is_no_get(nobody: Client) -> None:
    changing = {path for (method, path), needs in PERMISSIONS.items() if needs != "view"}

    assert all(("GET", path) not in PERMISSIONS or path in LISTS for path in changing)


def test_there_is_no_route_that_could_change_the_audit(nobody: Client) -> None:
    methods = {
        method
        for path, of_path in document(create_app(nobody, Access.open("me", [])))["paths"].items()
        for method in of_path
        if "audit" in path
    }

    assert methods == {"get"}


@pytest.mark.parametrize("role", [*ROLES, None])
async def test_each_role_may_what_its_permissions_say_and_no_more(tmp_path: Path, role: str | None) -> None:
    access, token = known(tmp_path, ana=[role or "nothing"])
    headers = bearer(token["ana"]) if role is not None else {}
    seen: dict[tuple[str, str], bool] = {}
    async with asking(Reached(), access) as asked:
        for method, path in PERMISSIONS:
            url = path
            for name in ("job", "call", "batch", "schedule", "queue"):
                url = url.replace(f"{{{name}}}", f"{name}-1")
            answer = await asked.request(method, url, headers=headers, json=BODIES.get(path))
            assert answer.status_code in (200, 204, 401, 403, 404, 415), (method, path, answer.text)
            seen[method, path] = answer.status_code in (200, 204, 404, 415)  # who may is asked before what was sent

    gives = GIVES.get(role or "", frozenset())
    assert seen == {each: needs in gives for each, needs in PERMISSIONS.items()}
