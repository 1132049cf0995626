"""Jobs by tenant, tag and status, and the inbox by agent, tenant and tool, in pages."""

import json
import re
import shlex
from typing import Any

import pytest

from tests.cli.running import Ended, Place

pytestmark = pytest.mark.server


def found(ended: Ended) -> list[str]:
    """The jobs of a list, sorted."""
    assert ended.code == 0
    return sorted(row["job"] for row in json.loads(ended.out))


def marked(shop: Place, job: str, *marks: str, agent: str = "plain") -> None:
    assert shop.run("run", agent, "x", "--id", job, *marks).code in (0, 3, 4)


def test_jobs_are_found_by_tenant_tag_and_status(shop: Place) -> None:
    marked(shop, "m-one", "--tenant", "marked", "--tag", "night", "--tag", "eu")
    marked(shop, "m-two", "--tenant", "marked", "--tag", "day", agent="capped")
    marked(shop, "m-three", "--tag", "night")

    assert found(shop.run("jobs", "--json", "--tenant", "marked")) == ["m-one", "m-two"]
    assert found(shop.run("jobs", "--json", "--tag", "night")) == ["m-one", "m-three"]
    assert found(shop.run("jobs", "--json", "--tenant", "marked", "--tag", "night")) == ["m-one"]
    assert found(shop.run("jobs", "--json", "--tenant", "marked", "--status", "hit_iteration_cap")) == ["m-two"]
    assert found(shop.run("jobs", "--json", "--tenant", "marke")) == []


def test_a_job_shows_its_tenant_and_tags(shop: Place) -> None:
    marked(shop, "m-shown", "--tenant", "acme & sons", "--tag", "night", "--tag", "eu")
    marked(shop, "m-bare")
    document = json.loads(shop.run("show", "m-shown", "--json").out)
    (row,) = json.loads(shop.run("jobs", "--tenant", "acme & sons", "--json").out)

    assert (document["tenant"], document["tags"]) == ("acme & sons", ["night", "eu"])
    assert (row["tenant"], row["tags"]) == ("acme & sons", ["night", "eu"])
    assert shop.run("show", "m-shown").out.splitlines()[1] == "tenant acme & sons  #night  #eu"
    assert shop.run("show", "m-bare").out.splitlines()[1].startswith("0 rounds")


@pytest.mark.parametrize(
    ("marks", "said"),
    [
        (["--tenant", "o'hara"], 'tenant "o\'hara": give 1 to 100 printable characters, no quotes or backslashes'),
        (["--tag", ""], "tag '': give 1 to 100 printable characters"),
        ([word for tag in range(21) for word in ("--tag", str(tag))], "there are 21 tags, and a job has at most 20"),
    ],
)
def test_a_tenant_or_tag_that_no_list_could_find_starts_nothing(place: Place, marks: list[str], said: str) -> None:
    ended = place.run("run", "plain", "x", *marks)

    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err
    assert not place.home.exists()


def calls(ended: Ended) -> list[tuple[str, str]]:
    assert ended.code == 0
    return [(item["job"], item["tool"]) for item in json.loads(ended.out)]


def test_the_inbox_is_narrowed_to_an_agent_a_tenant_and_a_tool(shop: Place) -> None:
    tenant = ("--tenant", "narrow")
    marked(shop, "i-cups", *tenant, agent="shop")
    marked(shop, "i-bank", *tenant, agent="bank")
    marked(shop, "i-other", "--tenant", "wide", agent="bank")

    assert calls(shop.run("inbox", "--json", *tenant)) == [("i-cups", "reorder"), ("i-bank", "pay")]
    assert calls(shop.run("inbox", "--json", *tenant, "--agent", "shop")) == [("i-cups", "reorder")]
    assert calls(shop.run("inbox", "--json", *tenant, "--tool", "pay")) == [("i-bank", "pay")]
    assert calls(shop.run("inbox", "--json", *tenant, "--agent", "shop", "--tool", "pay")) == []
    page = shop.run("inbox", *tenant, "--tool", "refund")
    assert (page.code, page.out, page.err) == (0, "", "Nothing waits for a person.\n")


def test_each_page_of_the_inbox_says_how_to_get_the_next(shop: Place) -> None:
    wanted = [f"p-{number}" for number in range(4)]
    for job in wanted:
        marked(shop, job, "--tenant", "two words", agent="bank" if job == "p-2" else "shop")
    seen: list[Any] = []
    command = ["inbox", "--tenant", "two words", "--limit", "1", "--tool", "reorder"]
    while command:
        page = shop.run(*command, "--json")
        seen.append([job for job, _ in calls(page)])
        said = re.search("^more jobs wait; the next page: surefoot (.*)$", page.err, re.MULTILINE)
        command = shlex.split(said[1]) if said else []

    assert seen == [["p-0"], ["p-1"], ["p-3"]]


def test_a_place_that_no_page_ended_with_is_wrong_use(shop: Place) -> None:
    ended = shop.run("inbox", "--after", "yesterday")

    assert ended.code == 2
    assert "no page of the inbox ended with 'yesterday': begin again without it" in ended.err
