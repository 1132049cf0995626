"""Two rounds that depend on each other, and an error that the model reads.

    surefoot run --app examples/calculator.py calculator "What is the temperature in Cairo, times three?"

With `--model scripted:scripts/calculator_by_zero.json` the model divides by zero and has to say so.
"""

import ast
import json
import operator
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from models import model
from surefoot import Agent, ToolError, tool

WEATHER = Path(__file__).parent / "data" / "weather.json"

# A model's text is untrusted. What may stand in it is listed, everything else is refused, and each step is
# bounded: with exact integers a short text such as 9**9**9 would keep the worker busy for days.
ALLOWED = re.compile(r"[0-9eE.+*/%() -]{1,200}")
LARGEST = 1e300
LARGEST_EXPONENT = 1000

OPERATORS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
}


@tool(read_only=True)
def weather(city: str) -> int:
    """The temperature in a city now, in °C.

    Args:
        city: its English name
    """
    temperatures = json.loads(WEATHER.read_text())
    if city not in temperatures:
        raise ToolError(f"There is no weather for {city}, only for {', '.join(temperatures)}.")
    return int(temperatures[city])


@tool(pure=True)
def calculate(expression: str) -> int | float:
    """Do arithmetic; whole numbers are exact.

    Args:
        expression: numbers, parentheses and + - * / // % **, at most 200 characters
    """
    if not ALLOWED.fullmatch(expression):
        raise ToolError("Use only digits, parentheses and + - * / // % **, at most 200 characters.")
    try:
        return _value(ast.parse(expression.strip(), mode="eval").body)
    except SyntaxError as error:
        raise ToolError(f"{expression!r} is no arithmetic: {error.msg}.") from None
    except ZeroDivisionError:
        raise ToolError(f"{expression!r} divides by zero, which has no result.") from None
    except OverflowError:
        raise ToolError(f"A step of {expression!r} is too large; results go up to {LARGEST:g}.") from None


def _value(node: ast.expr) -> int | float:
    match node:
        case ast.Constant(value=int() | float() as value):
            return _bounded(value)
        case ast.UnaryOp(op=op, operand=operand) if type(op) in OPERATORS:
            return _bounded(OPERATORS[type(op)](_value(operand)))
        case ast.BinOp(op=op, left=left, right=right) if type(op) in OPERATORS:
            first, second = _value(left), _value(right)
            if isinstance(op, ast.Pow) and abs(second) > LARGEST_EXPONENT:
                raise ToolError(f"Exponents go up to {LARGEST_EXPONENT}.")
            return _bounded(OPERATORS[type(op)](first, second))
    raise ToolError(f"{type(node).__name__} is no arithmetic.")


def _bounded(value: int | float | complex) -> int | float:
    if isinstance(value, complex):
        raise ToolError("Roots of negative numbers have no real result.")
    if not abs(value) <= LARGEST:  # also true of nan
        raise OverflowError
    return value


calculator = Agent(
    "calculator",
    model("calculator.json"),
    instructions="You answer with numbers. Never calculate in your head: use the tools.",
    tools=[weather, calculate],
)
