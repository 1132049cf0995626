"""What stands in server.json is advice: whatever is wrong with it counts as nothing there."""

import os
from pathlib import Path

import pytest

from surefoot.embedded.record import ServerRecord, read, write


def test_a_record_reads_back_as_it_was_written(tmp_path: Path) -> None:
    record = ServerRecord(state="ready", supervisor=1, server=2, port=7233, ui_port=8233, version="temporal 1.9.1")
    write(tmp_path / "server.json", record)

    assert read(tmp_path / "server.json") == record
    assert (record.address, record.ui) == ("127.0.0.1:7233", "http://127.0.0.1:8233")
    assert os.listdir(tmp_path) == ["server.json"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        '{"state": "ready"}',
        '{"state": "odd", "supervisor": 1}',
        '{"state": "ready", "supervisor": "1"}',
        '{"state": "ready", "supervisor": 1, "port": "7233"}',
    ],
)
def test_anything_else_is_no_record(tmp_path: Path, text: str) -> None:
    (tmp_path / "server.json").write_text(text)

    assert read(tmp_path / "server.json") is None


def test_fields_of_a_later_version_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / "server.json").write_text('{"state": "ready", "supervisor": 1, "colour": "blue"}')

    assert read(tmp_path / "server.json") == ServerRecord(state="ready", supervisor=1)


def test_no_file_is_no_record(tmp_path: Path) -> None:
    assert read(tmp_path / "server.json") is None
