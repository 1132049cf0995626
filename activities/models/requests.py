"""Makes the request of a model call, in no provider's words, from what the agent is and what was said.

One place for calls that are made at once and those that go into a provider batch, so that they are the same.
"""

from collections.abc import Callable

from activities.agents import Agent
from activities.models import citations
from activities.models.context import Context
from activities.models.prompts import instructions
from activities.providers.protocol import Live, ModelRequest
from activities.providers.thinking_room import closing_output
from workflows.contracts import CallModel


def model_request(
    agent: Agent, request: CallModel, context: Context, live: Live | None = None
) -> Callable[[str], ModelRequest]:
    """The request, for a model's own name of itself."""

    settings = {"service_tier": "flex", **agent.settings} if request.flex else agent.settings

    def wire(model: str) -> ModelRequest:
        most = agent.max_output_tokens
        if request.closing:
            most = closing_output(agent.closing_tokens, model, agent.settings, context.seen)
        return ModelRequest(
            model=model,
            instructions=instructions(agent, request.closing),
            transcript=citations.marked(context.seen) if agent.cite else context.seen,
            tools=[tool.declaration() for tool in agent.all_tools],
            tool_choice="none" if request.closing else "auto",
            max_output_tokens=most,
            settings=settings,
            turn=request.turn,
            turns_before=context.turns_summed_up,
            chains=context.continues,
            live=live,
            idle_seconds=agent.idle_timeout,
        )

    return wire
