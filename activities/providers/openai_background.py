"""Responses in background mode: begun by one POST, and asked for until they are there, by whichever attempt is alive.

The id is kept as soon as it is known, and an attempt that finds one never posts. What was begun and can't be found any
more is an error and no reason to begin again: it was paid for, and nobody knows what became of it.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final
from urllib.parse import quote

from pydantic import JsonValue

from activities.providers.classify import classify_answer
from activities.providers.error_body import redact
from activities.providers.errors import MalformedAnswer, NotFound, Overloaded
from activities.providers.openai_connection import OpenAIConnection
from activities.providers.openai_items import text
from activities.providers.protocol import Kept
from workflows.contracts import JsonObject

UNFINISHED: Final = ("queued", "in_progress")
LOST: Final = ("failed", "cancelled")
OVER: Final = ("completed", "incomplete", *LOST)
FIRST_PAUSE: Final = 0.5
LONGEST_PAUSE: Final = 10.0
GROWTH: Final = 1.5
GRACE_SECONDS: Final = 5.0
"""How long an attempt that is cut short waits for its POST, and for the end of a response that nobody will come for."""


class Background:
    """One response. `include` is what the answer is asked to hold beside its normal fields."""

    def __init__(self, connection: OpenAIConnection, kept: Kept | None, include: JsonValue) -> None:
        self._connection, self._kept, self._include = connection, kept, include

    async def answer(self, post: Callable[[], Awaitable[JsonObject]]) -> JsonObject:
        """The finished response, begun by `post` unless an earlier attempt did. Raises `ModelError`."""
        begun = self._kept.value if self._kept is not None else None
        if begun is None:
            answer = await self._begin(post)
            begun = text(answer.get("id"))
            if not begun or not _is_begun(answer):
                return answer
        try:
            return await self._poll(begun)
        except asyncio.CancelledError:
            await self._give_up(begun)
            raise

    async def _begin(self, post: Callable[[], Awaitable[JsonObject]]) -> JsonObject:
        """Post, and keep the id. Not cut short in the middle, or what was begun would be paid for unseen."""
        beginning = asyncio.ensure_future(self._post_and_keep(post))
        try:
            return await asyncio.shield(beginning)
        except asyncio.CancelledError:
            await asyncio.wait([beginning], timeout=GRACE_SECONDS)
            beginning.cancel()
            for answer in await asyncio.gather(beginning, return_exceptions=True):
                if isinstance(answer, dict) and _is_begun(answer):
                    await self._give_up(text(answer.get("id")))
            raise

    async def _post_and_keep(self, post: Callable[[], Awaitable[JsonObject]]) -> JsonObject:
        answer = await post()
        response_id = text(answer.get("id"))
        if self._kept is not None and response_id and _is_begun(answer):
            try:
                await self._kept.keep(response_id)
            except Exception:  # the attempt is over
                await self._give_up(response_id)
                raise
        return answer

    async def _poll(self, response_id: str) -> JsonObject:
        pause = FIRST_PAUSE
        while True:
            await asyncio.sleep(pause)
            answer = await self._look(response_id)
            if text(answer.get("status")) not in UNFINISHED:
                return await self._ended(answer)
            pause = min(pause * GROWTH, LONGEST_PAUSE)

    async def _look(self, response_id: str) -> JsonObject:
        query: JsonObject = {"include": self._include} if self._include else {}
        try:
            answer = await self._connection.get(_path(response_id), query)
            _check_is_state(answer)
        except NotFound as error:
            raise NotFound(
                f"the response {response_id}, which was begun in background mode, is not there any more ({error}); the "
                "API keeps one for about ten minutes behind its end, longer with store=true, and only for the key that "
                "began it. It is not begun again by itself, since it was paid for: reply to the job to ask anew",
                status=error.status,
            ) from None
        except MalformedAnswer as error:  # of something in between: it says nothing about the response
            raise Overloaded(f"the state of {response_id} can't be read: {error}", status=error.status) from None
        return answer

    async def _ended(self, answer: JsonObject) -> JsonObject:
        if text(answer.get("status")) in LOST and self._kept is not None:
            await self._kept.keep(None)  # the next attempt, if there is one, has to begin again
        if answer.get("error"):
            raise classify_answer(None, {}, {"error": answer["error"]})
        return answer

    async def _give_up(self, response_id: str) -> None:
        """Stop a response that no attempt will come for. Whatever goes wrong, this attempt ends all the same."""
        with suppress(Exception):
            async with asyncio.timeout(GRACE_SECONDS):
                if self._kept is None or not await self._kept.wanted():
                    await self._connection.post(f"{_path(response_id)}/cancel", {})


def _is_begun(answer: JsonObject) -> bool:
    """Whether the answer to a POST is to be asked for: it says neither that it is over, nor anything else."""
    return text(answer.get("status")) not in OVER and not answer.get("output")


def _check_is_state(answer: JsonObject) -> None:
    """Raises `MalformedAnswer` for an object that says neither how the response stands nor what is wrong."""
    status = text(answer.get("status"))
    if not answer.get("error") and status not in (*UNFINISHED, *OVER):
        told = redact(json.dumps(answer)[:200])
        raise MalformedAnswer(f"its status is {status!r}, and not one of {', '.join((*UNFINISHED, *OVER))}: {told}")


def _path(response_id: str) -> str:
    return f"/responses/{quote(response_id, safe='')}"
