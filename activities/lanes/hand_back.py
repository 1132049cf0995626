"""Hands the results of a provider batch back: to each job its own, whatever the order, and the rest to the lane.

It begins anew after an interruption: a job takes an answer once, and what the batch cost is counted where this ends.
"""

import asyncio
import logging
from datetime import UTC, datetime

from temporalio import activity
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError, RPCStatusCode

from activities.attempts import Attempt
from activities.lanes.replies import tell_job
from activities.lanes.requests import LaneRequest, LaneRequests, NotForLanes
from activities.models.replies import Replies
from activities.providers.batches import BatchLook, BatchProvider, Intent, Line
from activities.providers.errors import (
    MalformedAnswer,
    ModelError,
    NotFound,
    QuotaExhausted,
    Refused,
    Rejected,
)
from activities.providers.prices import priced
from activities.providers.protocol import ModelRequest
from activities.tools.explain import said
from workflows.contracts import JsonObject, Turn
from workflows.lanes.contracts import HandBack, HandedBack, LaneBooks, LaneLine, LaneReply

log = logging.getLogger(__name__)
AT_ONCE = 16
"""How many answers are handed back at the same time."""


class BatchReturner:
    """The activity that ends provider batches."""

    def __init__(self, requests: LaneRequests, replies: Replies) -> None:
        self._requests, self._replies = requests, replies

    @activity.defn
    async def hand_back(self, request: HandBack) -> HandedBack:
        attempt = Attempt()
        async with attempt.beating():
            try:
                return await _Return(self._requests, self._replies, request).run()
            except ModelError as error:
                raise ApplicationError(str(error), type=type(error).__name__) from None


