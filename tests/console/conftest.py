"""A real browser on a real server: the console as a person has it. What the browser complains of fails the test."""

import asyncio
import os
import shutil
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from playwright.async_api import Browser, BrowserContext, ConsoleMessage, Error, Page, async_playwright
from temporalio.client import Client as Temporal
from temporalio.client import WorkflowExecution
from temporalio.service import RPCError

from surefoot.client import Client
from surefoot.http import tokens
from surefoot.http.access import Access
from surefoot.http.app import create_app
from surefoot.http.sessions import Sessions
from surefoot.http.tokens import TokenFile
from tests.waiting import until

CHROMIUM = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
COLD_MS = 120_000
PATIENCE_MS = 45_000
DESKTOP = {"width": 1280, "height": 860}
PHONE = {"width": 360, "height": 740}


@pytest.fixture(scope="session")
async def browser() -> AsyncIterator[Browser]:
    """One headless Chromium for the whole run. Without one these tests are left out, but never in CI."""
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        if os.environ.get("CI") == "true":
            pytest.fail("CI runs the browser tests, and there is no chromium: .ci/run installs it when run as root")
        pytest.skip("no chromium on this machine: install Debian's package `chromium` for the browser tests")
    async with async_playwright() as playwright:
        chromium = await playwright.chromium.launch(executable_path=path, args=CHROMIUM, timeout=COLD_MS)
        # The first page waits until all processes of Chromium are up: on a busy machine longer than a test may take.
        first = await chromium.new_page()
        await first.set_content("<p>warm", timeout=COLD_MS)
        await first.close()
        yield chromium
        await chromium.close()


@pytest.fixture
async def alone(temporal: Temporal) -> AsyncIterator[None]:
    """No test sees jobs of another one: they would be in its inbox, with nobody to answer for them."""
    yield

    async def running() -> list[WorkflowExecution]:
        return [run async for run in temporal.list_workflows("ExecutionStatus = 'Running'")]

    async def ended() -> bool:
        left = await running()
        for run in left:
            with suppress(RPCError):  # it may end by itself meanwhile
                await temporal.get_workflow_handle(run.id).terminate("the test is over")
        return not left

    await until(ended)


class Tab:
    """A page of the console in the browser. What the browser complains of is kept in `complaints`."""

    def __init__(self, page: Page, origin: str, complaints: list[str]) -> None:
        self.page, self.origin, self.complaints = page, origin, complaints
        self.expected: list[str] = []

    async def open(self, path: str) -> None:
        await self.page.goto(f"{self.origin}{path}")

    async def says(self, text: str, selector: str = "body") -> None:
        """Until that is to be read."""
        await until(lambda: self.text(selector), lambda seen: text in seen)

    async def text(self, selector: str = "body") -> str:
        """What is to be read there; nothing while the browser goes to another page."""
        try:
            return "\n".join(await self.page.locator(selector).all_inner_texts())
        except Error as error:
            if "context was destroyed" not in str(error):
                raise
            return ""

    async def press(self, word: str, place: int = 0) -> None:
        """Press the button of the call at this place."""
        await self.page.click(f"article.call >> nth={place} >> form[data-word={word}] >> button")

    async def speak(self, word: str, text: str, place: int = 0) -> None:
        """Open a form of the call at this place, fill it in and send it."""
        form = f"article.call >> nth={place} >> details[data-word={word}]"
        await self.page.click(f"{form} >> summary")
        await self.page.fill(f"{form} >> textarea", text)
        await self.page.click(f"{form} >> button")

    async def count(self, selector: str) -> int:
        return await self.page.locator(selector).count()

    async def counts(self, selector: str, wanted: int) -> None:
        await until(lambda: self.count(selector), lambda seen: seen == wanted)


class Console:
    """A server of the console, and tabs on it."""

    def __init__(self, origin: str, browser: Browser, tokens: dict[str, str]) -> None:
        self.origin, self._browser, self.tokens = origin, browser, tokens

    @asynccontextmanager
    async def tab(
        self, path: str | None = None, *, who: str | None = None, expected: tuple[str, ...] = (), **options: Any
    ) -> AsyncIterator[Tab]:
        """A tab at `path`, signed in as `who`. `expected` are pieces of complaints that belong to the test."""
        context = await self._browser.new_context(**{"viewport": DESKTOP, **options})
        try:
            tab = await self._tab(context)
            if who is not None:
                await self.sign_in(tab, who)
            if path is not None:
                await tab.open(path)
            yield tab
            left = [said for said in tab.complaints if not any(piece in said for piece in expected)]
            assert left == []
        finally:
            await context.close()

    async def _tab(self, context: BrowserContext) -> Tab:
        complaints: list[str] = []

        def heard(message: ConsoleMessage) -> None:
            if message.type in ("error", "warning"):
                complaints.append(f"{message.type}: {message.text}")

        page = await context.new_page()
        page.set_default_timeout(PATIENCE_MS)
        page.on("console", heard)
        page.on("pageerror", lambda error: complaints.append(f"page error: {error}"))
        return Tab(page, self.origin, complaints)

    async def sign_in(self, tab: Tab, who: str) -> None:
        await tab.open("/login")
        await tab.page.fill("#token", self.tokens[who])
        await tab.page.click("text=Sign in >> nth=-1")
        await tab.page.wait_for_url("**/inbox")


Serve = Callable[..., AbstractAsyncContextManager[Console]]


@pytest.fixture
def serve(browser: Browser, alone: None, tmp_path: Path) -> Serve:
    """`async with serve(client) as console:` the console on a loopback port; `people` have to sign in."""

    @asynccontextmanager
    async def start(
        client: Client, *, name: str = "ann", roles: tuple[str, ...] = (), **people: list[str]
    ) -> AsyncIterator[Console]:
        given = {who: tokens.fresh() for who in people}
        access = Access.open(name, list(roles))
        if people:
            file = tmp_path / "tokens.toml"
            file.write_text("".join(tokens.line(who, people[who], token) for who, token in given.items()))
            access = Access(Sessions(secure=False), tokens=TokenFile(file))
        app = create_app(client, access, temporal_ui="http://127.0.0.1:8233")
        with socket.socket() as bound:
            bound.bind(("127.0.0.1", 0))
            origin = f"http://127.0.0.1:{bound.getsockname()[1]}"
            config = uvicorn.Config(app, log_level="warning", lifespan="off", timeout_graceful_shutdown=5)
            server = uvicorn.Server(config)
            running = asyncio.create_task(server.serve(sockets=[bound]))
            try:
                yield Console(origin, browser, given)
            finally:
                server.should_exit = True
                await running

    return start
