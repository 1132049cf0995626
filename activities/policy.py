"""May this call run: deny > ask > allow over all rules that apply, and a rule that fails means ask.

Everything here is a pure function of the call; whoever evaluates bounds the time, since rules are user code.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Protocol

from activities.errors import DefinitionError
from activities.tools.explain import said, shown
from workflows.contracts import CallKind, Verdict

VERDICTS: tuple[Verdict, ...] = ("deny", "ask", "allow")  # strongest first

Test = Callable[..., Any]
WHOLE = "arguments"
"""A test or preview with a parameter of this name receives all arguments as one mapping."""


@dataclass(frozen=True)
class Condition:
    """A rule: `verdict` if the test holds, nothing if not. Without a test it always holds."""

    verdict: Verdict | None
    test: Test | None = None
    reason: str | None = None

    def in_words(self) -> str:
        """The rule for people, as far as it can be told without a call."""
        if self.test is None:
            return str(self.verdict)
        name = _name(self.test)
        return f"as {name} says" if self.verdict is None else f"{self.verdict} if {self.reason or name}"

    def check(self, names: Sequence[str], where: str) -> None:
        """Refuse a test that asks for arguments which the tool does not have."""
        if self.test is not None:
            check_names(self.test, names, where)


Rule = Condition | Verdict | Test
"""A condition, a bare verdict, or a function of the arguments.

A function returns True (allow), False (ask), a verdict, or None (no opinion).
"""


class _Tool(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> CallKind: ...
    @property
    def rules(self) -> Sequence[Condition]: ...


class _Agent(Protocol):
    @property
    def rules(self) -> Mapping[str, Sequence[Condition]]: ...


def allow_if(test: Test, *, reason: str | None = None) -> Condition:
    """Allow if the test holds. A tool with such rules, none of which holds, asks."""
    return Condition("allow", test, reason)


def ask_if(test: Test, *, reason: str | None = None) -> Condition:
    """Ask a person if the test holds."""
    return Condition("ask", test, reason)


def deny_if(test: Test, *, reason: str | None = None) -> Condition:
    """Deny if the test holds; `reason` is told to the model."""
    return Condition("deny", test, reason)


def as_rules(policy: Rule | Sequence[Rule] | None, where: str) -> tuple[Condition, ...]:
    """The rules that a user wrote, each as a condition; raises `DefinitionError` for what is no rule."""
    if policy is None:
        return ()
    if isinstance(policy, Sequence) and not isinstance(policy, str):
        return tuple(_condition(rule, where) for rule in policy)
    return (_condition(policy, where),)


def evaluate(agent: _Agent, tool: _Tool, validated: Mapping[str, Any]) -> tuple[Verdict, str]:
    """The verdict on a call with these validated arguments, and the reason in words.

    The strongest verdict of the tool's rules and of the agent's matching ones. If none has an opinion, reads
    are allowed and writes ask; a read that has rules to allow it, none of which holds, asks as well. The reason to ask
    is shown to the person who is asked, so one that only says that writes ask is left out.
    """
    opinions: list[tuple[Verdict, str]] = []
    unmet = False
    for condition in (*tool.rules, *matching(agent.rules, tool.name)):
        verdict, reason = _opinion(condition, validated)
        if verdict is not None:
            opinions.append((verdict, reason))
        elif condition.verdict == "allow":
            unmet = True
    if opinions:
        return min(opinions, key=lambda opinion: (VERDICTS.index(opinion[0]), not opinion[1]))
    if tool.kind == "write":
        return "ask", ""
    if unmet:
        return "ask", "no rule that would allow this call holds"
    return "allow", "a tool that changes nothing needs no approval"


def matching(rules: Mapping[str, Sequence[Condition]], tool_name: str) -> list[Condition]:
    """The conditions whose key names this tool, as a name or as a pattern with `*`, `?` or `[…]`."""
    return [condition for key, found in rules.items() if fnmatchcase(tool_name, key) for condition in found]


def check_names(test: Test, names: Sequence[str], where: str) -> None:
    """Refuse a test or preview with a required parameter that is no argument of the tool."""
    try:
        parameters = inspect.signature(test).parameters.values()
    except (TypeError, ValueError) as error:
        raise DefinitionError(
            f"{where}: {_name(test)} does not tell its parameters. Wrap it: `lambda {WHOLE}: …`."
        ) from error
    for parameter in parameters:
        if parameter.kind is inspect.Parameter.POSITIONAL_ONLY:
            raise DefinitionError(f"{where}: parameter {parameter.name!r} is positional-only. Remove the '/'.")
        given = parameter.name in names or parameter.name == WHOLE or parameter.default is not parameter.empty
        if not given and parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise DefinitionError(
                f"{where}: {_name(test)} asks for {parameter.name!r}, but the tool's arguments are"
                f" {', '.join(names) or '(none)'}. Name one of them, or {WHOLE!r} for all in one mapping."
            )


def bind_by_name(test: Test, validated: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the arguments that this test or preview has parameters for."""
    parameters = inspect.signature(test).parameters
    offered = {WHOLE: dict(validated), **validated}
    named = {name: offered[name] for name in parameters if name in offered}
    takes_all = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
    return {**validated, **named} if takes_all else named


def _condition(rule: Rule, where: str) -> Condition:
    if isinstance(rule, Condition):
        condition = rule
    elif isinstance(rule, str) and rule in VERDICTS:
        condition = Condition(rule)
    elif callable(rule):
        condition = Condition(None, rule)
    else:
        raise DefinitionError(
            f"{where} has {rule!r} as a policy rule. A rule is 'allow', 'ask' or 'deny', allow_if(…), ask_if(…),"
            " deny_if(…), or a function of the tool's arguments."
        )
    if condition.test is not None and inspect.iscoroutinefunction(condition.test):
        raise DefinitionError(
            f"{where}: the policy rule {_name(condition.test)} is async. Rules look at the arguments alone: make it"
            " a plain function."
        )
    return condition


def _opinion(condition: Condition, validated: Mapping[str, Any]) -> tuple[Verdict | None, str]:
    if condition.test is None:
        plain = "" if condition.verdict == "ask" else f"the policy says {condition.verdict}"
        return condition.verdict, condition.reason or plain
    name = _name(condition.test)
    try:
        answer = condition.test(**bind_by_name(condition.test, validated))
    except BaseException as error:  # rules are user code; an exit or an interrupt of theirs must not end the worker
        return "ask", f"the policy rule {name} failed: {type(error).__name__}: {said(error, 200)}"
    if condition.verdict is None:
        return _spoken(answer, name)
    if not isinstance(answer, bool):
        return "ask", f"the policy rule {name} returned {shown(answer)}, neither true nor false"
    holds = f"the policy rule {name} says {condition.verdict}"
    return (condition.verdict, condition.reason or holds) if answer else (None, "")


def _spoken(answer: object, name: str) -> tuple[Verdict | None, str]:
    """The verdict that a bare function returned."""
    if answer is None:
        return None, ""
    if isinstance(answer, bool):
        return (
            ("allow", f"the policy rule {name} holds") if answer else ("ask", f"the policy rule {name} does not hold")
        )
    for verdict in VERDICTS:
        if answer == verdict:
            return verdict, f"the policy rule {name} says {verdict}"
    return "ask", f"the policy rule {name} returned {shown(answer)}, which is no verdict"


def _name(test: Test) -> str:
    name = getattr(test, "__name__", type(test).__name__)
    return "(a lambda)" if name == "<lambda>" else name
