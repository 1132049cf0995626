"""Files that people send: received piece by piece into a temporary file, so large, so slow and so many at most.

A file is read only when it is known who sends it. What is refused in the middle leaves a connection of no more use.
"""

import asyncio
import gzip
import io
import os
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import IO, BinaryIO

from fastapi import Request
from starlette.requests import ClientDisconnect

from surefoot.http.problems import Refusal
from surefoot.settings import SettingsError

MOST_MB = 256
AT_ONCE = 4
"""So many files are received or worked on at the same time: each takes room on a disk, and a part of a processor."""

SILENT_SECONDS = 20.0
ALL_SECONDS = 1800.0
BUFFER = 1 << 16


class Uploads:
    """Receives files of at most `most` bytes, also when they are unpacked; `received` counts those under way."""

    def __init__(self, most: int = MOST_MB * 1_000_000) -> None:
        self.most = most
        self.received = 0

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> "Uploads":
        """As `SUREFOOT_UPLOAD_MB` says. Raises `SettingsError`."""
        told = environment.get("SUREFOOT_UPLOAD_MB") or str(MOST_MB)
        if not told.isascii() or not told.isdigit() or int(told) == 0:
            raise SettingsError(f"SUREFOOT_UPLOAD_MB={told!r} is no number of megabytes; {MOST_MB} are usual")
        return cls(int(told) * 1_000_000)

    @asynccontextmanager
    async def file(self, request: Request) -> AsyncIterator[BinaryIO]:
        """The body of a request as a file, unpacked. Raises `Refusal`, also while the file is read."""
        encoding = request.headers.get("content-encoding", "identity").strip().lower()
        if encoding not in ("identity", "gzip"):
            raise _unread(415, "unknown-encoding", f"Content-Encoding {encoding[:100]!r} is not known; gzip is")
        told = request.headers.get("content-length", "0")
        if told.isdigit() and int(told) > self.most:
            raise _too_large(f"{int(told):,} bytes", self.most)
        if self.received >= AT_ONCE:
            raise _unread(503, "too-busy", f"{self.received} files are being received: try again in a moment")
        self.received += 1
        try:
            with tempfile.TemporaryFile(prefix="surefoot-upload-") as spool:
                await self._receive(request, spool)
                spool.seek(0)
                source = gzip.GzipFile(fileobj=spool) if encoding == "gzip" else spool
                yield io.BufferedReader(_Bounded(source, self.most), BUFFER)
        finally:
            self.received -= 1

    async def _receive(self, request: Request, spool: IO[bytes]) -> None:
        pieces, size = request.stream(), 0
        try:
            async with asyncio.timeout(ALL_SECONDS):
                while True:
                    async with asyncio.timeout(SILENT_SECONDS):
                        piece = await anext(pieces, None)
                    if piece is None:
                        return
                    size += len(piece)
                    if size > self.most:
                        raise _too_large(f"more than {self.most:,} bytes", self.most)
                    spool.write(piece)
        except TimeoutError:
            text = f"nothing came for {SILENT_SECONDS:g} seconds, or the whole took more than {ALL_SECONDS:g}"
            raise _unread(408, "too-slow", text) from None
        except ClientDisconnect:
            raise _unread(
                400, "broken-off", f"the connection ended after {size:,} bytes, before the file did"
            ) from None


class _Bounded(io.RawIOBase):
    """No more than so many bytes of a file: a small one can unpack to anything."""

    def __init__(self, source: IO[bytes] | gzip.GzipFile, most: int) -> None:
        self._source, self._most, self._left = source, most, most

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "memoryview") -> int:  # type: ignore[override]
        piece = self._source.read(len(buffer))
        self._left -= len(piece)
        if self._left < 0:
            raise _too_large(f"more than {self._most:,} bytes, unpacked", self._most)
        buffer[: len(piece)] = piece
        return len(piece)


def _too_large(seen: str, most: int) -> Refusal:
    text = f"the file has {seen}, and at most {most:,} are taken (SUREFOOT_UPLOAD_MB): split it"
    return _unread(413, "too-large", text)


def _unread(status: int, slug: str, detail: str) -> Refusal:
    return Refusal(status, slug, detail, {"Connection": "close"})
