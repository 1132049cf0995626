"""The judge is judged: it must pass every request that a provider accepted, and stop those that were refused for their
history."""

from typing import Any

import pytest

from tests.activities.providers.openai_traffic import FOLDERS
from tests.judge import Unacceptable, judge_chat, judge_responses
from tests.traffic import Exchange, exchanges, names, or_skipped

REFUSED = {
    ("deepseek/responses_interleaved_calls_rejected_400", 0): "call-a",
    ("openai-responses/reasoning_without_following_item_400", 1): "required following item",
}
# Accepted by the one server it was recorded from and refused by others: the judge is stricter on purpose.
STRICTER = {
    ("ollama/error_model_not_found_404_native", 0): "too short",
    ("openai-chat/tool_error_model_gives_up", 1): "annotations",
    ("openai-chat/stream_arguments_key_missing_first", 1): "neither content nor tool_calls",
    ("openai-chat/stream_no_finish_reason_repeated_id", 1): "neither content nor tool_calls",
    ("openai-responses/parallel_calls_one_tool_error", 1): "empty content",
    (
        "synthetic-fixtures-not-recordings/openai_compat_stream_args_null_never_filled",
        1,
    ): "neither content nor tool_calls",
}


def _judge(exchange: Exchange) -> None:
    body: dict[str, Any] = exchange.request_body
    if "messages" in body:
        judge_chat(body)
    else:
        judge_responses(body)


def _judged(exchange: Exchange) -> bool:
    body = exchange.request_body
    return (
        isinstance(body, dict)
        and exchange.method == "POST"
        and "anthropic" not in exchange.url
        and ("messages" in body or isinstance(body.get("input"), list))
    )


@pytest.mark.parametrize("name", or_skipped(names(FOLDERS)))
def test_the_judge_agrees_with_the_providers(name: str) -> None:
    for number, exchange in enumerate(exchanges(name)):
        fault = (REFUSED | STRICTER).get((name, number))
        if not _judged(exchange):
            assert fault is None
        elif fault is None:
            _judge(exchange)
        else:
            with pytest.raises(Unacceptable, match=fault):
                _judge(exchange)
