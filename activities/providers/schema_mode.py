"""A model without tool calling, made to work with tools: each of its answers is one action, a JSON object.

It stands in front of an adapter, which is asked for plain text. What the model wrote is sent back as the same JSON, and
results as messages, so the transcript itself is the same as with any other model. What is no action becomes a call that
can't be made (`NO_ACTION`): the model is told so, and the loop's limits bound it. An error would ask the same again.
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from pydantic import JsonValue

from activities.providers.action_schema import NAME, NO_ACTION, TO_ANSWER, TO_CALL, action_schema, constrained
from activities.providers.json_text import parse_arguments
from activities.providers.protocol import Live, ModelRequest, Provider, ToolDeclaration, call_id
from activities.providers.rendering import result_text
from workflows.contracts import (
    CallPart,
    Entry,
    JsonObject,
    Message,
    Part,
    ReasoningPart,
    RefusalPart,
    Result,
    TextPart,
    Turn,
)

INSTRUCTIONS = """You act by writing one JSON object each time, and nothing else. To use a tool:
{call}
You are told its result, and write the next object. To give your final answer:
{answer}
{tools}"""
NO_TOOLS = "No tool can be used now: answer."


class SchemaMode:
    """The provider behind `provider`; `answer` is the schema of the agent's final answer, if it has one."""

    def __init__(self, provider: Provider, answer: JsonObject | None = None) -> None:
        self._provider, self._answer = provider, answer
        self.api = provider.api

    async def complete(self, request: ModelRequest) -> Turn:
        """Ask for one action."""
        answered = await self._provider.complete(self.asked(request))
        turn = self.read(answered, request)
        if request.live is not None and _ended_well(answered):
            _show(turn, request.live)
        return turn

    def asked(self, request: ModelRequest) -> ModelRequest:
        """The request for one action, as the adapter behind this sends it."""
        tools = [] if request.tool_choice == "none" else list(request.tools)
        schema = action_schema(tools, self._answer)
        return replace(
            request,
            instructions=f"{request.instructions}\n\n{self._instructions(tools)}",
            transcript=[_plain(entry) for entry in request.transcript],
            tools=(),
            tool_choice="auto",
            settings=constrained(self.api, schema, request.settings),
            live=None if request.live is None else _ThoughtsAlone(request.live),
        )

    def read(self, turn: Turn, request: ModelRequest) -> Turn:
        """The turn with the action that its text is, where it ended well."""
        return self._read(turn, request.turn) if _ended_well(turn) else turn.model_copy(update={"native": None})

    async def close(self) -> None:
        """Nothing is held; who made the provider closes it."""

    def _instructions(self, tools: Sequence[ToolDeclaration]) -> str:
        shown = "\n".join(f"- {tool.name}: {tool.description}\n  arguments: {_json(tool.schema)}" for tool in tools)
        answer = f"<JSON that fits {_json(self._answer)}>" if self._answer is not None else '"<text>"'
        told = f"The tools are:\n{shown}" if tools else NO_TOOLS
        return INSTRUCTIONS.format(call=TO_CALL, answer=TO_ANSWER.replace("…", answer), tools=told)

    @staticmethod
    def _read(turn: Turn, number: int) -> Turn:
        """The turn with the action that its text is."""
        whole, _ = parse_arguments(turn.text)
        action = (whole or {}).get(NAME)
        kind = action.get("kind") if isinstance(action, dict) else None
        thoughts: list[Part] = [part for part in turn.parts if isinstance(part, ReasoningPart)]
        if isinstance(action, dict) and kind == "answer" and "answer" in action:
            answer = action["answer"]
            text = answer if isinstance(answer, str) else _json(answer)
            return turn.model_copy(update={"parts": [*thoughts, TextPart(text=text)], "native": None, "stop": "end"})
        if isinstance(action, dict) and kind == "tool_call" and isinstance(tool := action.get("tool"), str):
            arguments, raw = parse_arguments(action.get("arguments"))
            call = CallPart(id=call_id(number, 0), tool=tool, arguments=arguments, raw=raw)
        elif turn.text.strip():
            call = CallPart(id=call_id(number, 0), tool=NO_ACTION, raw=turn.text)
        else:
            return turn.model_copy(update={"parts": thoughts, "native": None, "stop": "end"})
        return turn.model_copy(update={"parts": [*thoughts, call], "native": None, "stop": "tool_calls"})


class _ThoughtsAlone:
    """Shows how the model thinks: the JSON of an action is no text for people."""

    def __init__(self, live: Live) -> None:
        self._live = live

    def say(self, kind: Literal["text", "reasoning", "call"], text: str) -> None:
        if kind == "reasoning":
            self._live.say(kind, text)


def _ended_well(turn: Turn) -> bool:
    return turn.stop in ("end", "tool_calls") and not any(isinstance(part, RefusalPart) for part in turn.parts)


def _show(turn: Turn, live: Live) -> None:
    """What the action was, once it is whole."""
    for part in turn.parts:
        if isinstance(part, TextPart):
            live.say("text", part.text)
        elif isinstance(part, CallPart) and part.tool != NO_ACTION:
            live.say("call", part.tool)


def _plain(entry: Entry) -> Entry:
    """An entry as a model reads it that knows no tools."""
    if isinstance(entry, Turn):
        texts = [part for part in entry.parts if isinstance(part, TextPart)]
        actions = [_action(part) for part in entry.parts if isinstance(part, CallPart)]
        written = "\n".join([*(part.text for part in texts), *actions]) if actions else _answered(entry)
        return entry.model_copy(update={"parts": [TextPart(text=written)], "native": None, "stop": "end"})
    if isinstance(entry, Result):
        about = "" if entry.tool == NO_ACTION else f"Result of {entry.tool} ({entry.call}):\n"
        return Message(text=f"{about}{result_text(entry)}")
    return entry


def _action(call: CallPart) -> str:
    if call.tool == NO_ACTION and call.raw is not None:
        return call.raw
    arguments: JsonValue = call.arguments if call.arguments is not None else call.raw
    return _json({NAME: {"kind": "tool_call", "tool": call.tool, "arguments": arguments}})


def _answered(turn: Turn) -> str:
    return _json({NAME: {"kind": "answer", "answer": turn.text}})


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
