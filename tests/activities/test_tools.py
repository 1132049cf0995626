"""`@tool`: what it makes of a function, what it refuses, and how the function is run."""

import asyncio
import contextvars
import functools
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from activities.errors import DefinitionError
from activities.providers.protocol import ToolDeclaration
from activities.threads import Threads
from activities.tools.tool import Tool, ToolCancelled, ToolContext, ToolError, tool

request_id: contextvars.ContextVar[str] = contextvars.ContextVar("request_id", default="none")


@pytest.fixture(scope="module")
def executor() -> Iterator[Threads]:
    with Threads(2) as threads:
        yield threads


def add(a: int, b: int = 2) -> int:
    """Add two numbers.

    Args:
        a: The first one.
    """
    return a + b


# --- definition ---------------------------------------------------------------------------------


def test_a_tool_is_still_the_function_that_it_was() -> None:
    @tool
    def double(x: int) -> int:
        """Twice x."""
        return 2 * x

    assert double(3) == 6
    assert double(x=3) == 6
    assert double.__doc__ == "Twice x."
    assert repr(double) == "<Tool double (write)>"


def test_a_tool_is_a_write_tool_unless_it_says_otherwise() -> None:
    kinds = [tool(add).kind, tool(add, read_only=True).kind, tool(add, pure=True).kind, tool(add, idempotent=True).kind]

    assert kinds == ["write", "read", "pure", "write"]


def test_pure_implies_read_only() -> None:
    assert tool(add, pure=True).read_only is True


def test_the_defaults_are_one_minute_and_two_retries_where_they_are_safe() -> None:
    tools = [tool(add), tool(add, read_only=True), tool(add, idempotent=True)]

    assert [made.timeout for made in tools] == [60.0, 60.0, 60.0]
    assert [made.retries for made in tools] == [0, 2, 2]


def test_a_tool_is_declared_with_name_description_and_schema() -> None:
    assert tool(add).declaration() == ToolDeclaration(
        name="add",
        description="Add two numbers.",
        schema={
            "type": "object",
            "properties": {
                "a": {"type": "integer", "description": "The first one."},
                "b": {"type": "integer", "default": 2},
            },
            "required": ["a"],
            "additionalProperties": False,
        },
    )


def test_name_and_description_can_be_given() -> None:
    made = tool(add, name="sum-up", description="Sums.")

    assert (made.name, made.description) == ("sum-up", "Sums.")


def test_a_bound_method_is_a_tool() -> None:
    class Shop:
        def price(self, item: str) -> str:
            """The price of an item."""
            return f"{item} costs 5"

    price = tool(Shop().price, read_only=True)

    assert price.name == "price"
    assert price.description == "The price of an item."
    assert price("tea") == "tea costs 5"


def test_what_a_partial_binds_is_hidden_from_the_model(executor: Threads) -> None:
    def send(text: str, api_key: str) -> str:
        """Send a text."""
        return f"{text} with {api_key}"

    made = tool(functools.partial(send, api_key="secret"), name="send")

    assert made.description == "Send a text."
    assert list(made.arguments.schema["properties"]) == ["text"]  # type: ignore[arg-type]
    assert "secret" not in str(made.declaration())
    assert call(made, executor, text="hi") == "hi with secret"


def test_a_callable_object_is_a_tool() -> None:
    class Greeter:
        """Greets."""

        def __call__(self, name: "str") -> str:
            """Greet somebody."""
            return f"hello {name}"

    greet = tool(Greeter(), name="greet")

    assert greet.description == "Greet somebody."
    assert greet("you") == "hello you"


def yields() -> Iterator[int]:
    yield 1


async def yields_async() -> AsyncIterator[int]:
    yield 1


def with_context(x: int, context: ToolContext) -> int:
    return x


