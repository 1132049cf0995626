"""The body of a notice for each kind of endpoint: Standard Webhooks, Slack's incoming webhooks, Teams' workflows.

Texts of models, tools and jobs may say anything. In a chat they must neither ping anybody, nor be a link, nor look like
words of ours: Slack gets them as code with its control characters escaped, Teams as text runs, which know no markup.
"""

from collections.abc import Callable, Mapping

from pydantic import JsonValue
from pydantic_core import to_json

from activities.escaping import escaped
from activities.notices.messages import Message, facts, payload, title
from activities.notices.webhooks import Format
from workflows.contracts import JsonObject

FACT_CHARS = 300
DETAIL_CHARS = 2_500
"""Slack takes 3,000 characters in a section."""

BREAK = "\N{ZERO WIDTH SPACE}"
SLACK = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "`": "'", "@": f"@{BREAK}", "\0": ""}
"""https://docs.slack.dev/messaging/formatting-message-text, and `@`: servers that take Slack's form ping by it."""


def body(message: Message, form: Format) -> str:
    """The JSON text to send."""
    return to_json(FORMS[form](message)).decode()


# --- Slack


def slack(message: Message) -> JsonObject:
    fields = [f"*{label}*  {slack_code(text, FACT_CHARS)}" for label, text in facts(message.notice)]
    sections = [
        f"*{title(message.notice)}*",
        "\n".join(fields),
        *(_slack_detail(*each) for each in _texts(message.details)),
    ]
    if links := " · ".join(f"<{_slack_escaped(url)}|{label}>" for label, url in _links(message)):
        sections.append(links)
    blocks: list[JsonValue] = [
        # Verbatim: what looks like an address or a name is not made one.
        {"type": "section", "text": {"type": "mrkdwn", "text": text, "verbatim": True}}
        for text in sections
    ]
    fallback = f"{title(message.notice)}: {slack_code(message.notice.tool or message.notice.agent, FACT_CHARS)}"
    return {"text": fallback, "blocks": blocks, "unfurl_links": False, "unfurl_media": False}


def slack_code(text: str, limit: int) -> str:
    """A text as inline code, in one line."""
    return f"`{_slack_escaped(' '.join(text.split()), limit) or ' '}`"


def _slack_detail(label: str, text: str) -> str:
    return f"*{label}*\n```{_slack_escaped(text, DETAIL_CHARS) or ' '}```"


def _slack_escaped(text: str, limit: int = 3_000) -> str:
    """No longer than `limit`, which counts what the escapes add: a cut through one of them would undo it."""
    parts: list[str] = []
    for character in escaped(text):
        part = SLACK.get(character, character)
        limit -= len(part)
        if limit < 1:
            return "".join([*parts, "…"])
        parts.append(part)
    return "".join(parts)


# --- Teams


def teams(message: Message) -> JsonObject:
    """An Adaptive Card, in the envelope that a Teams workflow takes which posts what its webhook receives."""
    head: JsonObject = {"type": "TextBlock", "text": title(message.notice), "weight": "Bolder", "wrap": True}
    shown = [_teams_line(label, _shortened(escaped(text), FACT_CHARS)) for label, text in facts(message.notice)]
    details = [
        _teams_line(label, _shortened(escaped(text), DETAIL_CHARS), mono=True)
        for label, text in _texts(message.details)
    ]
    card: JsonObject = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": [head, *shown, *details],
        "actions": [{"type": "Action.OpenUrl", "title": label, "url": url} for label, url in _links(message)],
    }
    attachment: JsonObject = {
        "contentType": "application/vnd.microsoft.card.adaptive",
        "contentUrl": None,
        "content": card,
    }
    return {"type": "message", "attachments": [attachment]}


def _teams_line(label: str, text: str, *, mono: bool = False) -> JsonObject:
    run: JsonObject = {"type": "TextRun", "text": text, **({"fontType": "Monospace"} if mono else {})}
    return {"type": "RichTextBlock", "inlines": [{"type": "TextRun", "text": f"{label}: ", "weight": "Bolder"}, run]}


def _shortened(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


# --- both


def _texts(details: Mapping[str, JsonValue]) -> list[tuple[str, str]]:
    return [
        (name.replace("_", " ").capitalize(), value if isinstance(value, str) else to_json(value, indent=2).decode())
        for name, value in details.items()
    ]


def _links(message: Message) -> list[tuple[str, str]]:
    links = [("Decide", message.decide_url), ("Open the job", message.job_url)]
    return [(label, url) for label, url in links if url]


FORMS: dict[Format, Callable[[Message], JsonObject]] = {"standard": payload, "slack": slack, "teams": teams}
