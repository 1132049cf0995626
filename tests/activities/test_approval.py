"""What an author writes of approvals is checked when it is written, and kept as it was given."""

from typing import Any

import pytest

from activities.agents import Agent
from activities.approval import Approval
from activities.errors import DefinitionError
from activities.tools.tool import tool
from workflows.contracts import Asking

TOGETHER = "expires and on_timeout belong together: say after how long, and what happens then"
ESCALATE = "on_timeout='escalate' and escalate_to=[roles] belong together"


@tool
def refund(order: str) -> str:
    """Pay an order back."""
    return order


def agent(**approval: Approval) -> Agent:
    return Agent("desk", "scripted:x.json", tools=[refund], approval=approval)


def test_only_what_was_given_is_kept() -> None:
    given = Approval(approvers=["finance"], expires=60, on_timeout="escalate", escalate_to=["heads"])

    assert given.asking().model_dump(exclude_unset=True) == {
        "approvers": ["finance"],
        "expires": 60,
        "on_timeout": "escalate",
        "escalate_to": ["heads"],
    }


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"allowed": ["maybe"]}, "there is no decision 'maybe'; there are approve, edit, answer, deny, grant"),
        ({"allowed": ["edit", "grant"]}, "a call that can't be approved, answered or denied would wait for ever"),
        ({"allowed": []}, "a call that can't be approved, answered or denied would wait for ever"),
        ({"quorum": 0}, "quorum=0: at least one person must approve"),
        ({"expires": 0, "on_timeout": "deny"}, "expires=0: give a positive number of seconds"),
        ({"expires": float("inf"), "on_timeout": "deny"}, "expires=inf: give a positive number of seconds"),
        ({"remind": -5}, "remind=-5: give a positive number of seconds"),
        ({"remind": float("nan")}, "remind=nan: give a positive number of seconds"),
        ({"expires": 60}, TOGETHER),
        ({"on_timeout": "deny"}, TOGETHER),
        ({"expires": 60, "on_timeout": "escalate"}, ESCALATE),
        ({"expires": 60, "on_timeout": "deny", "escalate_to": ["heads"]}, ESCALATE),
    ],
)  # fmt: skip
def test_what_does_not_hold_together_is_refused_with_the_reason(given: dict[str, Any], why: str) -> None:
    shown = ", ".join(f"{name}={value!r}" for name, value in given.items())

    with pytest.raises(DefinitionError) as raised:
        Approval(**given)

    assert str(raised.value) == f"Approval({shown}) can't be used: Approval: {why}."


def test_fields_of_another_form_are_named_in_the_words_of_every_other_record() -> None:
    with pytest.raises(DefinitionError) as raised:
        Approval(quorum="many", aprovers=["finance"], on_timeout="never", approvers=[1])

    assert str(raised.value) == (
        "Approval(quorum='many', aprovers=['finance'], on_timeout='never', approvers=[1]) can't be used:"
        " approvers.0: it has to be a text; quorum: it has to be a whole number;"
        " on_timeout: it has to be 'wait', 'deny', 'fail' or 'escalate'; aprovers: there is no such field, but allowed,"
        " approvers, quorum, self_approval, expires, on_timeout, escalate_to, remind, risk."
    )


@pytest.mark.parametrize("wrong", [True, "finance", Asking(quorum=2)])
def test_anything_but_an_approval_is_refused_where_it_was_written(wrong: Any) -> None:
    at_the_tool = f"has approval={wrong!r}. Write approval=Approval(quorum=2, …)."

    with pytest.raises(DefinitionError) as of_the_tool:
        tool(approval=wrong)(refund.function)
    with pytest.raises(DefinitionError) as of_the_agent:
        agent(refund=wrong)

    assert str(of_the_tool.value).endswith(at_the_tool)
    assert str(of_the_agent.value) == f"agent 'desk', approval['refund'] {at_the_tool}"


@pytest.mark.parametrize(("key", "hint"), [("refnud", "Did you mean 'refund'?"), ("charge", "Its tools are refund.")])
def test_a_name_that_no_tool_has_is_refused_for_approvals_as_for_policies(key: str, hint: str) -> None:
    with pytest.raises(DefinitionError) as approval:
        agent(**{key: Approval(quorum=2)})
    with pytest.raises(DefinitionError) as policy:
        Agent("desk", "scripted:x.json", tools=[refund], policy={key: "ask"})

    assert str(approval.value) == f"agent 'desk' has an approval for {key!r}, but no tool of that name. {hint}"
    assert str(policy.value) == f"agent 'desk' has a policy for {key!r}, but no tool of that name. {hint}"


def test_a_pattern_may_fit_no_tool_for_approvals_as_for_policies() -> None:
    desk = Agent(
        "desk", "scripted:x.json", tools=[refund],
        approval={"delete_*": Approval(quorum=2), "ref*": Approval(quorum=3)}, policy={"delete_*": "deny"},
    )  # fmt: skip

    assert desk.asking(refund) == Asking(quorum=3)
