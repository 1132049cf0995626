"""What a stand-in knows: which requests it answered, which batches it was given, and which faults it is to show.

A request is billed when it is answered, alone or in a batch, so a test can say that none was billed twice.
"""

import json
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

Body = dict[str, Any]
OF_STREAMS = ("stream", "stream_options")
"""What a request has beside its content if its answer may be streamed; these servers answer whole."""

Answer = Callable[[Body], Body]

FAULTS = {
    "reply_dropped": "a batch is taken, and the connection ends before its id was told",
    "empty_id": "a batch is taken, and its id is told as an empty text",
    "file_not_found": "a file that was uploaded just now is not found",
    "key_refused": "no batch is taken: the account's key is not valid",
    "billing_limit": "no batch is taken: the account's credit is used up",
    "token_limit": "a batch is taken and fails later: too many tokens are enqueued",
    "no_output_file": "a batch is completed without a file of answers: each request has an error",
    "no_files": "a batch is completed with empty names of files",
    "shuffled": "results come in another order",
    "missing_line": "the first request has no result, and was not processed",
    "doubled_line": "the first request's result comes twice",
    "half_failed": "every second request fails, for a reason that will pass",
    "expired": "only the first request was processed when the time was over",
    "cancelled": "somebody cancelled the batch after its first request",
    "credit": "the account's credit ends after the first request",
}
"""What can be switched on, each for so many batches: `books.faults["shuffled"] = 1`."""


POINTS = ("upload", "uploaded", "create", "created", "look", "results")
"""Before and behind the taking of files and of batches, at each look at a batch, in the middle of its results."""


async def _go_on(_point: str) -> None:
    """At no point is anything held up."""


@dataclass
class Batch:
    """A batch that was taken, each of its requests by name with what became of it: "answered" with the answer, …"""

    id: str
    created: float
    order: Body
    results: list[tuple[str, str, Body]] = field(default_factory=list)
    status: str = "in_progress"
    error: str | None = None
    outputs: bool = True
    looks: int = 0
    is_over: bool = False


@dataclass
class Books:
    """`answer` makes an answer of a request's body. With `held` no batch ends; else one ends at its `looks`-th look, or
    when it is over.

    `refuse` says which requests are rejected. `point` is awaited at the points of POINTS, and may hold them up. `name`
    is what the ids of batches begin with.
    """

    answer: Answer
    faults: Counter[str] = field(default_factory=Counter)
    held: bool = False
    looks: int = 1
    billed: Counter[str] = field(default_factory=Counter)
    alone: list[Body] = field(default_factory=list)
    batches: list[Batch] = field(default_factory=list)
    refuse: Callable[[Body], bool] = lambda _body: False
    point: Callable[[str], Awaitable[None]] = _go_on
    name: str = "batch"

    def shows(self, fault: str) -> bool:
        """Whether a fault is to be shown now; it is used up by that."""
        assert fault in FAULTS, fault
        if self.faults[fault] <= 0:
            return False
        self.faults[fault] -= 1
        return True

    def bill(self, body: Body) -> Body:
        """Answer a request, which costs."""
        self.billed[json.dumps(body, sort_keys=True)] += 1
        return self.answer(body)

    def answered_alone(self, body: Body) -> Body:
        self.alone.append(body)
        return self.bill({name: value for name, value in body.items() if name not in OF_STREAMS})

    def process(self, batch: Batch, requests: Sequence[tuple[str, Body]], fault_of: Callable[[str], Body]) -> None:
        """Work a batch off; `fault_of` is how the API puts an error: "passing", "credit" or "final"."""
        batch.outputs = not self.shows("no_output_file")
        short = next((fate for fate in ("expired", "cancelled") if self.shows(fate)), None)
        half, credit, missing = self.shows("half_failed"), self.shows("credit"), self.shows("missing_line")
        nothing = self.shows("no_files")
        for place, (name, body) in enumerate(requests):
            if nothing or (missing and place == 0):
                continue
            if short and place > 0:
                batch.results.append((name, short, {}))
            elif not batch.outputs or self.refuse(body):
                batch.results.append((name, "failed", fault_of("final")))
            elif (half and place % 2) or (credit and place > 0):
                batch.results.append((name, "failed", fault_of("credit" if credit else "passing")))
            else:
                batch.results.append((name, "answered", self.bill(body)))
        batch.status = short or "completed"
        if self.shows("doubled_line"):
            batch.results.append(batch.results[0])
        if self.shows("shuffled"):
            batch.results.reverse()
        self.batches.append(batch)

    def ended(self, batch: Batch) -> bool:
        """One more look at a batch: has it ended by now?"""
        batch.looks += 1
        return not self.held and (batch.is_over or batch.looks >= self.looks)

    @property
    def most_billed(self) -> int:
        """How often the request was billed that was billed most often."""
        return max(self.billed.values(), default=0)


async def halves(books: Books, lines: list[str]) -> AsyncIterator[str]:
    """The lines of a file, which may be held up behind its first half."""
    middle = len(lines) // 2
    for line in lines[:middle]:
        yield f"{line}\n"
    await books.point("results")
    for line in lines[middle:]:
        yield f"{line}\n"


class Dropped(Response):
    """A connection that ends in the middle of its answer."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        head = {"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"1000")]}
        await send(head)
        await send({"type": "http.response.body", "body": b"{", "more_body": True})
        if self.background is not None:
            await self.background()
