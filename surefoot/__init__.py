"""Surefoot: durable agent jobs that never take the same step twice.

Everything public is here; names are imported at first use, so that `surefoot --help` need not load an SDK.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from activities.agents import Agent as Agent
    from activities.approval import Approval as Approval
    from activities.budgets.tenant_budget import TenantBudget as TenantBudget
    from activities.errors import OutcomeUnknown as OutcomeUnknown
    from activities.errors import ToolError as ToolError
    from activities.mcp.server import Env as Env
    from activities.mcp.server import McpServer as McpServer
    from activities.models.answer_check import FinalAnswer as FinalAnswer
    from activities.notices.webhooks import Webhook as Webhook
    from activities.policy import allow_if as allow_if
    from activities.policy import ask_if as ask_if
    from activities.policy import deny_if as deny_if
    from activities.providers.scripted import Script as Script
    from activities.queues.queue import Queue as Queue
    from activities.rates.rate import Rate as Rate
    from activities.tools.context import ToolContext as ToolContext
    from activities.tools.tool import Tool as Tool
    from activities.tools.tool import tool as tool
    from surefoot.client import Client as Client
    from surefoot.job import Job as Job
    from surefoot.listening import Recorded as Recorded
    from surefoot.saying import Forgotten as Forgotten
    from surefoot.saying import Said as Said
    from workflows.contracts import Limits as Limits
    from workflows.contracts import Outcome as Outcome

_HOMES = {
    "Agent": "activities.agents",
    "Approval": "activities.approval",
    "Client": "surefoot.client",
    "Env": "activities.mcp.server",
    "FinalAnswer": "activities.models.answer_check",
    "Forgotten": "surefoot.saying",
    "Job": "surefoot.job",
    "Limits": "workflows.contracts",
    "McpServer": "activities.mcp.server",
    "Outcome": "workflows.contracts",
    "OutcomeUnknown": "activities.errors",
    "Queue": "activities.queues.queue",
    "Rate": "activities.rates.rate",
    "Recorded": "surefoot.listening",
    "Said": "surefoot.saying",
    "Script": "activities.providers.scripted",
    "TenantBudget": "activities.budgets.tenant_budget",
    "Tool": "activities.tools.tool",
    "ToolContext": "activities.tools.context",
    "ToolError": "activities.errors",
    "Webhook": "activities.notices.webhooks",
    "allow_if": "activities.policy",
    "ask_if": "activities.policy",
    "deny_if": "activities.policy",
    "tool": "activities.tools.tool",
}

__all__ = list(_HOMES)
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'surefoot' has no attribute {name!r}; it has {', '.join(sorted(_HOMES))}")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*_HOMES, "__version__"])
