"""Locks on files: who may hold them together, and what becomes of them."""

import os
import threading
from pathlib import Path

import pytest

from surefoot.embedded import locks
from surefoot.embedded.errors import HomeUnusable


def test_shared_locks_go_together_and_keep_an_exclusive_one_out(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
    first, second = locks.try_shared(path), locks.try_shared(path)
    assert first is not None
    assert second is not None

    assert locks.try_exclusive(path) is None
    first.release()
    assert locks.try_exclusive(path) is None
    second.release()
    alone = locks.try_exclusive(path)

    assert alone is not None
    assert locks.try_shared(path) is None
    alone.release()


def test_only_an_exclusive_lock_counts_as_held(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"

    assert not locks.is_held(path)
    assert not path.exists()
    shared = locks.try_shared(path)
    assert not locks.is_held(path)
    assert shared is not None
    shared.release()
    with locks.hold(path) or pytest.fail("free, but not to be had"):
        assert locks.is_held(path)
    assert not locks.is_held(path)


def test_questions_do_not_put_off_whoever_wants_to_hold(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
    asked_enough = threading.Event()

    def ask() -> None:
        while not asked_enough.is_set():
            locks.is_held(path)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(50):
            lock = locks.hold(path)
            assert lock is not None
            lock.release()
    finally:
        asked_enough.set()
        for thread in threads:
            thread.join()


def test_a_second_holder_is_told_at_once(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
    first = locks.hold(path)
    assert first is not None

    assert locks.hold(path) is None
    first.release()
    again = locks.hold(path)
    assert again is not None
    again.release()


def test_a_lock_whose_file_was_removed_or_replaced_is_not_intact(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
    lock = locks.hold(path)
    assert lock is not None
    assert lock.intact()

    path.unlink()
    assert not lock.intact()
    path.touch()
    assert not lock.intact()
    lock.release()
    assert not lock.intact()


def test_a_descriptor_is_not_inherited_by_programs(tmp_path: Path) -> None:
    lock = locks.hold(tmp_path / "a.lock")
    assert lock is not None

    assert not os.get_inheritable(lock._descriptor)
    lock.release()


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("file/a.lock", "there is a file where a folder should be"),
        ("x" * 300, "the path is too long"),
        ("missing/a.lock", "No such file or directory"),
    ],
)
def test_a_file_that_can_not_be_made_says_why_and_what_to_do(tmp_path: Path, name: str, reason: str) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(HomeUnusable) as caught:
        locks.try_shared(tmp_path / name)

    assert reason in str(caught.value)
    assert str(tmp_path / name) in str(caught.value)
    assert "Set SUREFOOT_HOME to a folder that you can write." in str(caught.value)
