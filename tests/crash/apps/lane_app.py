"""An agent for each provider that has a batch API; the servers that they ask are in the environment."""

from surefoot import Agent

openai = Agent("openai", "openai:gpt-4o")
anthropic = Agent("anthropic", "anthropic:claude-sonnet-4-5")
