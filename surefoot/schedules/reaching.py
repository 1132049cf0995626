"""What Temporal raises while a schedule is reached for, as our errors."""

from collections.abc import Iterator
from contextlib import contextmanager

from temporalio.service import RPCError, RPCStatusCode

from surefoot.errors import NoSuchSchedule, WrongValue
from surefoot.rpc import reaching

NO_NAMESPACE = "Namespace "


@contextmanager
def reaching_schedule(id: str) -> Iterator[None]:
    """As `reaching` for jobs; a cron expression or a time zone that the server refuses is a `WrongValue`."""
    with reaching(id):
        try:
            yield
        except RPCError as error:
            if error.status == RPCStatusCode.NOT_FOUND and not error.message.startswith(NO_NAMESPACE):
                raise NoSuchSchedule(
                    f"there is no schedule {id!r} on this server", "; see: surefoot schedule list"
                ) from None
            if error.status == RPCStatusCode.INVALID_ARGUMENT:
                raise WrongValue(
                    f"schedule {id!r} can't be so: {error.message}. A cron expression has minute, hour, day of month,"
                    " month and day of week; a time zone is a name such as Europe/Berlin"
                ) from None
            raise
