"""The system prompt of a model call: the agent's own instructions, and what the loop has to say."""

from activities import citations
from activities.agents import Agent
from workflows.contracts import Status
from workflows.words import LIMIT_WORDS

LOOP_NOTE = (
    "You work in a bounded loop: you may call tools and read their results a limited number of times."
    " Stop calling tools as soon as you know enough, and then answer."
)
OUT_OF_REACH = "The tools of {servers} can't be used at the moment, since nothing answers there. Do not wait for them."
CLOSING = (
    "This is the end of the work on this answer: {why}. No tool can be called any more."
    " Sum up in plain text what was found out and what was done, say what is missing or was not executed,"
    " and ask whether to go on if more work is needed."
)


def instructions(agent: Agent, closing: Status | None) -> str:
    """The instructions of this call only: the order to sum up stands here, never among the results, which are data."""
    parts = [agent.instructions, LOOP_NOTE]
    if agent.cite:
        parts.append(citations.INSTRUCTIONS)
    if agent.output is not None and not closing and agent.tool_calling == "native":
        parts.append(agent.output_instructions())
    if agent.out_of_reach and not closing:
        parts.append(OUT_OF_REACH.format(servers=" and ".join(agent.out_of_reach)))
    if closing:
        parts.append(CLOSING.format(why=LIMIT_WORDS.get(closing, closing)))
    return "\n\n".join(part for part in parts if part)
