"""What a tool is: a function that the model may ask for, with all that Surefoot must know before it is run.

A tool may change something unless it says `read_only=True`: forgetting to say so asks a person too often,
never too seldom.
"""

import difflib
import functools
import inspect
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, Literal, TypedDict, Unpack, overload

from typing_extensions import ParamSpec, TypeVar

from activities.approval import Approval, checked
from activities.errors import DefinitionError, InvalidArguments, OutcomeUnknown, ToolCancelled, ToolError
from activities.names import NAME
from activities.policy import Rule, as_rules, bind_by_name, check_names
from activities.providers.protocol import ToolDeclaration
from activities.threads import Threads, run_contained
from activities.tools.context import ToolContext
from activities.tools.docstrings import parse
from activities.tools.rendering import render_output
from activities.tools.schema import Arguments
from activities.tools.signature import read_signature, underlying
from workflows.contracts import JsonObject

__all__ = [
    "InvalidArguments",
    "OutcomeUnknown",
    "Tool",
    "ToolCancelled",
    "ToolContext",
    "ToolError",
    "ToolOptions",
    "render_output",
    "tool",
]

P = ParamSpec("P", default=...)
R = TypeVar("R", default=Any)

DEFAULT_RETRIES = 2


class ToolOptions(TypedDict, total=False):
    """What `@tool(…)` takes. `Tool` says what each means, and its default."""

    read_only: bool
    idempotent: bool
    pure: bool
    repeatable: bool
    timeout: float
    retries: int | None
    preview: Callable[..., str] | None
    policy: Rule | Sequence[Rule] | None
    name: str | None
    description: str | None
    max_output_chars: int
    approval: Approval | None


