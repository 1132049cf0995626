"""Settings that are a number of seconds."""

import pytest

from activities.errors import DefinitionError
from activities.seconds import read_seconds


@pytest.mark.parametrize(("text", "seconds"), [("0", 0.0), ("7.5", 7.5), ("1e3", 1000.0), (" 2 ", 2.0)])
def test_a_number_is_read(text: str, seconds: float) -> None:
    assert read_seconds("SUREFOOT_X_SECONDS", {"SUREFOOT_X_SECONDS": text}) == seconds


@pytest.mark.parametrize("environment", [{}, {"SUREFOOT_X_SECONDS": ""}])
def test_what_is_not_set_is_none(environment: dict[str, str]) -> None:
    assert read_seconds("SUREFOOT_X_SECONDS", environment) is None


@pytest.mark.parametrize("text", ["soon", "-1", "nan", "inf", "1,5"])
def test_what_is_no_time_names_the_variable_and_what_stood_there(text: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        read_seconds("SUREFOOT_X_SECONDS", {"SUREFOOT_X_SECONDS": text})

    assert str(caught.value) == f"SUREFOOT_X_SECONDS is {text!r}: it must be a number of seconds, 0 or more."
