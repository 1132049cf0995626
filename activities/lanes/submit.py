"""Creates a provider batch, once for its intent, and looks how it stands.

Right before the one POST that costs, a mark is recorded with the server. An attempt that finds the mark looks for the
batch at the provider before it does anything else, and creates one only if there is none for sure.
"""

import asyncio
import logging
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from pydantic_core import to_json
from temporalio import activity
from temporalio.client import Client
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError, RPCStatusCode

from activities.attempts import Attempt
from activities.lanes.replies import tell_job
from activities.lanes.requests import LaneRequests, NotForLanes
from activities.providers.batches import BatchProvider, Intent, never_began
from activities.providers.errors import ModelError, NotFound, QuotaExhausted, RateLimited
from activities.tools.explain import said
from workflows.lanes.contracts import (
    BatchSeen,
    LaneLine,
    LaneReply,
    LookAtBatch,
    SubmitBatch,
    Submitted,
)

log = logging.getLogger(__name__)
AT_ONCE = 16
"""How many requests are made at the same time."""

FILE_PAUSES = (0.2, 0.5, 1.0, 2.0, 4.0, 8.0)
"""Seconds between tries while the provider does not find the file that it was given just now."""

NO_KEY = 401
"""No call would be answered with this key, alone or in a batch: the lane waits for another one."""

OTHER_KEY = (
    "this provider batch may have been created with another key than this worker has, and can't be looked for with this"
    " one; start a worker with the key that was there before until `surefoot batch lanes` shows nothing at the provider"
)

SETTLE_LOOKS = 5
SINCE, SENT = "since", "sent"
"""What an attempt leaves to the next one: when the batch was about to be created, and of how many requests."""


class BatchSubmitter:
    """The activities that begin provider batches and look at them."""

    def __init__(self, requests: LaneRequests) -> None:
        self._requests = requests

    @activity.defn
    async def submit_batch(self, request: SubmitBatch) -> Submitted:
        attempt = Attempt()
        async with attempt.beating(until_mark=not attempt.ledger.started):
            try:
                provider, _ = await self._requests.provider(request.order.key.model)
            except NotForLanes as error:
                raise ApplicationError(str(error), type="NoBatches") from None
            if provider.credential != request.order.key.credential and _may_be_there(attempt, request):
                # Its list has no batches of the other one's, so a second one would be created, and paid.
                raise ApplicationError(OTHER_KEY, type="OtherAccount")
            try:
                return await _Submission(attempt, self._requests, provider, request).run()
            except ModelError as error:
                raise _failure(error) from None

    @activity.defn
    async def look_at_batch(self, request: LookAtBatch) -> BatchSeen:
        async with Attempt().beating():
            provider, _ = await self._requests.provider(request.model)
            try:
                look = await provider.batches.look(request.batch)
            except ModelError as error:
                raise _failure(error) from None
        return BatchSeen(status=look.status, ended=look.ended)


def _failure(error: ModelError) -> ApplicationError:
    """Tried again by the policy: a provider that is out of order, or a key that is mended meanwhile."""
    return ApplicationError(str(error), type=type(error).__name__)


@dataclass(frozen=True)
class _Written:
    """The requests of a batch as lines, and the places of those that were left out."""

    lines: list[bytes]
    skipped: list[int]


def _may_be_there(attempt: Attempt, request: SubmitBatch) -> bool:
    """Whether there may be a batch: an earlier attempt set its mark, or what was taken for ours was not."""
    return attempt.ledger.started or bool(request.order.foreign)


