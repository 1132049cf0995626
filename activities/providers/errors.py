"""The one small tree that every provider's failure is mapped into.

    ModelError
    ├── Rejected          the request is wrong; the same bytes can never succeed
    │   ├── ContextTooLong
    │   └── ToolUseFailed     the server could not read the model's own tool call
    ├── Unauthenticated   key missing, wrong or without permission
    ├── NotFound          no such model or deployment
    ├── QuotaExhausted    credit or quota is used up; waiting seconds won't help
    ├── Refused           the provider's policy stopped the answer
    ├── RateLimited       too fast; retry after `delay`
    ├── Overloaded        the provider is down or full (5xx, 529, connection refused)
    ├── TimedOut          no whole answer in time
    └── MalformedAnswer   an answer that can't be read; a new sample may be fine

The class says whether a retry can help (`retryable`), unless the provider itself said so in `x-should-retry`;
timing lives in `workflows/policies.py`. Messages end up in event history: no key, no part of one, may stand in them.
"""


class ModelError(Exception):
    """A model call failed.

    `status` is the HTTP status if there was one, `delay` the provider's own wish in seconds, `code` the provider's
    own word for the failure. `retryable` given here overrides the class.
    """

    retryable: bool = False

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        delay: float | None = None,
        code: str | None = None,
        retryable: bool | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.delay = delay
        self.code = code
        if retryable is not None:
            self.retryable = retryable


class Rejected(ModelError):
    """The request itself is wrong."""


class ContextTooLong(Rejected):
    """The transcript fits neither the model's context nor the limit on one request; a shorter one may."""


class ToolUseFailed(Rejected):
    """The server could not read the tool call that the model wrote; `generation` is what it wrote.

    A mistake of the model, not of the request: adapters make a turn with a malformed call of it.
    """

    generation: str = ""


class Unauthenticated(ModelError):
    """The key is missing, wrong, or may not use this model."""


class NotFound(ModelError):
    """There is no such model, deployment or stored response."""


class QuotaExhausted(ModelError):
    """Credit or quota is used up."""


class Refused(ModelError):
    """The provider's policy stopped the answer."""


class RateLimited(ModelError):
    """Too many requests or tokens in a short time."""

    retryable = True


class Overloaded(ModelError):
    """The provider can't serve now."""

    retryable = True


class TimedOut(ModelError):
    """No whole answer came in time."""

    retryable = True


class MalformedAnswer(ModelError):
    """The answer can't be read."""

    retryable = True
