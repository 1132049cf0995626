"""Research that leads nowhere: whatever is asked, the search finds nothing, and each job still comes to an end.

    surefoot run --app examples/research.py research "Who built the lighthouse of Kellmar?"

The script asks the same again and again, which is no progress. Others show the other ways to end early:

    --model scripted:scripts/research_alternating.json                          two searches in turns: no progress
    --model scripted:scripts/research_wandering.json --limit rounds=3           the limit of rounds
    --model scripted:scripts/research_wandering.json --limit tool_calls=4       of tool calls
    --model scripted:scripts/research_wandering.json --limit tokens=2500        of tokens
    --model scripted:scripts/research_wandering.json --limit cost_usd=0.05      of cost
    --model scripted:scripts/research_slow.json      --limit seconds=1          of time

None of them is an error: the outcome says which limit it was, what was found, and that a person should look.
"""

from models import model
from surefoot import Agent, Limits, tool


@tool(read_only=True)
def search(query: str) -> str:
    """Search the archive.

    Args:
        query: a few words
    """
    return f"Nothing found for {query!r}."


research = Agent(
    "research",
    model("research_same.json"),
    instructions="You answer from the archive. Say what you searched for, and never guess.",
    tools=[search],
    limits=Limits(rounds=6, tool_calls=12, tokens=50_000, seconds=120, cost_usd=0.25),
)
