"""Options that take a length of time or a moment."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import click

from surefoot.errors import WrongValue
from surefoot.times import duration, moment


class _Time(click.ParamType):  # type: ignore[type-arg, unused-ignore]  # generic in some versions of click
    """What `read` makes of a text; values that click has converted before come through as they are."""

    def __init__(self, name: str, read: Callable[[str], datetime | timedelta]) -> None:
        self.name, self._read = name, read

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime | timedelta:
        if isinstance(value, datetime | timedelta):
            return value
        try:
            return self._read(str(value))
        except WrongValue as error:
            self.fail(str(error), param, ctx)


LENGTH = _Time("length", duration)
MOMENT = _Time("moment", moment)
