"""Which of a provider's codes, texts, statuses and exceptions means which `ModelError`; data only.

Order matters: a code outranks a text, a text outranks a status, and within a table the first match wins. Every
text here was seen on the wire or quoted in a public issue; texts are compared in lower case.
"""

from collections.abc import Mapping

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

Kind = type[ModelError]

# What the provider calls it, in `code`, `type` or `status`. The first kind that matches wins.
CODES: tuple[tuple[Kind, frozenset[str]], ...] = (
    (ToolUseFailed, frozenset({"tool_use_failed"})),
    (
        QuotaExhausted,
        frozenset({"insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "billing_error"}),
    ),
    (
        ContextTooLong,
        frozenset(
            {
                "context_length_exceeded",
                "too_many_prompt_tokens",
                "request_too_large",
                "exceed_context_size_error",
                "string_above_max_length",
            }
        ),
    ),
    (Unauthenticated, frozenset({"invalid_api_key", "authentication_error", "permission_error", "unauthenticated"})),
    (
        Refused,
        frozenset(
            {
                "content_filter",
                "content_policy_violation",
                "responsibleaipolicyviolation",
                "moderation_blocked",
                "invalid_prompt",
            }
        ),
    ),
    (NotFound, frozenset({"model_not_found", "deploymentnotfound", "previous_response_not_found", "not_found_error"})),
    (Overloaded, frozenset({"overloaded_error", "slow_down"})),
)

# What only the text says. A kind is looked for under these statuses; None stands for an error inside a 200.
TEXTS: tuple[tuple[Kind, frozenset[int | None], tuple[str, ...]], ...] = (
    (ToolUseFailed, frozenset({400, None}), ("tool choice is required, but", "failed to call a function")),
    (
        ContextTooLong,
        frozenset({400, 413, 422, 500, None}),
        (
            "maximum context length",
            "context length",
            "context window",
            "context size",
            "prompt is too long",
            "input is too long",
            "input token count",
            "total length of all messages",
            "too many tokens",
            "request payload size exceeds",
        ),
    ),
    (ContextTooLong, frozenset({413, 429}), ("request too large", "must be reduced", "reduce your message size")),
    (
        QuotaExhausted,
        frozenset({400, 402, 403, 429, None}),
        (
            "credit balance is too low",
            "insufficient balance",
            "insufficient credits",
            "spending limit",
            "out of credits",
            "credits are depleted",
            "spending cap",
            "perday",  # Google's quotaId: gone until tomorrow, whatever delay comes with it
            "limit: 0,",  # Google's free tier without this model
        ),
    ),
    (
        Unauthenticated,
        frozenset({400, 401, 403, None}),
        (
            "incorrect api key",
            "invalid api key",
            "invalid x-api-key",
            "api key not valid",
            "api_key_invalid",
            "api key expired",
            "api key is invalid",
            "no api key",
            "missing api key",
            "invalid subscription key",
        ),
    ),
    (Refused, frozenset({400, 403, None}), ("content management policy", "usage policy", "flagged", "moderation")),
    (NotFound, frozenset({400, None}), ("model does not exist", "not a valid model", "model not found")),
)

STATUSES: Mapping[int, Kind] = {
    401: Unauthenticated,
    402: QuotaExhausted,
    403: Unauthenticated,
    404: NotFound,
    408: TimedOut,
    409: Overloaded,
    410: NotFound,
    413: ContextTooLong,
    425: Overloaded,
    429: RateLimited,
    499: Overloaded,
    501: Rejected,
    504: TimedOut,
    524: TimedOut,
}

# Codes that say no more than a status does: looked at last, for errors inside a 200.
LATE_CODES: Mapping[str, Kind] = {
    "rate_limit_exceeded": RateLimited,
    "rate_limit_error": RateLimited,
    "resource_exhausted": RateLimited,
    "server_error": Overloaded,
    "api_error": Overloaded,
    "internal_server_error": Overloaded,
    "service_unavailable": Overloaded,
    "unavailable": Overloaded,
    "timeout": TimedOut,
    "invalid_request_error": Rejected,
}

# Exceptions without an answer, by the name of their class or of one it derives from.
EXCEPTIONS: tuple[tuple[str, Kind], ...] = (
    ("APITimeoutError", TimedOut),
    ("TimeoutException", TimedOut),
    ("TimeoutError", TimedOut),
    ("UnsupportedProtocol", Rejected),
    ("InvalidURL", Rejected),
    ("TooManyRedirects", Rejected),
    ("APIConnectionError", Overloaded),
    ("DecodingError", MalformedAnswer),
    ("TransportError", Overloaded),
    ("RefreshError", Unauthenticated),
    ("DefaultCredentialsError", Unauthenticated),
    ("OSError", Overloaded),
    ("APIResponseValidationError", MalformedAnswer),
    ("JSONDecodeError", MalformedAnswer),
    ("UnicodeDecodeError", MalformedAnswer),
    ("RecursionError", MalformedAnswer),
)
