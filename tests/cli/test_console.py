"""`surefoot console`, `surefoot dev` and `surefoot token`: the port, who may use it, and how it ends."""

import hashlib
import http.client
import json
import re
import signal
import socket
import threading
import time
import tomllib
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.cli.running import Place, until

pytestmark = pytest.mark.server

AT = re.compile(r"HTTP API described at (http://[^/\s]+)/docs")


def address(place: Place) -> str:
    """Where the console that was started says that it is."""

    def told() -> "re.Match[str] | None":
        return AT.search((place.folder / "stderr.log").read_text())

    until(told, seconds=60)
    found = told()
    assert found is not None
    return found[1]


def ask(url: str, method: str, path: str, body: object = None, **headers: str) -> tuple[int, dict[str, object]]:
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=30)
    try:
        data = None if body is None else json.dumps(body)
        connection.request(method, path, data, {"Content-Type": "application/json", **headers})
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()


def test_a_job_is_started_over_http_and_the_console_ends_at_once_though_a_stream_is_open(place: Place) -> None:
    running = place.start("console", "--port", "0")
    url = address(place)
    status, started = ask(url, "POST", "/api/v1/jobs", {"agent": "shop", "message": "cups?"})
    assert (status, str(started["job"]).startswith("shop-")) == (201, True)
    until(lambda: _waiting(url), seconds=60)
    (call,) = _waiting(url)
    stream = http.client.HTTPConnection(urlsplit(url).netloc, timeout=30)
    stream.request("GET", f"/api/v1/jobs/{call['job']}/events")
    answer = stream.getresponse()
    answer.readline()
    rest: list[bytes] = []
    reading = threading.Thread(target=lambda: rest.append(answer.read()))
    reading.start()
    began = time.monotonic()
    running.send_signal(signal.SIGTERM)
    code = running.wait(timeout=30)
    took = time.monotonic() - began
    reading.join(timeout=10)
    stream.close()

    assert (code, reading.is_alive()) == (130, False)
    assert took < 20
    assert place.run("jobs").out.count("waiting") == 1


def test_the_console_ends_by_sigterm_also_where_ctrl_c_is_ignored(place: Place) -> None:
    ignored = signal.signal(signal.SIGINT, signal.SIG_IGN)  # as a shell does for what it starts with `&`
    try:
        running = place.start("console", "--port", "0")
    finally:
        signal.signal(signal.SIGINT, ignored)
    address(place)
    running.send_signal(signal.SIGTERM)

    assert running.wait(timeout=30) == 130


def _waiting(url: str) -> list[dict[str, object]]:
    items = ask(url, "GET", "/api/v1/inbox")[1]["items"]
    assert isinstance(items, list)
    return items


def test_dev_shows_the_console_on_a_free_port_when_the_usual_one_is_taken(place: Place) -> None:
    try:
        usual = socket.create_server(("127.0.0.1", 8230))
    except OSError:
        usual = socket.socket()  # somebody else has it, which is as good
    with usual:
        place.start("dev", "--no-ui")
        url = address(place)
        healthy = ask(url, "GET", "/healthz")

    assert healthy == (200, {"status": "ok"})
    assert urlsplit(url).port != 8230
    told = (place.folder / "stderr.log").read_text()
    assert "nobody is asked for a token" in told
    assert f"another program has port 8230: the console listens at {url}; --port chooses its port" in told


def test_dev_may_be_had_without_a_console(place: Place) -> None:
    terminal = place.terminal("dev", "--no-ui", "--no-console")
    told = terminal.expect("worker for ")
    terminal.type("\x03")

    assert terminal.end() == 130
    assert "console" not in told.partition("worker for")[2]


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.com"])
def test_other_machines_reach_nothing_that_asks_nobody(place: Place, host: str) -> None:
    refused = place.run("console", "--host", host)

    assert (refused.code, refused.out) == (2, "")
    assert "SUREFOOT_TOKENS or SUREFOOT_OIDC_ISSUER" in refused.err
    assert place.processes() == []


