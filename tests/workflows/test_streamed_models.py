"""A real adapter that streams inside a real job: the turn is whole or nothing, and a cut stream is asked for again."""

import asyncio
import json

import pytest

from activities.agents import Agent
from tests.conftest import Host
from tests.streaming import Stream, cut, serving

CHUNKS = [
    {"choices": [{"index": 0, "delta": {"role": "assistant", "content": "All "}}]},
    {"choices": [{"index": 0, "delta": {"content": "of it"}}]},
    {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
    {"choices": [], "usage": {"prompt_tokens": 20, "completion_tokens": 5}},
]
WHOLE = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in CHUNKS) + "data: [DONE]\n\n"


async def test_of_a_stream_that_was_cut_nothing_counts_and_the_next_attempt_is_read_whole(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = [Stream(cut(WHOLE[:100])), Stream(cut(WHOLE[:100]), then="cut")]
    async with serving(*broken, Stream(cut(WHOLE))) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", "none-needed")
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        async with host(Agent("writer", "openai-chat:m")) as client:
            job = await client.start("writer", "go")
            outcome = await asyncio.wait_for(job.outcome(), 30)
            transcript = await job.transcript()

    assert (outcome.status, outcome.answer) == ("complete", "All of it")
    assert [body["stream"] for body in server.sent] == [True, True, True]
    assert [entry.kind for entry in transcript] == ["message", "turn"]
    assert (outcome.usage.model_calls, outcome.usage.failed_attempts) == (1, 2)
    assert (outcome.usage.input_tokens, outcome.usage.output_tokens) == (20, 5)
