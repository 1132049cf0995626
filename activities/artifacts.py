"""Keeps the whole of an output that is too long for a model, where a person can fetch it.

A folder that all workers and the command line share: `SUREFOOT_ARTIFACTS`, else `artifacts/` in `SUREFOOT_HOME`.
"""

import hashlib
import os
import re
from collections.abc import Mapping
from pathlib import Path

from workflows.contracts import Artifact


class ArtifactMissing(LookupError):
    """The whole of an output is not where it was put."""


class Artifacts:
    """Files under `folder`, one per call: `<job>/<call>.txt`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> "Artifacts":
        home = Path(environment.get("SUREFOOT_HOME") or ".surefoot")
        return cls(Path(environment.get("SUREFOOT_ARTIFACTS") or home / "artifacts"))

    def keep(self, job: str, call: str, text: str) -> Artifact:
        """Write `text`; doing so again for the same call replaces it."""
        path = self._folder / _safe(job) / f"{_safe(call)}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part")
        part.write_text(text, encoding="utf-8", newline="")
        part.replace(path)
        return Artifact(location=str(path.relative_to(self._folder)), chars=len(text))

    def read(self, artifact: Artifact) -> str:
        path = (self._folder / artifact.location).resolve()
        if not path.is_relative_to(self._folder.resolve()) or not path.is_file():
            raise ArtifactMissing(
                f"the whole output ({artifact.chars} characters) is not at {self._folder / artifact.location}:"
                " set SUREFOOT_ARTIFACTS to the folder that the worker wrote to"
            )
        with path.open(encoding="utf-8", newline="") as file:
            return file.read()


def _safe(name: str) -> str:
    """A job id as a file name: as it is where that is safe, else with a hash that keeps it unique."""
    plain = re.sub(r"[^A-Za-z0-9._-]", "_", name)[:80].lstrip(".")
    return plain if plain == name else f"{plain}-{hashlib.sha256(name.encode()).hexdigest()[:12]}"
