"""A named queue: how many of its jobs may run at a time, and begin in a minute, as users write it."""

import math
from collections.abc import Iterable, Mapping

from activities.errors import DefinitionError
from activities.names import NAME
from workflows.queues.contracts import MOST_AT_ONCE, QueueTerms


class Queue:
    """Jobs that are started in it begin in their order, each when there is a place for it.

    >>> nightly = Queue("nightly", concurrency=5)
    >>> polite = Queue("polite", concurrency=20, rate=30)  # jobs a minute

    A job that waits for a person gives its place to the next one.
    """

    def __init__(self, name: str, *, concurrency: int, rate: float | None = None) -> None:
        if not isinstance(name, str) or not NAME.fullmatch(name):
            raise DefinitionError(f"queue {name!r}: a queue's name has 1 to 64 letters, digits, '_' or '-', no others.")
        if not isinstance(concurrency, int) or isinstance(concurrency, bool) or not 1 <= concurrency <= MOST_AT_ONCE:
            raise DefinitionError(
                f"queue {name!r} has concurrency={concurrency!r}. Give how many of its jobs may run at a time, 1 to"
                f" {MOST_AT_ONCE:,}."
            )
        if rate is not None and not _is_positive(rate):
            raise DefinitionError(f"queue {name!r} has rate={rate!r}. Give jobs a minute, above 0, or leave it out.")
        self.name = name
        self.terms = QueueTerms(concurrency=concurrency, **({"rate": float(rate)} if rate is not None else {}))

    def __repr__(self) -> str:
        return f"<Queue {self.name}>"


def queues_of(queues: Iterable[Queue]) -> dict[str, Queue]:
    """Queues by name. Raises `DefinitionError` if two have one name."""
    found: dict[str, Queue] = {}
    for queue in queues:
        if found.setdefault(queue.name, queue) is not queue:
            raise DefinitionError(f"Two queues have the name {queue.name!r}. Rename one of them.")
    return found


def queue_named(queues: Mapping[str, Queue], name: str) -> Queue:
    """The queue of this name. Raises `DefinitionError` if there is none."""
    if (queue := queues.get(name)) is None:
        known = ", ".join(sorted(queues)) or "none"
        raise DefinitionError(
            f"there is no queue {name!r}; the app has: {known}. Write Queue({name!r}, concurrency=…) in the app file"
            " and restart the workers, or start the job without a queue"
        )
    return queue


def _is_positive(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < math.inf
