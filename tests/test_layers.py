"""Imports go one way, workflow code stays pure, and each step that a workflow may ask for has its activity."""

import ast
import typing
from collections.abc import Iterator
from pathlib import Path

import pytest
from temporalio import activity
from temporalio.client import Client as Temporal

from activities.agents import Agent
from activities.apps import App
from activities.providers.scripted import Script
from worker import hosting
from workflows import contracts, steps

ROOT = Path(__file__).parent.parent
LAYERS = ["workflows", "activities", "worker", "surefoot"]
"""From the bottom: a module imports from its own layer and those below."""

PURE = {
    "asyncio", "collections", "contextlib", "dataclasses", "datetime", "enum", "functools", "hashlib", "itertools",
    "json", "math", "operator", "re", "types", "typing",
    "pydantic", "pydantic_core", "temporalio", "typing_extensions", "workflows",
}  # fmt: skip
"""All that workflow code may import: nothing that reads files, clocks, chance or the network."""

IMPURE_CALLS = {"open", "input", "print", "exec", "eval", "now", "utcnow", "today", "sleep"}
IMPURE_HOLDERS = {"datetime", "date"}


def modules(layer: str) -> list[Path]:
    path = ROOT / layer
    return sorted(path.rglob("*.py")) if path.is_dir() else [path.with_suffix(".py")]


def imports(tree: ast.AST) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: a relative import hides its layer"
            yield node.lineno, node.module or ""


def upwards(layer: str, tree: ast.AST) -> list[str]:
    above = LAYERS[LAYERS.index(layer) + 1 :]
    return [f"line {line}: {name}" for line, name in imports(tree) if name.split(".")[0] in [*above, "tests"]]


@pytest.mark.parametrize("layer", LAYERS)
def test_no_layer_imports_from_one_above(layer: str) -> None:
    found = {
        str(path.relative_to(ROOT)): wrong
        for path in modules(layer)
        if (wrong := upwards(layer, ast.parse(path.read_text(encoding="utf-8"))))
    }

    assert modules(layer)
    assert found == {}


def test_an_import_from_above_would_be_seen() -> None:
    assert upwards("workflows", ast.parse("def f():\n    from activities.tools.tool import tool")) == [
        "line 2: activities.tools.tool"
    ]
    assert upwards("activities", ast.parse("import surefoot.client, workflows.words")) == ["line 1: surefoot.client"]
    assert upwards("surefoot", ast.parse("import worker, activities, workflows")) == []


def test_contracts_are_imported_from_their_package_and_not_from_its_sections() -> None:
    found = [
        f"{path.relative_to(ROOT)} {line}: {name}"
        for path in (path for layer in LAYERS for path in modules(layer))
        if path.parent != ROOT / "workflows" / "contracts"
        for line, name in imports(ast.parse(path.read_text(encoding="utf-8")))
        if name.startswith("workflows.contracts.")
    ]

    assert found == []


def test_all_that_a_section_of_the_contracts_defines_is_in_their_package() -> None:
    defined = {
        name
        for path in (ROOT / "workflows" / "contracts").glob("*.py")
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        for name in _defined(node)
        if not name.startswith("_")
    }

    assert defined == set(contracts.__all__)


def _defined(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.ClassDef):
        return [node.name]
    return [name.id for name in node.targets if isinstance(name, ast.Name)] if isinstance(node, ast.Assign) else []


def impure(tree: ast.AST) -> list[str]:
    wrong = [f"line {line}: import {name}" for line, name in imports(tree) if name.split(".")[0] not in PURE]
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        called = node.func
        if isinstance(called, ast.Name) and called.id in IMPURE_CALLS:
            wrong.append(f"line {node.lineno}: {called.id}()")
        if isinstance(called, ast.Attribute) and called.attr in IMPURE_CALLS and _holder(called) in IMPURE_HOLDERS:
            wrong.append(f"line {node.lineno}: {_holder(called)}.{called.attr}()")
    return wrong


def _holder(called: ast.Attribute) -> str:
    return called.value.id if isinstance(called.value, ast.Name) else ""


def test_workflow_code_imports_nothing_that_reads_the_world() -> None:
    found = {
        path.name: wrong
        for path in modules("workflows")
        if (wrong := impure(ast.parse(path.read_text(encoding="utf-8"))))
    }

    assert found == {}


@pytest.mark.parametrize(
    "code", ["import os", "import openai", "from random import choice", "import time", "datetime.now()", "open('f')"]
)
def test_impure_workflow_code_would_be_seen(code: str) -> None:
    assert len(impure(ast.parse(code))) == 1


def signature(function: object) -> dict[str, object]:
    return typing.get_type_hints(function)


async def test_every_step_has_an_activity_of_the_same_name_and_types_and_the_other_way_round(
    temporal: Temporal,
) -> None:
    declared = {
        name: signature(function)
        for name, function in vars(steps).items()
        if hasattr(function, "__temporal_activity_definition")
    }
    app = App([Agent("a", Script([{"text": "x"}]))])
    async with hosting(temporal, app, task_queue="layers") as worker:
        hosted = {
            activity._Definition.must_from_callable(function).name: signature(function)
            for function in worker.config()["activities"]
        }

    assert "call_model" in declared
    assert hosted == declared
