"""The keeper of one rate: hears what workers saw of the provider, and tells the server how fast calls may begin.

It lives while calls are made and ends when nothing was heard for a while. What it told the server it takes back then,
so that nothing is in force that no app file says any more.
"""

from datetime import timedelta

from temporalio import workflow
from temporalio.exceptions import ActivityError, is_cancelled_exception

from workflows import policies, steps
from workflows.failures import FAULTS, reason
from workflows.rates import pacing
from workflows.rates.contracts import MODEL_RATE, RateReport, RateState, SetRate
from workflows.received import received, unanswered

REST = timedelta(minutes=10)
"""How long nothing may be heard before it ends."""


@workflow.defn(name=MODEL_RATE, failure_exception_types=FAULTS)
class ModelRate:
    """Keeps one rate; its workflow id is made of queue and rate."""

    @workflow.init
    def __init__(self, state: RateState) -> None:
        self._state = state
        self._reports: list[RateReport] = []

    @workflow.run
    async def run(self, state: RateState) -> RateState:
        while True:
            while await self._news():
                await self._tell(pacing.wanted(self._state))
                if not self._reports and workflow.info().is_continue_as_new_suggested():
                    workflow.continue_as_new(self._state)
            await self._tell(None)
            if not self._reports:  # one may have come while the server was told
                return self._state

    async def _news(self) -> bool:
        """Wait until a worker reports or it is time to go faster again; False when neither will be."""
        state = self._state
        wait = REST if state.recover_at is None else max(timedelta(0), state.recover_at - workflow.now())
        try:
            await workflow.wait_condition(lambda: bool(self._reports), timeout=wait)
        except TimeoutError:
            if state.recover_at is None:
                return False
        pacing.recover(state, workflow.now())
        for report in self._reports:
            pacing.take(state, report, workflow.now())
        self._reports.clear()
        return True

    async def _tell(self, rate: float | None) -> None:
        state = self._state
        if not pacing.differs(state.set_to, rate):
            return
        why = f"surefoot: {state.factor:.0%} of the rate, {state.tokens_per_request or 0:.0f} tokens a call"
        request = SetRate(queue=state.queue, reason=why, **({} if rate is None else {"per_second": rate}))
        try:
            await workflow.execute_activity(steps.set_rate, request, **policies.RATE)
        except ActivityError as error:
            if is_cancelled_exception(error):
                raise
            # A server that can't be told keeps to what the workers say; the next change is tried again.
            workflow.logger.warning("the rate of %s was not changed: %s", state.queue, reason(error))
            return
        state.set_to = rate

    @workflow.query
    def state(self) -> RateState:
        return self._state

    @workflow.signal
    def report(self, *sent: object) -> None:
        """What a worker saw since its last report."""
        with unanswered():
            self._reports.append(received(RateReport, sent))
