"""Fixtures that run the example apps as they lie in examples/, without a key and with their files in a folder apart."""

import functools
import json
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest
from pydantic import JsonValue

from activities.apps import App, load_app
from activities.tools.tool import Tool
from surefoot.client import Client
from tests.conftest import Host

EXAMPLES = Path(__file__).parents[2] / "examples"

Load = Callable[[str], App]
Example = Callable[..., AbstractAsyncContextManager[Client]]
Log = Callable[[], list[dict[str, JsonValue]]]


@functools.cache
def tool_of(file: str, agent: str, name: str) -> Tool:
    """One tool of an example, to be called like the function that it is."""
    tool = load_app(EXAMPLES / file).agent(agent).tool(name)
    assert tool is not None
    return tool


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder that the examples write to."""
    for key in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "SUREFOOT_DEMO_SECONDS"):
        monkeypatch.delenv(key, raising=False)
    monkeypatch.setenv("COACH_GOALS", str(tmp_path / "goals"))
    monkeypatch.setenv("SUREFOOT_DEMO_LOG", str(tmp_path / "log" / "tools.jsonl"))
    path, modules = list(sys.path), set(sys.modules)
    yield tmp_path
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        if name == "models" or name.startswith(("grammar_", "overnight", "surefoot_app_")):
            del sys.modules[name]


@pytest.fixture
def load() -> Load:
    """Loads an example's app file anew."""
    return lambda file: load_app(EXAMPLES / file)


@pytest.fixture
def example(load: Load, host: Host, monkeypatch: pytest.MonkeyPatch) -> Example:
    """`async with example("coach.py") as client:` a worker for that app file."""

    @asynccontextmanager
    async def start(file: str, **options: object) -> AsyncIterator[Client]:
        app = load(file)
        monkeypatch.chdir(app.folder)  # `host` finds scripts from the current folder, a real worker from the app's
        async with host(*app.agents.values(), **options) as client:
            yield client

    return start


@pytest.fixture
def log(work: Path) -> Log:
    """Reads the side-effect log: one entry per tool that ran to its end."""

    def read() -> list[dict[str, JsonValue]]:
        file = work / "log" / "tools.jsonl"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []

    return read
