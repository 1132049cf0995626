"""Jobs whose agents ask other agents: what waits in their children is asked, shown and listed with the parent's."""

import json
import uuid

import pytest

from tests.cli.running import Place, until
from tests.cli.test_prompts import QUESTION

pytestmark = pytest.mark.server


def new_id() -> str:
    return f"boss-{uuid.uuid4().hex[:8]}"


def waits(shop: Place, root: str) -> list[dict[str, object]]:
    return [item for item in json.loads(shop.run("inbox", "--json").out) if item["root"] == root]


def test_run_asks_for_the_approvals_of_a_grandchild(shop: Place) -> None:
    job = new_id()
    terminal = shop.terminal("run", "boss", "cups?", "--id", job)
    shown = terminal.expect(QUESTION)
    terminal.type("a\n")

    assert terminal.end() == 0
    assert 'waits for you: reorder(item="cup", pieces=10)' in shown
    assert f"works for {job}.c1-1" in shown
    assert "they say so bought: 10 x cup ordered\n" in terminal.text
    assert shop.done() == ["cup 10"]


def test_approve_all_holds_for_children(shop: Place) -> None:
    ended = shop.run("run", "chief", "cups?", "--approve", "all")

    assert (ended.code, ended.out) == (0, "so bought: 10 x cup ordered\n")
    assert shop.done() == ["cup 10"]


@pytest.mark.parametrize("how", [(), ("--approve", "none")])
def test_without_a_terminal_a_waiting_child_is_exit_code_4_and_is_shown_with_its_parent(
    shop: Place, how: tuple[str, ...]
) -> None:
    job = new_id()
    ended = shop.run("run", "chief", "cups?", "--id", job, "--json", *how)
    document = json.loads(ended.out)
    shown = shop.run("show", job)
    (item,) = waits(shop, job)
    page = shop.run("inbox")
    shop.run("cancel", job)

    assert (ended.code, document["state"]) == (4, "running")
    assert [(each["job"], each["tool"]) for each in document["pending"]] == [(f"{job}.c1-1", "reorder")]
    child = {"job": f"{job}.c1-1", "agent": "buyer", "call": "c1-1", "status": None, "state": "waiting"}
    assert document["children"] == [child]
    assert f"asked    buyer (c1-1): waiting  {job}.c1-1" in shown.out
    assert f"surefoot approve {job}.c1-1 c1-1" in shown.out
    assert (item["job"], item["parent"]) == (f"{job}.c1-1", job)
    assert f"works for {job}\n" in page.out
    assert shop.done() == []


def test_detach_of_a_job_whose_child_waits_is_exit_code_4(shop: Place) -> None:
    job = new_id()
    shop.run("run", "chief", "cups?", "--id", job, "--approve", "none")
    again = shop.run("run", "chief", "cups?", "--id", job, "--detach")
    shop.run("cancel", job)
    until(lambda: not waits(shop, job))

    assert (again.code, again.out) == (4, f"{job}\n")
