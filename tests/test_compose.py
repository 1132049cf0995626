"""The compose file, as far as it can be known without images.

Its shell scripts are run here, against a real server or in place of the image's commands.
"""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import yaml
from temporalio.api.enums.v1 import IndexedValueType
from temporalio.api.operatorservice.v1 import ListSearchAttributesRequest
from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest
from temporalio.client import Client as Temporal

from surefoot.embedded.server import DYNAMIC_CONFIG, SEARCH_ATTRIBUTES
from worker import Settings

ROOT = Path(__file__).parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
ONE_SHOTS = {"schema", "namespace"}


def with_defaults(value: Any) -> Any:
    """The compose file as it is with an empty environment."""
    if isinstance(value, str):
        return re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", value).replace("$$", "$")
    if isinstance(value, list):
        return [with_defaults(each) for each in value]
    if isinstance(value, dict):
        return {key: with_defaults(each) for key, each in value.items()}
    return value


COMPOSE: dict[str, Any] = with_defaults(yaml.safe_load((ROOT / "docker-compose.yml").read_text()))
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
WORKER = SERVICES["worker"]


def seconds(duration: str) -> float:
    assert duration.endswith("s")
    return float(duration[:-1])


# -- The compose file


def test_ports_are_published_on_this_machine_alone() -> None:
    published = {name: service["ports"] for name, service in SERVICES.items() if "ports" in service}

    assert published == {
        "temporal": ["127.0.0.1:7233:7233"],
        "ui": ["127.0.0.1:8080:8080"],
        "console": ["127.0.0.1:8230:8230"],
    }


@pytest.mark.parametrize("name", sorted(SERVICES.keys() - ONE_SHOTS))
def test_a_service_that_stays_has_a_health_check_and_comes_back(name: str) -> None:
    service = SERVICES[name]

    assert service["restart"] == "unless-stopped"
    assert service["healthcheck"]["test"][0] in ("CMD", "CMD-SHELL")
    assert {"interval", "timeout", "retries", "start_period"} <= service["healthcheck"].keys()


@pytest.mark.parametrize("name", sorted(ONE_SHOTS))
def test_a_service_that_ends_by_itself_is_not_started_again(name: str) -> None:
    assert "restart" not in SERVICES[name]
    assert "healthcheck" not in SERVICES[name]


def test_each_service_starts_when_what_it_needs_is_ready() -> None:
    order = {
        name: {needed: how["condition"] for needed, how in service.get("depends_on", {}).items()}
        for name, service in SERVICES.items()
    }

    assert order == {
        "postgres": {},
        "schema": {"postgres": "service_healthy"},
        "temporal": {"schema": "service_completed_successfully", "postgres": "service_healthy"},
        "namespace": {"temporal": "service_healthy"},
        "ui": {"temporal": "service_healthy"},
        "worker": {"namespace": "service_completed_successfully", "temporal": "service_healthy"},
        "console": {"namespace": "service_completed_successfully", "temporal": "service_healthy"},
    }


def test_what_has_to_survive_lies_in_named_volumes() -> None:
    assert COMPOSE["volumes"].keys() == {"postgres", "artifacts"}
    assert SERVICES["postgres"]["volumes"] == ["postgres:/var/lib/postgresql/data"]
    assert "artifacts:/var/lib/surefoot" in WORKER["volumes"]
    assert WORKER["environment"]["SUREFOOT_ARTIFACTS"].startswith("/var/lib/surefoot/")


def test_nothing_is_mounted_but_the_folder_of_apps_and_the_tokens_of_the_console() -> None:
    mounted = [
        volume
        for service in SERVICES.values()
        for volume in service.get("volumes", [])
        if volume.split(":")[0] not in COMPOSE["volumes"]
    ]

    assert mounted == ["./examples:/apps:ro", "./tokens.toml:/etc/surefoot/tokens.toml:ro"]


def test_the_console_asks_who_comes_and_is_started_when_wanted_alone() -> None:
    console = SERVICES["console"]
    command = console["command"]

    assert (console["profiles"], console["image"]) == (["console"], WORKER["image"])
    assert command[:2] == ["surefoot", "console"]
    assert command[command.index("--port") + 1] == console["ports"][0].rpartition(":")[2]
    assert console["environment"]["SUREFOOT_TOKENS"] == console["volumes"][0].split(":")[1]
    assert (console["cap_drop"], console["security_opt"]) == (WORKER["cap_drop"], WORKER["security_opt"])
    shared = WORKER["environment"].keys() & console["environment"].keys()
    without_default = {name for name in shared if not WORKER["environment"][name]}
    assert {"TEMPORAL_ADDRESS", "SUREFOOT_TASK_QUEUE", "SUREFOOT_ARTIFACTS", "SUREFOOT_LINK_SECRET"} <= shared
    assert without_default >= {"SUREFOOT_LINK_SECRET", "SUREFOOT_ENCRYPTION_KEYS"}
    assert console["environment"]["OPENAI_WEBHOOK_SECRET"] is None


