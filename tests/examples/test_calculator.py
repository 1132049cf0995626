"""The calculator: dependent rounds, an error that is read, and arithmetic that untrusted text can't break out of."""

import math
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activities.errors import ToolError
from tests.examples.conftest import Example, tool_of
from workflows.contracts import Result, Turn


def calculate(expression: str) -> float:
    value = tool_of("calculator.py", "calculator", "calculate")(expression)
    assert isinstance(value, int | float)
    return value


async def test_three_times_the_temperature_in_cairo_takes_two_rounds(example: Example) -> None:
    async with example("calculator.py") as client:
        job = await client.start("calculator", "What is the temperature in Cairo, times three?")
        outcome = await job.outcome()
        transcript = await job.transcript()

    assert outcome.status == "complete"
    assert outcome.answer == "Three times the temperature in Cairo is 93."
    assert [(finding.tool, finding.content) for finding in outcome.findings] == [("weather", "31"), ("calculate", "93")]
    assert [entry.kind for entry in transcript] == ["message", "turn", "result", "turn", "result", "turn"]
    turns = [entry for entry in transcript if isinstance(entry, Turn)]
    assert turns[1].text == "It is 31 °C in Cairo."
    assert [call.arguments for turn in turns for call in turn.calls] == [{"city": "Cairo"}, {"expression": "31 * 3"}]


async def test_a_division_by_zero_is_an_error_that_the_model_reads_and_then_answers(example: Example) -> None:
    async with example("calculator.py") as client:
        job = await client.start("calculator", "10 / 0?", model="scripted:scripts/calculator_by_zero.json")
        outcome = await job.outcome()
        results = [entry for entry in await job.transcript() if isinstance(entry, Result)]

    assert outcome.status == "complete"
    assert outcome.answer == "There is no answer: '10 / 0' divides by zero, which has no result."
    assert [(result.status, result.is_error) for result in results] == [("error", True)]
    assert outcome.usage.model_calls == 2


def test_an_unknown_city_is_answered_with_those_that_are_known() -> None:
    with pytest.raises(ToolError, match="no weather for Atlantis, only for Cairo, Lisbon, Oslo"):
        tool_of("calculator.py", "calculator", "weather")("Atlantis")


# --- the arithmetic, against Python's own

NUMBERS = st.integers(0, 999).map(str) | st.floats(0.01, 999).map(lambda value: f"{value:.2f}")
POWERS = st.builds("({}) ** {}".format, NUMBERS, st.integers(-3, 4))
EXPRESSIONS = st.recursive(
    NUMBERS | POWERS,
    lambda inner: (
        st.builds("({} {} {})".format, inner, st.sampled_from(["+", "-", "*", "/", "//", "%"]), inner)
        | st.builds("{}({})".format, st.sampled_from("+-"), inner)
    ),
    max_leaves=8,
)


@given(EXPRESSIONS.filter(lambda expression: len(expression) <= 200))
def test_it_calculates_as_python_does(expression: str) -> None:
    try:
        expected = eval(expression, {"__builtins__": {}})
    except ZeroDivisionError:
        with pytest.raises(ToolError, match="divides by zero"):
            calculate(expression)
        return
    value = calculate(expression)

    assert (value, type(value)) == (expected, type(expected))


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("31*3", 93),
        ("  7 / 2 ", 3.5),
        ("-2 ** 2", -4),
        ("2 ** 3 ** 2", 512),
        ("1.5e3 + 1", 1501.0),
        ("--1", 1),
        ("2 ** 900", 2**900),
        ("1e-400", 0.0),
        ("-" * 199 + "1", -1),
        ("(" * 90 + "7" + ")" * 90, 7),
    ],
)
def test_a_corner_of_python_s_arithmetic(expression: str, value: float) -> None:
    assert calculate(expression) == value


@pytest.mark.parametrize(
    "expression",
    [
        "9 ** 9 ** 9",
        "9 ** 9 ** 9 ** 9",
        "(((9 ** 999) ** 999) ** 999) ** 999",
        "10 ** 300 * 10",
        "1e300 * 1e300",
        "1e999",
        "-1e999",
        "1e999 - 1e999",
        "2 ** -1001",
        "2 ** 1e308",
        "(-8) ** 0.5",
        "(-1e300) ** 999.5",
        "10 % 0",
        "0.0 ** -1",
        "0 // 0",
        "",
        " ",
        "1 +",
        "(1",
        "1 2",
        "()",
        "(1)(2)",
        "1 .e",
        "e",
        "E + e",
        "1e",
        "007",
        "-" * 200 + "1",
        "(" * 200,
        "__import__('os').system('true')",
        "print(1)",
        "x",
        "True",
        "[1] * 9",
        "'a' * 999",
        "1 if 1 else 2",
        "1 < 2",
        "1, 2",
        "lambda: 1",
        "1j",
        "1_000",
        "0x10",
        "~1",
        "1 << 99999",
        "7 @ 7",
        "1\n+1",
        "1\0",
        "\ud800",
        "٣ + ١",
        "３ + １",
        "²",
        "2 × 3",
        "1 # one",
    ],
)
def test_what_is_no_bounded_arithmetic_is_an_error_for_the_model(expression: str) -> None:
    before = time.monotonic()
    with pytest.raises(ToolError):
        calculate(expression)

    assert time.monotonic() - before < 1


@given(st.text(st.sampled_from("0123456789eE.+-*/%() "), max_size=40) | st.text(max_size=40))
def test_any_text_gives_a_finite_number_or_an_error_for_the_model(expression: str) -> None:
    try:
        value = calculate(expression)
    except ToolError:
        return
    assert type(value) in (int, float)
    assert math.isfinite(value)