class _Return:
    """One attempt to hand one batch back."""

    def __init__(self, requests: LaneRequests, replies: Replies, request: HandBack) -> None:
        self._requests, self._replies, self._client = requests, replies, activity.client()
        self._order, self._alone, self._intent_id = request.order, request.alone, request.intent
        skipped = set(request.order.skipped)
        self._open = {place: line for place, line in enumerate(request.order.lines) if place not in skipped}
        self._again: list[LaneLine] = []
        self._pause: str | None = None
        self._books = LaneBooks()

    async def run(self) -> HandedBack:
        if self._alone is not None:
            for line in self._open.values():
                await self._ask_alone(line, self._alone)
        else:
            assert self._order.batch is not None
            provider, _ = await self._requests.provider(self._order.key.model)
            look = await provider.batches.look(self._order.batch)
            if look.error is not None:
                await self._came_to_nothing(look, look.error)
            elif not await self._take_all(provider, look):
                return HandedBack(foreign=True)
        await self._wake_batches()
        return HandedBack(again=self._again, pause=self._pause, books=self._books)

    async def _take_all(self, provider: BatchProvider, look: BatchLook) -> bool:
        """Whether the results are ours, or there are none."""
        order, seen, ours = self._order, 0, 0
        intent = Intent(
            self._intent_id, order.key.endpoint, tuple(order.key.betas), 0, order.since, places=len(order.lines)
        )
        work: list[tuple[LaneLine, Line]] = []
        async for found in provider.batches.lines(order.batch or "", look):
            seen += 1
            place = intent.place_of(found.custom_id)
            ours += place is not None
            line = self._open.pop(place, None) if place is not None else None
            if line is None:  # of a request that was answered already, or is not ours
                continue
            work.append((line, found))
            if len(work) == AT_ONCE:
                await asyncio.gather(*(self._take(provider, *each) for each in work))
                work = []
        await asyncio.gather(*(self._take(provider, *each) for each in work))
        if seen and not ours:
            return False
        for line in self._open.values():
            await self._try_again(line, "the provider's results say nothing of this request")
        return True

    # --- what becomes of one request

    async def _take(self, provider: BatchProvider, line: LaneLine, found: Line) -> None:
        if found.fate == "answered" and found.answer is not None:
            await self._answered(provider, line, found.answer)
        elif found.fate == "failed" and found.error is not None:
            await self._failed(line, found.error)
        else:
            await self._try_again(line, f"its request {found.fate} in the provider batch")

    async def _answered(self, provider: BatchProvider, line: LaneLine, answer: JsonObject) -> None:
        try:
            made = await self._made(line)
            turn = self._priced(provider, made.read(answer) if made else _alone(provider, line, answer), line)
        except MalformedAnswer as error:
            self._books += LaneBooks(answered=1, unmeasured=1)
            await self._try_again(line, said(error))
            return
        usage = turn.usage
        self._books += LaneBooks(
            answered=1,
            tokens=usage.tokens,
            cost_usd=usage.cost_usd,
            saved_usd=usage.saved_usd,
            unmeasured=usage.unmeasured,
        )
        if made is None:
            await self._ask_alone(line, "its answer came, and what it was asked is not to be read any more")
        told = made is not None and await self._tell_answer(line, made, turn)
        self._books += LaneBooks(late=0 if told else 1)

    async def _tell_answer(self, line: LaneLine, made: LaneRequest, turn: Turn) -> bool:
        """Whether there was a job to tell. What is wrong with one answer must not hold up the others."""
        closing = line.request.closing is not None
        begun = {"epoch": made.context.epoch} if made.context.epoch != line.request.epoch else {}
        try:
            reply = await self._replies.reply(made.agent, turn, made.told, closing=closing)
            return await self._tell(line, LaneReply(turn=turn.number, reply=reply.model_copy(update=begun)))
        except RPCError as error:
            if error.status != RPCStatusCode.INVALID_ARGUMENT:
                raise
            await self._ask_alone(line, f"the answer can't be handed back: {error}")
        except Exception as error:
            log.exception("the answer for %s can't be used", line.job)
            await self._ask_alone(line, said(error))
        return True

    async def _made(self, line: LaneLine) -> LaneRequest | None:
        """The request that was answered; None if its job is gone, or is not what it was."""
        try:
            return await self._requests.make(self._client, line.job, line.run_id, line.request, chains=line.chains)
        except NotForLanes as error:
            log.warning("an answer for %s finds no agent that could use it: %s", line.job, error)
        except RPCError as error:
            if error.status != RPCStatusCode.NOT_FOUND:
                raise
        except Exception:
            log.exception("the request of %s can't be made once more", line.job)
        return None

    def _priced(self, provider: BatchProvider, turn: Turn, line: LaneLine) -> Turn:
        now = datetime.now(UTC).replace(microsecond=0)
        took = max(0.0, round((now - line.handed).total_seconds(), 3))
        stamped = {"at": now, "number": line.request.turn, "seconds": took, "tier": "batch"}
        return priced(turn.model_copy(update=stamped), provider.api, self._order.key.model.partition(":")[2])

    async def _failed(self, line: LaneLine, error: ModelError) -> None:
        """Waiting may cure it, or another form of the request, or what the job knows to do; or nothing can."""
        if isinstance(error, QuotaExhausted):
            self._pause = str(error)
            self._again.append(line)
        elif error.retryable:
            await self._try_again(line, said(error))
        elif isinstance(error, Refused):
            await self._tell(line, LaneReply(turn=line.request.turn, text=f"Refused: {said(error)}", final=True))
        elif isinstance(error, NotFound | Rejected) and line.chains and line.request.turn > 1:
            # What the last turn left with the provider may be gone; a request that builds on nothing may pass.
            await self._try_again(line.model_copy(update={"chains": False}), said(error))
        else:
            await self._ask_alone(line, said(error))

    async def _try_again(self, line: LaneLine, why: str) -> None:
        line = line.model_copy(update={"tries": line.tries + 1})
        if line.tries < self._order.terms.tries:
            self._again.append(line)
        else:
            await self._ask_alone(line, f"{line.tries} provider batches had no answer for it; the last time: {why}")

    async def _ask_alone(self, line: LaneLine, why: str) -> None:
        await self._tell(line, LaneReply(turn=line.request.turn, text=why))

    async def _tell(self, line: LaneLine, reply: LaneReply) -> bool:
        return await tell_job(self._client, line, reply)

    # --- what becomes of all of them

    async def _came_to_nothing(self, look: BatchLook, error: ModelError) -> None:
        """The batch failed before any request was processed."""
        if isinstance(error, QuotaExhausted):
            self._pause, self._again = str(error), list(self._open.values())
            return
        for place, line in self._open.items():
            if place in look.refused:
                await self._ask_alone(line, said(error))
            else:
                await self._try_again(line, said(error))

    async def _wake_batches(self) -> None:
        """Batches of jobs that had nothing to do but wait look after their jobs again."""
        for batch in sorted({line.batch for line in self._order.lines if line.batch is not None}):
            try:
                await self._client.get_workflow_handle(batch).signal("job_ended", "")
            except RPCError as error:
                if error.status != RPCStatusCode.NOT_FOUND:
                    raise


def _alone(provider: BatchProvider, line: LaneLine, answer: JsonObject) -> Turn:
    """The turn of an answer that nobody waits for: enough to know what it cost."""
    asked = ModelRequest(model="", instructions="", transcript=(), turn=line.request.turn)
    return provider.turn_of(answer, asked)
