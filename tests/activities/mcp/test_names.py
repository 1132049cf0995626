"""Names of MCP tools: legal everywhere, apart from each other, and made of server and tool alone."""

import pytest

from activities.mcp.names import public_name
from activities.names import NAME


def test_a_legal_name_stands_as_it_is() -> None:
    assert public_name("git_", "issue-create_2") == "git_issue-create_2"


@pytest.mark.parametrize("tool", ["issue.create", "issue create", "ä", "x" * 100, "half \ud800", ""])
def test_every_name_is_made_legal(tool: str) -> None:
    assert NAME.fullmatch(public_name("git_", tool))


def test_names_that_would_look_alike_are_kept_apart() -> None:
    names = {public_name("git_", tool) for tool in ("a.b", "a/b", "a b", "a_b", "x" * 90, "x" * 91)}

    assert len(names) == 6
    assert "git_a_b" in names


def test_a_name_of_the_apps_own_is_left_to_it() -> None:
    taken = public_name("git_", "find", ["git_find"])

    assert taken.startswith("git_find_")
    assert public_name("git_", "find", ["other"]) == "git_find"
