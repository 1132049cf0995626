"""What a type checker knows of tools: mypy checks the `assert_type` lines, the run checks the values."""

from collections.abc import Coroutine
from typing import Any, assert_type

from activities.policy import Condition, allow_if
from activities.tools.tool import Tool, ToolContext, tool


@tool
def plain(x: int, y: str = "") -> list[str]:
    return [y] * x


@tool(read_only=True, timeout=5, policy=[allow_if(lambda x: x < 3), "ask"])
def with_options(x: int, context: ToolContext) -> str:
    return f"{x} {context.call}"


@tool(idempotent=True, preview=lambda x: f"doubles {x}")
async def coroutine(x: int) -> int:
    return 2 * x


class Shop:
    def price(self, item: str) -> float:
        return float(len(item))


price = tool(Shop().price, pure=True)


def test_a_direct_call_has_the_types_of_the_function() -> None:
    found = plain(2, y="a")
    assert_type(found, list[str])

    assert found == ["a", "a"]


def test_options_keep_the_types() -> None:
    found = with_options(1, ToolContext.for_testing())
    assert_type(found, str)

    assert found == "1 c1-1"


async def test_a_coroutine_function_stays_one() -> None:
    pending: Coroutine[Any, Any, int] = coroutine(x=2)
    found = await pending
    assert_type(found, int)

    assert found == 4


def test_a_method_keeps_its_types() -> None:
    assert_type(price("tea"), float)

    assert price("tea") == 3.0


def test_tools_of_any_kind_go_into_one_list() -> None:
    tools: list[Tool] = [plain, with_options, coroutine, price]

    assert [made.kind for made in tools] == ["write", "read", "write", "pure"]


def test_wrong_calls_are_errors_of_types() -> None:
    def never_called() -> None:
        plain("2")  # type: ignore[arg-type]
        plain(2, z="a")  # type: ignore[call-arg]
        with_options(1)  # type: ignore[call-arg]
        tool(readonly=True)  # type: ignore[call-overload]
        tool(timeout="60")  # type: ignore[call-overload]

    assert_type(allow_if(lambda x: True), Condition)
    assert callable(never_called)
