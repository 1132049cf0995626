"""Every example loads in a fresh interpreter, its scripts are usable, and a key chooses a real model."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from activities.providers.script import Script
from tests.examples.conftest import EXAMPLES, Load

APPS = {
    "calculator.py": "calculator",
    "coach.py": "coach",
    "grammar_tutor.py": "tutor",
    "overnight.py": "sorter",
    "research.py": "research",
    "support_desk.py": "support",
}
PARTS = {
    "models.py",
    "grammar_pupil.py",
    "grammar_score.py",
    "grammar_server.py",
    "overnight_lane.py",
    "overnight_reader.py",
}


def test_the_examples_are_all_tested_here() -> None:
    assert {file.name for file in EXAMPLES.glob("*.py")} == {*APPS, *PARTS}


@pytest.mark.parametrize("file", APPS)
def test_it_loads_in_a_fresh_interpreter_that_turns_warnings_into_errors(file: str) -> None:
    code = f"from activities.apps import load_app; print(*load_app({str(EXAMPLES / file)!r}).agents)"
    run = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)

    assert (run.returncode, run.stdout, run.stderr) == (0, f"{APPS[file]}\n", "")


@pytest.mark.parametrize("file", APPS)
def test_it_is_short_and_says_how_to_run_it(file: str) -> None:
    text = (EXAMPLES / file).read_text()

    assert 30 <= text.count("\n") <= 120
    assert f'surefoot run --app examples/{file} {APPS[file]} "' in text


@pytest.mark.parametrize(
    ("keys", "model"),
    [
        ({}, "scripted:scripts/coach.json"),
        ({"OPENAI_API_KEY": "k"}, "openai:gpt-5"),
        ({"ANTHROPIC_API_KEY": "k", "OPENAI_API_KEY": "k"}, "anthropic:claude-sonnet-4-6"),
        ({"ANTHROPIC_API_KEY": ""}, "scripted:scripts/coach.json"),
    ],
)
def test_a_key_chooses_a_real_model(
    keys: dict[str, str], model: str, load: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    for key, value in keys.items():
        monkeypatch.setenv(key, value)

    assert load("coach.py").agent("coach").model == model


# What the tutor's scripts say is held against its server in test_grammar_tutor.py.
SCRIPTS = [path for path in sorted(EXAMPLES.glob("scripts/*.json")) if not path.stem.startswith("grammar_tutor")]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_a_script_is_usable_and_calls_only_tools_that_its_example_has(script: Path, load: Load) -> None:
    [file] = [file for file in APPS if script.stem.startswith(file.removesuffix(".py"))]
    agent = load(file).agent(APPS[file])
    content = json.loads(script.read_text())
    replies = content if isinstance(content, list) else content["replies"]
    calls = [call for reply in replies for call in reply.get("calls", [])]
    Script.load(script)
    assert calls
    for call in calls:
        tool = agent.tool(call["tool"])

        assert tool is not None
        assert set(tool.validate(call["arguments"])) >= set(call["arguments"])
