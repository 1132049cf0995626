"""A Temporal server of TEMPORAL_ADDRESS: no local server, no local worker; what is missing there is said soon."""

import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import pytest
from temporalio.client import Client as Temporal

from surefoot.cli.decide import pending_call
from surefoot.cli.session import Session
from surefoot.errors import NoWorker
from surefoot.job import Job
from surefoot.settings import read_settings
from tests.cli.running import Place, until
from tests.conftest import Host
from tests.workflows.gated import Ledger, call, started, writer

pytestmark = pytest.mark.server


@pytest.fixture
def remote(temporal: Temporal, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Place]:
    """A place whose settings name the test server, and a queue of the test's own on it."""
    place = Place.at(
        tmp_path / "Töpfe und Krüge",
        TEMPORAL_ADDRESS=temporal.service_client.config.target_host,
        TEMPORAL_NAMESPACE=temporal.namespace,
        SUREFOOT_TASK_QUEUE=request.node.name,
        SUREFOOT_ARTIFACTS=str(tmp_path / "artifacts"),
    )
    try:
        yield place
        assert not place.home.exists(), "a local server or worker was started"
    finally:
        place.close()


@contextmanager
def serving(remote: Place) -> Iterator[None]:
    """`python -m worker`, as an operator starts it."""
    log = remote.folder / "worker.log"
    environment = {name: value for name, value in remote.environment.items() if name != "SUREFOOT_WORKER_IDLE_SECONDS"}
    with log.open("wb") as file:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "worker"], cwd=remote.folder, env=environment, stdout=file, stderr=file
        )
    try:
        until(lambda: b"serves queue" in log.read_bytes())
        yield
    finally:
        process.kill()
        process.wait(timeout=10)


@pytest.fixture
def worker(remote: Place) -> Iterator[None]:
    with serving(remote):
        yield


@pytest.mark.usefixtures("worker")
def test_a_job_runs_where_its_worker_is(remote: Place) -> None:
    waiting = remote.run("run", "shop", "cups?", "--id", "far-away", SUREFOOT_APP="")
    approved = remote.run("approve", "far-away", "c2-1", SUREFOOT_APP="")
    watched = remote.run("watch", "far-away", SUREFOOT_APP="")

    assert (waiting.code, approved.code, watched.code) == (4, 0, 0)
    assert watched.out == "No cups were left: 10 x cup ordered.\n"
    assert remote.done() == ["cup 10"]


@pytest.mark.usefixtures("worker")
def test_an_agent_that_the_worker_does_not_have_fails_the_job(remote: Place) -> None:
    ended = remote.run("run", "nobody", "x", "--json", SUREFOOT_APP="")
    document = json.loads(ended.out)

    assert (ended.code, document["status"]) == (1, "failed")
    assert "There is no agent 'nobody'" in document["error"]


@pytest.mark.usefixtures("worker")
def test_a_job_that_was_terminated_is_shown_as_failed_with_what_it_had_done(remote: Place, temporal: Temporal) -> None:
    remote.run("run", "shop", "cups?", "--id", "terminated")
    command = [str(Path(sys.executable).with_name("temporal")), "workflow", "terminate", "-w", "terminated"]
    options = ["--address", temporal.service_client.config.target_host, "--namespace", temporal.namespace]
    subprocess.run([*command, *options], env=remote.environment, check=True, capture_output=True)

    page, document = remote.run("show", "terminated"), json.loads(remote.run("show", "terminated", "--json").out)

    assert (page.code, document["state"], document["status"], document["rounds"]) == (0, "ended", "failed", 1)
    assert "the run ended as TERMINATED" in page.out
    assert remote.run("reply", "terminated", "go on", "--approve", "none").code == 0


def test_without_a_worker_a_job_is_left_for_one(remote: Place) -> None:
    ended = remote.run("run", "plain", "x", "--detach", "--json", "--id", "for-later")
    document = json.loads(ended.out)

    assert (ended.code, document["job"], document["agent"], document["state"]) == (0, "for-later", "plain", "running")


def test_without_a_worker_show_tells_what_the_server_itself_knows(remote: Place) -> None:
    remote.run("run", "plain", "x", "--detach", "--id", "known", "--tenant", "acme", "--tag", "night")
    page, shown = remote.run("show", "known"), remote.run("show", "known", "--json")
    document = json.loads(shown.out)

    assert (page.code, shown.code, document["kind"]) == (1, 1, "NoWorker")
    assert page.out.splitlines()[:2] == ["known  agent plain  running", "tenant acme  #night"]
    assert "no worker answers for job known" in page.err
    assert "This is what the server itself knows of the job" in page.err
    assert (document["job"], document["agent"], document["state"]) == ("known", "plain", "running")
    assert (document["tenant"], document["tags"], document["exit_code"]) == ("acme", ["night"], 1)


async def test_a_call_that_waits_can_be_decided_on_while_no_worker_is_up(host: Host) -> None:
    async with host(writer("w", [call("save", key="a")], tools=[Ledger().tool()])) as client:
        job, (pending,) = await started(client, "w")
    opened = Session(read_settings({"TEMPORAL_ADDRESS": "anywhere:7233"}), client)
    impatient = Job(client.temporal, job.id, answer_within=timedelta(seconds=0.5))

    found = await pending_call(opened, impatient, pending.call)

    assert (found.call, found.digest) == (pending.call, pending.digest)
    with pytest.raises(NoWorker):
        await pending_call(opened, impatient, "c9-9")


def test_an_address_where_nobody_listens_ends_with_5_soon(place: Place) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    began = time.monotonic()
    ended = place.run("run", "plain", "x", "--json", TEMPORAL_ADDRESS=address)

    assert time.monotonic() - began < 20
    assert (ended.code, json.loads(ended.out)["kind"]) == (5, "ServerNotReached")
    assert f"can't connect to the Temporal server at {address}" in ended.err
    assert not place.home.exists()


def test_an_address_that_swallows_everything_ends_with_5_soon(place: Place) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        began = time.monotonic()
        ended = place.run("jobs", TEMPORAL_ADDRESS=f"127.0.0.1:{silent.getsockname()[1]}")

    assert ended.code == 5
    assert time.monotonic() - began < 20


def test_a_namespace_that_is_not_there_is_named(remote: Place) -> None:
    ended = remote.run("jobs", TEMPORAL_NAMESPACE="nowhere")

    assert ended.code == 5
    assert "nowhere" in ended.err


def test_dev_is_for_the_embedded_server_only(remote: Place) -> None:
    ended = remote.run("dev")

    assert ended.code == 2
    assert "TEMPORAL_ADDRESS names a server, so none is embedded: use `surefoot worker --app FILE`" in ended.err
