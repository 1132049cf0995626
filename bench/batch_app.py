"""The app file of `bench.batches`: an agent whose jobs end after one model call."""

from activities.agents import Agent
from activities.providers.scripted import Script

talker = Agent("talker", Script([{"text": "hello"}]))
