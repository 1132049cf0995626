"""Says of a failed model call which model it was, and where its key is looked for: an adapter knows neither.

A script is not named: who wrote it wrote its errors. No value of a variable may stand in these texts.
"""

from activities.models.registry import KEYS
from activities.models.stand_ins import Model
from activities.providers.errors import Unauthenticated
from activities.tools.explain import said


def named(model: Model, error: Exception) -> str:
    """The error's text under the model's name: `openai:gpt-5: HTTP 503: …`."""
    prefix = _prefix(model)
    return f"{model}: {said(error)}" if prefix in KEYS else said(error)


def key_advice(model: Model, error: Exception) -> str:
    """What to add to the text of an error of the key: the variable that it is mostly in, unless the text names it."""
    variable = KEYS.get(_prefix(model))
    if variable is None or not isinstance(error, Unauthenticated) or variable in str(error):
        return ""
    return f" (mostly it is taken from {variable}, where the worker runs)"


def _prefix(model: Model) -> str:
    return model.partition(":")[0] if isinstance(model, str) else ""
