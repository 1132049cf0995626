"""A provider that answers from a script (`script.py`): for tests, and for the demo that needs no key.

It keeps nothing between calls but the attempts of errors with `times`, which are for tests inside one process.
"""

import asyncio
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NoReturn

from pydantic_core import to_json

from activities.models.speech import Kind
from activities.providers import errors
from activities.providers.protocol import Live, ModelRequest, call_id
from activities.providers.script import ERROR_KINDS, Reply, Script, ScriptedError, ScriptedUsage, ScriptError, position
from workflows.contracts import CallPart, Entry, Part, ReasoningPart, RefusalPart, Result, TextPart, Turn, Usage
from workflows.words import without_edit

__all__ = ["Reply", "Script", "ScriptError", "Scripted"]

_RESULT = re.compile(r"\{result:(\d+)\}")
_QUOTED_CHARACTERS = 200
PIECES_PER_SECOND = 20


class Scripted:
    """The provider that answers with a script's replies."""

    api = "scripted"

    def __init__(self, script: Script) -> None:
        self._script = script
        self._attempts: Counter[tuple[int, str]] = Counter()

    async def complete(self, request: ModelRequest) -> Turn:
        reply = self._script.reply_to(request)
        if reply is None:
            return _summing_up(request)
        await asyncio.sleep(reply.seconds)
        failing = self._failing(reply, request)
        if failing is not None and not failing.after:
            _fail(failing)
        parts = _parts(reply, request)
        await _say(parts, reply, request.live, None if failing is None else failing.after)
        if failing is not None:
            _fail(failing)
        return Turn(
            number=request.turn,
            parts=parts,
            stop=reply.stop or ("tool_calls" if reply.calls else "end"),
            model=reply.model or request.model,
            usage=_usage(reply.usage, request, parts),
        )

    async def close(self) -> None:
        """Nothing is held."""

    def _failing(self, reply: Reply, request: ModelRequest) -> ScriptedError | None:
        """The failure that this attempt is due."""
        if reply.error is not None and reply.error.times is not None:
            attempt = (position(request), request.purpose + request.tool_choice)
            self._attempts[attempt] += 1
            if self._attempts[attempt] > reply.error.times:
                return None
        return reply.error


def _fail(error: ScriptedError) -> NoReturn:
    raise ERROR_KINDS[error.kind](error.message, delay=error.delay)


async def _say(parts: Sequence[Part], reply: Reply, live: Live | None, most: int | None) -> None:
    """Say the parts, at most so many pieces of them, over the time that the script gives."""
    count = reply.pieces or max(1, round(reply.stream_seconds * PIECES_PER_SECOND))
    said = list(_pieces(parts, count))
    for kind, text in said[:most]:
        if live is not None:
            live.say(kind, text)
        if reply.stream_seconds or reply.pieces:
            await asyncio.sleep(reply.stream_seconds / len(said))


def _pieces(parts: Sequence[Part], count: int) -> Iterator[tuple[Kind, str]]:
    """About `count` pieces of equal length; a call is one, its tool's name."""
    size = max(1, -(-sum(len(part.text) for part in parts if not isinstance(part, CallPart)) // count))
    for part in parts:
        if isinstance(part, CallPart):
            yield "call", part.tool
            continue
        kind: Kind = "reasoning" if isinstance(part, ReasoningPart) else "text"
        for start in range(0, len(part.text), size):
            yield kind, part.text[start : start + size]


def _parts(reply: Reply, request: ModelRequest) -> list[Part]:
    parts: list[Part] = []
    if reply.reasoning:
        parts.append(ReasoningPart(text=reply.reasoning))
    if reply.text:
        text = _quote_results(reply.text, request.transcript)
        parts.append(RefusalPart(text=text) if reply.stop == "refusal" else TextPart(text=text))
    for index, call in enumerate(reply.calls):
        parts.append(
            CallPart(
                id=call_id(request.turn, index),
                provider_id=call.id,
                tool=call.tool,
                arguments=call.arguments if call.raw is None else None,
                raw=call.raw,
            )
        )
    return parts


def _quote_results(text: str, transcript: Sequence[Entry]) -> str:
    results: list[str] = []
    for entry in transcript:
        if entry.kind == "turn":
            results = []
        elif entry.kind == "result":
            results.append(without_edit(entry.content))

    def content(match: re.Match[str]) -> str:
        number = int(match[1])
        if not 1 <= number <= len(results):
            raise errors.Rejected(
                f"the script quotes {match[0]}, but the round before has {len(results)} results; correct its number"
            )
        return results[number - 1]

    return _RESULT.sub(content, text)


def _summing_up(request: ModelRequest) -> Turn:
    found = [
        f"{entry.tool}: {without_edit(entry.content)[:_QUOTED_CHARACTERS]}"
        for entry in request.transcript
        if isinstance(entry, Result) and not entry.is_error
    ]
    said = "the tools returned " + "; ".join(found) if found else "no tool had returned anything"
    text = f"So far {said}." if request.purpose == "summary" else f"The work had to stop: {said}."
    parts: list[Part] = [TextPart(text=text)]
    return Turn(number=request.turn, parts=parts, model=request.model, usage=_usage(ScriptedUsage(), request, parts))


def _usage(given: ScriptedUsage, request: ModelRequest, parts: Sequence[Part]) -> Usage:
    return Usage(
        input_tokens=_input_tokens(request) if given.input_tokens is None else given.input_tokens,
        output_tokens=_output_tokens(parts) if given.output_tokens is None else given.output_tokens,
        cached_tokens=given.cached_tokens,
        reasoning_tokens=given.reasoning_tokens,
        cost_usd=given.cost_usd,
        model_calls=1,
        unmeasured=given.unmeasured,
    )


def _input_tokens(request: ModelRequest) -> int:
    return -(-(len(request.instructions) + sum(_characters(entry) for entry in request.transcript)) // 4)


def _output_tokens(parts: Sequence[Part]) -> int:
    return -(-sum(_part_characters(part) for part in parts) // 4)


def _characters(entry: Entry) -> int:
    if entry.kind == "turn":
        return sum(_part_characters(part) for part in entry.parts)
    return len(entry.content if entry.kind == "result" else entry.text)


def _part_characters(part: Part) -> int:
    if part.kind == "call":
        return len(part.tool) + len(part.raw or to_json(part.arguments))
    return len(part.text)
