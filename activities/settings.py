"""What an operator may set for a worker, and how the environment says it."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from activities.artifacts import Artifacts
from activities.errors import DefinitionError
from activities.lanes.choosing import terms_from
from activities.timing import Timing
from workflows.lanes.contracts import LaneTerms


@dataclass(frozen=True)
class Settings(Timing):
    """What an operator may set for a worker, each by the environment variable `SUREFOOT_<NAME>`."""

    max_activities: int = 200
    max_cached_workflows: int = 750
    shutdown_seconds: float = 10.0
    sticky_seconds: float = 1.0
    artifacts: Artifacts = field(default_factory=Artifacts.from_environment)
    lane_terms: LaneTerms = field(default_factory=LaneTerms)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> "Settings":
        """What is not set has its default. Raises `DefinitionError`."""
        values: dict[str, Any] = {
            "artifacts": Artifacts.from_environment(environment),
            "lane_terms": terms_from(environment),
        }
        for each in fields(cls):
            name = f"SUREFOOT_{each.name.upper()}"
            if each.name in values or name not in environment:
                continue
            kind: Callable[[str], float] = float if each.type is float or each.type == "float" else int
            try:
                values[each.name] = kind(environment[name])
            except ValueError:
                raise DefinitionError(
                    f"{name}={environment[name]!r} is no number; the default is {each.default}"
                ) from None
        return cls(**values)
