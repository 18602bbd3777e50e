"""Machine code cached on disk, so that later processes need not compile it again.

A file holds one object and its metadata, under a name derived from everything that it was compiled from: the
arm, the functions, the machine, the versions. Files are written under a temporary name and renamed, verified
by a digest when read; a folder that other users can write to is not used. If the disk fails in any way, code
is compiled as if there were no cache.
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
OFF = ("", "off")  # values of FOREARM_CACHE that disable the cache
ENDING, PART, LOCK = ".kernel", ".part", ".lock"
DIGEST = 64  # characters
# only names of this form are ours
WRITTEN = re.compile(rf"[0-9a-f]{{{DIGEST}}}(\.kernel|\.lock|\.\d+\.\d+\.part)")
HEAD = 2**16  # bytes: the metadata of a file ends within these
LARGEST = 64 * 2**20  # bytes, maximum of one file
BOUND = 256 * 2**20  # bytes, maximum of all files (default; FOREARM_CACHE_BYTES overrides it)
STALE = 3600.0  # s after which an unfinished file is considered abandoned
# In a folder with more files than this, not every write lists all of them: only after this share of the
# remaining space has been filled, as other processes may fill it too.
MANY, SHARE = 200, 1 / 16
# bytes that this process may still write, by folder and bound, before it lists all files again
_until_next_look: dict[tuple[Path, int], float] = {}


@dataclass(frozen=True)
class Entry:
    """A file of the cache."""

    path: Path
    size: int
    used: float  # s since 1970


def folder() -> Path | None:
    """The cache folder:
    FOREARM_CACHE (None if that is empty or "off"), or forearm in the user's cache folder.
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
    except RuntimeError:  # no home directory
        return None


def bound() -> int:
    """Maximum size of all files together, in bytes."""
    given = os.environ.get("FOREARM_CACHE_BYTES", "")
    return int(given) if re.fullmatch("[0-9]{1,18}", given) else BOUND


def trouble(place: Path) -> str | None:
    """Why a folder cannot be used, or None:
    code that other users could have put there must not be executed.
    """
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
    """The file name for code compiled from these parts."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def read(key: str) -> tuple[dict[str, Any], bytes] | None:
    """The metadata and the code; None if there is no such file or it is damaged."""
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
    """The metadata of a file, from its first bytes only;
    None if they are damaged: the code itself is verified by `read`.
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
    """The first bytes of one of our files, and its size; links are not followed, and pipes do not block."""
    flags = (
        os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    )
    with os.fdopen(os.open(path, flags), "rb") as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode) or found.st_size > LARGEST:
            raise ValueError("not a cache file")
        # A folder that is safe now may have been writable by others when the file was created.
        if hasattr(os, "getuid") and (found.st_uid != os.getuid() or found.st_mode & 0o022):
            raise ValueError("writable by other users")
        return file.read(min(most, found.st_size + 1)), found.st_size


def _opened(content: bytes) -> tuple[dict[str, Any], bytes]:
    """The parts of a file; ValueError if it is damaged."""
    start = len(MAGIC) + DIGEST
    if (
        content[: len(MAGIC)] != MAGIC
        or hashlib.sha256(content[start:]).hexdigest().encode() != content[len(MAGIC) : start]
    ):
        raise ValueError("truncated or damaged cache file")
    line, _, code = content[start:].partition(b"\n")
    head = json.loads(line)
    if not isinstance(head, dict):
        raise ValueError("no metadata at the start")
    return head, code


def write(key: str, about: dict[str, Any], code: bytes) -> None:
    """Store code if the disk allows it; remove the least recently used files if the cache is too large."""
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
    """The lock file on which processes that compile an entry agree; None if there can be none."""
    place = folder()
    if place is None or not _is_ready(place):
        return None
    return place / f"{key}{LOCK}"


def _is_ready(place: Path) -> bool:
    """Whether files can be written to a folder, which is created if missing."""
    try:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        return False
    return trouble(place) is None


def entries(place: Path) -> list[Entry]:
    """The files of the cache, least recently used first."""
    return sorted(_files(place, ENDING), key=lambda e: e.used)


def unfinished(place: Path) -> list[Entry]:
    """Temporary and lock files, in use or abandoned."""
    return list(_files(place, PART, LOCK))


def clear(place: Path) -> tuple[int, int]:
    """Remove the cache's own files and nothing else; return their number and size in bytes."""
    gone = [entry.size for entry in (*entries(place), *unfinished(place)) if _removed(entry)]
    return len(gone), sum(gone)


def _bounded(place: Path, written: int) -> None:
    """Run after each write; entries are only built where there is something to remove."""
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
    """Every file that the cache wrote here."""
    try:
        with os.scandir(place) as found:
            for item in found:
                if WRITTEN.fullmatch(item.name) and item.is_file(follow_symlinks=False):
                    try:
                        yield item, item.stat(follow_symlinks=False)
                    except FileNotFoundError:  # another process removed it first
                        continue
    except OSError:
        return
