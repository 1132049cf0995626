"""Locks on files, which the kernel takes back when their holder dies, however it dies.

A lock belongs to the open file: a forked child shares it, a program started with `subprocess` does not.
Asking whether somebody holds a lock takes it shared for an instant, so a lock that is to be kept must be
taken with `hold`, which is not put off by that.
"""

import errno
import os
import time
from pathlib import Path
from types import TracebackType

from surefoot.embedded.errors import HomeUnusable

QUESTIONS_SECONDS = 5.0


class Lock:
    """A held lock. Closing it, or the end of the process, releases it."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self._descriptor = descriptor

    def intact(self) -> bool:
        """Is the locked file still the one at its path? If not, somebody removed the folder under us."""
        return self._descriptor >= 0 and _same_file(self._descriptor, self.path)

    def release(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __enter__(self) -> "Lock":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.release()


def try_shared(path: Path) -> Lock | None:
    """The lock, together with others that share it; None while somebody holds it exclusively."""
    return _try(path, exclusive=False)


def try_exclusive(path: Path) -> Lock | None:
    """The lock, alone; None while anybody holds it."""
    return _try(path, exclusive=True)


def hold(path: Path) -> Lock | None:
    """The lock, alone, for long; None if somebody else holds it so. Mere questions by others are waited out."""
    deadline = time.monotonic() + QUESTIONS_SECONDS
    while (lock := try_exclusive(path)) is None:
        if is_held(path) or time.monotonic() > deadline:
            return None
        time.sleep(0.01)
    return lock


def is_held(path: Path) -> bool:
    """Does somebody hold this lock exclusively?"""
    if not path.exists():
        return False
    lock = try_shared(path)
    if lock is None:
        return True
    lock.release()
    return False


def _try(path: Path, *, exclusive: bool) -> Lock | None:
    import fcntl  # not on Windows, where this package says so before it comes here

    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as problem:
        raise unusable(path, problem) from problem
    try:
        fcntl.flock(descriptor, (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    except OSError as problem:
        os.close(descriptor)
        raise unusable(path, problem) from problem
    if not _same_file(descriptor, path):
        # Removed between opening and locking: this lock would protect nothing.
        os.close(descriptor)
        return None
    return Lock(path, descriptor)


def _same_file(descriptor: int, path: Path) -> bool:
    try:
        there = os.stat(path)
    except OSError:
        return False
    here = os.fstat(descriptor)
    return (here.st_dev, here.st_ino) == (there.st_dev, there.st_ino)


def unusable(path: Path, problem: OSError) -> HomeUnusable:
    """The error text for a file of SUREFOOT_HOME that can't be made, opened or locked."""
    remedy = "Set SUREFOOT_HOME to a folder that you can write."
    reason = {
        errno.EROFS: "the disk is read-only",
        errno.EACCES: "this user may not write there",
        errno.EPERM: "this user may not write there",
        errno.ENAMETOOLONG: "the path is too long",
        errno.EEXIST: "there is a file where a folder should be",
        errno.ENOTDIR: "there is a file where a folder should be",
        errno.ENOSPC: "the disk is full",
        errno.EDQUOT: "this user's share of the disk is used up",
        errno.EFBIG: "a file there may not become as large as is needed (`ulimit -f`)",
        errno.ENOLCK: "its file system has no file locks (a network disk?)",
        errno.EOPNOTSUPP: "its file system has no file locks (a network disk?)",
    }.get(problem.errno or 0, problem.strerror or str(problem))
    if problem.errno == errno.EFBIG:
        remedy = "Raise that limit, or set SUREFOOT_HOME to a folder on another disk."
    elif problem.errno in (errno.ENOSPC, errno.EDQUOT):
        remedy = "Free some space, or set SUREFOOT_HOME to a folder on another disk."
    return HomeUnusable(f"{str(path)!r} can't be used: {reason}. {remedy}")
