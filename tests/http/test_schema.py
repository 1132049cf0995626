"""The API keeps to its own OpenAPI document, whatever is sent to it."""

import asyncio
from collections import Counter
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, Verbosity, given, settings
from schemathesis import APIOperation, Case, GenerationMode
from schemathesis.checks import (
    content_type_conformance,
    not_a_server_error,
    response_schema_conformance,
    status_code_conformance,
)
from schemathesis.core.result import Ok

from surefoot.http.access import Access
from surefoot.http.app import create_app
from surefoot.http.documents import document
from surefoot.http.serving import listen, serving
from tests.conftest import Host
from tests.workflows.gated import Ledger, call, ended, started, writer

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
Operation = APIOperation[Any, Any, Any, Any]
EXAMPLES = 5
FEW = settings(
    max_examples=EXAMPLES,
    deadline=None,
    database=None,
    derandomize=True,
    phases=[Phase.generate],
    verbosity=Verbosity.quiet,
    suppress_health_check=list(HealthCheck),
)


def send_anything(url: str, described: dict[str, Any], names: dict[str, str]) -> Counter[str]:
    """Sends what the document allows and what it does not to every operation; `names` are ids that there are."""
    sent: Counter[str] = Counter()
    schema = schemathesis.openapi.from_dict(described)
    for found in schema.get_all_operations():
        assert isinstance(found, Ok), found
        operation = found.ok()
        for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
            for known in ({}, names):
                keeps_to_it(operation, mode, known, url)
                sent[operation.label] += 1
    return sent


def keeps_to_it(
    operation: APIOperation[Any, Any, Any, Any], mode: GenerationMode, names: dict[str, str], url: str
) -> None:
    @FEW
    @given(case=operation.as_strategy(generation_mode=mode))
    def holds(case: Case[Any]) -> None:
        if isinstance(case.path_parameters, dict):
            case.path_parameters.update({name: id_ for name, id_ in names.items() if name in case.path_parameters})
        case.call_and_validate(base_url=url, checks=CHECKS, timeout=30)

    holds()


# Hypothesis sees that chance was used while it made a request: by a retry of the worker, in another thread.
@pytest.mark.filterwarnings("ignore:Do not use the `random` module inside strategies")
async def test_every_answer_is_one_that_the_document_describes(host: Host) -> None:
    agents = [writer("w", [call("save", key="a")], tools=[Ledger().tool()]), writer("done", tools=[])]
    async with host(*agents) as client:
        over = await client.start("done", "go")
        await ended(over)
        waiting, (pending,) = await started(client, "w")
        app = create_app(client, Access.open("me", ["finance"]))
        described = document(app)
        names = [{"job": over.id, "call": "c1-1"}, {"job": waiting.id, "call": pending.call}]
        async with serving(app, listen("127.0.0.1", 0)) as running:
            sent = await asyncio.to_thread(send_anything, running.url, described, names[0])
            without_streams = {**described, "paths": {p: d for p, d in described["paths"].items() if "events" not in p}}
            more = await asyncio.to_thread(send_anything, running.url, without_streams, names[1])

    operations = {f"{method.upper()} {path}" for path, of in described["paths"].items() for method in of}
    assert set(sent) == operations
    assert set(more) == {each for each in operations if "events" not in each}
