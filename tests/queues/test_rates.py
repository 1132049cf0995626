"""Rates on a real server, against a provider that counts and refuses what comes too fast."""

import asyncio
import threading
import time
from collections import deque
from dataclasses import replace
from typing import Any

import pytest
from temporalio.client import Client as Temporal
from temporalio.service import RPCError, RPCStatusCode

from activities.agents import Agent
from activities.apps import App
from activities.providers.protocol import ModelRequest
from activities.providers.script import Script
from activities.rates.rate import Rate
from surefoot.client import Client
from tests.conftest import QUICK, Host
from tests.replaying import assert_replays
from tests.waiting import until
from worker import hosting
from workflows.rates.contracts import RateState

WINDOW = 1.0


class Provider:
    """Answers so many calls in any second, and refuses the others as a provider does."""

    def __init__(self, per_second: int, tokens: int = 10) -> None:
        self._most, self._tokens = per_second, tokens
        self._answered: deque[float] = deque()
        self._lock = threading.Lock()
        self.refused = 0
        self.answered = 0

    def __call__(self, _: ModelRequest) -> dict[str, Any]:
        with self._lock:
            now = time.monotonic()
            while self._answered and self._answered[0] <= now - WINDOW:
                self._answered.popleft()
            if len(self._answered) >= self._most:
                self.refused += 1
                return {"error": {"kind": "RateLimited", "message": "slow down", "delay": 0.5}}
            self._answered.append(now)
            self.answered += 1
            return {"text": "done", "usage": {"input_tokens": self._tokens, "output_tokens": 0}}


def asker(provider: Provider, rate: Rate | None) -> Agent:
    return Agent("asker", Script(provider), rate=rate)


async def statuses(client: Client, count: int) -> list[str]:
    jobs = await asyncio.gather(*(client.start("asker", f"go {n}") for n in range(count)))
    return [outcome.status for outcome in await asyncio.gather(*(job.outcome() for job in jobs))]


def kept(client: Client, rate: str) -> Any:
    """The keeper of a rate, as a question for `until`."""
    handle = client.temporal.get_workflow_handle(f"rate/{client.task_queue}/{rate}")

    async def state() -> RateState:
        try:
            found: RateState = await handle.query("state", result_type=RateState)
        except RPCError as error:
            if error.status != RPCStatusCode.NOT_FOUND:
                raise
            # Nothing was reported yet.
            return RateState(queue="")
        return found

    return state


async def test_all_workers_together_keep_to_the_rate(temporal: Temporal) -> None:
    provider = Provider(per_second=20)  # the server lets a second's worth through at once, to begin with
    app = App([asker(provider, Rate("local", requests_per_minute=480))])
    client = Client(temporal, task_queue="together")
    other = await Temporal.connect(temporal.service_client.config.target_host, data_converter=temporal.data_converter)
    async with (
        hosting(temporal, app, task_queue="together", settings=QUICK),
        hosting(other, app, task_queue="together", settings=QUICK),
    ):
        ends = await statuses(client, 40)

    assert ends == ["complete"] * 40
    assert provider.answered == 40
    assert provider.refused <= 3  # a busy machine may hand on in one second what was given out in two


async def test_a_rate_above_the_providers_slows_down_and_no_job_fails_by_it(host: Host) -> None:
    provider = Provider(per_second=5)
    two_attempts = replace(QUICK, model_attempts=2)
    rate = Rate("hasty", requests_per_minute=1800)
    async with host(asker(provider, rate), settings=two_attempts) as client:
        ends = await statuses(client, 60)
        state = await until(kept(client, "hasty"), lambda state: state.set_to is not None)

        assert ends == ["complete"] * 60
        assert state.factor < 1.0
        assert state.set_to == pytest.approx(30 * state.factor)
        # At 30 a second instead of 5 some 60 come too fast until the server knows of the first step down, 30 until it
        # knows of the second and 8 until the third; without steps it would be 300. The rest is for a busy machine.
        assert 0 < provider.refused <= 150


async def test_without_a_rate_the_same_provider_makes_jobs_fail(host: Host) -> None:
    provider = Provider(per_second=5)
    async with host(asker(provider, None), settings=replace(QUICK, model_attempts=2)) as client:
        ends = await statuses(client, 60)

        assert ends.count("model_failure") > 10


async def test_the_tokens_that_answers_use_set_the_rate(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("activities.rates.meter.REPORT_SECONDS", 0.1)
    provider = Provider(per_second=1000, tokens=500)
    async with host(asker(provider, Rate("tokens", tokens_per_minute=600_000))) as client:
        jobs = [await client.start("asker", f"go {n}") for n in range(3)]
        ends = [(await job.outcome()).status for job in jobs]
        state = await until(kept(client, "tokens"), lambda state: state.set_to is not None)
        await assert_replays(client.temporal, jobs[0].id)

        assert ends == ["complete"] * 3
        assert (state.tokens_per_request, state.set_to) == (500.0, 20.0)
