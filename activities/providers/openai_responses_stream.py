"""Puts the events of a streamed Responses answer together into the body that the API gives without streaming.

Four events end it: completed, incomplete, failed and error; without one of them it was cut. Items are told apart by
`output_index` alone, since proxies give an item another id in each event.
"""

from collections.abc import AsyncIterator, Mapping
from typing import Final, Literal

from pydantic import JsonValue

from activities.providers.classify import classify_answer
from activities.providers.errors import ModelError
from activities.providers.json_text import continued
from activities.providers.openai_items import kind, text
from activities.providers.protocol import Live
from activities.providers.sse import Event, ended_early
from activities.providers.usage_counts import counts
from workflows.contracts import JsonObject

ENDS: Final = ("response.completed", "response.incomplete", "response.failed")

PIECES: Final[Mapping[str, str]] = {
    "response.function_call_arguments": "arguments",
    "response.custom_tool_call_input": "input",
}
"""Events, `.delta` and `.done`, with a piece of a text field of their item, or all of it."""

SHOWN: Final[Mapping[str, Literal["text", "reasoning"]]] = {
    "response.output_text.delta": "text",
    "response.refusal.delta": "text",
    "response.reasoning_summary_text.delta": "reasoning",
    "response.reasoning_text.delta": "reasoning",
}


async def responses_answer(events: AsyncIterator[Event], model: str, live: Live) -> JsonObject:
    """The whole answer, shown while it comes. Raises `ModelError` for an error event and a stream that is cut off."""
    items, begun = _Items(), JsonObject()
    async for event in events:
        if event.name == "error":
            raise _failure(event.body)
        fields = event.fields if event.data.strip() != "[DONE]" else {}
        name = text(fields.get("type")) or event.name
        if name == "error" or (fields.get("error") and not name.startswith("response.")):
            raise _failure(fields)
        response = counts(fields.get("response"))
        if name in ENDS:
            return _whole({**begun, **response}, name, items)
        begun |= response
        items.add(name, fields)
        _show(live, name, fields)
    raise ended_early(model, f"an event that ends an answer ({', '.join(ENDS)}, error)")


def _whole(response: JsonObject, name: str, items: "_Items") -> JsonObject:
    if response.get("error") or name == "response.failed":
        raise _failure({"error": response.get("error") or f"{text(response.get('id')) or 'the response'} failed"})
    output = response.get("output")
    if not isinstance(output, list) or len(output) < len(items):
        response["output"] = items.output()  # some servers send them in their own events only
    return {**response, "status": name.removeprefix("response.")}


def _failure(body: JsonValue) -> ModelError:
    fields = counts(body)
    return classify_answer(None, {}, {"error": fields["error"]} if fields.get("error") else body)


class _Items:
    """The output items so far, by their place."""

    def __init__(self) -> None:
        self._at: dict[int, JsonObject] = {}

    def __len__(self) -> int:
        return len(self._at)

    def output(self) -> list[JsonValue]:
        return [self._at[index] for index in sorted(self._at)]

    def add(self, name: str, fields: JsonObject) -> None:
        index = fields.get("output_index")
        if not isinstance(index, int):
            return
        if name in ("response.output_item.added", "response.output_item.done"):
            self._at[index] = dict(counts(fields.get("item")))
            return
        event, _, stage = name.rpartition(".")
        item = self._at.get(index)
        if item is None:
            return
        if field := PIECES.get(event):
            before, piece = item.get(field), fields.get("delta" if stage == "delta" else field)
            if isinstance(piece, str):
                item[field] = continued(before if isinstance(before, str) and stage == "delta" else "", piece)
        elif name == "response.content_part.done":
            content = item.get("content")
            item["content"] = [*(content if isinstance(content, list) else []), fields.get("part")]


def _show(live: Live, name: str, fields: JsonObject) -> None:
    if shown := SHOWN.get(name):
        if piece := text(fields.get("delta")):
            live.say(shown, piece)
    elif name == "response.reasoning_summary_part.added" and fields.get("summary_index"):
        live.say("reasoning", "\n")
    elif name == "response.output_item.added":
        item = counts(fields.get("item"))
        if kind(item).endswith("_call"):
            live.say("call", text(item.get("name")) or kind(item))
