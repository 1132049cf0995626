"""What a person is asked about one call at the terminal, and the word that the answers make.

Nothing is sent from here: whoever asks does that, and may call the question off.
"""

import json

import click

from surefoot.account import me, my_roles
from surefoot.cli import prompts
from surefoot.cli.output import say
from workflows.contracts import Decision, JsonObject, Pending, Resolution

Word = Decision | Resolution


def approval(pending: Pending) -> Decision:
    roles = {"roles": my_roles()} if my_roles() else {}
    return Decision(call=pending.call, digest=pending.digest, choice="approve", by=me(), **roles)


async def asked(pending: Pending) -> Word:
    """The person's word on a call. Raises `EndOfInput`."""
    if pending.kind == "unknown_outcome":
        return await _asked_outcome(pending)
    choice = await prompts.choose("[a]pprove, [e]dit and approve, a[n]swer in its place, [d]eny?", "aend")
    decision = approval(pending)
    if choice == "e":
        return decision.model_copy(update={"arguments": await _edited(pending)})
    if choice == "n":
        return decision.model_copy(update={"choice": "answer", "text": await prompts.line("answer: ")})
    if choice == "d":
        return decision.model_copy(update={"choice": "deny", "text": await prompts.line("reason: ") or None})
    return decision


async def _asked_outcome(pending: Pending) -> Resolution:
    choice = await prompts.choose("it [h]appened, it did [n]ot, or [g]ive up?", "hng")
    if choice == "h":
        return Resolution(call=pending.call, choice="happened", result=await prompts.line("result: "), by=me())
    return Resolution(call=pending.call, choice="not_happened" if choice == "n" else "give_up", by=me())


async def _edited(pending: Pending) -> JsonObject:
    while True:
        shown = json.dumps(pending.arguments, ensure_ascii=False)
        text = await prompts.line(f"arguments as JSON [{shown}]: ")
        try:
            return arguments_from(text) if text.strip() else pending.arguments
        except click.UsageError as error:
            say(error.message)


def arguments_from(text: str | bytes) -> JsonObject:
    """Arguments that a person wrote; raises `click.UsageError`."""
    try:
        value = json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise click.UsageError(f"the arguments are no JSON: {error}") from None
    if not isinstance(value, dict):
        raise click.UsageError(f"the arguments must be a JSON object, not {type(value).__name__}")
    return value


def _no_number(text: str) -> float:
    raise ValueError(f"{text} is no number in JSON")
