"""What this worker sees of rated providers, counted here and reported now and then to the keeper of each rate.

A model call never waits for a report, and costs none of its own: reports carry the calls of some seconds. A rate
without a limit on tokens is reported only when the provider refused a call.
"""

import asyncio
import logging
from dataclasses import dataclass

from temporalio.client import Client
from temporalio.common import WorkflowIDConflictPolicy

from activities.rates.rate import Rate
from workflows.contracts import Usage
from workflows.rates.contracts import MODEL_RATE, RateReport, RateState, rated_queue

log = logging.getLogger(__name__)

REPORT_SECONDS = 10.0
"""How long measured calls are gathered."""

ALARM_SECONDS = 0.2
"""How long refused calls are gathered: they mostly come together."""


@dataclass
class _Counts:
    requests: int = 0
    tokens: int = 0
    limited: int = 0
    delay: float = 0.0


class RateMeter:
    """Counts for the rates of one app; `task_queue` is that of the app's jobs."""

    def __init__(self, client: Client, task_queue: str) -> None:
        self._client, self._task_queue = client, task_queue
        self._counts: dict[str, _Counts] = {}
        self._due: dict[str, asyncio.TimerHandle] = {}
        self._sending: set[asyncio.Task[None]] = set()

    def answered(self, rate: Rate, usage: Usage) -> None:
        """A call was answered."""
        if rate.terms.tokens_per_minute is None:
            return
        counts = self._counts.setdefault(rate.name, _Counts())
        counts.requests += 1
        counts.tokens += usage.tokens
        self._report_within(rate, REPORT_SECONDS)

    def refused(self, rate: Rate, delay: float | None) -> None:
        """The provider refused a call for coming too fast, and named a delay in seconds, or did not."""
        counts = self._counts.setdefault(rate.name, _Counts())
        counts.limited += 1
        counts.delay = max(counts.delay, delay or 0.0)
        self._report_within(rate, ALARM_SECONDS)

    async def close(self) -> None:
        """Bring reports under way to their end; what was not reported yet is of no use any more."""
        for due in self._due.values():
            due.cancel()
        await asyncio.gather(*self._sending, return_exceptions=True)

    def _report_within(self, rate: Rate, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        due = self._due.get(rate.name)
        if due is not None:
            if due.when() <= loop.time() + seconds:
                return
            due.cancel()
        self._due[rate.name] = loop.call_later(seconds, self._report, rate)

    def _report(self, rate: Rate) -> None:
        del self._due[rate.name]
        counts = self._counts.pop(rate.name)
        report = RateReport(
            terms=rate.terms,
            requests=counts.requests,
            tokens=counts.tokens,
            limited=counts.limited,
            **({"delay": counts.delay} if counts.delay else {}),
        )
        sending = asyncio.create_task(self._send(rate, report))
        self._sending.add(sending)
        sending.add_done_callback(self._sending.discard)

    async def _send(self, rate: Rate, report: RateReport) -> None:
        queue = rated_queue(self._task_queue, rate.name)
        try:
            await self._client.start_workflow(
                MODEL_RATE,
                RateState(queue=queue, terms=rate.terms),
                id=f"rate/{self._task_queue}/{rate.name}",
                task_queue=self._task_queue,
                id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
                start_signal="report",
                start_signal_args=[report],
            )
        except Exception as error:  # the next report says as much
            log.warning("rate %s: a report was not taken: %s", rate.name, error)