@pytest.mark.parametrize("name", SERVICES)
def test_an_image_has_a_version_and_no_host(name: str) -> None:
    repository, _, version = SERVICES[name]["image"].partition(":")

    assert re.fullmatch(r"\d+(\.\d+)*", version)
    assert re.fullmatch(r"([a-z-]+/)?[a-z-]+", repository)


def test_the_schema_is_that_of_the_server() -> None:
    server = SERVICES["temporal"]["image"].split(":")[1]

    assert {SERVICES[name]["image"] for name in ONE_SHOTS} == {f"temporalio/admin-tools:{server}"}


def test_the_workers_image_has_the_version_of_the_package() -> None:
    assert WORKER["image"] == f"surefoot-worker:{PYPROJECT['project']['version']}"


def test_a_worker_has_longer_to_stop_than_it_gives_what_runs() -> None:
    assert seconds(WORKER["stop_grace_period"]) >= 2 * float(WORKER["environment"]["SUREFOOT_SHUTDOWN_SECONDS"])


def test_a_worker_has_no_rights_of_root() -> None:
    assert WORKER["cap_drop"] == ["ALL"]
    assert WORKER["security_opt"] == ["no-new-privileges:true"]


def test_nothing_keeps_workers_from_being_many() -> None:
    assert not {"container_name", "hostname", "ports", "network_mode"} & WORKER.keys()


def test_every_setting_of_a_worker_can_be_passed_to_it() -> None:
    settings = {f"SUREFOOT_{each.name.upper()}" for each in fields(Settings)}
    rest = {
        "SUREFOOT_APP",
        "SUREFOOT_TASK_QUEUE",
        "SUREFOOT_ENCRYPTION_KEYS",
        "SUREFOOT_WEBHOOK_SECRET",
        "SUREFOOT_LINK_SECRET",
        "SUREFOOT_CONSOLE_URL",
        "SUREFOOT_DEMO_LOG",
        "TEMPORAL_ADDRESS",
        "TEMPORAL_NAMESPACE",
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_BASE_URL",
        "OPENAI_API_KEY",
        "OPENAI_BASE_URL",
        "GEMINI_API_KEY",
        "GOOGLE_GEMINI_BASE_URL",
    }

    assert WORKER["environment"].keys() == settings | rest


def test_a_setting_that_is_not_set_stays_the_workers_own_default() -> None:
    empty = [name for name, value in WORKER["environment"].items() if value == ""]

    assert empty == []


def test_the_database_and_its_clients_share_one_password() -> None:
    text = (ROOT / "docker-compose.yml").read_text()

    assert re.findall(r"(\w+): \$\{POSTGRES_PASSWORD:-temporal\}", text) == [
        "POSTGRES_PASSWORD",
        "SQL_PASSWORD",
        "POSTGRES_PWD",
    ]


def test_the_temporal_command_does_not_ask_the_name_server_for_more_than_an_address() -> None:
    # temporalio/samples-server#136: it waits for the other answers until its time is over.
    assert SERVICES["namespace"]["environment"]["TEMPORAL_ADDRESS"] == "passthrough:///temporal:7233"


def test_the_default_app_is_an_example() -> None:
    assert (ROOT / "examples" / Path(WORKER["environment"]["SUREFOOT_APP"]).name).is_file()


def test_the_server_is_tuned_as_the_embedded_one() -> None:
    written = yaml.safe_load(SERVICES["temporal"]["environment"]["DYNAMIC_CONFIG"])
    embedded = {key: yaml.safe_load(value) for key, _, value in (line.partition("=") for line in DYNAMIC_CONFIG)}

    assert {key: constrained[0]["value"] for key, constrained in written.items()} == embedded


