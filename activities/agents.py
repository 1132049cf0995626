"""What an agent is: a named model with instructions, tools, limits, an approval policy and an output schema.

It is a value: nothing is connected or read when an app file makes one, so every process can load every app.
"""

import copy
import difflib
import json
import math
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Literal, Unpack, cast

from pydantic import JsonValue

from activities.approval import Approval
from activities.errors import DefinitionError
from activities.mcp.server import McpServer, checked_servers
from activities.models.answer_check import Check, checked
from activities.models.output_schema import OutputSchema
from activities.names import NAME
from activities.notices.webhooks import Webhook, checked_webhooks, wanted
from activities.policy import Condition, Rule, matching
from activities.rates.rate import Rate, checked_rate
from activities.tools.agent_tool import AgentTool, AgentToolOptions
from activities.tools.any_tool import AnyTool
from activities.tools.tables import askings_of, rules_of
from activities.tools.tool import Tool
from workflows.contracts import AgentSpec, Asking, JsonObject, Limits

if TYPE_CHECKING:
    from activities.providers.scripted import Script

MODEL_APIS = ("anthropic", "openai", "openai-chat", "google", "scripted")
_LIKELY_APIS = (("gpt", "openai"), ("o", "openai"), ("gem", "google"))
OWN_SETTINGS = ("model", "messages", "input", "instructions", "system", "tools", "tool_choice", "stream")
"""Keys of the request body that Surefoot itself writes."""


