"""What leaves a step as an error, made of our own words alone.

The SDK's worker writes an error into history together with all that it was raised from, and for that asks each for its
text, outside of every `try` that would hold SystemExit: an exception of a tool's author whose `__str__` calls sys.exit
stops the event loop of the worker. What a tool says is bounded and in the error's own message; its exception, which may
be of any size, stays in the worker's log.
"""

import asyncio
from typing import Any

from temporalio.exceptions import ApplicationError, FailureError
from temporalio.worker import ActivityInboundInterceptor, ExecuteActivityInput, Interceptor

from activities.tools.explain import said


class Contained(Interceptor):
    """Lets no exception of foreign code out of a step, neither by itself nor as the cause of another one."""

    def intercept_activity(self, next: ActivityInboundInterceptor) -> ActivityInboundInterceptor:
        return _Contained(next)


class _Contained(ActivityInboundInterceptor):
    async def execute_activity(self, input: ExecuteActivityInput) -> Any:
        try:
            return await super().execute_activity(input)
        except (FailureError, asyncio.CancelledError) as error:
            raise error from None
        except BaseException as error:
            raise ApplicationError(said(error), type=type(error).__name__) from None
