"""What the worker's operator may set for all its agents."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Timing:
    """Fields of `AgentSpec`, by the same names."""

    heartbeat_seconds: float = 8.0
    retry_seconds: float = 1.0
    model_attempts: int = 6
    history_events: int = 4000
    adopt_seconds: float = 43_200.0
