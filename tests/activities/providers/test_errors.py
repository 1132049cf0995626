"""Any failure of a model call becomes one class of the tree, and no key is told on."""

import json
from typing import Any

import httpx2
import openai
import pytest

from activities.providers.classify import classify, classify_answer
from activities.providers.error_body import redact, said
from activities.providers.errors import (
    ContextTooLong,
    MalformedAnswer,
    ModelError,
    NotFound,
    Overloaded,
    QuotaExhausted,
    RateLimited,
    Refused,
    Rejected,
    TimedOut,
    ToolUseFailed,
    Unauthenticated,
)


class RefreshError(Exception):
    """As google-auth names it when credentials can't be renewed."""


REQUEST = httpx2.Request("POST", "https://api.openai.com/v1/responses")


def _error(message: str = "", **fields: Any) -> dict[str, Any]:
    return {"error": {"message": message, **fields}}


def _quota(name: str) -> dict[str, Any]:
    """Google's error for a quota of this name that is used up."""
    violations = [{"quotaMetric": "generate_requests", "quotaId": name}]
    return _error("You exceeded your current quota", details=[{"@type": "QuotaFailure", "violations": violations}])


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (400, _error("Invalid value", param="x"), Rejected),
        (400, {"detail": [{"msg": "field required", "type": "missing"}]}, Rejected),
        (400, {"code": "invalid-argument", "error": "Incorrect API key provided."}, Unauthenticated),
        (400, _error("API key not valid. Please pass a valid API key.", status="INVALID_ARGUMENT"), Unauthenticated),
        (400, _error("Bad key", details=[{"@type": "ErrorInfo", "reason": "API_KEY_INVALID"}]), Unauthenticated),
        (400, _error("your tool get_api_key needs a type"), Rejected),
        (400, _error("too long", code="context_length_exceeded"), ContextTooLong),
        (
            400,
            _error("This model's maximum context length is 8192 tokens", code="invalid_request_error"),
            ContextTooLong,
        ),
        (500, _error("the request exceeds the available context size"), ContextTooLong),
        (400, _error("Your credit balance is too low to access the API"), QuotaExhausted),
        (400, _error("blocked", code="content_filter", innererror={"code": "ResponsibleAIPolicyViolation"}), Refused),
        (400, _error("Previous response with id 'x' not found.", code="previous_response_not_found"), NotFound),
        (400, _error("Failed to call a function", code="tool_use_failed", failed_generation="x"), ToolUseFailed),
        (400, _error("Request payload size exceeds the limit: 20971520 bytes."), ContextTooLong),
        (401, {"detail": "Invalid API Key"}, Unauthenticated),
        (401, _error("Access denied", code="401"), Unauthenticated),
        (402, "Payment Required", QuotaExhausted),
        (402, _error("Insufficient Balance"), QuotaExhausted),
        (403, _error("not allowed for this project"), Unauthenticated),
        (403, _error("Your input was flagged", metadata={"reasons": ["violence"]}), Refused),
        (404, _error("no such model", code="model_not_found"), NotFound),
        (404, "<html><h1>404 page not found</h1></html>", NotFound),
        (408, "", TimedOut),
        (409, "", Overloaded),
        (
            413,
            _error("Request too large for model on tokens per minute (TPM)", code="rate_limit_exceeded"),
            ContextTooLong,
        ),
        (422, {"detail": [{"loc": ["body"], "msg": "bad"}]}, Rejected),
        (429, _error("slow down", code="rate_limit_exceeded"), RateLimited),
        (
            429,
            _error("You exceeded your current quota", type="insufficient_quota", code="insufficient_quota"),
            QuotaExhausted,
        ),
        (429, _error("Request too large for gpt-4: Limit 10000, Requested 20000. It must be reduced."), ContextTooLong),
        (429, _error("You exceeded your current quota", status="RESOURCE_EXHAUSTED"), RateLimited),
        (429, _quota("GenerateRequestsPerMinutePerProjectPerModel-FreeTier"), RateLimited),
        (429, _quota("GenerateRequestsPerDayPerProjectPerModel-FreeTier"), QuotaExhausted),
        (429, _error("Quota exceeded for metric: free_tier_requests, limit: 0, model: m"), QuotaExhausted),
        (429, _error("Quota exceeded for metric: free_tier_requests, limit: 10, model: m"), RateLimited),
        (429, _error("Your prepayment credits are depleted."), QuotaExhausted),
        (429, _error("Your project has exceeded its monthly spending cap."), QuotaExhausted),
        (499, _error("The operation was cancelled.", status="CANCELLED"), Overloaded),
        (429, "rate limit", RateLimited),
        (500, "", Overloaded),
        (501, "", Rejected),
        (502, "<html>Bad Gateway</html>", Overloaded),
        (503, {"error": "overloaded"}, Overloaded),
        (504, "", TimedOut),
        (529, _error("Overloaded", type="overloaded_error"), Overloaded),
        (302, "", Rejected),
        (None, _error("down", code="server_error"), Overloaded),
        (None, _error("slow", code="rate_limit_exceeded"), RateLimited),
        (None, _error("no credit", code="insufficient_quota"), QuotaExhausted),
        (None, _error("upstream", code=502), Overloaded),
        (None, _error("upstream", code=429), RateLimited),
        (None, _error("bad input", code=400), Rejected),
        (None, _error("who knows"), Overloaded),
    ],
)
def test_each_answer_has_its_class(status: int | None, body: Any, kind: type[ModelError]) -> None:
    assert type(classify_answer(status, {}, body)) is kind


