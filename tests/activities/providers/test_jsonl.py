"""Lines of JSON are read as they come in: only a line feed ends one, and what is no object is left out."""

from collections.abc import AsyncIterator, Sequence

import httpx2
import pytest

from activities.providers.errors import Overloaded
from activities.providers.jsonl import json_lines
from workflows.contracts import JsonObject


async def read(*chunks: bytes | Exception) -> Sequence[JsonObject]:
    async def content() -> AsyncIterator[bytes]:
        for chunk in chunks:
            if isinstance(chunk, Exception):
                raise chunk
            yield chunk

    return [each async for each in json_lines(httpx2.Response(200, content=content()))]


async def test_a_line_may_be_cut_anywhere_and_the_last_one_needs_no_end() -> None:
    assert await read(b'{"a"', b': 1}\n{"b":', b" 2}") == [{"a": 1}, {"b": 2}]


async def test_characters_that_look_like_ends_of_lines_are_text() -> None:
    text = "one\u2028two\u0085three\x0bfour"

    assert await read('{"text": "one\u2028two\u0085three\\u000bfour"}\n'.encode()) == [{"text": text}]


async def test_what_is_no_object_is_left_out() -> None:
    assert await read(b'\n{"a": 1}\n[1]\n{"cut\n \n{"b": 2}\n') == [{"a": 1}, {"b": 2}]


async def test_a_connection_that_is_lost_is_an_error_and_no_end() -> None:
    with pytest.raises(Overloaded):
        await read(b'{"a": 1}\n', httpx2.ReadError("lost"))
