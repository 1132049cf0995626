"""What an agent is: a named model with instructions, tools, limits, an approval policy and an output schema.

It is a value: nothing is connected or read when an app file makes one, so every process can load every app.
"""

import copy
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Literal, Unpack

from pydantic import JsonValue

from activities.agent_terms import (
    check_choices,
    check_numbers,
    checked_mark,
    checked_name,
    checked_settings,
    checked_stream,
    checked_tools,
    only_given,
)
from activities.approval import Approval
from activities.mcp.server import McpServer, checked_servers
from activities.models.answer_check import Check, checked
from activities.models.model_names import checked_models
from activities.models.output_schema import OutputSchema
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
        self.name = checked_name(name)
        where = f"agent {name!r}"
        check_choices(where, instructions, limits, total, closing, tool_calling)
        self.models = checked_models(where, model)
        self.model = self.models[0]
        self.instructions = instructions
        self.tools = checked_tools(where, tools)
        self.mcp = checked_servers(where, mcp)
        self.all_tools: tuple[AnyTool, ...] = self.tools
        self.out_of_reach: tuple[str, ...] = ()
        self.limits = limits
        self.total = None if total is None else only_given(total)
        self.closing = closing
        self.output = OutputSchema(where, output) if output is not None else None
        self.rules = rules_of(where, policy or {}, self.tools, self.mcp)
        self._asking = askings_of(where, approval or {}, self.tools, self.mcp)
        self.max_output_tokens = max_output_tokens
        self.settings = checked_settings(where, settings or {})
        self.output_retries = output_retries
        self.model_timeout = model_timeout
        self.stream = checked_stream(where, stream)
        self.idle_timeout = idle_timeout
        self.closing_tokens = closing_tokens
        self.cite = cite
        self.check = checked(where, check)
        self.tool_calling = tool_calling
        self.webhooks = checked_webhooks(where, notify)
        self.compact_at = checked_mark(where, compact_at)
        self.rate = checked_rate(where, rate)
        numbers = {
            "max_output_tokens": (max_output_tokens, 1),
            "output_retries": (output_retries, 0),
            "model_timeout": (model_timeout, 1),
            "idle_timeout": (idle_timeout, 1),
            "closing_tokens": (closing_tokens, 1),
        }
        check_numbers(where, numbers)

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