class Agent:
    """A named definition that jobs work by.

    model             "anthropic:claude-…", "openai:gpt-…" (Responses), "openai-chat:…" (Chat Completions and all
                      compatible servers), "google:gemini-…", "scripted:file.json", a `Script`; or a list of these:
                      when one is out of order (overloaded, too slow, out of quota), the next one answers
    limits            what a job may spend on one message of a person
    total             what it may spend in all; fields that are not given are not limited
    closing           after a limit: "answer" makes one last call to sum up, "findings" makes none
    output            a pydantic model (or any type that pydantic reads), or a JSON schema, for the final answer
    mcp               servers whose tools it has as well: [McpServer("github", command=["npx", …])]
    policy            rules by tool name or pattern, beside the tools' own: {"refund": [deny_if(…)], "*": "ask"}
    cite              the answer must refer to the results that it rests on, by [#call id]
    check             a function of a `FinalAnswer` that says what is wrong with it, or None
    tool_calling      "schema" for a model that can't call tools: each answer is JSON, by a schema made of the tools
    settings          go into the request body as they are: temperature, reasoning, …
    output_retries    how often an answer that does not fit `output`, or `check` refuses, is sent back
    model_timeout     seconds for one model call
    stream            whoever watches sees an answer while it comes; False asks for whole answers
    idle_timeout      seconds for which a streamed answer may be silent
    notify            webhooks that are told what comes up in its jobs: [Webhook("https://…")]
    closing_tokens    output tokens of the closing call's answer; a model that thinks gets more, to think with
    compact_at        input tokens of a call above which old results are cut short, and then what was said is summed up;
                      None: three quarters of the model's window if that is known; False or 0: never
    rate              how often its provider may be asked, with all agents of that rate: Rate("openai", …)
    """

    def __init__(
        self,
        name: str,
        model: "str | Script | Sequence[str | Script]",
        instructions: str = "",
        tools: Sequence[Tool[..., Any]] = (),
        limits: Limits = Limits(),  # noqa: B008 - frozen
        *,
        mcp: Sequence[McpServer] = (),
        total: Limits | None = None,
        closing: Literal["answer", "findings"] = "answer",
        output: type[Any] | JsonObject | None = None,
        policy: Mapping[str, Rule | Sequence[Rule]] | None = None,
        approval: Mapping[str, Approval] | None = None,
        cite: bool = False,
        check: Check | None = None,
        tool_calling: Literal["native", "schema"] = "native",
        max_output_tokens: int | None = None,
        settings: Mapping[str, JsonValue] | None = None,
        output_retries: int = 2,
        model_timeout: float = 900.0,
        stream: bool = True,
        idle_timeout: float = 300.0,
        closing_tokens: int = 1000,
        notify: Sequence[Webhook] = (),
        compact_at: int | None = None,
        rate: Rate | None = None,
    ) -> None:
        self.name = _checked_name(name)
        where = f"agent {name!r}"
        _check_choices(where, instructions, limits, total, closing, tool_calling)
        self.models = _models(where, model)
        self.model = self.models[0]
        self.instructions = instructions
        self.tools = _tools(where, tools)
        self.mcp = checked_servers(where, mcp)
        self.all_tools: tuple[AnyTool, ...] = self.tools
        self.out_of_reach: tuple[str, ...] = ()
        self.limits = limits
        self.total = None if total is None else _only_given(total)
        self.closing = closing
        self.output = OutputSchema(where, output) if output is not None else None
        self.rules = rules_of(where, policy or {}, self.tools, self.mcp)
        self._asking = askings_of(where, approval or {}, self.tools, self.mcp)
        self.max_output_tokens = max_output_tokens
        self.settings = _settings(where, settings or {})
        self.output_retries = output_retries
        self.model_timeout = model_timeout
        self.stream = _checked_stream(where, stream)
        self.idle_timeout = idle_timeout
        self.closing_tokens = closing_tokens
        self.cite = cite
        self.check = checked(where, check)
        self.tool_calling = tool_calling
        self.webhooks = checked_webhooks(where, notify)
        self.compact_at = _compact_at(where, compact_at)
        self.rate = checked_rate(where, rate)
        numbers = {
            "max_output_tokens": (max_output_tokens, 1),
            "output_retries": (output_retries, 0),
            "model_timeout": (model_timeout, 1),
            "idle_timeout": (idle_timeout, 1),
            "closing_tokens": (closing_tokens, 1),
        }
        _check_numbers(where, numbers)

    def __repr__(self) -> str:
        return f"<Agent {self.name} ({self.model}, {len(self.tools)} tools)>"

    def tool(self, name: str) -> Tool | None:
        """The app's own tool of this name, or None if the agent has no such tool."""
        return next((tool for tool in self.tools if tool.name == name), None)

    def find_tool(self, name: str) -> AnyTool | None:
        """The tool of this name, also of a server if the agent is equipped."""
        return next((tool for tool in self.all_tools if tool.name == name), None)

    def equipped(self, tools: Sequence[AnyTool], out_of_reach: Sequence[str] = ()) -> "Agent":
        """The same agent with the tools that its servers brought, and the names of those that could not be reached."""
        other = copy.copy(self)
        other.out_of_reach = tuple(out_of_reach)
        other.all_tools = (*self.tools, *tools)
        return other

    def as_tool(self, description: str, **options: Unpack[AgentToolOptions]) -> AgentTool:
        """This agent as a tool of another one: it gets a `message`, and its answer is the call's result.

        `description` tells the model what it is for. It runs without asking unless a policy says otherwise (its own
        tools ask for themselves). `options` are those of `@tool`; `name` is the agent's own if not given.
        """
        return AgentTool(self, description, **options)

    def has_rules(self, tool: AnyTool) -> bool:
        """Whether any policy rule, of the tool or of this agent, looks at this tool's calls."""
        return bool(self.rules_for(tool))

    def rules_for(self, tool: AnyTool) -> list[Condition]:
        """All rules that look at this tool's calls: the tool's own, then this agent's."""
        return [*tool.rules, *matching(self.rules, tool.name)]

    def asking(self, tool: AnyTool) -> Asking | None:
        """How the tool's calls are put to people: by this agent's word, or else by the tool's own; None: as ever."""
        own = [asking for key, asking in self._asking.items() if fnmatchcase(tool.name, key)]
        return own[-1] if own else tool.asking

    def spec(self) -> AgentSpec:
        """What the workflow needs to know."""
        return AgentSpec(
            name=self.name,
            limits=self.limits,
            total=self.total,
            closing=self.closing,
            output_retries=self.output_retries,
            model_seconds=self.model_timeout + max((server.timeout for server in self.mcp), default=0.0),
            **({"notices": notices} if (notices := wanted(self.webhooks)) else {}),
            **({"rate": self.rate.name} if self.rate else {}),
        )

    def output_instructions(self) -> str:
        """What the model is told of the form of its answer; empty if any will do."""
        return "" if self.output is None else self.output.instructions()

    def check_output(self, text: str) -> tuple[JsonValue, str | None]:
        """The final answer as a JSON value, and None or, for the model, what is wrong with it."""
        return (None, None) if self.output is None else self.output.check(text)


def _compact_at(where: str, tokens: object) -> int | None:
    if tokens is None or (isinstance(tokens, int) and tokens >= 0 and tokens is not True):
        return None if tokens is None else int(tokens)
    raise DefinitionError(
        f"{where} has compact_at={tokens!r}. Give a number of input tokens such as 100_000, None for three quarters of"
        " the model's window, or False for never."
    )


def _checked_name(name: str) -> str:
    if isinstance(name, str) and NAME.fullmatch(name):
        return name
    raise DefinitionError(f"agent {name!r}: an agent's name has 1 to 64 letters, digits, '_' or '-', no others.")


