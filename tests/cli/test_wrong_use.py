"""Wrong use is told at once, with exit code 2, in the words of who made the mistake, and starts nothing."""

import json
from typing import Any

import click
import pytest

from activities.apps import App
from activities.providers.scripted import Script
from surefoot.cli.models import check_models
from surefoot.cli.questions import arguments_from
from surefoot.cli.run_options import limits_from
from tests.cli.running import APPS, Place, until
from workflows.contracts import Limits

NOWHERE = "http://127.0.0.1:1"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run", "shpo", "x"], "There is no agent 'shpo'. Did you mean 'shop'? The app has: bank, boss"),
        (["run", "plain", ""], "the input is empty"),
        (["run", "plain", "-"], "the input is empty"),
        (["run", "plain", "x", "--id", "ü" * 501], "--id has to have 1 to 1000 bytes, this one has 1002"),
        (["run", "plain", "x", "--id", "--help"], "--id '--help': it may not begin with a dash"),
        (
            ["run", "plain", "x", "--id", "two\nlines"],
            r"--id 'two\nlines': it may not begin with a dash, nor hold what",
        ),
        (["run", "plain", "x", "--approve", "maybe"], "'maybe' is not one of 'ask', 'none', 'all'"),
        (["run", "plain", "x", "--model", "scripted:no.json"], "can't be read (No such file or directory)"),
        (["run", "plain", "x", "--app", "nowhere.py"], "nowhere.py. Give the Python file that defines the agents."),
        (["run"], "Missing argument 'AGENT'. See: surefoot run --help"),
        (["approve", "job", "call", "--args", "{"], "the arguments are no JSON"),
        (["resolve", "job", "call"], "say one of --happened RESULT, --not-happened, --give-up"),
        (["shwo"], "there is no command 'shwo'. Did you mean 'show'?"),
        (["xyz"], "there is no command 'xyz'. See: surefoot --help"),
        (["show", "nothing"], "there are no jobs in "),
    ],
)
def test_what_is_wrong_is_said_and_nothing_starts(place: Place, arguments: list[str], said: str) -> None:
    ended = place.run(*arguments)

    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err
    assert "Traceback" not in ended.err
    assert not place.home.exists()


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        (["run", "shpo", "x"], "UnknownAgent"),
        (["run", "plain", ""], "WrongUse"),
        (["run", "plain", "x", "--odd"], "WrongUse"),
        (["show", "nothing"], "NoJobs"),
        (["shwo"], "WrongUse"),
    ],
)
def test_with_json_an_error_is_one_document_too(place: Place, arguments: list[str], kind: str) -> None:
    ended = place.run(*arguments, "--json")
    document = json.loads(ended.out)

    assert (ended.code, document["kind"], document["exit_code"]) == (2, kind, 2)
    assert document["error"] in ended.err


def test_without_an_app_a_run_says_how_to_name_one(place: Place) -> None:
    ended = place.run("run", "shop", "x", SUREFOOT_APP="")

    assert (ended.code, ended.out) == (2, "")
    assert "no app file: name the file that defines your agents with --app FILE or SUREFOOT_APP" in ended.err


def test_a_broken_app_is_told_in_its_own_lines(place: Place) -> None:
    ended = place.run("run", "shop", "x", SHOP_IS_BROKEN="1")

    assert ended.code == 2
    assert 'sys.modules[""].nothing' in ended.err
    assert "KeyError: ''" in ended.err
    assert "activities/apps.py" not in ended.err


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({"SUREFOOT_IDLE_SECONDS": "soon"}, "SUREFOOT_IDLE_SECONDS is 'soon'"),
        ({"TEMPORAL_API_KEY": "secret"}, "Temporal's settings give an API key but no address"),
        ({"TEMPORAL_ADDRESS": "127.0.0.1:1", "SUREFOOT_ENCRYPTION_KEYS": "?"}, "SUREFOOT_ENCRYPTION_KEYS"),
    ],
)
def test_a_setting_that_can_not_be_used_is_named(place: Place, environment: dict[str, Any], said: str) -> None:
    ended = place.run("jobs", **environment)

    assert ended.code == 2
    assert said in ended.err
    assert "Traceback" not in ended.err


def test_without_a_command_the_help_is_shown(place: Place) -> None:
    ended = place.run()

    assert (ended.code, ended.out) == (2, "")
    assert "Start a job, follow it, and print its answer." in ended.err


