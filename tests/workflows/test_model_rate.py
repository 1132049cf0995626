"""The keeper of a rate through a quarter of an hour, with a clock that skips: what it tells the server, and when."""

import sys
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from temporalio import activity
from temporalio.client import WorkflowHandle
from temporalio.exceptions import ApplicationError
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import Replayer, Worker

from activities.payloads import data_converter
from activities.sandbox import Sandbox
from workflows.rates.contracts import RateReport, RateState, RateTerms, SetRate
from workflows.rates.model_rate import ModelRate

TEST_SERVER = Path(sys.executable).with_name("temporal-test-server")
TERMS = RateTerms(requests_per_minute=600)
Keeper = WorkflowHandle[ModelRate, RateState]


class Told:
    """Takes orders as the server would, or refuses them."""

    def __init__(self, *, refuses: bool = False) -> None:
        self.rates: list[float | None] = []
        self._refuses = refuses

    @activity.defn
    async def set_rate(self, request: SetRate) -> None:
        self.rates.append(request.per_second)
        if self._refuses:
            raise ApplicationError("not here", type="RateNotSet", non_retryable=True)


@asynccontextmanager
async def keeping(told: Told, *reports: RateReport) -> AsyncIterator[Keeper]:
    async with await WorkflowEnvironment.start_time_skipping(
        test_server_existing_path=str(TEST_SERVER), data_converter=data_converter()
    ) as environment:
        queue = uuid.uuid4().hex
        async with Worker(
            environment.client,
            task_queue=queue,
            workflows=[ModelRate],
            activities=[told.set_rate],
            workflow_runner=Sandbox(),
        ):
            first, *others = reports
            handle: Any = await environment.client.start_workflow(
                ModelRate.run,
                RateState(queue="q", terms=TERMS),
                id="rate",
                task_queue=queue,
                start_signal="report",
                start_signal_args=[first],
            )
            for report in others:
                await handle.signal("report", report)
            yield handle
            replayer = Replayer(workflows=[ModelRate], workflow_runner=Sandbox(), data_converter=data_converter())
            await replayer.replay_workflow(await handle.fetch_history())


async def test_a_refusal_halves_the_rate_and_calm_brings_it_back_until_nothing_is_ordered_any_more() -> None:
    told = Told()
    async with keeping(told, RateReport(terms=TERMS, limited=4)) as keeper:
        state = await keeper.result()

        assert told.rates == [5.0, 7.5, None]
        assert (state.factor, state.set_to) == (1.0, None)


async def test_a_rate_made_of_tokens_is_taken_back_when_no_calls_are_made_any_more() -> None:
    told, terms = Told(), RateTerms(tokens_per_minute=60_000)
    async with keeping(told, RateReport(terms=terms, requests=10, tokens=5000)) as keeper:
        await keeper.result()

        assert told.rates == [2.0, None]


async def test_a_server_that_takes_no_rates_ends_nothing() -> None:
    told = Told(refuses=True)
    async with keeping(told, RateReport(terms=TERMS, limited=1)) as keeper:
        state = await keeper.result()

        assert told.rates == [5.0, 7.5]
        assert (state.factor, state.set_to) == (1.0, None)


@pytest.mark.parametrize("sent", ["no report", 17, {"limited": "many"}])
async def test_what_is_no_report_changes_nothing(sent: object) -> None:
    told = Told()
    async with keeping(told, RateReport(terms=TERMS, limited=1)) as keeper:
        await keeper.signal("report", sent)
        state = await keeper.result()

        assert (told.rates, state.factor) == ([5.0, 7.5, None], 1.0)
