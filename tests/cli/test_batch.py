"""`surefoot batch …`: a file becomes jobs, is watched, held, given up and tried again; exit codes and documents."""

import json
import shlex
import signal
from typing import Any

import pytest

from tests.cli.running import Ended, Place, until
from tests.cli.terminal import CTRL_C

pytestmark = pytest.mark.crash

VIEW = {
    "batch", "state", "lines", "queued", "running", "waiting", "done", "incomplete", "failed", "forgotten",
    "concurrency", "hold", "ending", "budget", "spent", "agent", "tenant", "rate", "left_seconds", "batched",
    "submitted_at", "ended_at", "queue", "in_queue",
}  # fmt: skip


def lines(*agents: str | None, first: int = 1) -> str:
    """A file with a line for each of these agents."""
    given = [
        {"custom_id": f"id-{n}", "input": f"say {n}", **({"agent": agent} if agent else {})}
        for n, agent in enumerate(agents, first)
    ]
    return "".join(f"{json.dumps(line)}\n" for line in given)


def written(place: Place, text: str, name: str = "jobs.jsonl") -> str:
    (place.folder / name).write_text(text)
    return name


def document(ended: Ended, code: int = 0) -> Any:
    assert ended.code == code, ended.err
    return json.loads(ended.out)


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    """A batch of this test's own: the shop is open for all of them."""
    return str(request.node.name)[5:60]


def test_a_file_is_submitted_watched_and_its_results_are_read(shop: Place, name: str) -> None:
    file = written(shop, lines("plain", "plain", "plain"))
    view = document(shop.run("batch", "submit", file, "--id", name, "--watch", "--json", "--tenant", "acme"))
    results = shop.run("batch", "results", name)
    kept = shop.run("batch", "results", name, "-o", "out.jsonl")
    shown = document(shop.run("batch", "show", name, "--json"))
    listed = document(shop.run("batch", "list", "--limit", "1000", "--json"))
    jobs = document(shop.run("jobs", "--batch", name, "--end", "done", "--json"))

    assert view.keys() == VIEW
    assert (view["batch"], view["state"], view["done"], view["tenant"]) == (name, "ended", 3, "acme")
    rows = [json.loads(line) for line in results.out.splitlines()]
    assert [(row["custom_id"], row["answer"]) for row in rows] == [(f"id-{n}", "Grüße an alle") for n in (1, 2, 3)]
    assert (kept.code, (shop.folder / "out.jsonl").read_text()) == (0, results.out)
    assert shown == view
    assert name in [each["batch"] for each in listed]
    assert {row["job"] for row in jobs} == {f"{name}-00000{n}" for n in (1, 2, 3)}


def test_the_list_says_how_to_go_on_behind_it(shop: Place, name: str) -> None:
    file = written(shop, lines("plain"))
    for number in (1, 2):
        document(shop.run("batch", "submit", file, "--id", f"{name}-{number}", "--watch", "--json"))
    first = shop.run("batch", "list", "--limit", "1", "--json")
    command = first.err.strip().rpartition("more batches: surefoot ")[2]
    second = shop.run(*shlex.split(command), "--json")
    pages = [[each["batch"] for each in document(page)] for page in (first, second)]

    assert [len(page) for page in pages] == [1, 1]
    assert pages[0] != pages[1]


def test_stdin_is_a_file_too_and_the_same_submission_is_the_same_batch(shop: Place) -> None:
    text = lines(None, None, first=70).encode()
    submit = ("batch", "submit", "-", "--agent", "plain", "--json")
    first = document(shop.run(*submit, input=text))
    again = document(shop.run(*submit, "--watch", input=text))
    other = document(shop.run(*submit, "--watch", input=lines(None, first=72).encode()))

    assert first["batch"] == again["batch"] != other["batch"]
    assert (again["lines"], again["done"]) == (2, 2)


def test_rows_of_a_csv_file_are_put_into_the_template(shop: Place, name: str) -> None:
    file = written(shop, "custom_id,name\na,Ann\n", "rows.csv")
    submit = ("batch", "submit", file, "--agent", "plain", "--id", name, "--watch", "--json")
    assert document(shop.run(*submit, "--csv", "Greet {name}."))["done"] == 1
    said = document(shop.run("transcript", f"{name}-000001", "--json"))

    assert said[0]["text"] == "Greet Ann."


def test_bad_lines_are_told_by_number_start_nothing_and_can_be_left_out(shop: Place, name: str) -> None:
    file = written(shop, lines("plain") + "nonsense\n" + lines("plain"))
    refused = shop.run("batch", "submit", file, "--id", name, "--json")
    checked = shop.run("batch", "submit", file, "--check", "--json")
    nothing = shop.run("batch", "show", name)
    skipped = document(shop.run("batch", "submit", file, "--id", name, "--skip-bad", "--watch", "--json"))

    assert document(refused, 2) == document(checked, 2) == {"good": 1, "bad": 2}
    assert "line 2: " in refused.err
    assert "line 3: custom_id 'id-1' stands in line 1 already" in refused.err
    assert nothing.code == 2
    assert f"there is no batch {name} on this server; see: surefoot batch list" in nothing.err
    assert (skipped["lines"], skipped["done"]) == (1, 1)


