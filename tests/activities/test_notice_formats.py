"""What notices look like for programs and in chats, and that no text of a job does anything there."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from activities.notices.decision_links import DecisionLink, Links
from activities.notices.formats import body
from activities.notices.messages import TITLES, TYPES, Message, message, payload
from activities.notices.webhooks import EVENTS, FORMATS, Format, Webhook
from workflows.contracts import Notice, Pending

NOW = datetime(2026, 11, 30, 9, 0, tzinfo=UTC)
LINKS = Links(["s" * 32], "https://agents.example.com")
EVIL = "<!channel> <@U1> @here <https://evil.example|ok> *b* `c` [x](https://evil.example) <at>Ann</at> & https://e.example"


def notice(**changes: Any) -> Notice:
    given = {
        "id": "msg_1",
        "event": "decision_needed",
        "at": NOW,
        "job": "desk-1",
        "agent": "desk",
        "webhooks": ["all"],
        "call": "c1-1",
        "tool": "refund",
        "digest": "d1",
        "asked_at": NOW,
        "approvers": ["finance"],
    }
    return Notice(**{**given, **changes})


def pending(**changes: Any) -> Pending:
    given = {
        "call": "c1-1",
        "kind": "decision",
        "agent": "desk",
        "tool": "refund",
        "arguments": {"amount": 5},
        "digest": "d1",
        "asked_at": NOW,
        "allowed": ["approve", "deny"],
        "why": "The customer is right.",
    }
    return Pending(**{**given, **changes})


def webhook(**options: Any) -> Webhook:
    return Webhook("https://hooks.example.com/x", name="all", **options)


def sent(form: Format, told: Notice | None = None, call: Pending | None = None, **options: Any) -> Any:
    chosen = webhook(format=form, **options)
    return json.loads(body(message(told or notice(), chosen, LINKS, NOW, call), form))


def strings(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for each in value.values():
            yield from strings(each)
    elif isinstance(value, list):
        for each in value:
            yield from strings(each)
    elif isinstance(value, str):
        yield value


def test_every_event_has_a_type_and_a_title() -> None:
    assert set(TYPES) == set(TITLES) == set(EVENTS)
    assert len(set(TYPES.values())) == len(EVENTS)


def test_the_standard_payload_has_facts_and_no_arguments_or_texts() -> None:
    assert sent("standard", call=pending()) == {
        "type": "decision.needed",
        "timestamp": "2026-11-30T09:00:00+00:00",
        "data": {
            "event": "decision_needed",
            "job": "desk-1",
            "agent": "desk",
            "call": "c1-1",
            "tool": "refund",
            "digest": "d1",
            "asked_at": "2026-11-30T09:00:00Z",
            "approvers": ["finance"],
            "risk": "normal",
            "job_url": "https://agents.example.com/jobs/desk-1",
        },
    }


@pytest.mark.parametrize("form", FORMATS)
def test_arguments_and_texts_are_sent_only_with_details(form: Format) -> None:
    ended = notice(event="job_ended", status="complete", summary="It is done.", answer="sesame")
    call = pending(arguments={"iban": "sesame"}, preview="pays sesame", why="sesame")

    for told, looked in ((ended, None), (notice(), call)):
        assert "sesame" not in json.dumps(sent(form, told, looked))
        assert "sesame" in json.dumps(sent(form, told, looked, details=True))


def test_details_are_those_of_the_call_as_it_waits() -> None:
    data = sent("standard", call=pending(preview="refunds 5"), details=True)["data"]

    assert data["details"] == {"arguments": {"amount": 5}, "preview": "refunds 5", "why": "The customer is right."}


@pytest.mark.parametrize("form", FORMATS)
def test_details_of_any_size_make_a_message_of_bounded_size(form: Format) -> None:
    call = pending(arguments={"text": "<&@`" * 300_000}, preview="<" * 100_000, why="&" * 100_000)

    assert len(json.dumps(sent(form, call=call, details=True))) < 100_000


def test_slack_takes_no_section_over_3000_characters() -> None:
    call = pending(arguments={"text": "<&>" * 3_000}, preview="`" * 9_000, why="@" * 9_000)
    blocks = sent("slack", call=call, details=True)["blocks"]

    assert max(len(block["text"]["text"]) for block in blocks) <= 3_000
    assert len(blocks) > 4


def test_in_slack_no_text_of_a_job_pings_links_or_looks_like_ours() -> None:
    told = notice(job=EVIL, tool=EVIL, agent=EVIL, approvers=[EVIL], tenant=EVIL)
    document = sent("slack", told, pending(preview=EVIL, why=EVIL, arguments={"x": EVIL}), details=True)
    ours = "<https://agents.example.com/jobs/"
    texts = [text for text in strings(document) if not text.startswith(ours)]

    assert [text for text in texts if "<" in text or ">" in text] == []
    assert [text for text in texts if "@here" in text] == []
    assert all(block["text"]["verbatim"] is True for block in document["blocks"])
    assert (document["unfurl_links"], document["unfurl_media"]) == (False, False)
    assert "*Tool*  `&lt;!channel&gt; &lt;" in document["blocks"][1]["text"]["text"]
    # What is between backticks is shown as it is: none of a text's own ends that.
    for text in texts:
        assert text.count("`") % 2 == 0
        for outside in text.split("`")[::2]:
            assert "evil" not in outside


def test_a_text_that_is_cut_for_slack_is_cut_between_escapes() -> None:
    document = sent("slack", notice(tool="&" * 500))

    assert "&amp;…`" in document["blocks"][1]["text"]["text"]
    assert "&am…" not in json.dumps(document, ensure_ascii=False)


def test_in_teams_texts_of_a_job_stand_in_text_runs_only() -> None:
    told = notice(job=EVIL, tool=EVIL, agent=EVIL, approvers=[EVIL])
    document = sent("teams", told, pending(preview=EVIL, why=EVIL, arguments={"x": EVIL}), details=True)
    card = document["attachments"][0]["content"]
    marked_up = [part["text"] for part in card["body"] if part["type"] == "TextBlock"]
    runs = [run["text"] for part in card["body"] if part["type"] == "RichTextBlock" for run in part["inlines"]]

    assert marked_up == ["A decision is needed"]
    assert EVIL in runs
    assert {part["type"] for part in card["body"]} == {"TextBlock", "RichTextBlock"}
    assert "msteams" not in card


def test_teams_gets_an_adaptive_card_in_a_message() -> None:
    document = sent("teams")

    assert document["type"] == "message"
    assert document["attachments"][0]["contentType"] == "application/vnd.microsoft.card.adaptive"
    assert document["attachments"][0]["content"]["actions"] == [
        {"type": "Action.OpenUrl", "title": "Open the job", "url": "https://agents.example.com/jobs/desk-1"}
    ]


# --- links


def decide_url(told: Notice, links: Links = LINKS, **options: Any) -> str | None:
    chosen = webhook(**{"links_as": "finance-channel", "roles": ["finance"], **options})
    return message(told, chosen, links, datetime.now(UTC)).decide_url


def test_a_decision_link_is_for_this_question_in_the_name_of_the_channel() -> None:
    expires = datetime.now(UTC).replace(microsecond=0) + timedelta(hours=1)
    url = decide_url(notice(expires_at=expires))
    assert url is not None
    start, token = url.rsplit("/", 1)

    assert start == "https://agents.example.com/decide"
    assert LINKS.read(token) == DecisionLink(
        job="desk-1",
        call="c1-1",
        digest="d1",
        asked_at=NOW,
        by="finance-channel",
        expires_at=expires,
        roles=("finance",),
    )


@pytest.mark.parametrize("event", ["decision_needed", "reminder", "escalated"])
def test_what_asks_comes_with_a_link(event: str) -> None:
    assert decide_url(notice(event=event)) is not None


@pytest.mark.parametrize(
    ("told", "options"),
    [
        (notice(event="unknown_outcome"), {}),
        (notice(event="expired"), {}),
        (notice(event="job_ended"), {}),
        (notice(), {"links_as": None, "roles": []}),
        (notice(approvers=["boss"]), {}),
        (notice(self_approval=False), {}),
    ],
)
def test_no_link_is_sent_that_could_not_decide_or_should_not(told: Notice, options: dict[str, Any]) -> None:
    assert decide_url(told, **options) is None


def test_without_a_secret_there_is_a_link_to_the_job_alone_and_without_a_console_none() -> None:
    plain = message(notice(), webhook(links_as="f"), Links([], "https://agents.example.com"), NOW)
    nothing = message(notice(), webhook(links_as="f"), Links(["s" * 32], None), NOW)

    assert (plain.decide_url, plain.job_url) == (None, "https://agents.example.com/jobs/desk-1")
    assert (nothing.decide_url, nothing.job_url) == (None, None)


def test_the_id_of_a_message_is_the_notices_and_the_webhooks() -> None:
    first, again = (message(notice(), webhook(), LINKS, NOW) for _ in range(2))

    assert first.id == again.id == "msg_1_all"
    assert payload(Message("x", notice())) == payload(Message("y", notice()))


@pytest.mark.parametrize("form", ["slack", "teams"])
def test_in_a_chat_no_text_of_a_job_hides_or_turns_around(form: Format) -> None:
    hiding = "A-1\u202e7\U000e0061"
    document = sent(form, notice(tool=hiding), pending(arguments={"x": hiding}), details=True)
    texts = "".join(strings(document))

    assert "\u202e" not in texts
    assert "\U000e0061" not in texts
    assert texts.count(r"A-1\u202e7\U000e0061") >= 2
