"""Makes requests of recorded exchanges with Google, and puts contents into a form in which two can be compared."""

import base64
import re
from collections.abc import Iterator, Sequence
from typing import Any

from activities.providers.protocol import ModelRequest, ToolDeclaration, call_id
from tests.activities.providers.google_wire import request
from tests.traffic import Exchange
from workflows.contracts import CallPart, Entry, Message, Part, Result, TextPart, Turn


def camel(value: Any) -> Any:
    """A recorded body in the API's own spelling: it takes snake_case too. Names inside args and schemas stay."""
    if isinstance(value, list):
        return [camel(each) for each in value]
    if isinstance(value, dict):
        return {
            re.sub("_([a-z])", lambda found: found[1].upper(), key): each
            if key in ("args", "response", "parameters", "parametersJsonSchema", "parameters_json_schema")
            else camel(each)
            for key, each in value.items()
        }
    return value


def grouped(contents: Sequence[Any]) -> list[Any]:
    """The model's contents in a row as one, as Surefoot puts them; foreign parts as texts."""
    groups: list[Any] = []
    for content in contents:
        parts = [
            part if part.keys() & {"functionCall", "functionResponse"} else {"text": "", **part}
            for part in content["parts"]
        ]
        if groups and groups[-1]["role"] == content["role"] == "model":
            groups[-1]["parts"] += parts
        else:
            groups.append({"role": content["role"], "parts": parts})
    return groups


def turn_from(parts: Sequence[Any], number: int) -> Turn:
    """What another API's adapter would have recorded for the turn that became these parts."""
    made: list[Part] = [TextPart(text=part["text"]) for part in parts if "text" in part]
    for place, call in enumerate(part["functionCall"] for part in parts if "functionCall" in part):
        made.append(
            CallPart(id=call_id(number, place), provider_id=call["id"], tool=call["name"], arguments=call["args"])
        )
    return Turn(number=number, parts=made)


def entries_of(contents: Sequence[Any], answered: Sequence[Turn], foreign: int) -> Iterator[Entry]:
    """The transcript behind recorded contents: `foreign` turns of another API, then those that the adapter read."""
    turns = 0
    turn = Turn()
    for content in contents:
        if content["role"] == "model":
            turns += 1
            turn = turn_from(content["parts"], turns) if turns <= foreign else answered[turns - foreign - 1]
            yield turn
            continue
        results = [part["functionResponse"] for part in content["parts"] if "functionResponse" in part]
        for call, result in zip(turn.calls if results else [], results, strict=True):
            told = result["response"]
            yield Result(
                call=call.id,
                tool=call.tool,
                content=str(told.get("error", told)),
                status="error" if "error" in told else "ok",
            )
        texts = [part["text"] for part in content["parts"] if part.get("text")]
        if texts:
            yield Message(text="\n".join(texts))


def request_of(exchange: Exchange, answered: Sequence[Turn], foreign: int) -> ModelRequest:
    body = camel(exchange.request_body)
    model = re.search(r"models/([^:]+):", exchange.url)
    assert model is not None
    declared = [each for tool in body.get("tools", []) for each in tool["functionDeclarations"]]
    settings = {key: body[key] for key in ("generationConfig", "safetySettings", "toolConfig") if key in body}
    return request(
        list(entries_of(grouped(body["contents"]), answered, foreign)),
        model=model[1],
        instructions="".join(part["text"] for part in body.get("systemInstruction", {"parts": []})["parts"]),
        tools=[
            ToolDeclaration(each["name"], each["description"], each.get("parametersJsonSchema", {"type": "object"}))
            for each in declared
        ],
        settings=settings,
        turn=foreign + len(answered) + 1,
    )


def neutral(contents: Sequence[Any], ids: bool) -> list[Any]:
    """What both sides must agree on: order, roles, texts, pairing, arguments, and signatures as bytes."""
    return [
        (content["role"], [neutral_part(part, ids) for part in content["parts"] if "inlineData" not in part])
        for content in contents
    ]


def neutral_part(part: Any, ids: bool) -> Any:
    signature = part.get("thoughtSignature")
    raw = base64.b64decode(signature.replace("-", "+").replace("_", "/")) if signature else None
    function = part.get("functionCall") or part.get("functionResponse") or {}
    failed = "error" in function.get("response", {})
    return (
        part.get("text"),
        raw,
        function.get("name"),
        function.get("args"),
        failed,
        function.get("id") if ids else None,
    )
