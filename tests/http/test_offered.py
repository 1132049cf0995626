"""Jobs of agents that there are not: refused where the app is known, by the API and in the browser."""

import os
from pathlib import Path

import pytest
from httpx2 import ASGITransport, AsyncClient

from activities.apps import load_app
from surefoot.client import Client
from surefoot.http.access import Access
from surefoot.http.app import create_app
from surefoot.http.offered import Offered
from tests.conftest import Host
from tests.http.conftest import HERE, Caller
from tests.workflows.gated import ended, writer

APP = "from surefoot import Agent\n\nagents = [{agents}]\n"


def written(file: Path, *names: str) -> Path:
    file.write_text(APP.format(agents=", ".join(f"Agent({name!r}, 'scripted:x.json')" for name in names)))
    return file


class Serving:
    """Whether a worker has the present code of the app."""

    now = True


def offering(client: Client, file: Path, serving: Serving | None = None) -> AsyncClient:
    known = serving or Serving()
    app = create_app(client, Access.open("ann", []), offered=Offered(file, load_app, lambda: known.now))
    return AsyncClient(transport=ASGITransport(app), base_url=HERE)


async def test_a_job_of_an_agent_that_there_is_not_is_refused_with_a_name_that_is_near(
    nobody: Client, tmp_path: Path
) -> None:
    async with offering(nobody, written(tmp_path / "app.py", "desk", "night")) as asked:
        refused = await Caller(asked).post("/jobs", {"agent": "dsk", "message": "go"}, 422)

    assert refused["type"] == "urn:surefoot:problem:unknown-agent"
    assert refused["detail"] == "There is no agent 'dsk'. Did you mean 'desk'? The app has: desk, night."


async def test_what_is_to_begin_in_a_queue_that_there_is_not_is_refused_with_those_that_there_are(
    nobody: Client, tmp_path: Path
) -> None:
    file = written(tmp_path / "app.py", "desk")
    file.write_text(f"from surefoot import Queue\n{file.read_text()}queue = Queue('nightly', concurrency=2)\n")
    job = {"agent": "desk", "message": "go", "queue": "daily"}
    async with offering(nobody, file) as asked:
        caller = Caller(asked)
        refused = [
            await caller.post("/jobs", job, 422),
            await caller.post("/schedules", {**job, "id": "s", "cron": ["0 6 * * *"]}, 422),
            await caller.patch("/schedules/s", {"queue": "daily"}, 422),
        ]

    assert {each["type"] for each in refused} == {"urn:surefoot:problem:unknown-queue"}
    assert "there is no queue 'daily'; the app has: nightly" in refused[0]["detail"]


async def test_the_form_for_a_new_job_offers_the_agents_and_takes_no_other(nobody: Client, tmp_path: Path) -> None:
    async with offering(nobody, written(tmp_path / "app.py", "desk", "night")) as asked:
        form = await asked.get("/new", params={"agent": "night"})
        refused = await asked.post("/new", data={"agent": "dsk", "message": "go", "key": "k"})

    assert "<option>desk</option><option selected>night</option>" in form.text
    assert refused.status_code == 422
    assert "Did you mean &#39;desk&#39;?" in refused.text


async def test_an_agent_that_the_app_got_meanwhile_counts_once_a_worker_has_it(host: Host, tmp_path: Path) -> None:
    file, serving = written(tmp_path / "app.py", "desk"), Serving()
    async with host(writer("late", tools=[])) as client, offering(client, file, serving) as asked:
        caller = Caller(asked)
        written(file, "desk", "late")
        serving.now = False
        before = await caller.post("/jobs", {"agent": "late", "message": "go"}, 422)
        serving.now = True
        job = await caller.post("/jobs", {"agent": "late", "message": "go"}, 201)
        await ended(client.job(job["job"]))

    assert before["type"] == "urn:surefoot:problem:unknown-agent"


@pytest.mark.parametrize("spoilt", ["this is no Python", None], ids=["no Python", "gone"])
async def test_an_app_file_that_can_not_be_read_any_more_takes_no_agent_away(
    nobody: Client, tmp_path: Path, spoilt: str | None
) -> None:
    file = written(tmp_path / "app.py", "desk")
    async with offering(nobody, file) as asked:
        file.write_text(spoilt) if spoilt is not None else os.remove(file)
        form = await asked.get("/new")

    assert "<option>desk</option>" in form.text


@pytest.mark.parametrize("name", ["a\x07b", "a b", "ä", "x" * 65], ids=["control", "blank", "umlaut", "long"])
async def test_without_the_app_any_name_that_an_agent_may_have_will_do_and_no_other(nobody: Client, name: str) -> None:
    app = create_app(nobody, Access.open("ann", []))
    async with AsyncClient(transport=ASGITransport(app), base_url=HERE) as asked:
        form = await asked.get("/new")
        refused = await asked.post("/new", data={"agent": name, "message": "go"})

    assert '<input id="agent" name="agent"' in form.text
    assert refused.status_code == 422
    assert "no agent can be called" in refused.text


async def test_a_line_of_a_file_that_names_an_agent_that_there_is_not_is_a_bad_one(
    nobody: Client, tmp_path: Path
) -> None:
    line = b'{"custom_id": "a", "input": "go", "agent": "dsk"}\n'
    async with offering(nobody, written(tmp_path / "app.py", "desk", "night")) as asked:
        refused = await asked.post("/api/v1/batches", content=line, headers={"Content-Type": "application/jsonl"})

    assert refused.status_code == 422
    assert refused.json()["type"] == "urn:surefoot:problem:bad-lines"
    assert refused.json()["faults"] == [
        {"where": "line 1", "what": "there is no agent 'dsk'; the app has: desk, night"}
    ]
