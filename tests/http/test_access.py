"""Who a request comes from, and who is refused."""

from pathlib import Path

import pytest

from surefoot.client import Client
from surefoot.http import tokens
from surefoot.http.access import Access
from surefoot.http.sessions import Sessions
from surefoot.http.tokens import TokenFile
from tests.http.conftest import asking

EVIL = {"Origin": "http://evil.example"}


@pytest.fixture
def ana() -> str:
    return tokens.fresh()


@pytest.fixture
def access(tmp_path: Path, ana: str) -> Access:
    file = tmp_path / "tokens.toml"
    file.write_text(tokens.line("Ana", ["approve", "finance"], ana))
    return Access(Sessions(secure=False), tokens=TokenFile(file))


async def test_a_health_check_needs_no_token(nobody: Client, access: Access) -> None:
    async with asking(nobody, access) as asked:
        answer = await asked.get("/healthz")

    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})
