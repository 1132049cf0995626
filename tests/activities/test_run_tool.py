"""run_tool, one attempt at a time: when the function is called, and what its end is told as."""

import asyncio
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError

from activities.agents import Agent
from activities.apps import App
from activities.artifacts import Artifacts
from activities.attempts import PASSES, AttemptOver
from activities.errors import OutcomeUnknown, ToolCancelled, ToolError
from activities.mcp.servers import McpServers
from activities.providers.scripted import Script
from activities.run_tool import MOST_CHARS, ToolRunner
from activities.threads import Threads
from activities.tools.context import ToolContext
from activities.tools.tool import Tool, tool
from tests.activities.heartbeats import CANCELLED, UNKNOWN_ATTEMPT, UNREACHED, Server, environment
from workflows.contracts import RunTool, ToolReply

BEGUN = [{"started": True, "failures": 0, "passed": 0}]


class Runs:
    """A tool runner, and what its tools were called with."""

    def __init__(self, folder: Path) -> None:
        self.threads = Threads(4)
        self.artifacts = Artifacts(folder)
        self.keys: list[str] = []

    def write(self, **options: Any) -> Tool:
        async def save(amount: int, context: ToolContext) -> str:
            self.keys.append(context.idempotency_key)
            return f"saved {amount}"

        return tool(**options)(save)

    async def run(
        self,
        *tools: Tool,
        name: str = "save",
        server: Server | None = None,
        left: Sequence[object] = (),
        approved: bool = True,
        amount: object = 5,
        **given: Any,
    ) -> ToolReply:
        agent = Agent("clerk", Script([{"text": "hi"}]), tools=tools)
        app = App([agent])
        runner = ToolRunner(app, McpServers(app.folder), self.threads, self.artifacts)
        request = RunTool(
            agent="clerk",
            call="c1-1",
            tool=name,
            arguments={"amount": amount} if name == "save" else {},
            approved=approved,
        )
        env = environment(server or Server(), attempt=2 if left else 1, left=left, **given)
        reply = await env.run(runner.run_tool, request)
        self.took = reply.seconds, reply.attempts
        # How long it took is looked at by one test, so that the others can say what the whole reply is.
        return reply.model_copy(update={"seconds": None, "attempts": 1})


@pytest.fixture
def runs(tmp_path: Path) -> Iterator[Runs]:
    runs = Runs(tmp_path)
    yield runs
    runs.threads.shutdown(cancel_futures=True)


# --- how long it took


async def test_a_reply_says_how_long_the_call_took_and_at_which_attempt(runs: Runs) -> None:
    slept = asyncio.Event()

    @tool(read_only=True, retries=0)
    async def nap() -> str:
        asyncio.get_running_loop().call_later(0.05, slept.set)
        await slept.wait()
        return "rested"

    await runs.run(nap, name="nap")
    first = runs.took
    await runs.run(nap, name="nap", left=["an earlier attempt"])

    assert first[0] is not None
    assert 0.04 <= first[0] < 30
    assert (first[1], runs.took[1]) == (1, 2)


async def test_a_call_that_never_ran_took_no_time(runs: Runs) -> None:
    await runs.run(runs.write(), approved=False)

    assert runs.took == (None, 1)


# --- the mark


async def test_a_write_is_marked_and_then_called(runs: Runs) -> None:
    server = Server()

    reply = await runs.run(runs.write(), server=server)

    assert reply == ToolReply(status="ok", content="saved 5")
    assert server.beats == [{"started": True, "failures": 0, "passed": 0}]
    assert runs.keys == ["job-1/c1-1"]


async def test_a_read_leaves_no_mark(runs: Runs) -> None:
    server = Server()

    await runs.run(runs.write(read_only=True), server=server)

    assert server.beats == []


async def test_a_write_is_not_called_while_the_server_is_out_of_reach(runs: Runs) -> None:
    with pytest.raises(RPCError):
        await runs.run(runs.write(), server=Server(UNREACHED))

    assert runs.keys == []


@pytest.mark.parametrize("answer", [CANCELLED, UNKNOWN_ATTEMPT], ids=["cancelled", "not found"])
@pytest.mark.parametrize("idempotent", [False, True])
async def test_a_zombie_attempt_does_not_call_the_function(runs: Runs, answer: Exception, idempotent: bool) -> None:
    with pytest.raises(AttemptOver):
        await runs.run(runs.write(idempotent=idempotent), server=Server(answer))

    assert runs.keys == []


async def test_what_an_output_takes_to_be_shown_does_not_hold_up_the_worker(runs: Runs) -> None:
    shown = asyncio.Event()
    loop = asyncio.get_running_loop()

    class Slow:
        def __str__(self) -> str:
            # Only another thread than the loop's can wait for what the loop does.
            asyncio.run_coroutine_threadsafe(shown.wait(), loop).result(10)
            return "shown"

    async def save(amount: int) -> Any:
        loop.call_later(0.01, shown.set)
        return Slow()

    assert await runs.run(tool()(save)) == ToolReply(status="ok", content="shown")


