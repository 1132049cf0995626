"""An app: the agents that a Python file defines, its queues, and the budgets of tenants.

The file runs anew in every process that loads it, so what it does on import, each worker does.
"""

import difflib
import hashlib
import importlib.machinery
import importlib.util
import sys
import traceback
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import TypeVar

from activities.agents import Agent
from activities.budgets.tenant_budget import TenantBudget, checked_budgets
from activities.errors import DefinitionError, UnknownAgent
from activities.queues.queue import Queue, queue_named, queues_of
from activities.rates.rate import rates_of
from activities.tools.agent_tool import AgentTool

T = TypeVar("T")
OWN_PACKAGES = ("surefoot", "activities", "workflows", "worker")


class App:
    """Agents by name. `folder` is where the app file lies: relative paths in it are meant from there."""

    def __init__(
        self,
        agents: Iterable[Agent],
        folder: Path | None = None,
        *,
        tenant_budgets: Iterable[TenantBudget] = (),
        queues: Iterable[Queue] = (),
    ) -> None:
        self.folder = Path.cwd() if folder is None else folder
        self.agents: dict[str, Agent] = {}
        for agent in _with_those_they_ask(agents):
            if self.agents.setdefault(agent.name, agent) is not agent:
                raise DefinitionError(f"Two agents have the name {agent.name!r}. Rename one of them.")
        self.rates = rates_of(agent.rate for agent in self.agents.values())
        self.tenant_budgets = checked_budgets(tenant_budgets)
        self.queues = queues_of(queues)

    def agent(self, name: str) -> Agent:
        """The agent of this name; raises `UnknownAgent`."""
        if name in self.agents:
            return self.agents[name]
        near = difflib.get_close_matches(name, self.agents, 1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise UnknownAgent(
            f"There is no agent {name!r}.{hint} The app has: {', '.join(sorted(self.agents)) or 'none'}."
        )

    def queue(self, name: str) -> Queue:
        """The queue of this name; raises `DefinitionError`."""
        return queue_named(self.queues, name)


def _with_those_they_ask(agents: Iterable[Agent]) -> Iterator[Agent]:
    """The agents, and those that are tools of theirs: an app file need not name them."""
    for agent in agents:
        yield agent
        yield from _with_those_they_ask(tool.agent for tool in agent.tools if isinstance(tool, AgentTool))


def load_app(path: str | Path) -> App:
    """Run an app file and collect its agents; raises `DefinitionError` if it can't be used.

    The file's folder comes first on `sys.path`, so that it can import its neighbours. Its module has a name of
    its own, made from its path: files of one name in two folders don't clash, and `__main__` blocks don't run.
    """
    file = Path(path).expanduser().resolve()
    _check_file(file, str(path))
    if str(file.parent) not in sys.path:
        sys.path.insert(0, str(file.parent))
    module = _run(file)
    found = list(_named(module, Agent))
    if not found:
        raise DefinitionError(
            f"{file} defines no agent. Write one at the top level of the file: agent = Agent('name', model='…')."
        )
    _refuse_doubles(file, found)
    budgets = [budget for _, budget in _named(module, TenantBudget)]
    queues = [queue for _, queue in _named(module, Queue)]
    return App((agent for _, agent in found), folder=file.parent, tenant_budgets=budgets, queues=queues)


def _check_file(file: Path, given: str) -> None:
    if file.is_dir():
        raise DefinitionError(f"{given} is a folder. Give the Python file in it that defines the agents.")
    if not file.is_file():
        looked = f" (looked at {file})" if given != str(file) else ""
        raise DefinitionError(f"There is no file {given}{looked}. Give the Python file that defines the agents.")
    if file.stem in OWN_PACKAGES:
        raise DefinitionError(
            f"{file.name} has the name of a package of Surefoot, which it would hide. Rename the file."
        )


def _run(file: Path) -> ModuleType:
    name = f"surefoot_app_{hashlib.sha256(str(file).encode('utf-8', 'surrogateescape')).hexdigest()[:12]}"
    loader = importlib.machinery.SourceFileLoader(name, str(file))
    spec = importlib.util.spec_from_file_location(name, file, loader=loader)
    assert spec is not None  # it is None only without a loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise DefinitionError(f"{file} can't be loaded:\n{_own_lines(error, file)}") from error
    return module


def _own_lines(error: BaseException, file: Path) -> str:
    """The traceback as the user's own lines: without Python's importing above them and Surefoot's checks below."""
    frames = traceback.extract_tb(error.__traceback__)
    while frames and frames[0].filename != str(file):
        del frames[0]
    ours = str(Path(__file__).parent)
    shown = [frame for frame in frames if not frame.filename.startswith((ours, "<frozen importlib"))]
    return "".join(traceback.format_list(shown) + traceback.format_exception_only(error)).rstrip()


def _named(module: ModuleType, kind: type[T]) -> Iterator[tuple[str, T]]:
    """Each value of this kind that the file names at its top level, alone or in a list, once, with its place."""
    seen: set[int] = set()
    for name, value in vars(module).items():
        values = (
            value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple | set) else [value]
        )
        for each in values:
            if isinstance(each, kind) and id(each) not in seen:
                seen.add(id(each))
                yield name, each


def _refuse_doubles(file: Path, found: list[tuple[str, Agent]]) -> None:
    places: dict[str, str] = {}
    for place, agent in found:
        if agent.name in places:
            where = f"{places[agent.name]} and {place}"
            raise DefinitionError(f"{file}: two agents have the name {agent.name!r} ({where}). Rename one of them.")
        places[agent.name] = place
