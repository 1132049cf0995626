"""What OpenAI-compatible servers do differently, as one table of data: the adapter has no branch on a vendor's name.

A server is recognised by the end of its host name. Servers that are not listed get `Vendor()`, which is what most
of them share; add a row only for what a server was seen to reject.
"""

import re
from dataclasses import dataclass

REASONING = frozenset({"reasoning", "reasoning_content", "reasoning_details"})


@dataclass(frozen=True)
class Vendor:
    """`call_ids` matches the ids of calls that the server accepts, `id_length` is set where ours must be remade;
    `not_sent` are fields of an assistant message that it gives and does not take back. `usage_unasked`: it tells the
    usage at the end of every stream, so it is not sent the `stream_options` that its API does not list."""

    max_tokens: str = "max_tokens"
    call_ids: re.Pattern[str] = re.compile(r"[!-~]{1,4096}")
    id_length: int | None = None
    not_sent: frozenset[str] = frozenset()
    usage_unasked: bool = False


_OPENAI = Vendor(max_tokens="max_completion_tokens", call_ids=re.compile(r"[!-~]{1,40}"))

VENDORS: tuple[tuple[str, Vendor], ...] = (
    ("api.openai.com", _OPENAI),
    (".openai.azure.com", _OPENAI),
    ("api.mistral.ai", Vendor(call_ids=re.compile(r"[a-zA-Z0-9]{9}"), id_length=9, usage_unasked=True)),
    ("api.groq.com", Vendor(not_sent=REASONING | {"channel"})),
)


def vendor(host: str) -> Vendor:
    return next((row for end, row in VENDORS if host.endswith(end)), Vendor())
