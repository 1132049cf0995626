"""Named queues as users write them."""

from pathlib import Path
from typing import Any

import pytest

from activities.apps import load_app
from activities.errors import DefinitionError
from activities.queues.queue import Queue, queues_of
from workflows.queues.contracts import QueueTerms


def test_an_app_files_queues_are_found_by_name(tmp_path: Path) -> None:
    file = tmp_path / "app.py"
    file.write_text(
        "from surefoot import Agent, Queue\n"
        "agent = Agent('a', 'scripted:a.json')\n"
        "queues = [Queue('nightly', concurrency=5), Queue('polite', concurrency=20, rate=30)]\n"
    )

    assert {name: queue.terms for name, queue in load_app(file).queues.items()} == {
        "nightly": QueueTerms(concurrency=5),
        "polite": QueueTerms(concurrency=20, rate=30.0),
    }


def test_two_queues_of_one_name_are_a_mistake() -> None:
    with pytest.raises(DefinitionError, match="Two queues have the name 'a'"):
        queues_of([Queue("a", concurrency=1), Queue("a", concurrency=1)])


@pytest.mark.parametrize(
    ("name", "given", "told"),
    [
        ("by night", {"concurrency": 1}, "letters, digits"),
        ("a", {"concurrency": 0}, "concurrency=0"),
        ("a", {"concurrency": 1001}, "1 to 1,000"),
        ("a", {"concurrency": True}, "concurrency=True"),
        ("a", {"concurrency": 1, "rate": 0}, "rate=0"),
        ("a", {"concurrency": 1, "rate": float("inf")}, "rate=inf"),
    ],
)
def test_a_queue_that_can_not_be_is_refused(name: str, given: dict[str, Any], told: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        Queue(name, **given)
    assert told in str(caught.value)