# --- an earlier attempt had begun


async def test_a_write_that_was_begun_is_not_called_again(runs: Runs) -> None:
    reply = await runs.run(runs.write(), left=BEGUN)

    assert reply == ToolReply(
        status="unknown", content="its worker was gone, or cut off from the server, before it had ended"
    )
    assert runs.keys == []


async def test_a_write_whose_attempt_ended_before_the_mark_is_called(runs: Runs) -> None:
    reply = await runs.run(runs.write(), left=[{"started": False, "failures": 0, "passed": 0}])

    assert reply.status == "ok"
    assert runs.keys == ["job-1/c1-1"]


async def test_an_idempotent_write_that_was_begun_is_called_again_with_the_same_key(runs: Runs) -> None:
    reply = await runs.run(runs.write(idempotent=True), left=BEGUN)

    assert reply == ToolReply(status="ok", content="saved 5")
    assert runs.keys == ["job-1/c1-1"]


@pytest.mark.parametrize(
    ("tools", "amount", "approved"),
    [
        ([], 5, True),
        ([{"policy": "deny"}], 5, True),
        ([{"policy": "ask"}], 5, False),
        ([{}], "no number", True),
    ],
    ids=["tool gone", "denied now", "asked for now", "arguments invalid now"],
)
async def test_a_begun_write_that_may_not_run_again_is_unknown_never_not_executed(
    runs: Runs, tools: list[dict[str, Any]], amount: object, approved: bool
) -> None:
    made = [runs.write(idempotent=True, **options) for options in tools]

    reply = await runs.run(*made, left=[{**BEGUN[0], "passed": PASSES - 1}], amount=amount, approved=approved)

    assert reply.status == "unknown"
    assert runs.keys == []


@pytest.mark.parametrize(
    ("options", "amount", "approved", "status"),
    [
        (None, 5, True, "error"),
        ({"policy": "deny"}, 5, True, "denied"),
        ({"policy": "ask"}, 5, False, "ask"),
        ({}, "no number", True, "error"),
    ],
    ids=["tool gone", "denied now", "asked for now", "arguments invalid now"],
)
async def test_a_write_that_may_not_run_leaves_no_mark(
    runs: Runs, options: dict[str, Any] | None, amount: object, approved: bool, status: str
) -> None:
    server = Server()
    made = [] if options is None else [runs.write(**options)]

    left: list[object] = [{"passed": PASSES - 1}]
    reply = await runs.run(*made, server=server, left=left, amount=amount, approved=approved)

    assert reply.status == status
    assert runs.keys == []
    assert server.beats == []


async def test_a_tool_that_this_worker_does_not_have_is_left_to_another_one(runs: Runs) -> None:
    server = Server()

    with pytest.raises(ApplicationError, match="The tool save is no longer there") as caught:
        await runs.run(server=server)

    assert not caught.value.non_retryable
    assert server.beats == [{"started": False, "failures": 0, "passed": 1}]


# --- how an execution ends


async def test_a_tool_error_is_told_at_once(runs: Runs) -> None:
    @tool(read_only=True)
    async def fail() -> str:
        raise ToolError("no such customer")

    server = Server()

    reply = await runs.run(fail, name="fail", server=server)

    assert reply == ToolReply(status="error", content="no such customer")
    assert server.beats == []


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


class Leaving(Exception):
    def __str__(self) -> str:
        raise SystemExit(3)


RAISED = [
    (ValueError("seen"), "The tool failed: ValueError: seen"),
    (asyncio.CancelledError("mine"), "The tool failed: CancelledError: mine"),
    (SystemExit(3), "The tool failed: RuntimeError: the tool's code tried to end the process: SystemExit(3)"),
    (
        KeyboardInterrupt(),
        "The tool failed: RuntimeError: the tool's code tried to end the process: KeyboardInterrupt()",
    ),
    (ToolCancelled("nobody did"), "The tool failed: ToolCancelled: nobody did"),
    (RecursionError("deep"), "The tool failed: RecursionError: deep"),
    (TimeoutError("theirs"), "The tool failed: TimeoutError: theirs"),
    (Unspeakable(), "The tool failed: Unspeakable: (Unspeakable can't be shown as text: RuntimeError)"),
    (Leaving(), "The tool failed: Leaving: (Leaving can't be shown as text: SystemExit)"),
    (ValueError("a\x00b\ud800"), "The tool failed: ValueError: a\x00b\ufffd"),
]


