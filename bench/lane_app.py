"""The app file of `bench.lane`: an agent for each provider, whose jobs look twice before they answer."""

from surefoot import Agent, tool


@tool(read_only=True)
def look() -> str:
    """Look."""
    return "seen"


openai = Agent("openai", "openai:gpt-4o", tools=[look])
anthropic = Agent("anthropic", "anthropic:claude-sonnet-4-5", tools=[look])