def test_limits_are_read_by_name() -> None:
    assert limits_from(("rounds=3", "cost_usd=0.5", "tool_calls=none")) == Limits(
        rounds=3, cost_usd=0.5, tool_calls=None
    )
    assert limits_from(()) is None


@pytest.mark.parametrize(
    ("limit", "said"),
    [
        ("round=3", "--limit round=3: write NAME=VALUE with NAME one of rounds, tool_calls, tokens, seconds, cost_usd"),
        ("rounds", "--limit rounds: write NAME=VALUE with NAME one of rounds, tool_calls, tokens, seconds, cost_usd"),
        ("rounds=-1", "--limit rounds=-1: it has to be 0 or more"),
        ("rounds=1.5", "--limit rounds=1.5: it has to be a whole number"),
        ("rounds=", "--limit rounds=: it has to be a whole number"),
        ("seconds=nan", "--limit seconds=nan: it has to be 0 or more"),
    ],
)
def test_a_limit_that_is_none_says_why(limit: str, said: str) -> None:
    with pytest.raises(click.UsageError) as refused:
        limits_from((limit,))

    assert refused.value.message.startswith(said)


@pytest.mark.parametrize("text", ['{"a": NaN}', "{'a': 1}", '{"a": 1', b"\xff{}", "[" * 100_000])
def test_arguments_have_to_be_json(text: str | bytes) -> None:
    with pytest.raises(click.UsageError, match="the arguments are no JSON"):
        arguments_from(text)


def test_arguments_have_to_be_an_object() -> None:
    with pytest.raises(click.UsageError, match="the arguments must be a JSON object, not list"):
        arguments_from("[1]")


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("scripted:nothing.json", r"model scripted:nothing.json: .*can't be read \(No such file or directory\)"),
        ("scripted:shop.py", r"shop.py: is no JSON"),
        ("gpt-5", "a model is written as one of anthropic:…"),
        ("openai:", "a model is written as one of"),
    ],
)
def test_a_model_that_no_worker_could_run_is_told_before_a_job_begins(model: str, said: str) -> None:
    app = App([], folder=APPS)

    with pytest.raises(click.UsageError, match=said):
        check_models(app, ["scripted:plain.json", "anthropic:any", Script([]), model])


REAL = """
from surefoot import Agent
real = Agent("real", ["anthropic:claude-sonnet-4-6", "openai:gpt-5"])
"""


def test_without_a_key_for_its_model_a_run_says_which_one_and_starts_nothing(place: Place) -> None:
    (place.folder / "real.py").write_text(REAL)

    first = place.run("run", "real", "x", "--app", "real.py")
    chosen = place.run("run", "real", "x", "--app", "real.py", "--model", "openai-chat:gpt-5", ANTHROPIC_API_KEY="x")

    assert (first.code, chosen.code) == (2, 2)
    assert "anthropic:claude-sonnet-4-6 is to be asked by a worker with this environment, and ANTHROPIC_API_KEY is" in (
        first.err
    )
    assert "export ANTHROPIC_API_KEY=…, or try it without a key" in first.err
    assert "--model scripted:FILE.json" in first.err
    assert "OPENAI_API_KEY is not set" in chosen.err
    assert not place.home.exists()


def test_a_key_that_only_the_sdk_finds_counts(place: Place) -> None:
    (place.folder / "real.py").write_text(REAL)
    place.environment |= {"ANTHROPIC_AUTH_TOKEN": "x", "ANTHROPIC_BASE_URL": NOWHERE}

    ended = place.run("run", "real", "x", "--app", "real.py", "--id", "ours", "--detach")

    assert (ended.code, ended.out) == (0, "ours\n")


def test_a_key_for_somebody_elses_worker_is_not_asked_for(place: Place) -> None:
    (place.folder / "real.py").write_text(REAL)

    ended = place.run("run", "real", "x", "--app", "real.py", TEMPORAL_ADDRESS="127.0.0.1:1")

    assert ended.code == 5
    assert "ANTHROPIC_API_KEY" not in ended.err


def test_a_worker_that_is_up_has_keys_of_its_own(place: Place) -> None:
    (place.folder / "real.py").write_text(REAL)
    place.start("worker", "--app", "real.py", ANTHROPIC_API_KEY="x", ANTHROPIC_BASE_URL=NOWHERE)
    until(place.workers, seconds=60)

    ended = place.run("run", "real", "x", "--app", "real.py", "--id", "theirs", "--detach")

    assert (ended.code, ended.out) == (0, "theirs\n")