@pytest.mark.parametrize(("error", "told"), RAISED, ids=[type(error).__name__ for error, _ in RAISED])
@pytest.mark.parametrize("sync", [False, True], ids=["async", "sync"])
async def test_whatever_a_tool_raises_is_told_to_the_model(
    runs: Runs, error: BaseException, told: str, sync: bool
) -> None:
    def fail() -> str:
        raise error

    async def fail_later() -> str:
        raise error

    made = tool(name="fail", read_only=True, retries=0)(fail if sync else fail_later)

    assert await runs.run(made, name="fail") == ToolReply(status="error", content=told)


@pytest.mark.parametrize("error", [StopIteration(1), GeneratorExit(1)], ids=["StopIteration", "GeneratorExit"])
async def test_what_no_future_can_carry_is_told_too(runs: Runs, error: BaseException) -> None:
    @tool(read_only=True, retries=0)
    def fail() -> str:
        raise error

    reply = await runs.run(fail, name="fail")

    kind = type(error).__name__
    assert reply == ToolReply(status="error", content=f"The tool failed: RuntimeError: the tool's code raised {kind}")


async def test_an_endless_error_text_is_cut(runs: Runs) -> None:
    @tool(read_only=True, retries=0)
    async def fail() -> str:
        raise ValueError("x" * 5_000_000)

    reply = await runs.run(fail, name="fail")

    assert reply.content == "The tool failed: ValueError: " + "x" * 3999 + "…"


@pytest.mark.parametrize("failures", [0, 1])
async def test_a_failed_read_is_tried_again_as_long_as_it_has_retries(runs: Runs, failures: int) -> None:
    @tool(read_only=True, retries=2)
    async def fail() -> str:
        raise ValueError("no luck")

    with pytest.raises(ApplicationError) as raised:
        await runs.run(fail, name="fail", left=[{"failures": failures}])
    last = await runs.run(fail, name="fail", left=[{"failures": 2}])

    assert (raised.value.message, raised.value.non_retryable) == ("ValueError: no luck", False)
    assert last == ToolReply(status="error", content="The tool failed: ValueError: no luck")


async def test_a_write_that_raises_is_told_and_never_tried_again(runs: Runs) -> None:
    @tool
    async def fail() -> str:
        raise ValueError("refused")

    reply = await runs.run(fail, name="fail")

    assert reply == ToolReply(status="error", content="The tool failed: ValueError: refused")


async def test_a_write_that_does_not_know_its_end_is_unknown(runs: Runs) -> None:
    @tool
    async def fail() -> str:
        raise OutcomeUnknown

    assert await runs.run(fail, name="fail") == ToolReply(status="unknown")


@pytest.mark.parametrize(
    ("read_only", "reply"),
    [
        (False, ToolReply(status="unknown", content="the bank did not answer")),
        (True, ToolReply(status="error", content="The outcome is unknown: the bank did not answer")),
    ],
)
async def test_what_a_tool_says_of_its_unknown_end_is_sent_along(runs: Runs, read_only: bool, reply: ToolReply) -> None:
    @tool(read_only=read_only)
    async def fail() -> str:
        raise OutcomeUnknown("the bank did not answer")

    assert await runs.run(fail, name="fail") == reply


@pytest.mark.parametrize("read_only", [True, False], ids=["read", "write"])
async def test_a_tool_that_cancels_its_own_task_has_failed_and_its_attempt_was_not_interrupted(
    runs: Runs, read_only: bool
) -> None:
    async def give_up() -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(60)

    reply = await runs.run(tool(read_only=read_only, retries=0 if read_only else None)(give_up), name="give_up")

    assert reply == ToolReply(status="error", content="The tool failed: CancelledError: ")


# --- a pure tool, as a local activity


async def compute(runs: Runs, *tools: Tool) -> ToolReply:
    app = App([Agent("clerk", Script([{"text": "hi"}]), tools=tools)])
    runner = ToolRunner(app, McpServers(app.folder), runs.threads, runs.artifacts)
    request = RunTool(agent="clerk", call="c1-1", tool="save", arguments={"amount": 5})
    return await environment(Server()).run(runner.compute_tool, request)


@pytest.mark.parametrize("kind", ["read", "write"])
async def test_a_tool_that_is_pure_no_longer_is_not_called_as_one_and_the_model_is_told_why(
    runs: Runs, kind: str
) -> None:
    reply = await compute(runs, runs.write(read_only=kind == "read"))

    assert reply == ToolReply(
        status="error",
        content="A new version of save came while this call waited for its turn: it was a pure tool and is a"
        f" {kind} tool now, which has to be called in another way. Nothing was executed; call it again if you still"
        " need it.",
    )
    assert runs.keys == []


async def test_a_pure_tool_that_is_gone_is_told_as_gone(runs: Runs) -> None:
    assert await compute(runs) == ToolReply(
        status="error", content="The tool save is no longer there; nothing was executed."
    )