class Tool(Generic[P, R]):
    """A function as a tool. It stays callable like the function.

    read_only         it changes nothing: runs without asking, and again after a failure
    idempotent        a write that may be sent again with the same idempotency key
    pure              read-only, and a function of its arguments alone: no network, no files, no clock
    repeatable        called with the same arguments on purpose, e.g. to poll: never counts as no progress
    timeout           seconds for one execution
    retries           how often a failed read or idempotent write is tried again; other writes never are
    preview           says what a call would do, from arguments that it names: shown to who approves
    policy            rules that allow, ask or deny (`activities/policy.py`)
    approval          who decides on its calls, and by when (`activities/approval.py`)
    name, description what the model sees; the function's name and docstring if not given
    max_output_chars  the model gets no more than this of an output; the whole is kept
    """

    origin = "app"
    """Where a tool comes from, as people are told."""

    def __init__(
        self,
        function: Callable[P, R],
        *,
        read_only: bool = False,
        idempotent: bool = False,
        pure: bool = False,
        repeatable: bool = False,
        timeout: float = 60.0,
        retries: int | None = None,
        preview: Callable[..., str] | None = None,
        policy: Rule | Sequence[Rule] | None = None,
        name: str | None = None,
        description: str | None = None,
        max_output_chars: int = 40_000,
        approval: Approval | None = None,
        local_names: Mapping[str, Any] | None = None,
    ) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        self.name = _name(function, name)
        self.read_only = read_only or pure
        self.idempotent = idempotent
        self.pure = pure
        self.repeatable = repeatable
        self.timeout = timeout
        self.retries = _retries(self.name, retries, again=self.read_only or idempotent)
        self.max_output_chars = max_output_chars
        self.rules = as_rules(policy, f"tool {self.name!r}")
        self.asking = checked(approval, f"tool {self.name!r}")
        self._preview = preview

        _refuse_generators(self.name, function)
        signature = read_signature(self.name, function, local_names or {})
        docstring = parse(inspect.getdoc(underlying(function)))
        self.description = description if description is not None else docstring.description
        self.arguments = Arguments(self.name, signature, docstring.parameters)
        self._context = signature.context
        self._check()

    def __call__(self, /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function itself, as in its unit tests: no validation, no policy, no record."""
        return self.function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<Tool {self.name} ({self.kind})>"

    @property
    def has_preview(self) -> bool:
        return self._preview is not None

    @property
    def kind(self) -> Literal["read", "write", "pure", "agent"]:
        return "pure" if self.pure else "read" if self.read_only else "write"

    @property
    def may_run_again(self) -> bool:
        """Whether a call that was begun may be made again without asking: it changes nothing, or the same thing."""
        return self.read_only or self.idempotent

    def declaration(self) -> ToolDeclaration:
        """The tool as the model sees it."""
        return ToolDeclaration(name=self.name, description=self.description, schema=self.arguments.schema)

    def validate(self, arguments: JsonObject) -> dict[str, Any]:
        """The model's arguments as Python values by name, defaults filled in; raises `InvalidArguments`."""
        return self.arguments.validate(arguments)

    def preview(self, validated: Mapping[str, Any]) -> str | None:
        """What a call with these arguments would do, in the tool's own words; raises whatever its code raises."""
        if self._preview is None:
            return None
        return render_output(run_contained(functools.partial(self._preview, **bind_by_name(self._preview, validated))))

    async def call(self, context: ToolContext, validated: Mapping[str, Any], threads: Threads) -> Any:
        """Run the function once with validated arguments, away from the caller's event loop."""
        return await threads.run(self.function, {**validated, **dict.fromkeys(self._context, context)})

    def _check(self) -> None:
        where = f"tool {self.name!r}"
        if self.idempotent and self.read_only:
            raise DefinitionError(
                f"{where} is both {'pure' if self.pure else 'read_only'} and idempotent. `idempotent` is about a"
                " write that may be sent again; reads always may. Keep one of the two."
            )
        if self.pure and self.repeatable:
            raise DefinitionError(
                f"{where} is both pure and repeatable, but a pure tool gives the same result every time. Remove one."
            )
        if self.pure and self._context:
            raise DefinitionError(
                f"{where} is pure, but takes a ToolContext: its result would not depend on its arguments alone."
                " Say read_only=True instead, or remove the parameter."
            )
        if not _is_number(self.timeout) or not 0 < self.timeout < math.inf:
            raise DefinitionError(f"{where} has timeout={self.timeout!r}. Give a positive number of seconds.")
        if not _is_number(self.max_output_chars) or self.max_output_chars < 1:
            raise DefinitionError(f"{where} has max_output_chars={self.max_output_chars!r}. Give a positive number.")
        if self._preview is not None:
            if not callable(self._preview):
                raise DefinitionError(f"{where} has preview={self._preview!r}. Give a function that returns text.")
            check_names(self._preview, self.arguments.names, f"the preview of {where}")
        for rule in self.rules:
            rule.check(self.arguments.names, f"a rule of {where}")


class _Decorator:
    """`@tool(read_only=True)`: makes a tool of the function below it."""

    def __init__(self, options: ToolOptions, local_names: Mapping[str, Any]) -> None:
        self._options = options
        self._local_names = local_names

    def __call__(self, function: Callable[P, R], /) -> Tool[P, R]:
        return Tool(function, local_names=self._local_names, **self._options)


@overload
def tool(function: Callable[P, R], /, **options: Unpack[ToolOptions]) -> Tool[P, R]: ...
@overload
def tool(**options: Unpack[ToolOptions]) -> _Decorator: ...
def tool(function: Callable[..., Any] | None = None, /, **options: Unpack[ToolOptions]) -> Any:
    """Make a function a tool: `@tool`, `@tool(read_only=True)`, or `tool(client.search, read_only=True)`.

    `Tool` says what each option means. Raises `DefinitionError` for what can't be a tool.
    """
    for option in options.keys() - ToolOptions.__annotations__.keys():
        known = sorted(ToolOptions.__annotations__)
        near = difflib.get_close_matches(option, known, 1)
        hint = f"Did you mean {near[0]!r}?" if near else f"The options are {', '.join(known)}."
        raise DefinitionError(f"@tool has no option {option!r}. {hint}")
    decorate = _Decorator(options, sys._getframe(1).f_locals)
    return decorate if function is None else decorate(function)


def _name(function: Callable[..., Any], given: str | None) -> str:
    if not callable(function):
        raise DefinitionError(f"@tool was given {function!r}, which is no function. Decorate a function with it.")
    if isinstance(function, Tool):
        raise DefinitionError(f"tool {function.name!r} is a tool already. Remove one of its decorators.")
    name = given if given is not None else getattr(function, "__name__", "")
    if NAME.fullmatch(name):
        return name
    raise DefinitionError(
        f"tool {name!r}: a tool's name has 1 to 64 letters, digits, '_' or '-', no others."
        " Give another one with @tool(name=…)."
    )


def _retries(tool_name: str, given: int | None, *, again: bool) -> int:
    if given is None:
        return DEFAULT_RETRIES if again else 0
    if not _is_number(given) or given < 0 or given != int(given):
        raise DefinitionError(f"tool {tool_name!r} has retries={given!r}. Give a whole number, 0 or more.")
    if given and not again:
        raise DefinitionError(
            f"tool {tool_name!r} has retries={given}, but a write that is not idempotent is never tried again: it"
            " could happen twice. Say read_only=True or idempotent=True if that is true, or remove retries."
        )
    return given


def _refuse_generators(tool_name: str, function: Callable[..., Any]) -> None:
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise DefinitionError(f"tool {tool_name!r} yields values. Return them all at once, e.g. as a list.")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