class _Submission:
    """One attempt to have one batch."""

    def __init__(self, attempt: Attempt, requests: LaneRequests, provider: BatchProvider, request: SubmitBatch) -> None:
        self._attempt, self._requests, self._provider = attempt, requests, provider
        self._request = request
        self._id, self._order, self._client = request.intent, request.order, activity.client()
        if request.order.begun is not None:
            known = {SINCE: request.order.begun.isoformat(), SENT: str(request.order.sent)}
            attempt.ledger.kept = {**known, **attempt.ledger.kept}

    async def run(self) -> Submitted:
        if _may_be_there(self._attempt, self._request) and (batch := await self._found()) is not None:
            return Submitted(batch=batch, **self._begun())
        written = await self._write()
        if not written.lines:
            return Submitted(skipped=written.skipped)
        try:
            batch = await self._create(written)
        except ModelError as error:
            if not never_began(error):
                raise
            pauses = isinstance(error, QuotaExhausted | RateLimited) or error.status == NO_KEY
            return Submitted(skipped=written.skipped, problem=f"{type(error).__name__}: {error}", pauses=pauses)
        return Submitted(batch=batch, skipped=written.skipped, **self._begun())

    def _begun(self) -> dict[str, Any]:
        kept = self._attempt.ledger.kept
        return {"begun": datetime.fromisoformat(kept[SINCE]), "sent": int(kept[SENT])}

    def _intent(self, requests: int) -> Intent:
        kept, key = self._attempt.ledger.kept, self._order.key
        return Intent(
            id=self._id,
            endpoint=key.endpoint,
            betas=tuple(key.betas),
            requests=requests,
            since=datetime.fromisoformat(kept[SINCE]) if SINCE in kept else datetime.now(UTC),
            places=len(self._order.lines),
        )

    # --- what an earlier attempt may have begun

    async def _found(self) -> str | None:
        """The batch that an earlier attempt created, if it did. A list may be late, so it is read several times."""
        intent = self._intent(int(self._attempt.ledger.kept.get(SENT, "0")))
        for look in range(SETTLE_LOOKS + 1):
            found = await self._provider.batches.find(intent, self._order.foreign)
            if found is not None:
                log.info("provider batch %s is %s, created by an attempt that did not see its end", self._id, found)
                return found
            if look < SETTLE_LOOKS:
                await asyncio.sleep(self._order.terms.settle / SETTLE_LOOKS)
        return None

    # --- what is sent

    async def _write(self) -> _Written:
        lines, skipped = list[bytes](), list[int]()
        places = list(enumerate(self._order.lines))
        for start in range(0, len(places), AT_ONCE):
            some = places[start : start + AT_ONCE]
            written = await asyncio.gather(*(self._line(*each) for each in some))
            lines += [line for line in written if line is not None]
            skipped += [place for (place, _), line in zip(some, written, strict=True) if line is None]
        return _Written(lines, skipped)

    async def _line(self, place: int, line: LaneLine) -> bytes | None:
        """The request as it is written; None if nobody waits for it, or it can't be sent so, which its job is told."""
        try:
            if not await _is_awaited(self._client, line):
                return None
            made = await self._requests.make(self._client, line.job, line.run_id, line.request, chains=line.chains)
            written = made.written()
            if made.key(written, self._attempt.info.task_queue).id != self._order.key.id:
                why = "its agent or the provider's key was changed, and it belongs to another lane now"
                await tell_job(self._client, line, LaneReply(turn=line.request.turn, text=why, again=True))
                return None
        except NotForLanes as error:
            await tell_job(self._client, line, LaneReply(turn=line.request.turn, text=str(error)))
            return None
        except RPCError:
            raise
        except Exception as error:  # whatever is wrong with one job must not hold up the others
            log.exception("the request of %s can't be made for a batch", line.job)
            await tell_job(self._client, line, LaneReply(turn=line.request.turn, text=said(error)))
            return None
        custom_id = self._intent(0).custom_id(place)
        return to_json(self._provider.batches.line(custom_id, written))

    # --- the POST

    async def _create(self, written: _Written) -> str:
        batches, attempt = self._provider.batches, self._attempt
        uploaded = await batches.upload(written.lines)
        kept = attempt.ledger.kept
        kept[SENT], kept[SINCE] = str(len(written.lines)), kept.get(SINCE) or datetime.now(UTC).isoformat()
        await attempt.mark_started()
        intent = self._intent(len(written.lines))
        for pause in (*FILE_PAUSES, None):
            try:
                return await batches.create(intent, written.lines, uploaded)
            except NotFound as error:
                if pause is None or not uploaded:
                    raise
                log.info("the file of provider batch %s is not found yet: %s", self._id, error)
                await asyncio.sleep(pause)
        raise AssertionError("unreachable: the last try returns or raises")


async def _is_awaited(client: Client, line: LaneLine) -> bool:
    """Whether the job still waits for this call."""
    try:
        turn: object = await client.get_workflow_handle(line.job).query("awaited_turn")
    except RPCError as error:
        if error.status == RPCStatusCode.NOT_FOUND:
            return False
        raise
    return turn == line.request.turn