DEFINITIONS: list[tuple[Callable[..., Any], dict[str, Any], str]] = [
    (add, {"pure": True, "idempotent": True}, r"'add' is both pure and idempotent\. .* Keep one"),
    (add, {"read_only": True, "idempotent": True}, r"'add' is both read_only and idempotent"),
    (add, {"pure": True, "repeatable": True}, r"'add' is both pure and repeatable"),
    (with_context, {"pure": True}, r"'with_context' is pure, but takes a ToolContext"),
    (add, {"retries": 1}, r"'add' has retries=1, but a write that is not idempotent is never tried again"),
    (add, {"retries": -1, "read_only": True}, r"'add' has retries=-1\. Give a whole number"),
    (add, {"retries": True, "read_only": True}, r"has retries=True"),
    (add, {"retries": 1.5, "read_only": True}, r"has retries=1.5"),
    (add, {"timeout": 0}, r"has timeout=0\. Give a positive number of seconds"),
    (add, {"timeout": float("inf")}, r"has timeout=inf"),
    (add, {"timeout": float("nan")}, r"has timeout=nan"),
    (add, {"timeout": True}, r"has timeout=True"),
    (add, {"timeout": "60"}, r"has timeout='60'"),
    (add, {"max_output_chars": 0}, r"has max_output_chars=0"),
    (add, {"name": "no spaces"}, r"tool 'no spaces': a tool's name has 1 to 64 letters"),
    (add, {"name": "a" * 65}, r"1 to 64 letters"),
    (add, {"name": ""}, r"1 to 64 letters"),
    (add, {"name": "ok\n"}, r"1 to 64 letters"),
    (add, {"name": "naïve"}, r"1 to 64 letters"),
    (lambda: 1, {}, r"tool '<lambda>'.*@tool\(name=…\)"),
    (functools.partial(add, 1), {}, r"@tool\(name=…\)"),
    (yields, {}, r"'yields' yields values\. Return them all at once"),
    (yields_async, {}, r"'yields_async' yields values"),
    (add, {"readonly": True}, r"no option 'readonly'\. Did you mean 'read_only'\?"),
    (add, {"zzz": True}, r"no option 'zzz'\. The options are approval, description, "),
    (add, {"preview": lambda c: "x"}, r"preview of tool 'add': \(a lambda\) asks for 'c', .* arguments are a, b\."),
    (add, {"preview": "text"}, r"'add' has preview='text'"),
    (add, {"policy": "never"}, r"tool 'add' has 'never' as a policy rule"),
    (add, {"policy": lambda c: True}, r"rule of tool 'add': \(a lambda\) asks for 'c'"),
]


@pytest.mark.parametrize(("function", "options", "text"), DEFINITIONS)
def test_what_can_not_be_a_tool_is_refused_with_the_remedy(
    function: Callable[..., Any], options: dict[str, Any], text: str
) -> None:
    with pytest.raises(DefinitionError, match=text):
        tool(function, **options)


def test_a_tool_can_not_be_made_a_tool_again() -> None:
    with pytest.raises(DefinitionError, match="tool 'add' is a tool already"):
        tool(tool(add))


def test_no_function_is_no_tool() -> None:
    with pytest.raises(DefinitionError, match="was given 5, which is no function"):
        tool(5)  # type: ignore[call-overload]


# --- running ------------------------------------------------------------------------------------


def call(made: Tool, executor: Threads, context: ToolContext | None = None, **arguments: Any) -> Any:
    return asyncio.run(made.call(context or ToolContext.for_testing(), made.validate(arguments), executor))


def test_a_plain_function_runs_in_the_executor_with_the_context_variables(executor: Threads) -> None:
    def where() -> list[str]:
        return [str(threading.current_thread() is threading.main_thread()), request_id.get()]

    token = request_id.set("r-1")
    found = call(tool(where), executor)
    request_id.reset(token)

    assert found == ["False", "r-1"]


