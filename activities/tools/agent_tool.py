"""An agent as a tool of another one: each call is a job of its own, which the caller's job starts and waits for.

It is no write, whatever its own tools are: those ask for themselves, in the job that they are called in.
"""

import difflib
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack

from activities.approval import Approval
from activities.errors import DefinitionError
from activities.policy import Rule
from activities.tools.tool import Tool
from workflows.contracts import Errand

if TYPE_CHECKING:
    from activities.agents import Agent


class AgentToolOptions(TypedDict, total=False):
    """What `Agent.as_tool` takes of the options of `@tool`."""

    name: str
    policy: Rule | Sequence[Rule] | None
    approval: Approval | None
    preview: Callable[..., str] | None
    repeatable: bool
    max_output_chars: int


class AgentTool(Tool[[str], str]):
    """`Agent.as_tool` makes it, and says what each option means."""

    def __init__(self, agent: "Agent", description: str, **options: Unpack[AgentToolOptions]) -> None:
        self.agent = agent
        self.origin = f"agent {agent.name}"
        _check(agent.name, description, options)
        options.setdefault("name", agent.name)
        super().__init__(_ask, read_only=True, description=description, **options)

    @property
    def kind(self) -> Literal["agent"]:
        return "agent"

    def errand(self, validated: dict[str, Any]) -> Errand:
        """The job that a call with these arguments is."""
        return Errand(agent=self.agent.name, message=validated["message"], max_chars=self.max_output_chars)


def _check(agent: str, description: object, options: Mapping[str, object]) -> None:
    if not isinstance(description, str) or not description.strip():
        raise DefinitionError(
            f"agent {agent!r} as a tool has description={description!r}. Say in a sentence what it can do: models"
            " choose their tools by that."
        )
    for option in options.keys() - AgentToolOptions.__annotations__.keys():
        known = sorted(AgentToolOptions.__annotations__)
        near = difflib.get_close_matches(option, known, 1)
        hint = f"Did you mean {near[0]!r}?" if near else f"The options are {', '.join(known)}."
        raise DefinitionError(f"agent {agent!r} as a tool has no option {option!r}. {hint}")


def _ask(message: str) -> str:
    """Ask another agent.

    Args:
        message: What it is to do, with all that it needs to know: it sees nothing of this conversation.
    """
    raise NotImplementedError(f"an agent is asked by a job, not by a function call ({len(message)} characters)")
