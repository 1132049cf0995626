"""A strength coach: a read, a computation and a goal that is saved once a person agrees.

    surefoot run --app examples/coach.py coach "How much have I progressed on the bench press this month?"
    surefoot reply JOB "Then save a goal: 110 kg by the end of August."

With too few rounds for the work, the model sums up, names the limit and asks whether to go on. Add to the first line

    --limit rounds=1 --model scripted:scripts/coach_one_round.json

and then reply with: surefoot reply JOB yes

Goals are saved in examples/work/goals, or in the folder that COACH_GOALS names.
"""

import json
import os
from datetime import date
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from models import model
from surefoot import Agent, Limits, ToolError, tool

HERE = Path(__file__).parent
DIARY = HERE / "data" / "training.json"
GOALS = Path(os.environ.get("COACH_GOALS") or HERE / "work" / "goals")

Exercise = Literal["bench_press", "squat", "deadlift"]
Kilograms = Annotated[float, Field(gt=0, le=500)]


@tool(read_only=True)
def training_history(
    exercise: Exercise, month: Annotated[str, Field(pattern=r"^\d{4}-\d{2}$")]
) -> list[dict[str, object]]:
    """The heaviest set of each session of one month, oldest first.

    Args:
        exercise: which lift
        month: such as 2025-06
    """
    sets = [each for each in json.loads(DIARY.read_text()) if each["exercise"] == exercise]
    found = [each for each in sets if each["date"].startswith(month)]
    if not found:
        months = sorted({each["date"][:7] for each in sets})
        raise ToolError(f"The diary has no {exercise} in {month}; it has {', '.join(months) or 'none at all'}.")
    return found


@tool(pure=True)
def one_rep_maximum(kilograms: Kilograms, repetitions: Annotated[int, Field(ge=1, le=12)]) -> float:
    """The weight in kilograms that could be lifted once, estimated by Epley's formula from a set.

    Args:
        kilograms: the weight of the set
        repetitions: how often it was lifted; above 12 the estimate means little
    """
    if repetitions == 1:
        return kilograms
    return round(kilograms * (1 + repetitions / 30), 1)


# A goal is set, not added: the same call again leaves the same file. So a call that was interrupted may
# simply be made again, and no person has to find out whether it happened.
@tool(idempotent=True, preview=lambda exercise, kilograms, by: f"Set your {exercise} goal: {kilograms:g} kg by {by}")
def save_goal(exercise: Exercise, kilograms: Kilograms, by: date) -> str:
    """Set the goal for a lift; it replaces the goal that was set before.

    Args:
        exercise: which lift
        kilograms: the one-rep maximum to reach
        by: the day until which, as YYYY-MM-DD
    """
    GOALS.mkdir(parents=True, exist_ok=True)
    goal = {"exercise": exercise, "kilograms": kilograms, "by": by.isoformat()}
    (GOALS / f"{exercise}.json").write_text(json.dumps(goal) + "\n")
    return f"Goal set: {kilograms:g} kg by {by}."


coach = Agent(
    "coach",
    model("coach.json"),
    instructions=(
        "You coach strength training. Compare estimated one-rep maxima, never raw weights, and give numbers with"
        " units. The diary ends on 30 June 2025; take that day as today."
    ),
    tools=[training_history, one_rep_maximum, save_goal],
    limits=Limits(rounds=6, tool_calls=12),
)
