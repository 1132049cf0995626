"""May a call run: deny > ask > allow over all rules, and what fails means ask."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activities.agents import Agent
from activities.errors import DefinitionError
from activities.policy import Rule, allow_if, ask_if, deny_if, evaluate
from activities.tools.tool import Tool, tool
from workflows.contracts import Verdict


def pay(amount: int, to: str = "me") -> str:
    """Pay."""
    return f"paid {amount} to {to}"


def verdict_of(
    own: Rule | Sequence[Rule] | None = None,
    policy: Mapping[str, Rule | Sequence[Rule]] | None = None,
    *,
    read_only: bool = False,
    amount: int = 10,
) -> tuple[Verdict, str]:
    made = tool(pay, read_only=read_only, policy=own)
    agent = Agent("a", "scripted:x.json", tools=[made], policy=policy)
    return evaluate(agent, made, made.validate({"amount": amount}))


def test_by_default_writes_ask_and_reads_run() -> None:
    assert verdict_of() == ("ask", "")
    assert verdict_of(read_only=True) == ("allow", "a tool that changes nothing needs no approval")


def test_a_pure_tool_runs_by_default() -> None:
    made = tool(pay, pure=True)

    assert evaluate(Agent("a", "scripted:x.json", tools=[made]), made, {"amount": 1, "to": "me"})[0] == "allow"


@pytest.mark.parametrize(
    ("rule", "at_10", "at_100"),
    [
        (allow_if(lambda amount: amount <= 50), "allow", "ask"),
        (ask_if(lambda amount: amount > 50), "ask", "ask"),
        (deny_if(lambda amount: amount > 50), "ask", "deny"),
        (lambda amount: amount <= 50, "allow", "ask"),
        (lambda amount: "deny" if amount > 50 else "allow", "allow", "deny"),
        (lambda amount: None, "ask", "ask"),
        (lambda arguments: arguments["amount"] <= 50, "allow", "ask"),
        (lambda **all: all["to"] == "me", "allow", "allow"),
        (lambda: True, "allow", "allow"),
        ("allow", "allow", "allow"),
        ("deny", "deny", "deny"),
    ],
)
def test_each_kind_of_rule_on_a_write_tool(rule: Rule, at_10: Verdict, at_100: Verdict) -> None:
    found = [verdict_of(rule, amount=10)[0], verdict_of(rule, amount=100)[0]]
    by_agent = [verdict_of(None, {"pay": rule}, amount=10)[0], verdict_of(None, {"p*": [rule]}, amount=100)[0]]

    assert found == by_agent == [at_10, at_100]


@pytest.mark.parametrize(
    ("rule", "at_10", "at_100"),
    [
        (allow_if(lambda amount: amount <= 50), "allow", "ask"),
        (ask_if(lambda amount: amount > 50), "allow", "ask"),
        (deny_if(lambda amount: amount > 50), "allow", "deny"),
        (lambda amount: amount <= 50, "allow", "ask"),
        (lambda amount: None, "allow", "allow"),
    ],
)
def test_each_kind_of_rule_on_a_read_tool(rule: Rule, at_10: Verdict, at_100: Verdict) -> None:
    found = [verdict_of(rule, read_only=True, amount=amount)[0] for amount in (10, 100)]

    assert found == [at_10, at_100]


def test_one_of_several_rules_to_allow_is_enough() -> None:
    rules = [allow_if(lambda amount: amount < 5), allow_if(lambda to: to == "me")]

    assert verdict_of(rules)[0] == "allow"


def test_if_no_rule_to_allow_holds_the_call_asks_and_a_read_which_is_no_default_says_so() -> None:
    rule = allow_if(lambda amount: amount < 5)

    assert verdict_of(rule, read_only=True) == ("ask", "no rule that would allow this call holds")
    assert verdict_of(rule) == ("ask", "")


RULES: list[tuple[Rule, Verdict | None]] = [
    ("allow", "allow"),
    ("ask", "ask"),
    ("deny", "deny"),
    (allow_if(lambda: True), "allow"),
    (ask_if(lambda: True), "ask"),
    (deny_if(lambda: True), "deny"),
    (ask_if(lambda: False), None),
    (deny_if(lambda: False), None),
    (lambda: 1 / 0, "ask"),
]


@given(st.lists(st.sampled_from(RULES), max_size=4), st.lists(st.sampled_from(RULES), max_size=4))
def test_deny_beats_ask_beats_allow_wherever_the_rules_stand(
    own: list[tuple[Rule, Verdict | None]], agents: list[tuple[Rule, Verdict | None]]
) -> None:
    said = {verdict for _, verdict in own + agents}
    expected = "deny" if "deny" in said else "ask" if "ask" in said else "allow" if "allow" in said else "ask"

    found = verdict_of([rule for rule, _ in own], {"*": [rule for rule, _ in agents]})

    assert found[0] == expected


def fails(amount: int) -> bool:
    raise KeyError("limit")


def leaves(amount: int) -> bool:
    raise SystemExit(1)


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        (fails, "the policy rule fails failed: KeyError: 'limit'"),
        (leaves, "the policy rule leaves failed: SystemExit: 1"),
        (allow_if(fails), "the policy rule fails failed: KeyError: 'limit'"),
        (deny_if(fails), "the policy rule fails failed: KeyError: 'limit'"),
        (lambda amount: 1, "the policy rule (a lambda) returned 1, which is no verdict"),
        (lambda amount: "yes", 'the policy rule (a lambda) returned "yes", which is no verdict'),
        (lambda amount: "Allow", 'the policy rule (a lambda) returned "Allow", which is no verdict'),
        (allow_if(lambda amount: "true"), 'the policy rule (a lambda) returned "true", neither true nor false'),
        (allow_if(lambda amount: None), "the policy rule (a lambda) returned null, neither true nor false"),
        (allow_if(lambda amount: 1), "the policy rule (a lambda) returned 1, neither true nor false"),
    ],
)
def test_a_rule_that_fails_or_gives_no_clear_answer_means_ask(rule: Rule, reason: str) -> None:
    assert verdict_of(rule, read_only=True) == ("ask", reason)
    assert verdict_of([rule, "allow"]) == ("ask", reason)
    assert verdict_of([rule, "deny"])[0] == "deny"


def test_a_reason_is_told_in_the_words_of_whoever_wrote_the_rule() -> None:
    rule = deny_if(lambda amount: amount > 50, reason="Refunds over 50 go through finance.")

    assert verdict_of(rule, amount=51) == ("deny", "Refunds over 50 go through finance.")


def test_that_a_person_is_asked_at_all_is_no_reason_so_a_rule_with_one_is_told_instead() -> None:
    assert verdict_of("ask") == ("ask", "")
    assert verdict_of(["ask", ask_if(lambda amount: amount > 50, reason="above 50")], amount=51) == ("ask", "above 50")
    assert verdict_of(["ask", fails]) == ("ask", "the policy rule fails failed: KeyError: 'limit'")


def test_a_named_rule_is_told_by_its_name() -> None:
    def within_budget(amount: int) -> bool:
        return amount <= 50

    assert verdict_of(within_budget) == ("allow", "the policy rule within_budget holds")
    assert verdict_of(within_budget, amount=51) == ("ask", "the policy rule within_budget does not hold")


def test_a_tool_s_argument_called_arguments_is_itself() -> None:
    @tool(policy=lambda arguments: arguments == "x")
    def run(arguments: str) -> None: ...

    agent = Agent("a", "scripted:x.json", tools=[run])

    assert evaluate(agent, run, {"arguments": "x"})[0] == "allow"
    assert evaluate(agent, run, {"arguments": "y"})[0] == "ask"


async def asynchronous(amount: int) -> bool:
    return True


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        (True, "has True as a policy rule"),
        ("never", "has 'never' as a policy rule"),
        (5, "has 5 as a policy rule"),
        (["ask", "never"], "has 'never' as a policy rule"),
        (asynchronous, "policy rule asynchronous is async"),
        (allow_if(asynchronous), "policy rule asynchronous is async"),
        (lambda ammount: True, r"\(a lambda\) asks for 'ammount', but the tool's arguments are amount, to"),
        (max, "max does not tell its parameters"),
    ],
)
def test_what_is_no_rule_is_refused_when_it_is_written(rule: Any, text: str) -> None:
    with pytest.raises(DefinitionError, match=text):
        tool(pay, policy=rule)
    with pytest.raises(DefinitionError, match=text):
        Agent("a", "scripted:x.json", tools=[tool(pay)], policy={"pay": rule})


def test_an_agent_s_policy_for_a_tool_that_it_does_not_have_is_refused() -> None:
    with pytest.raises(DefinitionError, match=r"policy for 'payy', but no tool of that name\. Did you mean 'pay'\?"):
        Agent("a", "scripted:x.json", tools=[tool(pay)], policy={"payy": "deny"})


def test_a_pattern_may_match_no_tool_yet() -> None:
    agent = Agent("a", "scripted:x.json", tools=[tool(pay)], policy={"github_*": "deny"})

    assert agent.has_rules(tool(pay)) is False


def test_a_pattern_tells_upper_from_lower_case() -> None:
    made: Tool = tool(pay, name="Pay")
    agent = Agent("a", "scripted:x.json", tools=[made], policy={"p*": "allow"})

    assert evaluate(agent, made, {"amount": 1, "to": "x"})[0] == "ask"