def test_a_port_that_was_asked_for_and_is_taken_is_an_error(place: Place) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        refused = place.run("console", "--port", str(taken.getsockname()[1]), seconds=90)

    assert refused.code == 2
    assert "another program has it" in refused.err


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"SUREFOOT_TOKENS": "missing.toml"}, "the token file 'missing.toml' can't be read"),
        ({"SUREFOOT_OIDC_ISSUER": "https://id.example"}, "without SUREFOOT_OIDC_AUDIENCE"),
        ({"SUREFOOT_OIDC_ISSUER": "http://id.example", "SUREFOOT_OIDC_AUDIENCE": "a"}, "must begin with https://"),
        ({"SUREFOOT_TOKENS": "t.toml", "SUREFOOT_SESSION_SECRET": "short"}, "has 5 characters"),
        ({"SUREFOOT_CONSOLE_URL": "ftp://x"}, "SUREFOOT_CONSOLE_URL"),
    ],
)
def test_settings_that_cannot_be_used_are_refused(place: Place, settings: dict[str, str], says: str) -> None:
    (place.folder / "t.toml").write_text("token = []\n")
    refused = place.run("console", input=b"", seconds=60, **settings)

    assert (refused.code, refused.out) == (2, "")
    assert says in refused.err


def test_a_token_is_shown_once_and_only_its_digest_goes_to_stdout(place: Place) -> None:
    made = place.run("token", "Ana", "--role", "approve", "--role", "finance")
    token = re.search(r"sf_[\w-]{43}", made.err)
    assert token is not None
    (line,) = tomllib.loads(made.out)["token"]

    assert made.code == 0
    assert line == {
        "name": "Ana",
        "roles": ["approve", "finance"],
        "sha256": hashlib.sha256(token[0].encode()).hexdigest(),
    }


def test_a_token_that_lets_nobody_in_says_so(place: Place) -> None:
    made = place.run("token", "Ana", "--role", "finance")

    assert made.code == 0
    assert "none of its roles lets Ana see anything" in made.err


@pytest.mark.parametrize(
    ("roles", "near"), [(["aprove"], "approve"), (["view", "Admin"], "admin"), (["approver", "finance"], "approve")]
)
def test_a_role_that_is_nearly_one_of_ours_is_refused(place: Place, roles: list[str], near: str) -> None:
    refused = place.run("token", "Ana", *(word for role in roles for word in ("--role", role)))

    assert (refused.code, refused.out) == (2, "")
    assert f"is nearly {near}: did you mean that?" in refused.err


def test_a_tools_own_role_may_be_like_one_of_ours_that_is_given_too(place: Place) -> None:
    assert place.run("token", "Ana", "--role", "approve", "--role", "approver").code == 0


def test_a_name_that_no_line_can_have_is_refused(place: Place) -> None:
    refused = place.run("token", "A\nb", "--role", "view")

    assert (refused.code, refused.out) == (2, "")
    assert "a name has 1 to 200 characters, no line breaks among them, and not: 'A\\nb'" in refused.err


def test_tokens_of_the_file_are_asked_for(place: Place, tmp_path: Path) -> None:
    made = place.run("token", "Ana", "--role", "view")
    file = tmp_path / "tokens.toml"
    file.write_text(made.out)
    token = re.search(r"sf_[\w-]{43}", made.err)
    assert token is not None
    place.start("console", "--host", "0.0.0.0", "--port", "0", SUREFOOT_TOKENS=str(file))
    url = address(place)
    without = ask(url, "GET", "/api/v1/session")
    mine = ask(url, "GET", "/api/v1/session", Authorization=f"Bearer {token[0]}")

    assert (without[0], mine[0], mine[1]["name"]) == (401, 200, "Ana")
    stderr = place.folder / "stderr.log"
    until(lambda: "GET who_am_i 200" in stderr.read_text())  # an answer is logged when it has been sent
    log = stderr.read_text()
    assert token[0] not in log
    assert "browsers can sign in over TLS alone: SUREFOOT_CONSOLE_URL" in log


def test_the_console_needs_an_app_on_the_embedded_server(place: Place) -> None:
    refused = place.run("console", SUREFOOT_APP="")

    assert refused.code == 2
    assert "no app file" in refused.err
