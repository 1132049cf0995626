"""All scenarios: the main ways that a job can go, and with it the workflows that stand around jobs."""

from tests.histories.scenario import SCENARIOS
from tests.histories.scenarios import batches, gate, jobs, lanes, people, queues, rates, sub_agents

__all__ = ["SCENARIOS", "batches", "gate", "jobs", "lanes", "people", "queues", "rates", "sub_agents"]
