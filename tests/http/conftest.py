"""An application over a client of the real server, asked in this process as a browser or a program would."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest
from httpx2 import ASGITransport, AsyncClient, Response
from temporalio.client import Client as Temporal

from activities.artifacts import Artifacts
from surefoot.client import Client
from surefoot.http import tokens
from surefoot.http.access import Access
from surefoot.http.app import create_app
from surefoot.http.sessions import Sessions
from surefoot.http.tokens import TokenFile

HERE = "http://127.0.0.1:8230"


def asking(
    client: Client,
    access: Access,
    *,
    address: str = "203.0.113.5",
    artifacts: Artifacts | None = None,
    cookies: dict[str, str] | None = None,
) -> AsyncClient:
    """Somebody at `address` who asks the application."""
    app = create_app(client, access, artifacts=artifacts)
    return AsyncClient(transport=ASGITransport(app, client=(address, 40_000)), base_url=HERE, cookies=cookies)


def known(folder: Path, **people: list[str]) -> tuple[Access, dict[str, str]]:
    """An access for people with these roles, and the token of each."""
    given = {name: tokens.fresh() for name in people}
    file = folder / "tokens.toml"
    file.write_text("".join(tokens.line(name, people[name], token) for name, token in given.items()))
    return Access(Sessions(secure=False), tokens=TokenFile(file)), given


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


@pytest.fixture
def nobody() -> Client:
    """A client for tests in which no job is reached for."""
    return Client(cast(Temporal, None))


class Caller:
    """Somebody who calls the API, and expects it to answer with this status."""

    def __init__(self, asked: AsyncClient) -> None:
        self.asked = asked

    async def get(self, path: str, expect: int = 200, **query: Any) -> Any:
        return self._told(await self.asked.get(f"/api/v1{path}", params=query), expect)

    async def post(self, path: str, body: Any = None, expect: int = 200, headers: dict[str, str] | None = None) -> Any:
        return self._told(await self.asked.post(f"/api/v1{path}", json=body, headers=headers), expect)

    async def patch(self, path: str, body: Any, expect: int = 200) -> Any:
        return self._told(await self.asked.patch(f"/api/v1{path}", json=body), expect)

    @staticmethod
    def _told(answer: Response, status: int) -> Any:
        assert answer.status_code == status, answer.text
        assert answer.headers["content-type"] == ("application/json" if status < 400 else "application/problem+json")
        return answer.json()


@asynccontextmanager
async def calling(client: Client, name: str = "ana", *roles: str) -> AsyncIterator[Caller]:
    """A person of this name calls; with all permissions, and these roles besides."""
    async with asking(client, Access.open(name, list(roles))) as asked:
        yield Caller(asked)
