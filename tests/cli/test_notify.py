"""`surefoot notify`, and what `surefoot doctor` says of webhooks."""

import asyncio
import json
from typing import Any

import pytest
import standardwebhooks

from activities.agents import Agent
from activities.notices.webhooks import Webhook
from activities.providers.scripted import Script
from surefoot.cli.doctor_webhooks import webhook_problem
from tests.cli.running import Ended, Place
from tests.webhook_receiver import answer, receiver

SECRET = "whsec_" + "c2VjcmV0" * 4
APP = """
from surefoot import Agent, Script, Webhook

SCRIPT = Script([{{"text": "done"}}])
desk = Agent("desk", SCRIPT, notify=[Webhook("{url}", name="all"), Webhook("{url}", name="chat", format="slack")])
quiet = Agent("quiet", SCRIPT)
"""


async def notify(place: Place, url: str, *arguments: str, **environment: Any) -> Ended:
    (place.folder / "told.py").write_text(APP.format(url=url))
    return await asyncio.to_thread(lambda: place.run("notify", *arguments, "--app", "told.py", **environment))


async def test_a_test_notice_is_sent_at_once_and_the_answer_is_told(place: Place) -> None:
    async with receiver() as endpoint:
        ended = await notify(place, endpoint.url, "desk", SUREFOOT_WEBHOOK_SECRET=SECRET)
        standard = next(each for each in endpoint.received if each.headers["webhook-id"].endswith("_all"))

    assert (ended.code, ended.out) == (0, "ok  all (standard): 200\nok  chat (slack): 200\n"), ended.err
    verified = standardwebhooks.Webhook(SECRET).verify(standard.body, standard.headers)
    assert verified["data"] == {
        "event": "job_ended", "job": "test", "agent": "desk", "risk": "normal", "status": "complete", "test": True,
    }  # fmt: skip
    assert len(endpoint.received) == 2


async def test_one_webhook_alone_and_what_went_wrong_as_json(place: Place) -> None:
    async def refuse(number: int) -> bytes:
        return answer(403, "invalid_token")

    async with receiver(refuse) as endpoint:
        ended = await notify(place, endpoint.url, "desk", "--webhook", "chat", "--json")

    assert ended.code == 1
    assert json.loads(ended.out) == [
        {
            "webhook": "chat",
            "format": "slack",
            "delivered": False,
            "answer": "the endpoint answered 403: invalid_token",
        }
    ]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("quiet",), "agent 'quiet' has no webhooks"),
        (("desk", "--webhook", "cat"), "it has all, chat"),
        (("disk",), "Did you mean 'desk'?"),
    ],
)
async def test_who_can_not_be_told_is_wrong_use(place: Place, arguments: tuple[str, ...], says: str) -> None:
    ended = await notify(place, "http://127.0.0.1:9", *arguments)

    assert ended.code == 2
    assert says in ended.err


async def test_without_a_secret_it_says_what_to_set(place: Place) -> None:
    ended = await notify(place, "http://127.0.0.1:9", "desk", "--webhook", "all")

    assert ended.code == 1
    assert "SUREFOOT_WEBHOOK_SECRET is not set" in ended.out


# --- doctor


def problem(*webhooks: Webhook, **environment: str) -> str:
    found = webhook_problem(Agent("desk", Script([{"text": "x"}]), notify=webhooks), environment)
    return "" if found is None else found[0]


STANDARD = Webhook("https://hooks.example.com", name="all")
LINKING = Webhook("https://hooks.example.com", name="chat", format="slack", links_as="channel")
CONSOLE, LINK_SECRET = "https://agents.example.com", "s" * 32


@pytest.mark.parametrize(
    ("webhook", "environment", "says"),
    [
        (STANDARD, {}, "all: SUREFOOT_WEBHOOK_SECRET is not set, so its notices can't be signed and wait"),
        (STANDARD, {"SUREFOOT_WEBHOOK_SECRET": "x"}, "all: SUREFOOT_WEBHOOK_SECRET: secret 1 is not whsec_"),
        (STANDARD, {"SUREFOOT_WEBHOOK_SECRET": SECRET}, ""),
        (LINKING, {}, "chat: SUREFOOT_CONSOLE_URL is not set, so its notices carry no links"),
        (LINKING, {"SUREFOOT_CONSOLE_URL": CONSOLE}, "chat: SUREFOOT_LINK_SECRET is not set"),
        (LINKING, {"SUREFOOT_CONSOLE_URL": CONSOLE, "SUREFOOT_LINK_SECRET": "x"}, "secret 1 has 1 characters"),
        (LINKING, {"SUREFOOT_CONSOLE_URL": CONSOLE, "SUREFOOT_LINK_SECRET": LINK_SECRET}, ""),
        (LINKING, {"SUREFOOT_CONSOLE_URL": "agents"}, "SUREFOOT_CONSOLE_URL='agents' is no address"),
    ],
)
def test_doctor_says_what_webhooks_lack(webhook: Webhook, environment: dict[str, str], says: str) -> None:
    found = problem(webhook, **environment)

    assert found.startswith(says) if says.startswith(("all", "chat")) else says in found
    assert bool(found) is bool(says)


async def test_doctor_shows_an_agents_webhooks(place: Place) -> None:
    (place.folder / "told.py").write_text(APP.format(url="http://127.0.0.1:9"))
    without = await asyncio.to_thread(place.run, "doctor", "--app", "told.py")
    with_it = await asyncio.to_thread(place.run, "doctor", "--app", "told.py", SUREFOOT_WEBHOOK_SECRET=SECRET)

    assert "!!  webhooks of desk" in without.out
    assert "ok  webhooks of desk" in with_it.out
    assert "all, chat" in with_it.out
    assert "webhooks of quiet" not in with_it.out
