"""What `surefoot doctor` says of webhooks, ours and those of providers: whether what they need is set here."""

import os
from collections.abc import Mapping

from activities.agents import Agent
from activities.errors import DefinitionError
from activities.notices.decision_links import CONSOLE, MAKE_ONE, SECRET, Links
from activities.notices.signatures import MAKE_ONE as MAKE_SIGNING_SECRET
from activities.notices.signatures import BadSecret, secrets_of
from activities.notices.webhooks import Webhook
from activities.providers.openai_events import VARIABLE, OpenAIEvents
from surefoot.http.origins import OPENAI_HOOK


def webhook_problem(agent: Agent, environment: Mapping[str, str] = os.environ) -> tuple[str, str] | None:
    """What keeps the agent's webhooks from doing what they say, and what to do about it; None if nothing does."""
    try:
        links = Links.from_environment(environment)
    except DefinitionError as error:
        return str(error), "mend the setting that it names"
    for webhook in agent.webhooks:
        found = _secret_problem(webhook, environment) or _link_problem(webhook, links, environment)
        if found:
            return found
    return None


def _secret_problem(webhook: Webhook, environment: Mapping[str, str]) -> tuple[str, str] | None:
    remedy = f"set it where the worker runs and where its notices are checked; make one with: {MAKE_SIGNING_SECRET}"
    try:
        secrets = secrets_of(webhook.secret, environment)
    except BadSecret as error:
        return f"{webhook.name}: {error}", remedy
    if webhook.format == "standard" and not secrets:
        return f"{webhook.name}: {webhook.secret} is not set, so its notices can't be signed and wait", remedy
    return None


def _link_problem(webhook: Webhook, links: Links, environment: Mapping[str, str]) -> tuple[str, str] | None:
    if webhook.links_as is None or links.usable:
        return None
    if not environment.get(CONSOLE):
        return (
            f"{webhook.name}: {CONSOLE} is not set, so its notices carry no links",
            f"export {CONSOLE}=https://… where the worker runs: the address at which people reach the console",
        )
    return (
        f"{webhook.name}: {SECRET} is not set, so its notices carry no links to decide by",
        f"set it where the worker and the console run; {MAKE_ONE}",
    )


def openai_hook(environment: Mapping[str, str] = os.environ) -> tuple[bool, str, str] | None:
    """Whether OpenAI's webhook can be taken with what is set, what was seen and what to do; None if none is set up."""
    if not environment.get(VARIABLE):
        return None
    try:
        OpenAIEvents.from_environment(environment)
    except DefinitionError as error:
        return False, str(error), "copy it from there, or make another webhook"
    return True, f"{VARIABLE} is set: a console here takes events of batches at {OPENAI_HOOK}", ""
