"""A grammar tutor: schema mode, tools of an MCP server, and an answer that may not contradict what it cites.

    surefoot run --app examples/grammar_tutor.py tutor "She has ___ (go) home."

Needs `pip install 'surefoot[mcp]'`. Thirty sentences, scored, while `surefoot dev --app examples/grammar_tutor.py`
serves in another terminal:

    python examples/grammar_tutor.py score

Five scripts do what such agents are known to do wrong, and each is stopped:

    --model scripted:scripts/grammar_tutor_loop.json           the same call for ever: no progress
    --model scripted:scripts/grammar_tutor_wandering.json      another call each time: the limit of rounds
    --model scripted:scripts/grammar_tutor_invented.json       a tool that does not exist: told so, nothing runs
    --model scripted:scripts/grammar_tutor_blind.json          a tool's error taken for an answer: invalid output
    --model scripted:scripts/grammar_tutor_contradiction.json  an answer against its own citation: invalid output
"""

import asyncio
import re
import sys
from pathlib import Path

from pydantic import BaseModel, Field

from grammar_pupil import PUPIL
from grammar_score import main
from models import model
from surefoot import Agent, FinalAnswer, Limits, McpServer

# Both tools only look things up, by our own word: without it each call would ask a person.
grammar = McpServer(
    "grammar", command=[sys.executable, str(Path(__file__).with_name("grammar_server.py"))], read_only=["*"]
)


class Correction(BaseModel):
    """The answer: the whole sentence, the form that was missing or wrong in it, and why, with references."""

    sentence: str
    form: str = Field(min_length=1)
    because: str


def agrees(answer: FinalAnswer) -> str | None:
    """Hold the form against the results that the answer itself refers to. Errors, and rules, show no form."""
    correction = Correction.model_validate(answer.output)
    shown = [result.content for result in answer.cited if result.tool == "grammar_conjugate" and not result.is_error]
    if answer.unknown:
        return f"There is no result {', '.join(answer.unknown)}."
    if not any(stands(correction.form, form) for form in shown):
        told = f"They say: {'; '.join(shown)}." if shown else "None of them is a form that was looked up."
        return f"{correction.form!r} stands in none of the results that you refer to. {told}"
    if not stands(correction.form, correction.sentence):
        return f"{correction.form!r} does not stand in your sentence."
    return None


def stands(form: str, text: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(form)}(?!\w)", text) is not None


tutor = Agent(
    "tutor",
    model(PUPIL),
    instructions=(
        "You correct English sentences with one gap, as in '___ (go)', or one wrong verb form. Change nothing else."
        " Look each form up with grammar_conjugate, never trust your memory, and refer to that result in `because`."
    ),
    mcp=[grammar],
    limits=Limits(rounds=4, tool_calls=4),
    tool_calling="schema",
    output=Correction,
    output_retries=1,
    cite=True,
    check=agrees,
    closing="findings",  # with four rounds, an answer and that answer once more: six turns
)

if __name__ == "__main__":
    if sys.argv[1:] != ["score"]:
        sys.exit("usage: python examples/grammar_tutor.py score")
    asyncio.run(main(__file__))
