"""One provider batch, from the intent to the last answer that was handed back.

Its start is the record of the intent: its id is in what the provider keeps. Whatever happens to workers meanwhile, it
goes on where it stood, and what it began is asked for and never begun anew.
"""

from datetime import timedelta

from temporalio import workflow
from temporalio.exceptions import ActivityError, ApplicationError

from workflows import policies, steps
from workflows.failures import FAULTS, reason
from workflows.lanes.contracts import (
    PROVIDER_BATCH,
    HandBack,
    HandedBack,
    LaneBack,
    LookAtBatch,
    ProviderOrder,
    SubmitBatch,
    Submitted,
)
from workflows.showing import BATCH

GROWTH = 1.5
RESULTS_HOURS = policies.LANE_HOURS + 6
"""Until when results are asked for; no job waits for them any more then."""

LEAST = timedelta(minutes=1)
"""What a step has in any case."""

HEEDS_LOOK = "provider-batch-heeds-look"
ID_CHARS = 100
"""Longest id by which a provider's batch is found: much longer ones the server would refuse, and this wait for ever."""


@workflow.defn(name=PROVIDER_BATCH, failure_exception_types=FAULTS)
class ProviderBatch:
    """The provider batch of this workflow's id."""

    def __init__(self) -> None:
        self._intent = workflow.info().workflow_id
        self._to_look = False

    @workflow.run
    async def run(self, order: ProviderOrder) -> HandedBack:
        came = await self._came_to(order)
        await self._tell(order, LaneBack(intent=self._intent, again=came.again, pause=came.pause, books=came.books))
        return came

    async def _came_to(self, order: ProviderOrder) -> HandedBack:
        while True:
            try:
                if order.batch is None:
                    submitted = await self._submit(order)
                    order = _sent(order, submitted)
                    if order.batch is None:
                        return await self._not_sent(order, submitted)
                await self._wait(order)
                await self._tell(order, LaneBack(intent=self._intent, returning=True))
                came = await self._hand_back(order)
            except ActivityError as error:
                return await self._hand_back(order, alone=f"the provider batch came to nothing: {reason(error)}")
            if not came.foreign or order.batch is None:
                return came
            order = order.model_copy(update={"batch": None, "foreign": [*order.foreign, order.batch]})

    async def _submit(self, order: ProviderOrder) -> Submitted:
        request = SubmitBatch(intent=self._intent, order=order)
        submitted: Submitted = await workflow.execute_activity(
            steps.submit_batch,
            request,
            schedule_to_close_timeout=_left(order, policies.LANE_HOURS),
            **policies.lane(order.terms),
        )
        return submitted

    async def _not_sent(self, order: ProviderOrder, submitted: Submitted) -> HandedBack:
        """Nothing was begun: the requests go back to the lane, if they may be tried again, or to their jobs."""
        why = submitted.problem
        left = [line for place, line in enumerate(order.lines) if place not in submitted.skipped]
        if why is None or not left:
            return HandedBack()
        if submitted.pauses:
            return HandedBack(again=left, pause=why)
        tried = [line.model_copy(update={"tries": line.tries + 1}) for line in left]
        again = [line for line in tried if line.tries < order.terms.tries]
        rest = [line for line in tried if line.tries >= order.terms.tries]
        if rest:
            await self._hand_back(order.model_copy(update={"lines": rest}), alone=why)
        return HandedBack(again=again)

    async def _wait(self, order: ProviderOrder) -> None:
        """Until the batch has ended; asked ever more rarely, and at once when somebody says that it is time to."""
        pause, terms, told = order.terms.poll, order.terms, False
        assert order.batch is not None
        request = LookAtBatch(model=order.key.model, batch=order.batch)
        heeds = workflow.patched(HEEDS_LOOK)
        if heeds and len(order.batch) <= ID_CHARS:
            workflow.upsert_search_attributes([BATCH.value_set(order.batch)])
        while True:
            if workflow.info().get_current_history_length() >= terms.events:
                workflow.continue_as_new(order)
            # Deaf after a look that somebody had asked for: however often that is done, the provider is asked rarely.
            told = await self._paused(pause, deaf=told or not heeds)
            self._to_look = False
            seen = await workflow.execute_activity(
                steps.look_at_batch,
                request,
                schedule_to_close_timeout=_left(order, policies.LANE_HOURS),
                **policies.lane(order.terms),
            )
            if seen.ended:
                return
            pause = terms.poll if told else min(pause * GROWTH, terms.longest_poll)

    async def _paused(self, seconds: float, *, deaf: bool) -> bool:
        """Whether somebody cut the pause short."""
        if deaf:
            await workflow.sleep(seconds)
            return False
        try:
            await workflow.wait_condition(lambda: self._to_look, timeout=seconds)
        except TimeoutError:
            return False
        return True

    @workflow.signal
    def look(self, *_: object) -> None:
        """Look at the batch now: whoever says so is not believed more than that, the provider is asked how it stands.

        Also heeded if it comes before there is a batch; in a run that ends here, the next one looks soon by itself.
        """
        self._to_look = True

    async def _hand_back(self, order: ProviderOrder, alone: str | None = None) -> HandedBack:
        request = HandBack(intent=self._intent, order=order, **({"alone": alone} if alone else {}))
        # What is told without the provider's word is not given up.
        most = _left(order, RESULTS_HOURS) if alone is None else None
        came: HandedBack = await workflow.execute_activity(
            steps.hand_back, request, schedule_to_close_timeout=most, **policies.lane(order.terms)
        )
        return came

    async def _tell(self, order: ProviderOrder, back: LaneBack) -> None:
        try:
            await workflow.get_external_workflow_handle(order.lane).signal("back", back)
        except ApplicationError:
            # Its jobs have deadlines, and ask by themselves then.
            workflow.logger.warning("lane %s is gone; %d requests do not go back to it", order.lane, len(back.again))


def _left(order: ProviderOrder, hours: float) -> timedelta:
    """How long is left of so many hours behind the order: what is never given up would keep its lane full."""
    return max(order.since + timedelta(hours=hours) - workflow.now(), LEAST)


def _sent(order: ProviderOrder, submitted: Submitted) -> ProviderOrder:
    """The order as it stands once there is a batch."""
    if submitted.batch is None:
        return order
    found = {"batch": submitted.batch, "begun": submitted.begun, "sent": submitted.sent}
    # Whoever found the batch of an earlier attempt does not know what that one had left out.
    return order.model_copy(update={**found, **({"skipped": submitted.skipped} if submitted.skipped else {})})
