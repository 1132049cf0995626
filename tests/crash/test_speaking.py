"""A worker that is killed while its model speaks."""

import asyncio

import pytest

from surefoot.client import Client
from surefoot.listening import News, Recorded
from surefoot.saying import Forgotten, Said
from tests.crash.processes import Workers
from tests.waiting import until

pytestmark = pytest.mark.crash


async def test_whoever_listens_is_told_to_forget_and_hears_the_next_attempt_from_its_beginning(
    workers: Workers, client: Client
) -> None:
    worker = await workers.start()
    job = await client.start("speaker", "go")
    news: list[News] = []

    async def listen() -> None:
        async for each in job.listen():
            news.append(each)

    async def heard() -> list[Said | Forgotten]:
        return [each for each in news if isinstance(each, Said | Forgotten)]

    listening = asyncio.create_task(listen())
    first = await until(heard)
    await worker.kill()
    await workers.start()
    await asyncio.wait_for(listening, 60)

    told = await heard()
    place = told.index(Forgotten(turn=1, attempt=1))
    texts = "".join(each.text for each in told[place + 1 :] if isinstance(each, Said))
    assert first[0].attempt == 1
    assert {each.attempt for each in told[:place]} == {1}
    assert {each.attempt for each in told[place + 1 :]} == {2}
    assert texts.startswith("0 1 2 3 ")
    turn = next(each.entry for each in news if isinstance(each, Recorded) and each.entry.kind == "turn")
    assert turn.text.startswith(texts)
    assert turn.attempts == 2
