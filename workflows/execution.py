"""Carries one call out: as an activity, as another agent's job, or by a question to a person that it leads to.

A reply may be that policy now wants to ask, or that nobody knows what a write came to: then the call waits for a person
and is carried out again, or not, as that person wants.
"""

from typing import Literal

from temporalio import workflow
from temporalio.exceptions import FailureError

from workflows import failures, policies, steps, words
from workflows.contracts import AgentSpec, CallState, JobState, RunTool, ToolReply, Usage
from workflows.desk import Desk
from workflows.family import Family
from workflows.flight import Flight
from workflows.gate import PROBLEM_BYTES, Gate
from workflows.limits import Allowance
from workflows.outcomes import cut
from workflows.previews import Previews
from workflows.results import finish, finish_with


class Execution:
    """Carries out the calls of one job; `flight`, `family` and `previews` are what is under way."""

    def __init__(self, state: JobState, spec: AgentSpec, gate: Gate, desk: Desk, allowance: Allowance) -> None:
        self._state, self._spec, self._gate, self._desk, self._allowance = state, spec, gate, desk, allowance
        self.flight = Flight()
        self.previews = Previews(state, spec, desk)
        self.family = Family(state, allowance)

    def ask(self, call: CallState, phase: Literal["asking", "unknown"], why: str | None) -> None:
        """Let the call wait for a person, who is shown `why`."""
        call.phase, call.asked_at = phase, workflow.now()
        call.problem = cut(why, PROBLEM_BYTES) if why else None
        self._desk.webhooks.tell_of_call("decision_needed" if phase == "asking" else "unknown_outcome", call)

    def put_to_people(self, call: CallState) -> None:
        """Use the decision that came before its call did, if one came; ask the tool what it would do."""
        for early in self._gate.early(call.call.id):
            self._desk.decide_early(early)
        self.previews.start(call)

    async def execute(self, call: CallState, beside: int = 1) -> None:
        """Run one call; `beside` is how many other agents work at once, if this is for one of them."""
        call.phase = "running"
        request = RunTool(
            agent=self._state.agent,
            call=call.call.id,
            tool=call.call.tool,
            arguments=call.arguments,
            approved=call.approved,
            **({"votes": call.votes} if call.votes else {}),
        )
        try:
            if call.plan.kind == "pure":
                local = policies.pure(call.plan)
                handle = workflow.start_local_activity(steps.compute_tool, request, **local)
            else:
                options = policies.tool(self._spec, call.plan)
                handle = workflow.start_activity(steps.run_tool, request, **options)
            reply = await self.flight.land(handle, call)
        except failures.FAILED as error:
            reply = self._lost(call, error)
        if reply.errand is not None:
            reply = await self.family.work(call, reply.errand, beside)
        self.take_reply(call, reply)

    @staticmethod
    def _lost(call: CallState, error: FailureError) -> ToolReply:
        """What a call came to whose attempts ended without a reply."""
        if call.plan.kind == "write" and failures.may_have_run(error):
            return ToolReply(status="unknown", content=failures.reason(error))
        return ToolReply(status="error", content=f"The tool failed: {failures.reason(error)}")

    def take_reply(self, call: CallState, reply: ToolReply) -> None:
        """Bring the call to its result, or let it wait for a person."""
        if reply.status == "ask":
            call.plan = call.plan.model_copy(update={"verdict": "ask", "asking": reply.asking or call.plan.asking})
            call.approved, call.votes = False, []
            self.ask(call, "asking", reply.content)
            self.put_to_people(call)
            return
        if reply.status == "denied":
            finish(call, "denied", words.denied_by_policy(reply.content))
            return
        self._allowance.spend(Usage(tool_calls=1))
        if reply.status == "unknown":
            self.ask(call, "unknown", reply.content)
            return
        if reply.status == "ok":
            self._gate.performed(call)
            if call.approved:
                self._desk.note("performed", call)
        finish_with(call, reply)
