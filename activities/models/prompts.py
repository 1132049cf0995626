"""The system prompt of a model call: the agent's own instructions, and what the loop has to say."""

from activities.agents import Agent
from activities.models import citations
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

SUMMING_UP = (
    "The conversation so far becomes too long to be sent again. What you write now takes its place, and you will go on"
    " with the work from that alone, so write down all that the work still needs. No tool can be called now."
)
SUM_UP = (
    "Sum up everything before this message, for yourself, to go on from. Keep, each as exactly as it was:\n"
    "- what the person asked for, and everything that the person wished, allowed or forbade\n"
    "- decisions, and why they were made; what people approved or denied\n"
    "- facts, numbers, names, ids, paths, links and dates that tools returned, with the references of their results if"
    " these have some\n"
    "- what was changed outside, so that nothing is done twice\n"
    "- what was tried and failed, so that it is not tried again\n"
    "- what is still open, and what was to be done next\n"
    "Leave out what no longer matters. Write plain text, and do not go on with the work itself."
)
LEFT_OUT = "{count} entries of the conversation stood here. They are left out: it is too long even to be summed up."


def summary_instructions(agent: Agent) -> str:
    """The instructions of a call that sums up for compaction; `SUM_UP` is what it is asked."""
    return "\n\n".join(part for part in (agent.instructions, SUMMING_UP) if part)


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
