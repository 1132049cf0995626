"""`surefoot run`: its input, its options, what it prints where, and its exit codes."""

import json

import pytest

from tests.cli.running import Place

pytestmark = pytest.mark.server


def test_the_answer_is_all_that_is_on_stdout(shop: Place) -> None:
    ended = shop.run("run", "plain", "hello")

    assert (ended.code, ended.out) == (0, "Grüße an alle\n")
    assert "The job is complete" in ended.err
    assert "an app may print" in ended.err
