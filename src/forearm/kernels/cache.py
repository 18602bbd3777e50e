"""Machine code on disk, so that a later process need not make it again.

A file holds one object with what must be known about it, under a name that says what it was made of: the
arm, the functions, the machine, the versions. Files are written beside and renamed, checked by a digest when
read, and a folder that others could write to is not used. Whatever goes wrong with the disk, code is
compiled as if there were no cache.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MAGIC = b"forearm-kernel/1\n"
OFF = ("", "off")  # values of FOREARM_CACHE
ENDING, PART, LOCK = ".kernel", ".part", ".lock"
DIGEST = 64  # characters
# the names that are given here, and no other
WRITTEN = re.compile(rf"[0-9a-f]{{{DIGEST}}}(\.kernel|\.lock|\.\d+\.\d+\.part)")
HEAD = 2**16  # bytes within which what is known about some code ends
LARGEST = 64 * 2**20  # bytes of one file
BOUND = 256 * 2**20  # bytes of all files, unless FOREARM_CACHE_BYTES says otherwise
STALE = 3600.0  # s after which a file half written by someone is taken for abandoned
# Of a folder with so many files not all are looked at after every write: only after this share
# of the room that was left has been filled, as other processes may fill it too.
MANY, SHARE = 200, 1 / 16
# bytes that this process may write to a folder, by folder and bound, until it looks at all files again
_until_next_look: dict[tuple[Path, int], float] = {}


@dataclass(frozen=True)
class Entry:
    """A file of the cache."""

    path: Path
    size: int
    used: float  # s since 1970


def folder() -> Path | None:
    """Where files are: FOREARM_CACHE (nowhere if that is empty or "off"), or forearm in the user's
    own folder for caches.
    """
    named = os.environ.get("FOREARM_CACHE")
    try:
        if named is not None:
            return Path(named).expanduser() if named not in OFF else None
        if os.name == "nt":
            return (
                Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
                / "forearm"
                / "cache"
            )
        given = os.environ.get("XDG_CACHE_HOME", "")
        return (Path(given) if os.path.isabs(given) else Path.home() / ".cache") / "forearm"
    except RuntimeError:  # no home
        return None


def bound() -> int:
    """Bytes that all files together may take."""
    given = os.environ.get("FOREARM_CACHE_BYTES", "")
    return int(given) if re.fullmatch("[0-9]{1,18}", given) else BOUND


def trouble(place: Path) -> str | None:
    """Why a folder is not used: code that others could have put there must not be executed."""
    try:
        found = os.stat(place)
    except OSError as error:
        return f"{error.strerror or error}"
    if not stat.S_ISDIR(found.st_mode):
        return "is not a folder"
    if hasattr(os, "getuid"):
        if found.st_uid != os.getuid():
            return "belongs to another user"
        if found.st_mode & 0o022:
            return "can be written to by others; chmod go-w makes it usable"
    return None


def key_of(*parts: Any) -> str:
    """The name under which code made of these parts is kept."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def read(key: str) -> tuple[dict[str, Any], bytes] | None:
    """What is known about some code, and the code; None if it is not there or not whole."""
    place = folder()
    if place is None or trouble(place) is not None:
        return None
    path = place / f"{key}{ENDING}"
    try:
        content, _ = _start(path, LARGEST)
        head, code = _opened(content)
        if head["key"] != key:
            return None
    except (OSError, ValueError, KeyError, RecursionError):
        return None
    with contextlib.suppress(OSError):
        os.utime(path)
    return head, code


def about(path: Path) -> dict[str, Any] | None:
    """What a file says that it holds, from its start alone; None if it is damaged:
    the code itself is checked by `read`.
    """
    try:
        content, size = _start(path, len(MAGIC) + DIGEST + HEAD)
        line, newline, _ = content[len(MAGIC) + DIGEST :].partition(b"\n")
        head = json.loads(line)
        words = [head["arm"], head["dtype"], head["part"], *head["functions"]]
        whole = len(MAGIC) + DIGEST + len(line) + len(newline) + head["bytes"]
        if (
            content[: len(MAGIC)] != MAGIC
            or not newline
            or size != whole
            or head["key"] != path.name.split(".")[0]
        ):
            return None
        return head if all(isinstance(w, str) and w.isprintable() for w in words) else None
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def _start(path: Path, most: int) -> tuple[bytes, int]:
    """The first bytes of a file of our own, and its size; links are not followed,
    and pipes not waited for.
    """
    flags = (
        os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    )
    with os.fdopen(os.open(path, flags), "rb") as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode) or found.st_size > LARGEST:
            raise ValueError("not a file of the cache")
        # A folder that is safe now may not have been when the file was put there.
        if hasattr(os, "getuid") and (found.st_uid != os.getuid() or found.st_mode & 0o022):
            raise ValueError("not ours alone")
        return file.read(min(most, found.st_size + 1)), found.st_size


