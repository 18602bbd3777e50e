"""A lock between processes for one entry of the cache, so that a machine compiles it once.

The operating system holds the lock and releases it when the process ends, however it ends; the file is only
its anchor. If the lock is unavailable, or not granted in time, code is compiled more than once.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from forearm.kernels import cache

PATIENCE = 60.0  # s to wait for another process: it may hang or be stopped
POLL = 0.01  # s between two attempts
_held: set[Path] = set()  # a signal handler must not wait for its own thread


@contextlib.contextmanager
def compiling(key: str) -> Iterator[None]:
    """Hold the lock of an entry, or continue without it after a timeout.

    Every thread that holds one also holds `locks.making`.
    """
    place = cache.lock_path(key)
    descriptor = None if place is None or place in _held else _locked(place)
    if place is None or descriptor is None:
        yield
        return
    _held.add(place)
    try:
        yield
    finally:
        _held.discard(place)
        _unlock(descriptor, place)


def _locked(place: Path) -> int | None:
    """The lock file, open and locked; None if that is impossible."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        try:
            descriptor = os.open(place, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
        except OSError:
            return None
        try:
            # Its last holder may have removed the file after it was opened here.
            if _try_lock(descriptor) and _is_at(descriptor, place):
                return descriptor
        except OSError:  # a file system without locks
            os.close(descriptor)
            return None
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)
        time.sleep(POLL)
    return None


def _is_at(descriptor: int, place: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(place))
    except FileNotFoundError:
        return False


def _unlock(descriptor: int, place: Path) -> None:
    """Remove the file and release the lock; Windows removes only files that nobody has open."""
    with contextlib.suppress(OSError):
        place.unlink()
    os.close(descriptor)
    if sys.platform == "win32":
        with contextlib.suppress(OSError):
            place.unlink()


if sys.platform == "win32":
    import msvcrt

    def _try_lock(descriptor: int) -> bool:
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except PermissionError:
            return False
        return True
else:
    import fcntl

    def _try_lock(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
