"""The page behind a decision link: whoever holds the link sees one call and approves or denies it, without a log-in.

The token is the only key, so it is kept out of logs and of what browsers tell other sites. Looking decides nothing:
chats and mail scanners fetch every link that they see.
"""

from typing import Any, get_args

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse
from temporalio.service import RPCError

from activities.notices.decision_links import BadLink, DecisionLink, Links
from surefoot import deciding
from surefoot.console.pages import client_of, page, typed
from surefoot.console.values import Leaf, is_whole, node, text
from surefoot.deciding import Applied
from surefoot.errors import DecisionRefused, SurefootError
from surefoot.http.problems import problem_of
from surefoot.job import Job
from workflows.contracts import Choice, Decision, Pending

router = APIRouter(include_in_schema=False)

CHOICES: tuple[Choice, ...] = get_args(Choice)
REASON_CHARS = 2_000
HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",  # the address of this page is the key
    "X-Robots-Tag": "noindex, nofollow",
}


@router.get("/decide/{token}")
async def look(request: Request, token: str) -> HTMLResponse:
    try:
        link = _links(request).read(token)
        pending = await _asked(client_of(request).job(link.job), link)
    except (BadLink, SurefootError, RPCError) as error:
        return _failed(request, error)
    arguments = node(pending.arguments)
    return _page(
        request,
        "decide_link.html",
        "Decide",
        it=pending,
        arguments=arguments,
        whole=is_whole(arguments),
        preview=_leaf(pending.preview),
        why=_leaf(pending.why),
        link=link,
        choices=_choices(link, pending),
        token=token,
    )


@router.post("/decide")
async def decide(request: Request) -> HTMLResponse:
    form = await typed(request)
    try:
        link = _links(request).read(form.get("token", ""))
        job = client_of(request).job(link.job)
        asked = await _asked(job, link)
        word = _word(link, asked, form.get("choice", ""), form.get("reason", ""))
        applied = await deciding.send(job, "decide", word, asked)
    except (BadLink, SurefootError, RPCError) as error:
        return _failed(request, error)
    return _say(request, "Decided", _told(applied, word.choice))


async def _asked(job: Job, link: DecisionLink) -> Pending:
    """The call, if it still waits with the question that the link is for. Raises `DecisionRefused` or `BadLink`."""
    pending = await job.pending(link.call)
    if pending.kind != "decision":
        raise BadLink("The call was started and nobody saw its end: whoever knows it says so in the console.")
    if (pending.digest, pending.asked_at) != (link.digest, link.asked_at):
        raise BadLink(
            "This link is for an earlier question: since then the call was asked about again, perhaps with other"
            " arguments. Use the link of the newest message, or decide in the console."
        )
    return pending


def _word(link: DecisionLink, pending: Pending, chosen: str, reason: str) -> Decision:
    choice = next((each for each in _choices(link, pending) if each == chosen), None)
    if choice is None:
        can = " or ".join(_choices(link, pending)) or "nothing"
        raise BadLink(f"Nothing was decided: the form says {chosen[:20]!r}, and this link can {can}.")
    told = {"text": reason.strip()[:REASON_CHARS]} if choice == "deny" and reason.strip() else {}
    return Decision(call=link.call, digest=link.digest, choice=choice, by=link.by, roles=list(link.roles), **told)


def _choices(link: DecisionLink, pending: Pending) -> list[Choice]:
    """What link and call both allow."""
    return [choice for choice in CHOICES if choice in link.choices and choice in pending.allowed]


def _leaf(words: str | None) -> Leaf | None:
    return text(words) if words else None


def _told(applied: Applied, choice: Choice) -> str:
    word = "Approved" if choice == "approve" else "Denied"
    if applied.decided is None:
        return f"{word}. No worker is up now; it takes effect when one is."
    if applied.decided.missing:
        return f"{word}, as one of several: {applied.decided.missing} more must approve before it runs."
    return f"{word}."


def _failed(request: Request, error: Exception) -> HTMLResponse:
    if isinstance(error, BadLink):
        return _say(request, "No decision", str(error), 403)
    problem = problem_of(error)
    title = "Decided already" if isinstance(error, DecisionRefused) and error.decided else "No decision"
    return _say(request, title, problem.detail, problem.status)


def _say(request: Request, title: str, said: str, status: int = 200) -> HTMLResponse:
    return _page(request, "message.html", title, status, text=said, href="/inbox", name="To the inbox")


def _page(request: Request, template: str, title: str, status: int = 200, **context: Any) -> HTMLResponse:
    shown = page(request, template, title, person=None, status=status, **context)
    shown.headers.update(HEADERS)
    return shown


def _links(request: Request) -> Links:
    links: Links = request.app.state.links
    return links
