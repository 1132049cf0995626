"""Options that take a length of time or a moment."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Generic, TypeVar

import click

from surefoot.errors import WrongValue
from surefoot.times import duration, moment

T = TypeVar("T", datetime, timedelta)


class _Time(click.ParamType, Generic[T]):
    def __init__(self, name: str, kind: type[T], read: Callable[[str], T]) -> None:
        self.name, self._kind, self._read = name, kind, read

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> T:
        if isinstance(value, self._kind):
            return value
        try:
            return self._read(str(value))
        except WrongValue as error:
            self.fail(str(error), param, ctx)


LENGTH = _Time("length", timedelta, duration)
MOMENT = _Time("moment", datetime, moment)