@pytest.mark.parametrize(
    ("agents", "code"), [(("plain", "failing"), 1), (("plain", "capped"), 3), (("plain", "shop"), 4)]
)
def test_the_exit_code_of_a_watched_batch_says_what_is_left(
    shop: Place, name: str, agents: tuple[str, ...], code: int
) -> None:
    id_ = f"exit-{code}"
    file = written(shop, lines(*agents))
    ended = shop.run("batch", "submit", file, "--id", id_, "--watch", "--json")
    again = shop.run("batch", "watch", id_)

    assert (ended.code, again.code) == (code, code), ended.err
    assert document(ended, code)["done"] == 1


def test_a_batch_is_held_changed_let_go_given_up_and_tried_again(shop: Place, name: str) -> None:
    file = written(shop, lines("twice", "twice"))
    document(shop.run("batch", "submit", file, "--id", name, "--json"))
    said = [
        shop.run("batch", "pause", name, "--reason", "lunch"),
        shop.run("batch", "concurrency", name, "7"),
        shop.run("batch", "resume", name, "--budget-usd", "3"),
    ]
    assert shop.run("batch", "watch", name).code == 4
    waiting = document(shop.run("batch", "show", name, "--json"))
    shop.run("batch", "cancel", name, "--running", "cancel")
    given_up = document(shop.run("batch", "watch", name, "--json"), 3)
    again = document(shop.run("batch", "retry", name, "--line", "id-2", "--json"))
    assert shop.run("batch", "watch", name).code == 4
    shop.run("batch", "cancel", name, "--running", "stop")
    over = shop.run("batch", "watch", name)
    late = shop.run("batch", "pause", name)

    assert [each.code for each in said] == [0, 0, 0]
    assert (waiting["waiting"], waiting["concurrency"], waiting["budget"]["cost_usd"]) == (2, 7, 3.0)
    assert (given_up["incomplete"], given_up["state"]) == (2, "ended")
    assert again == {"batch": name, "again": 1}
    assert over.code == 3
    assert late.code == 2
    assert f"batch {name} has ended; try lines again: surefoot batch retry {name}" in late.err


@pytest.mark.parametrize("text", ["", "\n\n", "[]\n"])
def test_a_file_without_a_line_that_can_be_a_job_is_wrong_use(shop: Place, text: str) -> None:
    ended = shop.run("batch", "submit", written(shop, text), "--agent", "plain")

    assert ended.code == 2, ended.err
    assert "Traceback" not in ended.err


def test_an_id_that_lists_could_not_ask_for_is_wrong_use(shop: Place) -> None:
    ended = shop.run("batch", "submit", written(shop, lines("plain")), "--id", "it's")

    assert (ended.code, ended.out) == (2, "")
    assert "printable characters, no quotes" in ended.err


def test_another_file_under_a_batch_s_id_is_refused(shop: Place, name: str) -> None:
    shop.run("batch", "submit", written(shop, lines("plain")), "--id", name)
    ended = shop.run("batch", "submit", written(shop, lines("plain", "plain")), "--id", name)

    assert ended.code == 2
    assert f"batch {name} exists already, of other lines or with other options" in ended.err


def test_ctrl_c_while_it_reads_its_file_starts_nothing(place: Place) -> None:
    terminal = place.terminal("batch", "submit", "-", "--agent", "plain")
    terminal.expect("reading lines from this terminal")
    terminal.type('{"custom_id": "a"\n')
    terminal.type(CTRL_C)

    assert terminal.end() == 130
    assert "nothing was started" in terminal.text
    assert "Traceback" not in terminal.text
    assert not place.home.exists()


def test_ctrl_c_while_a_batch_is_watched_keeps_it_and_watch_goes_on(place: Place) -> None:
    file = written(place, lines("slow", "plain"))
    process = place.start("batch", "submit", file, "--id", "kept", "--watch")
    until((place.folder / "lingers").exists)
    process.send_signal(signal.SIGINT)
    assert process.wait(20) == 130
    assert "batch kept goes on; follow it again: surefoot batch watch kept" in _log(place)
    (place.folder / "go").touch()
    watched = document(place.run("batch", "watch", "kept", "--json"))

    assert (watched["done"], watched["state"]) == (2, "ended")
    assert "Traceback" not in _log(place)


def _log(place: Place) -> str:
    return (place.folder / "stderr.log").read_text()


def test_the_jobs_of_a_batch_begin_in_a_named_queue(shop: Place, name: str) -> None:
    file = written(shop, lines("plain", "plain", "plain"))
    shop.run("run", "plain", "x", "--queue", "nightly")
    shop.run("queue", "pause", "nightly")
    shop.run("batch", "submit", file, "--id", name, "--queue", "nightly", "--concurrency", "2")
    until(lambda: document(shop.run("batch", "show", name, "--json"))["in_queue"] == 2)
    view = document(shop.run("batch", "show", name, "--json"))
    shown = shop.run("batch", "show", name)
    shop.run("queue", "resume", "nightly")
    ended = shop.run("batch", "watch", name)
    unknown = shop.run("batch", "submit", file, "--queue", "daily")

    assert (view["queue"], view["queued"], view["running"]) == ("nightly", 3, 0)
    assert "3 queued · 2 of them in queue nightly" in shown.out
    assert ended.code == 0, ended.err
    assert (unknown.code, "there is no queue 'daily'; the app has: nightly" in " ".join(unknown.err.split())) == (
        2,
        True,
    )
