"""`surefoot batch submit --lane batch` and `surefoot batch lanes`, against the stand-in of a batch API."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.batch_apis import stand_in
from tests.batches.lanes import TERMS
from tests.cli.running import Ended, Place

pytestmark = pytest.mark.crash

APP = Path(__file__).parents[1] / "crash" / "apps" / "lane_app.py"


def document(ended: Ended, code: int = 0) -> Any:
    assert ended.code == code, ended.err
    return json.loads(ended.out)


async def test_a_file_in_the_batch_lane_is_done_at_half_price_and_the_lane_is_shown(place: Place) -> None:
    lines = [json.dumps({"custom_id": f"id-{n}", "input": f"say {n}"}) for n in range(1, 5)]
    (place.folder / "jobs.jsonl").write_text("\n".join(lines))
    async with stand_in("openai") as server:
        given = {**server.settings, "SUREFOOT_LANE_TERMS": TERMS.model_dump_json()}

        async def run(*words: str) -> Ended:
            return await asyncio.to_thread(lambda: place.run(*words, "--app", str(APP), **given))  # type: ignore[arg-type]

        submitted = await run("batch", "submit", "jobs.jsonl", "--agent", "openai", "--lane", "batch", "--watch")
        lanes = document(await run("batch", "lanes", "--json"))
        results = await run("batch", "results", submitted.out.split()[0])
        nothing = await run("batch", "lanes", "--resume", "lane/none")
        both = await run("batch", "lanes", "--resume", "a", "--pause", "b")

    assert submitted.code == 0, submitted.err
    assert "4 done" in submitted.out
    assert "saved" in submitted.out
    assert "waiting for a provider batch" in submitted.err
    assert [json.loads(line)["answer"] for line in results.out.splitlines()] == [f"heard say {n}" for n in range(1, 5)]
    assert [(lane["model"], lane["waiting"], lane["sent"], lane["books"]["answered"]) for lane in lanes] == [
        ("openai:gpt-4o", 0, 0, 4)
    ]
    assert (nothing.code, both.code) == (2, 2)
    assert "there is no lane lane/none" in nothing.err
    assert (len(server.books.batches), server.books.alone) == (1, [])
