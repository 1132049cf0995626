"""Independent stand-ins for the providers' APIs, each a process of its own: npm's aimock and PyPI's llmock.

`make second-opinions` installs both into .venv-opinions; a test whose stand-in is not there is skipped and says so.
"""

import asyncio
import shutil
import socket
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.waiting import until

INSTALLED = Path(__file__).parents[2] / ".venv-opinions"
AIMOCK = INSTALLED / "node_modules" / "@copilotkit" / "aimock" / "dist" / "cli.js"
LLMOCK = INSTALLED / "bin" / "llmock"
NODE = shutil.which("node")


class StandIn:
    """A stand-in that is up. `paths` are where it serves Anthropic's, OpenAI's and Google's APIs."""

    def __init__(self, url: str, admin: str, paths: tuple[str, str, str]) -> None:
        self.url, self._admin = url, admin
        self.anthropic, self.openai, self.google = (url + path for path in paths)

    def variables(self) -> Mapping[str, str]:
        """What lets the SDKs take it for their providers. Both serve Google's API under its older version only."""
        return {
            "ANTHROPIC_API_KEY": "none",
            "ANTHROPIC_BASE_URL": self.anthropic,
            "OPENAI_API_KEY": "none",
            "OPENAI_BASE_URL": self.openai,
            "GEMINI_API_KEY": "none",
            "GOOGLE_GEMINI_BASE_URL": self.google,
            "GOOGLE_GENAI_API_VERSION": "v1beta",
        }

    async def tell(self, path: str, **body: Any) -> None:
        async with httpx2.AsyncClient() as http:
            (await http.post(f"{self.url}/{self._admin}/{path}", json=body)).raise_for_status()

    async def ask(self, path: str) -> Any:
        async with httpx2.AsyncClient() as http:
            return (await http.get(f"{self.url}/{self._admin}/{path}")).raise_for_status().json()


@asynccontextmanager
async def aimock() -> AsyncIterator[StandIn]:
    """It answers by fixtures and refuses what fits none."""
    if NODE is None or not AIMOCK.exists():
        pytest.skip("aimock is not installed: `make second-opinions` does so where Node is")
    some = AIMOCK.parents[1] / "fixtures" / "example-greeting.json"  # it does not start without any
    async with _served([NODE, str(AIMOCK), "--fixtures", str(some), "--strict", "--port"]) as url:
        yield StandIn(url, "__aimock", ("", "/v1", ""))


@asynccontextmanager
async def llmock() -> AsyncIterator[StandIn]:
    """It answers by a scenario, else as it likes, and writes down how its client took its faults."""
    if not LLMOCK.exists():
        pytest.skip("llmock is not installed: `make second-opinions` does so")
    async with _served([str(LLMOCK), "serve", "--port"]) as url:
        yield StandIn(url, "_llmock", ("/anthropic", "/v1", "/gemini"))


@asynccontextmanager
async def _served(command: Sequence[str]) -> AsyncIterator[str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    silent = asyncio.subprocess.DEVNULL
    process = await asyncio.create_subprocess_exec(*command, str(port), stdout=silent, stderr=silent)
    try:
        await until(lambda: _answers(url, process))
        yield url
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def _answers(url: str, process: asyncio.subprocess.Process) -> bool:
    assert process.returncode is None, f"the stand-in for {url} ended with {process.returncode}"
    try:
        async with httpx2.AsyncClient() as http:
            return (await http.get(f"{url}/health")).is_success
    except httpx2.TransportError:
        return False