@pytest.mark.parametrize("command", [("docker-compose",), ("docker", "compose")], ids=" ".join)
def test_compose_accepts_the_file(command: tuple[str, ...], tmp_path: Path) -> None:
    if not shutil.which(command[0]) or subprocess.run([*command, "version"], capture_output=True).returncode:
        pytest.skip(f"`{' '.join(command)}` is not installed")

    run = subprocess.run(
        [*command, "--file", str(ROOT / "docker-compose.yml"), "config"],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "OPENAI_API_KEY": "from-the-environment"},
        capture_output=True,
        text=True,
    )

    assert run.returncode == 0, run.stderr
    environment = yaml.safe_load(run.stdout)["services"]["worker"]["environment"]
    assert environment["OPENAI_API_KEY"] == "from-the-environment"
    assert environment["ANTHROPIC_API_KEY"] is None


# -- Its scripts


def run_script(
    name: str, path: Path, edit: tuple[str, str] = ("", ""), **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run the service's command here; programs in `path` go before those of this machine."""
    service = SERVICES[name]
    line = [*service["entrypoint"], *(each.replace(*edit) for each in service["command"])]
    return subprocess.run(
        line,
        env={"PATH": f"{path}:{os.environ['PATH']}", **service["environment"], **environment},
        capture_output=True,
        text=True,
        timeout=60,
    )


def put_command(folder: Path, name: str, script: str) -> Path:
    file = folder / name
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)
    return file


def test_the_schema_of_both_databases_is_brought_to_the_servers_version(tmp_path: Path) -> None:
    put_command(tmp_path, "temporal-sql-tool", 'echo "$SQL_PLUGIN $SQL_HOST:$SQL_PORT $SQL_USER/$SQL_PASSWORD $*"')

    run = run_script("schema", tmp_path)

    to = "postgres12 postgres:5432 temporal/temporal"
    versions = "/etc/temporal/schema/postgresql/v12"
    assert run.stdout.splitlines() == [
        f"{to} --database temporal create-database",
        f"{to} --database temporal setup-schema --version 0.0",
        f"{to} --database temporal update-schema --schema-dir {versions}/temporal/versioned",
        f"{to} --database temporal_visibility create-database",
        f"{to} --database temporal_visibility setup-schema --version 0.0",
        f"{to} --database temporal_visibility update-schema --schema-dir {versions}/visibility/versioned",
    ]


def test_a_schema_that_fails_keeps_the_server_from_starting(tmp_path: Path) -> None:
    put_command(tmp_path, "temporal-sql-tool", 'echo "$3"; test "$3" != setup-schema')

    run = run_script("schema", tmp_path)

    assert run.stdout.split() == ["create-database", "setup-schema"]
    assert run.returncode == 1


def test_the_server_starts_with_its_dynamic_config_in_place(tmp_path: Path) -> None:
    entrypoint = put_command(tmp_path, "entrypoint.sh", 'cat "$DYNAMIC_CONFIG_FILE_PATH"')
    file = tmp_path / "dynamic-config.yaml"

    run = run_script(
        "temporal",
        tmp_path,
        ("/etc/temporal/entrypoint.sh", str(entrypoint)),
        DYNAMIC_CONFIG_FILE_PATH=str(file),
    )

    assert yaml.safe_load(run.stdout) == yaml.safe_load(SERVICES["temporal"]["environment"]["DYNAMIC_CONFIG"])


@pytest.mark.server
async def test_the_namespace_is_made_with_all_that_surefoot_needs_and_again_changes_nothing(
    temporal: Temporal,
) -> None:
    address = temporal.service_client.config.target_host
    for _ in range(2):
        run = run_script(
            "namespace",
            Path(sys.executable).parent,
            TEMPORAL_ADDRESS=address,
            TEMPORAL_NAMESPACE="compose",
            RETENTION="30d",
        )
        assert run.returncode == 0, run.stderr

    described = await temporal.workflow_service.describe_namespace(DescribeNamespaceRequest(namespace="compose"))
    listed = await temporal.operator_service.list_search_attributes(ListSearchAttributesRequest(namespace="compose"))
    assert described.config.workflow_execution_retention_ttl.ToTimedelta().days == 30
    types = {
        "Keyword": IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD,
        "KeywordList": IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD_LIST,
        "Datetime": IndexedValueType.INDEXED_VALUE_TYPE_DATETIME,
        "Double": IndexedValueType.INDEXED_VALUE_TYPE_DOUBLE,
        "Int": IndexedValueType.INDEXED_VALUE_TYPE_INT,
    }
    assert dict(listed.custom_attributes) == {name: types[kind] for name, kind in SEARCH_ATTRIBUTES.items()}
