"""Has the model sum up what was said so far, but for the latest of it, when it becomes too long to be sent again.

The model reads what it read before, as its own conversation and not as a text about one: what a provider made of its
turns (thoughts, signatures) holds, and results stay data.
"""

from collections.abc import Callable, Sequence

from temporalio import activity

from activities.agents import Agent
from activities.attempts import Attempt
from activities.models import citations
from activities.models.asker import Answer, ModelAsker, lost_before, models_of
from activities.models.context import BYTES_OF_A_TOKEN, BYTES_OF_A_TOKEN_SAVED, Context
from activities.models.context_limits import context_mark
from activities.models.epochs import SUMMARY, latest, short, size_of
from activities.models.opening import CallOpener
from activities.models.prompts import LEFT_OUT, SUM_UP, summary_instructions
from activities.providers.errors import ContextTooLong
from activities.providers.protocol import ModelRequest
from activities.providers.thinking_room import closing_output
from activities.tools.explain import said
from workflows.contracts import CallModel, Entry, Message, Note, Summary, Turn

SUMMARY_TOKENS = 4_000
SUMMARY_CHARS = 40_000
CUTS = 10
"""How often in a row a model may say that what it is to sum up is itself too long, which is then cut by a quarter."""

NO_SUMMARY = ("refusal", "content_filter", "unknown", "tool_calls", "pause")


class Summarizer:
    """The activity that sums up, over the same models as `ModelCaller`."""

    def __init__(self, opener: CallOpener, asker: ModelAsker) -> None:
        self._opener, self._asker = opener, asker

    @activity.defn
    async def summarize(self, request: CallModel) -> Summary:
        attempt = Attempt()
        async with attempt.beating():
            opened = await self._opener.open_for(attempt, self._asker, request)
            context = opened.context.trimmed()
            answer = await self._ask(attempt, opened.agent, request, context)
            return _summary(context, answer, attempt.info.attempt)

    async def _ask(self, attempt: Attempt, agent: Agent, request: CallModel, context: Context) -> Answer:
        models = models_of(agent, request)
        mark = await context_mark(agent, models)
        told, most = context.old, size_of(context.old)
        if mark is not None and most > mark * BYTES_OF_A_TOKEN:
            most = mark * BYTES_OF_A_TOKEN
            told = shortened(context.old, most)
        for left in range(CUTS, -1, -1):
            try:
                return await self._asker.ask(attempt, agent, models, _wire(agent, request, context, told))
            except ContextTooLong as error:
                if not left:
                    await self._asker.fail(attempt, type(error).__name__, said(error), error.retryable)
                most = most * 3 // 4
                told = shortened(context.old, most)
        raise AssertionError("unreachable: the last round returns or raises")


def _wire(agent: Agent, request: CallModel, context: Context, told: Sequence[Entry]) -> Callable[[str], ModelRequest]:
    def wire(model: str) -> ModelRequest:
        return ModelRequest(
            model=model,
            instructions=summary_instructions(agent),
            transcript=[*(citations.marked(told) if agent.cite else told), Message(text=SUM_UP)],
            tools=[tool.declaration() for tool in agent.all_tools],
            tool_choice="none",
            max_output_tokens=closing_output(SUMMARY_TOKENS, model, agent.settings, told),
            settings=agent.settings,
            turn=request.turn,
            purpose="summary",
            turns_before=context.turns_summed_up,
            chains=False,
            idle_seconds=agent.idle_timeout,
        )

    return wire


def shortened(entries: Sequence[Entry], most: int) -> list[Entry]:
    """What came before the first turn, and the latest rounds that fit; in all about `most` bytes."""
    turns = [place for place, entry in enumerate(entries) if isinstance(entry, Turn)]
    begin = turns[0] if turns else len(entries)
    head = [_cut(entry, most // 4) for entry in entries[:begin]]
    size, start = size_of(head), len(entries)
    for turn, end in zip(reversed(turns), [len(entries), *reversed(turns)], strict=False):
        size += size_of(entries[turn:end])
        if size > most:
            break
        start = turn
    if start == begin:
        return [*head, *entries[start:]]
    return [*head, Note(text=LEFT_OUT.format(count=start - begin)), *entries[start:]]


def _cut(entry: Entry, most: int) -> Entry:
    if isinstance(entry, Message | Note) and len(entry.text) > most:
        return entry.model_copy(update={"text": f"{entry.text[:most]}\n[… the rest is left out]"})
    return short(entry)


def _summary(context: Context, answer: Answer, attempt: int) -> Summary:
    turn = answer.turn
    text = turn.text.strip()[:SUMMARY_CHARS]
    size = len(SUMMARY.format(summary=text).encode())
    saved = context.replaceable - size
    spent = {"usage": turn.usage, "model": turn.model, "instead_of": answer.instead_of, **lost_before(attempt)}
    until = latest(context.log)
    if turn.stop in NO_SUMMARY or turn.calls or not text:
        why = turn.stop_detail or turn.text[:200] or "it said nothing"
        return Summary(until=until, problem=f"the model's answer ended with {turn.stop}: {why}", **spent)
    if saved <= 0:
        why = f"the summary has {size:,} bytes, and what it is of {context.replaceable:,}"
        return Summary(until=until, problem=why, **spent)
    after = max(0, context.tokens - saved // BYTES_OF_A_TOKEN_SAVED)
    return Summary(until=until, text=text, before=context.tokens, after=after, **spent)
