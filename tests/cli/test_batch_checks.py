"""Batches on the command line: what a file is refused for before any of its jobs begins."""

import json

import pytest

from tests.cli.running import Place

pytestmark = pytest.mark.server


def lines(*rows: dict[str, object]) -> bytes:
    return "".join(f"{json.dumps(row)}\n" for row in rows).encode()


FILE = lines({"custom_id": "1", "input": "x"}, {"custom_id": "2", "input": "x", "agent": "plain"})


@pytest.mark.parametrize("check", [[], ["--check"]])
def test_an_agent_that_the_app_does_not_have_is_refused_before_anything_starts(place: Place, check: list[str]) -> None:
    for_all = place.run("batch", "submit", "-", "--agent", "nobody", *check, input=FILE)
    file = FILE + lines({"custom_id": "3", "input": "x", "agent": "nobody"})
    in_a_line = place.run("batch", "submit", "-", "--agent", "plain", *check, input=file)

    assert [ended.code for ended in (for_all, in_a_line)] == [2, 2]
    assert "There is no agent 'nobody'. The app has: " in for_all.err
    assert "line 3: there is no agent 'nobody'; the app has: " in in_a_line.err
    assert "2 lines can be jobs, 1 can't; nothing was started" in in_a_line.err
    assert not place.home.exists()


def test_a_file_without_agents_is_told_how_to_give_them_one(place: Place) -> None:
    ended = place.run("batch", "submit", "-", input=FILE)

    assert ended.code == 2
    assert ended.err.splitlines()[-3:] == [
        "1 line can be jobs, 1 can't; nothing was started",
        "give all that name no agent one: --agent NAME",
        "go on without the bad ones: --skip-bad",
    ]
    assert not place.home.exists()


def test_a_file_is_checked_without_an_app_too(place: Place) -> None:
    ended = place.run("batch", "submit", "-", "--check", "--agent", "anybody", input=FILE, SUREFOOT_APP="")

    assert (ended.code, ended.err) == (0, "2 lines can be jobs, 0 can't; nothing was started\n")


def test_a_file_that_is_good_throughout_is_said_to_be(place: Place) -> None:
    ended = place.run("batch", "submit", "-", "--check", "--agent", "shop", "--json", input=FILE)

    assert (ended.code, json.loads(ended.out)) == (0, {"good": 2, "bad": 0})
    assert ended.err.splitlines()[-1] == "2 lines can be jobs, 0 can't; nothing was started"


def test_a_model_that_nobody_could_ask_is_told_by_a_check_too(place: Place) -> None:
    ended = place.run("batch", "submit", "-", "--check", "--agent", "plain", "--model", "clever", input=FILE)

    assert ended.code == 2
    assert "model clever: no provider for model 'clever'" in ended.err


def test_a_file_that_is_no_jsonl_is_told_what_other_files_need(place: Place) -> None:
    ended = place.run("batch", "submit", "-", "--check", "--agent", "plain", input=b"name,text\nAnn,hello\n")

    assert ended.code == 2
    assert ended.err.splitlines()[-1] == (
        "is it JSONL? A file of rows needs --csv TEMPLATE, a compressed one a name that ends with .gz"
    )
