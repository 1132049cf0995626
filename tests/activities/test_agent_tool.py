"""An agent as a tool: how the model sees it, and what can't be one."""

from typing import Any

import pytest

from activities.agents import Agent
from activities.apps import App
from activities.errors import DefinitionError, InvalidArguments
from activities.providers.scripted import Script
from workflows.contracts import Errand


def agent(name: str = "researcher", **more: Any) -> Agent:
    return Agent(name, Script([{"text": "x"}]), **more)


def test_the_model_sees_a_tool_with_one_message() -> None:
    declared = agent().as_tool("Looks things up.").declaration()

    assert (declared.name, declared.description) == ("researcher", "Looks things up.")
    assert declared.schema["required"] == ["message"]
    assert list(declared.schema["properties"]) == ["message"]  # type: ignore[arg-type]


def test_a_call_is_an_errand_of_the_agent_whatever_the_tool_is_called() -> None:
    tool = agent().as_tool("Looks things up.", name="look", max_output_chars=9)

    assert (tool.name, tool.kind, tool.origin) == ("look", "agent", "agent researcher")
    assert tool.errand(tool.validate({"message": "hi"})) == Errand(agent="researcher", message="hi", max_chars=9)


@pytest.mark.parametrize("arguments", [{}, {"message": 1}, {"message": "x", "more": 1}])
def test_other_arguments_are_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(InvalidArguments):
        agent().as_tool("Looks things up.").validate(arguments)


def test_an_app_has_the_agents_that_its_agents_ask() -> None:
    last = agent("last")
    middle = agent("middle", tools=[last.as_tool("Last.")])
    app = App([agent("first", tools=[middle.as_tool("Middle.")])])

    assert app.agents == {"first": app.agent("first"), "middle": middle, "last": last}


def test_another_agent_of_the_same_name_is_refused() -> None:
    first = agent("first", tools=[agent("twin").as_tool("One.")])

    with pytest.raises(DefinitionError, match=r"Two agents have the name 'twin'\."):
        App([first, agent("twin")])


@pytest.mark.parametrize("description", ["", "  ", None])
def test_a_tool_without_a_description_is_refused(description: Any) -> None:
    with pytest.raises(DefinitionError, match=r"agent 'researcher' as a tool has description=.* models choose"):
        agent().as_tool(description)


def test_an_option_that_there_is_not_is_refused() -> None:
    options: Any = {"polcy": "ask"}

    with pytest.raises(DefinitionError, match=r"no option 'polcy'\. Did you mean 'policy'\?"):
        agent().as_tool("Looks things up.", **options)


def test_an_agent_among_the_tools_is_told_how_it_becomes_one() -> None:
    tools: Any = [agent()]

    with pytest.raises(DefinitionError, match=r"agent 'researcher' among its tools.*researcher\.as_tool\("):
        agent("desk", tools=tools)
