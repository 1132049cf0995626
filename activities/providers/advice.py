"""Says which setting of an agent a provider rejected, since its own words name a field of a body that nobody wrote.

Settings go to the provider as they are, so only the provider knows which of them a model takes. It names a field in
quotes or as `field: what is wrong`; without either, `user` or `store` is a word like any other.
"""

import re
from collections.abc import Mapping

from pydantic import JsonValue

from activities.providers.errors import ContextTooLong, ModelError, Rejected
from activities.tools.explain import shown


def setting_advice(error: ModelError, settings: Mapping[str, JsonValue]) -> str:
    """What to add to the error's text: the settings that it names, and what to do; else nothing."""
    if not isinstance(error, Rejected) or isinstance(error, ContextTooLong):
        return ""
    named = [f"{key}={shown(value)}" for key, value in settings.items() if _names(str(error), key)]
    if not named:
        return ""
    return f" (the agent's settings hold {', '.join(named)}: change that, or take it out for this model)"


def _names(text: str, key: str) -> bool:
    field = rf"{re.escape(key)}(?:[.\[][\w.\[\]]*)?"
    return re.search(rf"[`'\"]{field}[`'\"]|(?<![\w.-]){field}: ", text) is not None
