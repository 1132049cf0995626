"""Turns what an MCP tool returned into the text that the model reads, and the whole that people can fetch.

What is no text stands in the model's text as a mark with its type and size, and in the whole as a data URI, which any
browser opens.
"""

import base64
import binascii
import json
from collections.abc import Sequence
from typing import Any, Protocol

from activities.tools.explain import cut
from activities.tools.rendering import well_formed
from activities.tools.shown import Shown

URI_CHARS = 1_000
WRAPPER = "result"
"""Structured content is an object, so the official SDK makes `{"result": value}` of any other; its text stays bare."""


class _Result(Protocol):
    """As `mcp.CallToolResult`."""

    @property
    def content(self) -> Sequence[Any]: ...
    @property
    def structured_content(self) -> Any: ...


def shown(result: _Result) -> Shown:
    """The parts of a result in their order, each on its own line, and structured content that no text repeats."""
    parts = [_part(block) for block in result.content]
    if result.structured_content is not None and not _repeated(result):
        text = json.dumps(result.structured_content, ensure_ascii=False)
        parts.append((text, text))
    text, whole = ("\n".join(side) for side in zip(*parts, strict=True)) if parts else ("", "")
    return Shown(well_formed(text), well_formed(whole))


def _part(block: Any) -> tuple[str, str]:
    """One block of content: for the model, and whole."""
    if block.type == "text":
        return block.text, block.text
    if block.type in ("image", "audio"):
        return _binary(block.type, block.mime_type, block.data)
    if block.type == "resource_link":
        size = f", {block.size} bytes" if getattr(block, "size", None) is not None else ""
        return _same(
            f"[link to a resource: {_cut(block.name)}, {block.mime_type or 'of unknown type'}{size}: {_cut(block.uri)}]"
        )
    if block.type == "resource":
        resource = block.resource
        head = f"[resource {_cut(resource.uri)}, {resource.mime_type or 'of unknown type'}]"
        if hasattr(resource, "text"):
            return _same(f"{head}\n{resource.text}")
        return _binary(f"resource {_cut(resource.uri)}", resource.mime_type, resource.blob)
    return _same(f"[a part of type {_cut(block.type)}, which is not shown]")


def _binary(what: str, mime: str | None, data: str) -> tuple[str, str]:
    kind = mime or "application/octet-stream"
    try:
        size = f"{len(base64.b64decode(data, validate=True))} bytes"
    except (binascii.Error, ValueError):
        size = f"{len(data)} characters that are no base64"
    mark = f"[{what}: {_cut(kind)}, {size}, not shown]"
    return mark, f"{mark}\ndata:{kind};base64,{data}"


def _repeated(result: _Result) -> bool:
    """Whether the texts say what the structured content is: servers send both, for older clients."""
    texts = [block.text for block in result.content if block.type == "text"]
    content = result.structured_content
    if any(_says(text, content) for text in texts):
        return True
    if not isinstance(content, dict) or content.keys() != {WRAPPER}:
        return False
    value = content[WRAPPER]
    if isinstance(value, list) and value and len(value) == len(texts):  # a text for each item
        return all(_says(text, item) for text, item in zip(texts, value, strict=True)) or _says(texts[0], value)
    return any(_says(text, value) for text in texts)


def _says(text: str, value: Any) -> bool:
    """Whether the text is this value: itself, or as JSON. They are compared as JSON: to Python `True` equals 1."""
    if text == value:
        return True
    try:
        return json.dumps(json.loads(text), sort_keys=True) == json.dumps(value, sort_keys=True)
    except (ValueError, RecursionError):
        return False


def errors(result: _Result) -> str:
    """What a result that is an error says."""
    return shown(result).text or "it said that the call failed, and not why"


def _same(text: str) -> tuple[str, str]:
    return text, text


def _cut(text: object) -> str:
    return cut(str(text), URI_CHARS)
