"""Which provider a model string means, and the providers themselves: each built once, at first use.

A model string is `<api>:<the provider's own name of the model>`; adapters import their SDK only when they are built.
That takes a second, on a busy machine several: on the event loop, every job of the worker would miss its heartbeats.
The tables of prices are loaded with them, since the first answer is priced on the event loop.
"""

import asyncio
import importlib.util
import os
from collections.abc import Callable
from typing import cast

from activities.apps import App
from activities.providers import prices
from activities.providers.errors import NotFound
from activities.providers.protocol import KeyedProvider, Provider
from activities.providers.scripted import Script, Scripted
from workflows.contracts import Usage

ADAPTERS = {
    "anthropic": ("activities.providers.anthropic_messages", "AnthropicMessages"),
    "openai": ("activities.providers.openai_responses", "OpenAIResponses"),
    "openai-chat": ("activities.providers.openai_chat", "OpenAIChat"),
    "google": ("activities.providers.google_generate_content", "GoogleGenerateContent"),
}
"""Prefix of a model string → the module and the class whose `from_environment()` builds the provider."""

KEYS = {
    "anthropic": "ANTHROPIC_API_KEY",
    "openai": "OPENAI_API_KEY",
    "openai-chat": "OPENAI_API_KEY",
    "google": "GEMINI_API_KEY",
}
"""The variable that a provider's key is mostly in; its SDK may find one elsewhere."""

BASE_URLS = {
    "anthropic": "ANTHROPIC_BASE_URL",
    "openai": "OPENAI_BASE_URL",
    "openai-chat": "OPENAI_BASE_URL",
    "google": "GOOGLE_GEMINI_BASE_URL",
}
"""The variable that a provider's SDK takes another address from."""

EXTRAS = {"google": "google.genai"}
"""Prefix → the module of an SDK that only comes with Surefoot's extra of the same name."""


class Models:
    """The providers of one worker process."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._built: dict[str, Provider] = {}
        self._building = asyncio.Lock()

    def find(self, model: str | Script) -> tuple[Provider, str]:
        """The provider of a model, and the model's name there. Raises `NotFound`, or what building it raises."""
        key, name, build = self._meant(model)
        if key not in self._built:
            self._built[key] = build()
        return self._built[key], name

    async def ready(self, model: str | Script) -> tuple[Provider, str]:
        """As `find`, but what has to be built is built in a thread."""
        key, name, build = self._meant(model)
        if key not in self._built:
            async with self._building:
                if key not in self._built:
                    self._built[key] = await asyncio.to_thread(build)
        return self._built[key], name

    def _meant(self, model: str | Script) -> tuple[str, str, Callable[[], Provider]]:
        """Under which key a model's provider is kept, the model's name there, and what builds the provider."""
        if isinstance(model, Script):
            return f"script {id(model)}", "scripted", lambda: Scripted(model)
        prefix, colon, name = model.partition(":")
        if prefix == "scripted" and colon:
            path = self._app.folder / name
            return model, name, lambda: Scripted(Script.load(path))
        if prefix not in ADAPTERS or not name:
            known = ", ".join(f"{each}:…" for each in [*ADAPTERS, "scripted"])
            raise NotFound(f"no provider for model {model!r}: a model is written as one of {known}")
        return prefix, name, lambda: _from_environment(prefix)

    async def close(self) -> None:
        built, self._built = list(self._built.values()), {}
        for provider in built:
            await provider.close()


def missing_key(model: str | Script) -> str | None:
    """The variable to set, if a worker with this process's environment could not ask the model for lack of a key."""
    prefix = model.partition(":")[0] if isinstance(model, str) else "script"
    if prefix not in KEYS or os.environ.get(KEYS[prefix]) or missing_extra(model):
        return None
    return None if _built(prefix).has_key else KEYS[prefix]  # seconds, but only the SDK knows where else it looks


def missing_extra(model: str | Script) -> str | None:
    """What to install, if the model's SDK is not here: "surefoot[google]"."""
    prefix = model.partition(":")[0] if isinstance(model, str) else "script"
    return f"surefoot[{prefix}]" if prefix in EXTRAS and not _is_installed(EXTRAS[prefix]) else None


def has_price(model: str | Script) -> bool:
    """Whether the tables of prices know the model, so that what it costs is measured. A script costs what it says."""
    prefix, _, name = model.partition(":") if isinstance(model, str) else ("script", "", "")
    if prefix not in ADAPTERS:
        return True
    api = ADAPTERS[prefix][0].rpartition(".")[2]  # an adapter's module is named after its API
    return prices.price(Usage(input_tokens=1), name, api) is not None


def _is_installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # not even the package around it
        return False


def _from_environment(prefix: str) -> Provider:
    prices.load()
    return _built(prefix)


def _built(prefix: str) -> KeyedProvider:
    module, name = ADAPTERS[prefix]
    return cast(KeyedProvider, getattr(importlib.import_module(module), name).from_environment())
