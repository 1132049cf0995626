"""`python -m bench.lane`: how many provider batches jobs of three rounds take, and what faults make of that.

The providers are the stand-ins of examples/, in this process; each has a worker, a process of its own. All cases of a
provider go through one lane, one after the other. `make bench-lane` puts examples/ on the path.
"""

import argparse
import asyncio
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from temporalio.client import Client as Temporal

import worker
from bench.command import machine
from bench.lane_answers import LOOKS, messages_answer, responses_answer
from bench.processes import a_process
from bench.report import Target
from bench.server import running
from stand_ins.anthropic_batches import AnthropicStandIn
from stand_ins.books import FAULTS, Answer, Books
from stand_ins.openai_batches import OpenAIStandIn
from stand_ins.serving import serving
from surefoot.batches import Batch, results
from surefoot.batches.submitting import submit
from surefoot.client import Client
from workflows.batches.contracts import BatchLine, BatchOrder
from workflows.lanes.contracts import LaneTerms

ROUNDS = LOOKS + 1
RESCUES = 1
"""How many provider batches one fault may cost."""

ANSWERS: dict[str, Answer] = {"openai": responses_answer, "anthropic": messages_answer}
OF_FILES = ("file_not_found", "token_limit", "no_output_file", "no_files")
"""Faults that only an API with files has."""

TERMS = LaneTerms(quiet=0.5, longest_look=1.0, poll=0.2, longest_poll=1.0, settle=1.0, pause=0.5, longest_pause=2.0)


@dataclass(frozen=True)
class Case:
    """What came of so many jobs at a provider with a fault, or without one."""

    api: str
    fault: str | None
    jobs: int
    done: int
    batches: int
    alone: int
    requests: int
    most_billed: int

    @property
    def rescues(self) -> int:
        return 0 if self.fault is None else RESCUES

    def __str__(self) -> str:
        return f"{self.api}, {self.fault or 'no fault'}"


async def measure(address: str, folder: Path, jobs: int, few: int) -> list[Case]:
    """`jobs` at each provider without a fault, then `few` with each fault; both providers at the same time."""
    client = await worker.connect(target_host=address)
    measured = await asyncio.gather(*(_provider(client, address, folder, api, jobs, few) for api in ANSWERS))
    return [case for cases in measured for case in cases]


async def _provider(temporal: Temporal, address: str, folder: Path, api: str, jobs: int, few: int) -> list[Case]:
    books = Books(ANSWERS[api])
    app = AnthropicStandIn(books).app if api == "anthropic" else OpenAIStandIn(books).app
    client = Client(temporal, task_queue=f"bench-lane-{api}")
    line = [sys.executable, "-m", "worker", "--app", str(Path(__file__).with_name("lane_app.py"))]
    line += ["--task-queue", client.task_queue]
    async with serving(app) as port:
        environment = {"TEMPORAL_ADDRESS": address, **_environment(api, port)}
        with a_process(line, folder / f"{api}.log", **environment):
            cases = [await _case(client, books, api, None, jobs)]
            for fault in _faults(api):
                cases.append(await _case(client, books, api, fault, few))
    return cases


def _environment(api: str, port: int) -> dict[str, str]:
    base = f"http://127.0.0.1:{port}" + ("/v1" if api == "openai" else "")
    return {
        f"{api.upper()}_BASE_URL": base,
        f"{api.upper()}_API_KEY": "none-needed",
        "NO_PROXY": "127.0.0.1",
        "SUREFOOT_LANE_TERMS": TERMS.model_dump_json(),
    }


def _faults(api: str) -> list[str]:
    return [fault for fault in FAULTS if api == "openai" or fault not in OF_FILES]


async def _case(client: Client, books: Books, api: str, fault: str | None, jobs: int) -> Case:
    id = f"{api}-{fault or 'none'}"
    before = len(books.batches)
    books.billed.clear()
    books.alone.clear()
    if fault is not None:
        books.faults[fault] = 1
    # Each message is another one, so that a request is known by its body.
    lines = (BatchLine(number=n, custom_id=f"id-{n}", input=f"{id}: look for {n}") for n in range(1, jobs + 1))
    order = BatchOrder(agent=api, lane="batch")
    await submit(client.temporal, client.task_queue, lines, order, id=id, digest=id, concurrency=jobs)
    await client.temporal.get_workflow_handle(id).result()
    rows = [row async for row in results(Batch(client.temporal, id))]
    assert fault is None or books.faults[fault] == 0, f"{fault} was not shown"
    case = Case(
        api=api,
        fault=fault,
        jobs=jobs,
        done=sum(row.status == "complete" for row in rows),
        batches=len(books.batches) - before,
        alone=len(books.alone),
        requests=len(books.billed),
        most_billed=books.most_billed,
    )
    sys.stderr.write(f"  {_target(case)}\n")
    return case


def _target(case: Case) -> Target:
    most = ROUNDS + case.rescues
    seen = f"{case.done} done, {case.batches} batches, {case.requests} requests, {case.alone} of them sent alone"
    once = (case.requests, case.most_billed) == (case.jobs * ROUNDS, 1)
    return Target(
        f"{case}, {case.jobs} × {ROUNDS}: at most {most} provider batches, each request billed once",
        f"{seen}, billed at most {case.most_billed} ×",
        case.done == case.jobs and case.batches <= most and once,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=200, metavar="N", help="how many jobs each provider has")
    parser.add_argument("--few", type=int, default=20, metavar="N", help="how many jobs it has with each fault")
    options = parser.parse_args()
    with (
        running() as server,
        tempfile.TemporaryDirectory(prefix="surefoot-bench-") as folder,
        asyncio.Runner(loop_factory=worker.loop_factory()) as runner,
    ):
        cases = runner.run(measure(server.address, Path(folder), options.jobs, options.few))
    sys.stdout.write("".join(f"{line}\n" for line in (machine(), "", *map(_target, cases))))


if __name__ == "__main__":
    main()