def test_coroutines_run_on_one_loop_of_their_own_with_the_context_variables(executor: Threads) -> None:
    @tool
    async def where() -> list[str]:
        await asyncio.sleep(0)
        return [threading.current_thread().name, str(id(asyncio.get_running_loop())), request_id.get()]

    token = request_id.set("r-1")
    first, second = call(where, executor), call(where, executor)
    request_id.reset(token)

    assert first == second
    assert (first[0], first[2]) == ("tool-loop", "r-1")


def test_a_plain_function_that_returns_a_coroutine_is_awaited(executor: Threads) -> None:
    async def fetch(x: int) -> int:
        return x + 1

    @tool
    def later(x: int) -> Any:
        return fetch(x)

    assert call(later, executor, x=1) == 2


def test_the_context_reaches_every_parameter_that_asks_for_it(executor: Threads) -> None:
    @tool
    def look(x: int, context: ToolContext, *, again: ToolContext | None = None) -> list[object]:
        return [x, context.call, again is context]

    assert call(look, executor, ToolContext.for_testing(call="c7-1"), x=1) == [1, "c7-1", True]


@pytest.mark.parametrize("error", [StopIteration(3), SystemExit(2), KeyboardInterrupt()])
def test_what_would_break_the_worker_is_an_ordinary_failure(error: BaseException, executor: Threads) -> None:
    @tool
    def plain() -> None:
        raise error

    @tool
    async def coroutine() -> None:
        raise error

    for made in (plain, coroutine):
        with pytest.raises(RuntimeError):
            call(made, executor)


@pytest.mark.parametrize("error", [ToolError("no such order"), ValueError("x"), ToolCancelled()])
def test_other_errors_pass_as_they_are(error: BaseException, executor: Threads) -> None:
    @tool
    def plain() -> None:
        raise error

    with pytest.raises(type(error)) as caught:
        call(plain, executor)
    assert caught.value is error


def test_a_blocking_tool_does_not_block_the_loop(executor: Threads) -> None:
    released = threading.Event()

    @tool
    def wait() -> bool:
        return released.wait(10)

    async def both() -> bool:
        running = asyncio.create_task(wait.call(ToolContext.for_testing(), {}, executor))
        await asyncio.sleep(0)
        released.set()
        return bool(await running)

    assert asyncio.run(both()) is True


def test_cancelling_the_call_of_a_plain_function_returns_at_once(executor: Threads) -> None:
    released = threading.Event()

    @tool
    def wait() -> bool:
        return released.wait(10)

    async def cancel() -> float:
        running = asyncio.create_task(wait.call(ToolContext.for_testing(), {}, executor))
        await asyncio.sleep(0)
        began = time.monotonic()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        return time.monotonic() - began

    took = asyncio.run(cancel())
    released.set()

    assert took < 5


# --- preview ------------------------------------------------------------------------------------


def test_a_preview_takes_the_arguments_that_it_names() -> None:
    made = tool(add, preview=lambda b: f"adds {b}")

    assert made.has_preview is True
    assert made.preview(made.validate({"a": 1})) == "adds 2"


def test_a_preview_can_take_all_arguments() -> None:
    by_mapping = tool(add, preview=lambda arguments: f"adds {sorted(arguments)}")
    by_stars = tool(add, preview=lambda **rest: f"adds {rest}")

    assert by_mapping.preview({"a": 1, "b": 2}) == "adds ['a', 'b']"
    assert by_stars.preview({"a": 1, "b": 2}) == "adds {'a': 1, 'b': 2}"


def test_a_tool_without_a_preview_has_none() -> None:
    made = tool(add)

    assert made.has_preview is False
    assert made.preview({"a": 1, "b": 2}) is None


def test_a_preview_that_exits_does_not_stop_the_worker() -> None:
    def leave() -> str:
        raise SystemExit(1)

    with pytest.raises(RuntimeError, match="tried to end the process"):
        tool(add, preview=leave).preview({"a": 1, "b": 2})
