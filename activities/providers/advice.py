"""Says which setting of an agent a provider rejected, since its own words name a field of a body that nobody wrote.

Settings go to the provider as they are, so only the provider knows which of them a model takes; it names them by key.
"""

import re
from collections.abc import Mapping

from pydantic import JsonValue

from activities.explain import shown
from activities.providers.errors import ContextTooLong, ModelError, Rejected


def setting_advice(error: ModelError, settings: Mapping[str, JsonValue]) -> str:
    """What to add to the error's text: the settings that it names, and what to do; else nothing."""
    if not isinstance(error, Rejected) or isinstance(error, ContextTooLong):
        return ""
    named = [f"{key}={shown(value)}" for key, value in settings.items() if _names(str(error), key)]
    if not named:
        return ""
    return f" (the agent's settings hold {', '.join(named)}: change that, or take it out for this model)"


def _names(text: str, key: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(key)}(?![\w-])", text) is not None
