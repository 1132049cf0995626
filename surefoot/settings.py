"""Where Surefoot keeps its state and which Temporal server it uses, read from the environment once.

Temporal's own settings decide the server: if the environment or a Temporal profile names an address,
that server is used, and otherwise the embedded one in `SUREFOOT_HOME`. A setting that only makes sense
with a remote server (API key, TLS, namespace) but comes without an address is refused: silently
starting a local server in its place would send jobs where nobody looks for them.
"""

import hashlib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from activities.errors import DefinitionError
from activities.seconds import read_seconds
from surefoot.errors import SurefootError

if TYPE_CHECKING:
    from temporalio.envconfig import ClientConnectConfig

EMBEDDED_NAMESPACE = "default"
DEFAULT_TASK_QUEUE = "surefoot"
DEFAULT_IDLE_SECONDS = 30.0


class SettingsError(SurefootError):
    """A setting that can't be used, as the person who set it should read it."""


@dataclass(frozen=True)
class Settings:
    """What the environment says. Paths are absolute; `idle_seconds` is how long an unused server stays up."""

    home: Path
    app: Path | None
    remote: "ClientConnectConfig | None"
    task_queue: str | None
    idle_seconds: float = DEFAULT_IDLE_SECONDS

    @property
    def embedded(self) -> bool:
        return self.remote is None

    def queue(self, app: Path | None = None) -> str:
        """The task queue of an app: its own on the embedded server, one shared name on a remote one."""
        if self.task_queue:
            return self.task_queue
        app = app or self.app
        if not self.embedded or app is None:
            return DEFAULT_TASK_QUEUE
        absolute = os.path.abspath(app)
        digest = hashlib.sha256(os.fsencode(absolute)).hexdigest()[:6]
        stem = re.sub(r"[^\w.-]", "-", Path(absolute).stem)[:40]
        return f"surefoot-{stem}-{digest}"

    def connect_config(self, embedded_address: str | None = None) -> "ClientConnectConfig":
        """Keyword arguments for `temporalio.client.Client.connect`.

        `embedded_address` is what a lease of the embedded server says; a remote server needs none.
        """
        if self.remote is not None:
            return self.remote
        if embedded_address is None:
            raise SettingsError("No Temporal server: take a lease of the embedded one, or set TEMPORAL_ADDRESS.")
        return {"target_host": embedded_address, "namespace": EMBEDDED_NAMESPACE, "tls": False}


def read_settings(environ: Mapping[str, str] | None = None, *, app: Path | None = None) -> Settings:
    """Settings from `environ` (the process's own by default); `app` is the command line's `--app`.

    Raises SettingsError for a value that can't be used.
    """
    env = os.environ if environ is None else environ
    named_app = app or (Path(env["SUREFOOT_APP"]) if env.get("SUREFOOT_APP") else None)
    return Settings(
        home=_absolute(Path(env.get("SUREFOOT_HOME") or ".surefoot"), "SUREFOOT_HOME"),
        app=_absolute(named_app, "the app file") if named_app else None,
        remote=_remote(env),
        task_queue=env.get("SUREFOOT_TASK_QUEUE") or None,
        idle_seconds=_idle_seconds(env),
    )


def _absolute(path: Path, what: str) -> Path:
    try:
        return Path(os.path.abspath(path.expanduser()))
    except (FileNotFoundError, RuntimeError) as problem:
        raise SettingsError(f"{what} is {str(path)!r}, which has no absolute path: {problem}.") from problem


def _idle_seconds(env: Mapping[str, str]) -> float:
    try:
        seconds = read_seconds("SUREFOOT_IDLE_SECONDS", env)
    except DefinitionError as problem:
        raise SettingsError(str(problem)) from problem
    return DEFAULT_IDLE_SECONDS if seconds is None else seconds


def _remote(env: Mapping[str, str]) -> "ClientConnectConfig | None":
    """What Temporal's own settings say about a server, or None if they name none."""
    from temporalio.envconfig import ClientConfigProfile

    file = env.get("TEMPORAL_CONFIG_FILE")
    if file and not os.path.exists(file):  # os.devnull is one
        # The SDK would go on as if nothing had been set.
        raise SettingsError(f"TEMPORAL_CONFIG_FILE is {file!r}, and there is no such file.")
    try:
        profile = ClientConfigProfile.load(override_env_vars=dict(env))
        if profile.address:
            return profile.to_client_connect_config()
    except (RuntimeError, ValueError, OSError) as problem:
        raise SettingsError(f"Temporal's settings can't be read: {problem}") from problem
    useless = [
        name
        for name, value in (
            ("an API key", profile.api_key),
            ("TLS", profile.tls and not profile.tls.disabled),
            (f"the namespace {profile.namespace!r}", profile.namespace not in (None, "", EMBEDDED_NAMESPACE)),
        )
        if value
    ]
    if useless:
        raise SettingsError(
            f"Temporal's settings give {' and '.join(useless)} but no address, and the embedded server has none of it. "
            "Set TEMPORAL_ADDRESS (or `address` in the profile), or remove the rest to use the embedded server."
        )
    return None
