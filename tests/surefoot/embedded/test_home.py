"""The folder SUREFOOT_HOME."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from surefoot.embedded.errors import HomeUnusable
from surefoot.embedded.home import Home, bound_log, prepare, shown


def test_a_new_home_is_private_and_ignored_by_git(tmp_path: Path) -> None:
    home = prepare(tmp_path / "deep" / ".surefoot")

    assert (home.path / ".gitignore").read_text() == "*\n"
    assert home.path.stat().st_mode & 0o777 == 0o700
    assert (home.path / "logs").is_dir()


def test_a_folder_with_other_things_in_it_gets_no_gitignore(tmp_path: Path) -> None:
    (tmp_path / "main.py").touch()

    prepare(tmp_path)

    assert not (tmp_path / ".gitignore").exists()


def test_a_gitignore_that_somebody_changed_stays(tmp_path: Path) -> None:
    home = prepare(tmp_path / "home")
    (home.path / ".gitignore").write_text("# mine\n")

    prepare(home.path)

    assert (home.path / ".gitignore").read_text() == "# mine\n"


def test_a_file_in_place_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(HomeUnusable, match=r"there is a file where a folder should be. Set SUREFOOT_HOME"):
        prepare(tmp_path / "file")
    with pytest.raises(HomeUnusable, match=r"there is a file where a folder should be. Set SUREFOOT_HOME"):
        prepare(tmp_path / "file" / "home")


def test_a_path_that_is_too_long(tmp_path: Path) -> None:
    with pytest.raises(HomeUnusable, match="the path is too long"):
        prepare(tmp_path / ("x" * 300))


READ_ONLY = """
import subprocess, sys
from pathlib import Path
from surefoot.embedded.home import prepare
folder = Path(sys.argv[1])
if subprocess.run(["mount", "-t", "tmpfs", "-o", "ro", "none", folder], capture_output=True).returncode:
    raise SystemExit(77)
for home in (folder, folder / "new"):
    try:
        prepare(home)
    except Exception as problem:
        print(type(problem).__name__, problem)
"""


def test_a_read_only_disk(tmp_path: Path) -> None:
    inside = ["unshare", "--user", "--map-root-user", "--mount", sys.executable, "-c", READ_ONLY, str(tmp_path)]
    try:
        done = subprocess.run(inside, capture_output=True, text=True, timeout=30)
    except FileNotFoundError:
        pytest.skip("no `unshare` here")
    if "HomeUnusable" not in done.stdout and (done.returncode == 77 or "unshare" in done.stderr):
        pytest.skip("this system lets no user mount anything")

    remedy = "the disk is read-only. Set SUREFOOT_HOME to a folder that you can write."
    assert done.stdout.splitlines() == [
        f"HomeUnusable '{tmp_path}' can't be used: {remedy}",
        f"HomeUnusable '{tmp_path}/new' can't be used: {remedy}",
    ]


def test_a_folder_that_this_user_may_not_write(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    code = (
        "import sys; from pathlib import Path; from surefoot.embedded.home import prepare; prepare(Path(sys.argv[1]))"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "home")]
    if os.geteuid() == 0:  # root may write everywhere, but not without its name
        command = ["unshare", "--user", *command]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=30)
    except FileNotFoundError:
        pytest.skip("no `unshare` here")
    if "unshare" in done.stderr:
        pytest.skip("this system gives nobody another name")

    assert "HomeUnusable" in done.stderr
    assert "this user may not write there. Set SUREFOOT_HOME to a folder that you can write." in done.stderr


def test_a_long_log_is_put_aside_while_its_writer_goes_on(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    with open(log, "ab") as writer:
        writer.write(b"x" * 101)
        writer.flush()
        bound_log(log, limit=100)
        writer.write(b"after")

    assert log.read_bytes() == b"after"
    assert (tmp_path / "server.log.1").read_bytes() == b"x" * 101


def test_a_long_log_that_can_not_be_put_aside_is_emptied_all_the_same(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_bytes(b"x" * 101)
    (tmp_path / "server.log.1").mkdir()
    bound_log(log, limit=100)

    assert log.read_bytes() == b""


def test_a_short_log_and_a_missing_one_are_left_alone(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    bound_log(log, limit=100)
    log.write_bytes(b"x" * 100)
    bound_log(log, limit=100)

    assert [path.name for path in tmp_path.iterdir()] == ["server.log"]


def test_places_of_workers_stay_inside_the_home_and_apart(tmp_path: Path) -> None:
    home = Home(tmp_path)
    queues = ["a", "a/b", "../a", "a b", "ä", "x" * 250, "x" * 251]
    places = [place for queue in queues for place in home.workers(queue)]

    assert len({place.lock for place in places}) == 14
    assert all(place.lock.parent == tmp_path / "workers" for place in places)
    assert all(len(os.fsencode(place.lock.name)) < 200 for place in places)


def test_paths_can_be_shown_and_marked_whatever_their_bytes_are() -> None:
    path = Path(os.fsdecode(b"/tmp/\xff?"))

    assert shown(path) == "/tmp/\\xff?"
    assert Home(path).marker == 'surefoot.home="/tmp/\\udcff?"'
