"""Builds the body of one request to Anthropic's Messages API, and names the beta features that it uses.

Cache marks go only on blocks made here, never on the API's own. From a mark the API looks back over 20 blocks,
so the second mark stands where the previous request ended, however many blocks a round has added since.
"""

from collections.abc import Sequence
from typing import Final

from pydantic import JsonValue

from activities.providers.anthropic_history import WireMessage, write_history
from activities.providers.anthropic_thinking import BINDING_BETA, fit_thinking
from activities.providers.errors import Rejected
from activities.providers.protocol import ModelRequest
from workflows.contracts import JsonObject

DEFAULT_MAX_TOKENS: Final = 16_000

_OURS: Final = ("messages", "model", "stream", "system")


def build_request(request: ModelRequest) -> tuple[dict[str, object], list[str]]:
    """The body and the betas. Raises `Rejected` for settings that can't be honoured."""
    settings = dict(request.settings)
    if taken := [key for key in _OURS if key in settings]:
        raise Rejected(f"the model settings hold {', '.join(taken)}, which Surefoot sets itself; take it out of them")
    betas = [str(beta) for beta in _list(settings, "betas")]
    server_tools = [tool for tool in _list(settings, "tools") if isinstance(tool, dict)]
    marked = "cache_control" not in settings
    history = write_history(request.transcript)
    thinking, messages = fit_thinking(request.model, _object(settings, "thinking"), history.messages)
    if thinking is not None and "block_binding" in thinking:
        betas = [*dict.fromkeys([*betas, BINDING_BETA])]
    tools, choice = _tools(request, server_tools, _object(settings, "tool_choice"), messages, thinking)
    system: list[JsonObject] = [{"type": "text", "text": request.instructions}] if request.instructions.strip() else []
    if marked:
        users = [message["content"] for message in messages if message["role"] == "user"]
        for blocks in (tools, system, *users[-2:]):
            _mark(blocks)
    body: dict[str, object] = {
        "max_tokens": _max_tokens(request, settings.pop("max_tokens", None), thinking),
        "container": history.container,
        **settings,
        "model": request.model,
        "system": system or None,
        "messages": messages,
        "tools": tools or None,
        "tool_choice": choice,
        "thinking": thinking,
    }
    return {key: value for key, value in body.items() if value is not None}, betas


def _tools(
    request: ModelRequest,
    server_tools: list[JsonObject],
    chosen: JsonObject | None,
    messages: Sequence[WireMessage],
    thinking: JsonObject | None,
) -> tuple[list[JsonObject], JsonObject | None]:
    tools = server_tools + [
        {"name": tool.name, "description": tool.description, "input_schema": tool.schema} for tool in request.tools
    ]
    if not tools:
        # A history with calls is refused without tools; these name what was called and can't be called any more.
        called = {str(block["name"]): None for m in messages for block in m["content"] if block["type"] == "tool_use"}
        stubs: list[JsonObject] = [
            {"name": name, "description": "No longer available.", "input_schema": {"type": "object"}} for name in called
        ]
        return stubs, {"type": "none"} if stubs else None
    if request.tool_choice == "none":
        return tools, {"type": "none"}
    thinks = thinking is not None and thinking.get("type") != "disabled"
    if chosen is not None and thinks and chosen.get("type") in ("any", "tool"):
        # A model that thinks can't be forced to call.
        chosen = {**{key: value for key, value in chosen.items() if key != "name"}, "type": "auto"}
    return tools, chosen


def _max_tokens(request: ModelRequest, setting: JsonValue, thinking: JsonObject | None) -> int:
    asked = request.max_output_tokens or (setting if isinstance(setting, int) else DEFAULT_MAX_TOKENS)
    budget = thinking.get("budget_tokens") if thinking is not None else None
    # The budget must be less than max_tokens, which bounds the thinking and the answer together.
    return asked + budget if isinstance(budget, int) and budget >= asked else asked


def _mark(blocks: list[JsonObject]) -> None:
    if blocks and not blocks[-1].get("defer_loading"):
        blocks[-1] = {**blocks[-1], "cache_control": {"type": "ephemeral"}}


def _list(settings: dict[str, JsonValue], key: str) -> list[JsonValue]:
    value = settings.pop(key, None)
    if value is not None and not isinstance(value, list):
        raise Rejected(f"the model setting {key} is {value!r}; it must be a list")
    return value or []


def _object(settings: dict[str, JsonValue], key: str) -> JsonObject | None:
    value = settings.pop(key, None)
    if value is not None and not isinstance(value, dict):
        raise Rejected(f"the model setting {key} is {value!r}; it must be an object")
    return value
