"""A home that can't be written to any more: whoever starts something there is told so, and what to do.

A limit on the size of files stands for the full disk, since anybody may set one.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from surefoot.embedded import record, worker_record
from surefoot.embedded.home import Home, prepare
from surefoot.embedded.record import ServerRecord
from surefoot.embedded.worker_record import AppVersion, WorkerRecord
from surefoot.settings import Settings
from tests.surefoot.embedded.conftest import Program

pytestmark = pytest.mark.server

LIMITED = """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
try:
    %s
except errors.HomeUnusable as problem:
    say(problem=str(problem))
"""
SERVED = """
async with embedded.lease(settings):
    say(up=True)
    await stop.wait()
"""


def problem(home: Path) -> dict[str, object]:
    reason = "a file there may not become as large as is needed (`ulimit -f`)"
    remedy = "Raise that limit, or set SUREFOOT_HOME to a folder on another disk."
    return {"problem": f"{str(home)!r} can't be used: {reason}. {remedy}"}


@pytest.mark.parametrize("start", ["lease", "serve_foreground"])
async def test_a_server_that_can_not_write_says_why_and_what_to_do(
    settings: Settings, program: Callable[[str], Program], start: str
) -> None:
    prepare(settings.home)
    said = await program(LIMITED % f"async with embedded.{start}(settings): pass").said()

    assert said == problem(settings.home)


async def test_a_worker_that_can_not_write_says_why_and_what_to_do(
    settings: Settings, program: Callable[[str], Program], tmp_path: Path
) -> None:
    app = tmp_path / "app.py"
    app.write_text("")
    await program(SERVED).said()
    said = await program(LIMITED % f"await workers.spawn(settings, Path({str(app)!r}), 'q', detached=True)").said()

    assert said == problem(settings.home)


def test_a_home_that_can_be_written_to_is_left_as_it_was(tmp_path: Path) -> None:
    home = prepare(tmp_path / "home")
    before = sorted(home.path.iterdir())

    assert home.unwritable() is None
    assert sorted(home.path.iterdir()) == before


def test_a_home_whose_folder_is_gone_is_told_by_its_path(tmp_path: Path) -> None:
    gone = tmp_path / "gone"

    assert str(Home(gone).unwritable()) == (
        f"{str(gone)!r} can't be used: No such file or directory. Set SUREFOOT_HOME to a folder that you can write."
    )


def test_a_record_that_can_not_be_written_leaves_no_draft(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, text: str) -> int:
        path.touch()
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    app = AppVersion(path="app.py", mtime_ns=0, size=0, sha256="")
    with pytest.raises(OSError, match="No space left"):
        record.write(tmp_path / "server.json", ServerRecord(state="starting", supervisor=1))
    with pytest.raises(OSError, match="No space left"):
        worker_record.write(tmp_path / "w.json", WorkerRecord(pid=1, queue="q", app=app, log="", started=""))

    assert list(tmp_path.iterdir()) == []
