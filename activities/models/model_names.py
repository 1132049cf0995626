"""How an agent's models are written, `api:model name`, and what is told to whoever writes it otherwise."""

import difflib
from typing import Any

from activities.errors import DefinitionError

MODEL_APIS = ("anthropic", "openai", "openai-chat", "google", "scripted")
_LIKELY_APIS = (("gpt", "openai"), ("o", "openai"), ("gem", "google"))


def checked_models(where: str, model: object) -> tuple[Any, ...]:
    """The models that an agent was given: one, or a list of them. Raises `DefinitionError`."""
    models = tuple(model) if isinstance(model, list | tuple) else (model,)
    if not models:
        raise DefinitionError(f"{where} has no model. Give one, e.g. model='anthropic:<model name>'.")
    for candidate in models:
        _check_model(where, candidate)
    return models


def _check_model(where: str, model: object) -> None:
    if hasattr(model, "reply_to"):  # a Script
        return
    if not isinstance(model, str):
        raise DefinitionError(f"{where} has model={model!r}. Give 'api:model name', a Script, or a list of these.")
    api, colon, name = model.partition(":")
    if api in MODEL_APIS and name.strip():
        return
    apis = ", ".join(f"{api}:" for api in MODEL_APIS)
    if not colon:
        near = next((api for start, api in _LIKELY_APIS if model.startswith(start)), "anthropic")
        hint = f"Write which API serves it, e.g. '{near}:{model}'. The APIs are {apis}."
    elif api in MODEL_APIS:
        hint = f"The model's name is missing after {api}:."
    else:
        near_apis = difflib.get_close_matches(api, MODEL_APIS, 1)
        hint = (
            f"There is no API {api!r}; " + (f"did you mean {near_apis[0]}:? " if near_apis else "") + f"known: {apis}."
        )
    raise DefinitionError(f"{where} has model={model!r}. {hint}")