def _models(where: str, model: object) -> tuple[Any, ...]:
    models = tuple(model) if isinstance(model, list | tuple) else (model,)
    if not models:
        raise DefinitionError(f"{where} has no model. Give one, e.g. model='anthropic:<model name>'.")
    for candidate in models:
        _check_model(where, candidate)
    return models


def _check_model(where: str, model: object) -> None:
    if hasattr(model, "reply_to"):  # a Script
        return
    if not isinstance(model, str):
        raise DefinitionError(f"{where} has model={model!r}. Give 'api:model name', a Script, or a list of these.")
    api, colon, name = model.partition(":")
    if api in MODEL_APIS and name.strip():
        return
    apis = ", ".join(f"{api}:" for api in MODEL_APIS)
    if not colon:
        near = next((api for start, api in _LIKELY_APIS if model.startswith(start)), "anthropic")
        hint = f"Write which API serves it, e.g. '{near}:{model}'. The APIs are {apis}."
    elif api in MODEL_APIS:
        hint = f"The model's name is missing after {api}:."
    else:
        near_apis = difflib.get_close_matches(api, MODEL_APIS, 1)
        hint = (
            f"There is no API {api!r}; " + (f"did you mean {near_apis[0]}:? " if near_apis else "") + f"known: {apis}."
        )
    raise DefinitionError(f"{where} has model={model!r}. {hint}")


def _tools(where: str, tools: Sequence[Any]) -> tuple[Tool, ...]:
    if isinstance(tools, Tool) or not isinstance(tools, Sequence) or isinstance(tools, str):
        raise DefinitionError(f"{where} has tools={tools!r}. Give a list of tools.")
    seen: dict[str, Tool] = {}
    for candidate in tools:
        if not isinstance(candidate, Tool):
            name = getattr(candidate, "__name__", repr(candidate))
            if isinstance(candidate, Agent):
                raise DefinitionError(
                    f"{where} has agent {candidate.name!r} among its tools. Say what it is for:"
                    f" {candidate.name}.as_tool('what it can do')."
                )
            hint = f"Put @tool above `def {name}`, or write tool({name})." if callable(candidate) else "Remove it."
            raise DefinitionError(f"{where} has {name} among its tools, which is no tool. {hint}")
        if candidate.name in seen:
            twice = "is there twice" if seen[candidate.name] is candidate else "is the name of two of its tools"
            raise DefinitionError(f"{where}: {candidate.name!r} {twice}. Remove one, or rename it: @tool(name=…).")
        seen[candidate.name] = candidate
    return tuple(tools)


def _only_given(limits: Limits) -> Limits:
    """The limits without defaults: what a user did not write is no limit of the whole job."""
    given = {name: getattr(limits, name) for name in limits.model_fields_set}
    return Limits(**(dict.fromkeys(Limits.model_fields) | given))


def _settings(where: str, settings: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    for key in settings:
        if key in OWN_SETTINGS:
            raise DefinitionError(f"{where} has {key!r} in its settings, which Surefoot writes itself. Remove it.")
    try:
        return cast("dict[str, JsonValue]", json.loads(json.dumps(dict(settings), allow_nan=False)))
    except (TypeError, ValueError) as error:
        raise DefinitionError(
            f"{where} has settings that can't be sent as JSON ({error}). Use strings, numbers, lists and dicts."
        ) from error


def _check_numbers(where: str, numbers: Mapping[str, tuple[float | None, float]]) -> None:
    for name, (value, least) in numbers.items():
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value < math.inf:
            raise DefinitionError(f"{where} has {name}={value!r}. Give a number of at least {least:g}.")


def _checked_stream(where: str, stream: object) -> bool:
    if not isinstance(stream, bool):
        raise DefinitionError(f"{where} has stream={stream!r}. It is True, or False for whole answers only.")
    return stream


def _check_choices(
    where: str, instructions: object, limits: object, total: object, closing: object, tool_calling: object
) -> None:
    if not isinstance(instructions, str):
        raise DefinitionError(f"{where} has instructions of type {type(instructions).__name__}. Give a string.")
    for name, value in (("limits", limits), ("total", total)):
        if not isinstance(value, Limits) and not (name == "total" and value is None):
            raise DefinitionError(f"{where} has {name}={value!r}. Write {name}=Limits(rounds=…, tokens=…, …).")
    if closing not in ("answer", "findings"):
        raise DefinitionError(f"{where} has closing={closing!r}. It is 'answer' (sum up) or 'findings' (no last call).")
    if tool_calling not in ("native", "schema"):
        raise DefinitionError(
            f"{where} has tool_calling={tool_calling!r}. It is 'native', or 'schema' for a model that can't call tools."
        )