def _opened(content: bytes) -> tuple[dict[str, Any], bytes]:
    """The parts of a file; ValueError if anything is not as it was written."""
    start = len(MAGIC) + DIGEST
    if (
        content[: len(MAGIC)] != MAGIC
        or hashlib.sha256(content[start:]).hexdigest().encode() != content[len(MAGIC) : start]
    ):
        raise ValueError("not a whole file of the cache")
    line, _, code = content[start:].partition(b"\n")
    head = json.loads(line)
    if not isinstance(head, dict):
        raise ValueError("no table at the start")
    return head, code


def write(key: str, about: dict[str, Any], code: bytes) -> None:
    """Keep some code, if the disk lets us; the oldest files go when there is too much."""
    place = folder()
    body = json.dumps({"key": key, "bytes": len(code), **about}, sort_keys=True).encode() + b"\n" + code
    content = MAGIC + hashlib.sha256(body).hexdigest().encode() + body
    if place is None or len(content) > min(LARGEST, bound()):
        return
    beside = place / f"{key}.{os.getpid()}.{time.monotonic_ns()}{PART}"
    try:
        if not _is_ready(place):
            return
        with os.fdopen(
            os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600), "wb"
        ) as file:
            file.write(content)
        os.replace(beside, place / f"{key}{ENDING}")
        _bounded(place, len(content))
    except OSError:
        with contextlib.suppress(OSError):
            beside.unlink()


def lock_path(key: str) -> Path | None:
    """Where processes that are about to write an entry agree on one of them; None where none can be."""
    place = folder()
    if place is None or not _is_ready(place):
        return None
    return place / f"{key}{LOCK}"


def _is_ready(place: Path) -> bool:
    """Whether files can be put into a folder, which is made if it is not there."""
    try:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        return False
    return trouble(place) is None


def entries(place: Path) -> list[Entry]:
    """The files of the cache, the longest unused first."""
    return sorted(_files(place, ENDING), key=lambda e: e.used)


def unfinished(place: Path) -> list[Entry]:
    """Files that are being written or waited for, or that someone stopped writing."""
    return list(_files(place, PART, LOCK))


def clear(place: Path) -> tuple[int, int]:
    """Remove what the cache wrote, and nothing else: how many files, and bytes."""
    gone = [entry.size for entry in (*entries(place), *unfinished(place)) if _removed(entry)]
    return len(gone), sum(gone)


def _bounded(place: Path, written: int) -> None:
    """After every write, so that entries are only made of the files where there is something to remove."""
    most = bound()
    left = _until_next_look.get((place, most), 0.0) - written
    if left > 0.0:
        _until_next_look[place, most] = left
        return
    count, total, old = 0, 0, time.time() - STALE
    for item, status in _written(place):
        count += 1
        if item.name.endswith(ENDING):
            total += status.st_size
        elif status.st_mtime < old:
            _removed(_entry(item, status))
    if total > most:
        for entry in entries(place):
            if total <= most:
                break
            total -= entry.size if _removed(entry) else 0
    _until_next_look[place, most] = SHARE * (most - total) if count > MANY else 0.0


def _removed(entry: Entry) -> bool:
    with contextlib.suppress(OSError):
        entry.path.unlink()
        return True
    return False


def _files(place: Path, *endings: str) -> Iterator[Entry]:
    return (_entry(item, status) for item, status in _written(place) if item.name.endswith(endings))


def _entry(item: os.DirEntry[str], status: os.stat_result) -> Entry:
    return Entry(Path(item.path), status.st_size, status.st_mtime)


def _written(place: Path) -> Iterator[tuple[os.DirEntry[str], os.stat_result]]:
    """Whatever the cache wrote here."""
    try:
        with os.scandir(place) as found:
            for item in found:
                if WRITTEN.fullmatch(item.name) and item.is_file(follow_symlinks=False):
                    try:
                        yield item, item.stat(follow_symlinks=False)
                    except FileNotFoundError:  # another process was faster
                        continue
    except OSError:
        return
