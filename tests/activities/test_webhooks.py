"""Webhooks as authors write them: what is taken, and what is refused with which advice."""

import re
from typing import Any

import pytest

from activities.agents import Agent
from activities.errors import DefinitionError
from activities.notices.webhooks import EVENTS, Webhook, is_private
from activities.providers.scripted import Script

URL = "https://hooks.example.com/services/T0/B0/s3cret"


def agent(*webhooks: Any) -> Agent:
    return Agent("desk", Script([{"text": "x"}]), notify=list(webhooks))


def test_a_webhook_tells_everything_in_the_standard_form_unless_it_says_otherwise() -> None:
    webhook = Webhook(URL)

    assert (webhook.events, webhook.format, webhook.details, webhook.links_as) == (EVENTS, "standard", False, None)
    assert webhook.secret == "SUREFOOT_WEBHOOK_SECRET"


def test_the_default_name_tells_hosts_and_urls_apart_and_holds_no_secret() -> None:
    first, second = Webhook(URL), Webhook(f"{URL}2")

    assert [re.sub(r"[0-9a-f]{8}$", "digest", each.name) for each in (first, second)] == [
        "hooks-example-com-digest"
    ] * 2
    assert first.name != second.name
    assert "s3cret" not in repr(first)


def test_a_job_notes_for_each_event_who_is_told() -> None:
    spec = agent(Webhook(URL, name="all"), Webhook(URL, name="ends", events=["job_ended"])).spec()

    assert spec.notices == {event: ["all"] for event in EVENTS} | {"job_ended": ["all", "ends"]}


def test_an_agent_without_webhooks_writes_nothing_of_them() -> None:
    assert "notices" not in agent().spec().model_fields_set


@pytest.mark.parametrize(
    "url",
    [
        "http://localhost:8000/hook",
        "http://127.0.0.1/hook",
        "http://[::1]:8000",
        "http://10.1.2.3/hook",
        "http://hooks:8080/in",
        "http://bus.corp.internal/hook",
    ],
)
def test_plain_http_is_for_this_machine_and_private_networks(url: str) -> None:
    assert Webhook(url).url == url


@pytest.mark.parametrize("host", ["example.com", "8.8.8.8", "2001:4860:4860::8888", "internal.example.com"])
def test_a_public_host_is_not_private(host: str) -> None:
    assert is_private(host) is False


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("http://hooks.example.com/x", "reached by http.*Write https"),
        ("hooks.example.com", "has no host to send to"),
        ("ftp://hooks.example.com", "has no host to send to"),
        ("https://", "has no host to send to"),
        ("https://hooks.example.com:99999/", "can't be used"),
        ("https://user:pass@hooks.example.com/", "holds a user"),
        ("https://hooks.example.com/#x", "#fragment"),
        ("https://hooks.example.com/a b", "Write it in ASCII"),
        ("https://hooks.exämple.com/", "Write it in ASCII"),
        ("https://hooks.example.com/\r\nx: y", "Write it in ASCII"),
        ("", "has no host to send to"),
        (None, "Write it in ASCII"),
    ],
)
def test_a_url_that_can_not_be_used_is_refused(url: Any, says: str) -> None:
    with pytest.raises(DefinitionError, match=says):
        Webhook(url)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"events": ["job_end"]}, "did you mean 'job_ended'"),
        ({"events": []}, r"events=\[\]"),
        ({"events": "job_ended"}, "Give a list"),
        ({"format": "discord"}, "one of standard, slack, teams"),
        ({"name": "a.b"}, "letters, digits"),
        ({"name": ""}, "letters, digits"),
        ({"details": "yes"}, "True or False"),
        ({"links_as": " "}, "Give the name"),
        ({"roles": ["finance"]}, "Add links_as"),
        ({"links_as": "finance", "roles": "finance"}, "list of names of roles"),
    ],
)
def test_an_option_that_can_not_be_used_is_refused(options: dict[str, Any], says: str) -> None:
    with pytest.raises(DefinitionError, match=says):
        Webhook(URL, **options)


@pytest.mark.parametrize("secret", ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "", None])
def test_a_secret_in_the_app_file_is_refused_without_being_shown(secret: Any) -> None:
    with pytest.raises(DefinitionError, match="names the environment variable") as refused:
        Webhook(URL, secret=secret)

    assert "whsec" not in str(refused.value)


@pytest.mark.parametrize("wrong", ["http://hooks.example.com/t0p/s3cret", "https://hooks.example.com:x/?k=s3cret"])
def test_a_refusal_does_not_tell_the_secret_part_of_a_url(wrong: str) -> None:
    with pytest.raises(DefinitionError) as refused:
        Webhook(wrong)

    assert "s3cret" not in str(refused.value)


@pytest.mark.parametrize(
    ("notify", "says"),
    [
        (Webhook(URL), "Give a list"),
        (URL, "Give a list"),
        ([URL], "is no Webhook"),
        ([Webhook(URL), Webhook(URL)], "two of its webhooks are"),
    ],
)
def test_what_is_no_list_of_webhooks_is_refused(notify: Any, says: str) -> None:
    with pytest.raises(DefinitionError, match=f"agent 'desk'.*{says}"):
        Agent("desk", Script([{"text": "x"}]), notify=notify)