@pytest.mark.parametrize(
    ("failure", "kind"),
    [
        (openai.APITimeoutError(request=REQUEST), TimedOut),
        (openai.APIConnectionError(request=REQUEST), Overloaded),
        (httpx2.ReadError("connection reset"), Overloaded),
        (httpx2.ReadTimeout("slow"), TimedOut),
        (TimeoutError(), TimedOut),
        (ConnectionResetError(), Overloaded),
        (OSError("no route"), Overloaded),
        (json.JSONDecodeError("bad", "x", 0), MalformedAnswer),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"), MalformedAnswer),
        (RecursionError(), MalformedAnswer),
        (httpx2.DecodingError("not gzip"), MalformedAnswer),
        (httpx2.UnsupportedProtocol("missing http://"), Rejected),
        (TypeError("Could not resolve authentication method"), Unauthenticated),
        (UnicodeEncodeError("ascii", "sk-é", 3, 4, "no"), Unauthenticated),
        (RefreshError("invalid_grant"), Unauthenticated),
        (ZeroDivisionError("division by zero"), ModelError),
        (Exception(), ModelError),
    ],
)
def test_each_exception_without_an_answer_has_its_class(failure: Exception, kind: type[ModelError]) -> None:
    assert type(classify(failure)) is kind


def test_the_cause_of_a_connection_error_decides_and_is_told() -> None:
    failure = openai.APIConnectionError(request=REQUEST)
    failure.__cause__ = httpx2.UnsupportedProtocol("Request URL is missing an 'http://' protocol.")

    error = classify(failure)

    assert type(error) is Rejected
    assert str(error) == (
        "APIConnectionError: UnsupportedProtocol: Request URL is missing an 'http://' protocol."
        " (asked: https://api.openai.com)"
    )


def test_an_address_where_nobody_answers_is_told_without_its_password() -> None:
    request = httpx2.Request("POST", "http://me:secret@localhost:8080/v1/responses")
    failure = httpx2.ConnectError("All connection attempts failed", request=request)
    failure.__cause__ = httpx2.ConnectError("All connection attempts failed")

    assert str(classify(failure)) == ("ConnectError: All connection attempts failed (asked: http://localhost:8080)")