# --- time


def hanging(**options: Any) -> Tool:
    async def hang() -> str:
        await asyncio.sleep(60)
        return "never"

    return tool(timeout=0.02, **options)(hang)


async def test_a_read_that_takes_too_long_is_tried_again_and_then_told(runs: Runs) -> None:
    made = hanging(read_only=True, retries=1)

    with pytest.raises(ApplicationError, match=r"no result within 0\.02 seconds"):
        await runs.run(made, name="hang")
    last = await runs.run(made, name="hang", left=[{"failures": 1}])

    assert last == ToolReply(status="error", content="The tool failed: no result within 0.02 seconds")


async def test_a_write_that_takes_too_long_is_unknown(runs: Runs) -> None:
    assert (await runs.run(hanging(), name="hang")).status == "unknown"


async def test_an_idempotent_write_that_takes_too_long_is_tried_again_and_then_unknown(runs: Runs) -> None:
    made = hanging(idempotent=True, retries=1)

    with pytest.raises(ApplicationError, match=r"no result within 0\.02 seconds"):
        await runs.run(made, name="hang")
    last = await runs.run(made, name="hang", left=[{"started": True, "failures": 1, "passed": 0}])

    assert last.status == "unknown"


async def test_a_plain_function_hears_through_its_context_that_the_attempt_is_over(runs: Runs) -> None:
    heard = threading.Event()
    begun = threading.Event()

    @tool(read_only=True)
    def poll(context: ToolContext) -> str:
        begun.set()
        while True:
            try:
                context.heartbeat()
            except ToolCancelled:
                heard.set()
                raise
            heard.wait(0.01)

    running = asyncio.ensure_future(runs.run(poll, name="poll"))
    await asyncio.to_thread(begun.wait, 10)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await asyncio.to_thread(heard.wait, 10)

    assert heard.is_set()


async def test_a_plain_function_that_blocks_leaves_room_for_others(runs: Runs) -> None:
    release, entered = threading.Event(), threading.Event()

    @tool(read_only=True)
    def block() -> str:
        entered.set()
        release.wait(30)
        return "released"

    blocked = asyncio.create_task(runs.run(block, name="block"))
    await asyncio.to_thread(entered.wait, 10)
    meanwhile = await runs.run(runs.write(read_only=True))
    release.set()

    assert meanwhile == ToolReply(status="ok", content="saved 5")
    assert await blocked == ToolReply(status="ok", content="released")


# --- what comes back


async def test_an_output_too_long_for_the_model_is_cut_with_a_mark_and_kept_whole(runs: Runs) -> None:
    whole = "0123456789" * 500_000

    @tool(read_only=True, max_output_chars=1000)
    async def read() -> str:
        return whole

    reply = await runs.run(read, name="read")

    mark = "\n[cut: 1000 of 5000000 characters are shown; the whole output is kept for people]"
    assert reply.content == whole[:1000] + mark
    assert reply.artifact is not None
    assert reply.artifact.chars == 5_000_000
    assert runs.artifacts.read(reply.artifact) == whole


async def test_no_tool_may_return_more_than_history_holds(runs: Runs) -> None:
    @tool(read_only=True, max_output_chars=10_000_000)
    async def read() -> str:
        return "\x00" * 5_000_000

    reply = await runs.run(read, name="read")

    assert reply.content.startswith("\x00" * MOST_CHARS + "\n[cut: 300000 of 5000000")
    assert len(reply.model_dump_json()) < 2_000_000


class Opaque:
    def __str__(self) -> str:
        raise RuntimeError("no words")

    __repr__ = __str__


@pytest.mark.parametrize(
    ("value", "content"),
    [
        ("a\x00b", "a\x00b"),
        ("x\ud800y", "x\ufffdy"),
        (b"\x00\x01", "(2 bytes of binary data, not shown)"),
        (Opaque(), "(The output is a Opaque that can't be shown as text: RuntimeError)"),
        (None, ""),
    ],
    ids=["NUL", "lone surrogate", "bytes", "can't be shown", "nothing"],
)
async def test_odd_outputs_pass(runs: Runs, value: object, content: str) -> None:
    @tool
    async def read() -> Any:
        return value

    assert await runs.run(read, name="read") == ToolReply(status="ok", content=content)


async def test_an_output_that_can_not_be_kept_is_still_a_result(runs: Runs, tmp_path: Path) -> None:
    (tmp_path / "job-1").write_text("a file where the folder should be")

    @tool(max_output_chars=2)
    async def read() -> str:
        return "long"

    reply = await runs.run(read, name="read")

    assert reply == ToolReply(
        status="ok", content="lo\n[cut: 2 of 4 characters are shown; the rest is lost, it could not be kept]"
    )
