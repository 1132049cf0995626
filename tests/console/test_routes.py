"""What each page and form of the console needs, and the files that it serves."""

from typing import cast

import pytest
from fastapi import FastAPI
from fastapi.routing import APIRoute, iter_route_contexts
from temporalio.client import Client as Temporal

from surefoot import console
from surefoot.client import Client
from surefoot.console.assets import assets
from surefoot.console.rendering import call_url, job_url
from surefoot.http.access import Access
from tests.http.conftest import asking
from tests.http.test_routes import needed

NEEDS = {
    "view": {
        "GET /", "GET /inbox", "GET /inbox/card", "GET /inbox/read", "GET /inbox/became", "GET /inbox/whole",
        "GET /jobs", "GET /jobs/{job}", "GET /batches", "GET /batches/{batch}", "GET /saying", "POST /logout",
        "GET /lanes", "GET /queues", "GET /queues/{queue}", "GET /schedules", "GET /schedules/{schedule}",
    },
    "submit": {"GET /new", "POST /new", "POST /tell/{what}", "GET /new-batch", "POST /new-batch",
        "POST /batch-words/{what}", "POST /queue-words/{what}", "POST /schedule-words/{what}",
        "POST /lane-words/pause", "POST /lane-words/resume",
        "GET /new-schedule", "POST /new-schedule", "GET /change-schedule", "POST /change-schedule",},
    "approve": {
        "GET /inbox/edit", "POST /inbox/edit", "POST /inbox/review", "GET /inbox/grant", "POST /inbox/rule",
        "POST /inbox/decide", "POST /inbox/resolve",
    },
    None: {
        "GET /login", "POST /login", "GET /static/{name}", "GET /favicon.ico",
        "GET /decide/{token}", "POST /decide",  # the link itself says for whom it was made
    },
}  # fmt: skip


def test_every_page_needs_what_the_table_says() -> None:
    app = FastAPI(openapi_url=None)
    app.include_router(console.router())
    found: dict[str | None, set[str]] = {}
    for context in iter_route_contexts(app.routes):
        route = context.original_route
        assert isinstance(route, APIRoute)
        needs = next(iter(set(needed(route.dependant))), None)
        found.setdefault(needs, set()).update(f"{method} {context.path_format}" for method in route.methods or ())

    assert found == NEEDS


@pytest.mark.parametrize("name", ["../pages.py", "..%2Fpages.py", "nothing.js", "%2Fetc%2Fpasswd"])
async def test_no_file_but_the_console_s_own_is_served(name: str) -> None:
    async with asking(Client(cast(Temporal, None)), Access.open("me", [])) as asked:
        answer = await asked.get(f"/static/{name}")

    assert answer.status_code == 404


async def test_a_file_may_be_kept_under_its_version_and_is_asked_for_anew_without() -> None:
    version = assets()["keys.js"].version
    async with asking(Client(cast(Temporal, None)), Access.open("me", [])) as asked:
        kept = await asked.get(f"/static/keys.js?v={version}")
        asked_anew = await asked.get("/static/keys.js")
        same = await asked.get("/static/keys.js", headers={"If-None-Match": asked_anew.headers["etag"]})

    assert kept.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert asked_anew.headers["cache-control"] == "no-cache"
    assert (kept.headers["content-type"], same.status_code) == ("text/javascript; charset=utf-8", 304)


def test_addresses_hold_any_id() -> None:
    assert job_url("a/b?c#d", show="audit") == "/jobs/a%2Fb%3Fc%23d?show=audit"
    assert job_url("..") == "/jobs/-?id=.."
    assert call_url("card", "a&b", "c=1") == "/inbox/card?job=a%26b&call=c%3D1"