def test_an_error_of_the_tree_is_left_alone() -> None:
    error = Overloaded("full")

    assert classify(error) is error


def test_an_illegal_header_is_a_broken_key_and_does_not_show_it() -> None:
    failure = openai.APIConnectionError(request=REQUEST)
    failure.__cause__ = httpx2.LocalProtocolError("Illegal header value b'Bearer sk-secret-key\\n'")

    error = classify(failure)

    assert type(error) is Unauthenticated
    assert "secret" not in str(error)


@pytest.mark.parametrize(
    ("told", "status", "body", "retryable"),
    [
        ("false", 429, _error("slow down"), False),
        ("false", 500, "", False),
        ("true", 400, _error("conflict"), True),
        ("true", 429, _error("", code="insufficient_quota"), False),
        ("true", 401, "", False),
        ("maybe", 500, "", True),
        ("maybe", 400, "", False),
    ],
)
def test_x_should_retry_overrides_the_class_but_not_what_waiting_never_cures(
    told: str, status: int, body: Any, retryable: bool
) -> None:
    assert classify_answer(status, {"x-should-retry": told}, body).retryable is retryable


def test_an_error_carries_status_code_and_delay() -> None:
    error = classify_answer(429, {"retry-after": "7"}, _error("slow down", type="tokens", code="rate_limit_exceeded"))

    assert (error.status, error.code, error.delay) == (429, "rate_limit_exceeded", 7.0)
    assert str(error) == "HTTP 429 (rate_limit_exceeded): slow down"


def test_the_state_of_rate_limits_delays_only_rate_limits() -> None:
    headers = {"x-ratelimit-reset-tokens": "6h"}

    assert classify_answer(500, headers, "").delay is None
    assert classify_answer(429, headers, "").delay == 21600.0


def test_the_true_reason_inside_a_proxys_answer_is_told() -> None:
    raw = json.dumps({"error": {"message": "upstream is full"}})

    error = classify_answer(
        429, {}, _error("Provider returned error", metadata={"raw": raw, "provider_name": "Google"})
    )

    assert str(error) == "HTTP 429: Provider returned error; upstream is full"


@pytest.mark.parametrize(
    "secret",
    [
        "sk-proj-abcdef1234567890",
        "gsk_abcdefghijklmnop",
        "xai-abcdefghijklmnop",
        "AIzaSyA1234567890abcdef",
        "Bearer abc.def.ghi",
        "invalid-*****2345",
        "****-key",
        "org-AbCdEf123",
        "0b5c1f2e-1111-2222-3333-444455556666",
    ],
)
def test_keys_and_account_ids_are_never_told(secret: str) -> None:
    for status in (400, 401, 429, 500):
        message = str(classify_answer(status, {}, _error(f"Denied for {secret} today")))

        assert secret.split()[-1] not in message


def test_ordinary_words_are_not_taken_for_secrets() -> None:
    text = "the task-manager tool needs a risk-adjusted api_version and OPENAI_API_KEY"

    assert redact(text) == text


def test_a_long_message_is_cut_and_html_is_stripped() -> None:
    assert redact("<html><body>Bad&nbsp;Gateway</body></html>") == "Bad&nbsp;Gateway"
    assert redact("x" * 5000) == "x" * 600 + "… (5000 characters)"


def test_a_body_of_any_shape_is_read_without_failing() -> None:
    shapes: list[Any] = [
        None,
        3,
        True,
        [],
        {},
        {"error": None},
        {"error": [1, [2]]},
        [[[[[[[[["deep"]]]]]]]]],
        "\ud800",
    ]
    for body in shapes:
        str(classify_answer(500, {}, body)).encode()
        said(body)


def test_every_class_of_the_tree_stands_in_its_docstring() -> None:
    from activities.providers import errors

    classes = [name for name, value in vars(errors).items() if isinstance(value, type)]

    assert len(classes) == 12
    assert [name for name in classes if name not in (errors.__doc__ or "")] == []
