"""Atomic file writes, safe with other writers on this machine and on others."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import socket
import time
from collections.abc import Iterator
from pathlib import Path

TEMPORARY = re.compile(r"\..+\.(?P<host>[\w-]+)\.(?P<pid>\d{1,9})\.[0-9a-f]{16}\.tmp")
STALE = 3600.0  # s after which a temporary file of another machine counts as abandoned
TRIES = 3  # a temporary file may be removed by a machine that assumes its writer dead
FATAL = {errno.EIO, errno.ENOSPC, errno.EDQUOT}  # errors after which a rename may not be durable

Signature = tuple[int, int, int]  # of a file: modification time, size, inode


def entries(folder: Path) -> Iterator[os.DirEntry[str]]:
    """Entries of a folder; none if it does not exist."""
    with contextlib.suppress(FileNotFoundError), os.scandir(folder) as found:
        yield from found


def visible(folder: Path) -> Iterator[str]:
    """Names in a folder, except temporary, system and file-system files."""
    return (entry.name for entry in entries(folder) if not entry.name.startswith("."))


def signature(path: Path) -> Signature:
    """A stamp that changes when a file is replaced or written."""
    found = path.stat()
    return found.st_mtime_ns, found.st_size, found.st_ino


def host_word() -> str:
    """The name of this machine in names of temporary files."""
    return re.sub(r"[^\w-]", "-", socket.gethostname(), flags=re.ASCII) or "host"


def write_temporary(target: Path, data: bytes) -> Path:
    """Write the bytes next to their target, under a name that identifies the writer."""
    temporary = target.with_name(f".{target.name}.{host_word()}.{os.getpid()}.{os.urandom(8).hex()}.tmp")
    try:
        with temporary.open("xb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return temporary


def replace_file(target: Path, data: bytes) -> None:
    """Write a file atomically and durably, surviving a power cut."""
    for k in range(TRIES):
        temporary = write_temporary(target, data)
        try:
            os.replace(temporary, target)
            break
        except FileNotFoundError:
            if k == TRIES - 1:
                raise
        finally:
            temporary.unlink(missing_ok=True)
    sync_folder(target.parent)


def write_new(target: Path, data: bytes) -> None:
    """Create a file atomically; one that another process created meanwhile stays."""
    temporary = write_temporary(target, data)
    try:
        os.link(temporary, target)
    except FileExistsError:
        pass
    except (OSError, AttributeError):  # a file system or a Python without links
        if not target.exists():
            os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)
    sync_folder(target.parent)


def sync_folder(folder: Path) -> None:
    """Make renames in a folder durable, if the system can open folders."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except PermissionError:  # a folder with execute but no read permission
        return
    try:
        os.fsync(descriptor)
    except OSError as error:  # some network file systems refuse it, and do it themselves
        if error.errno in FATAL:
            raise
    finally:
        os.close(descriptor)


def sweep(folder: Path) -> None:
    """Remove temporary files of writers that died."""
    for entry in list(entries(folder)):
        found = TEMPORARY.fullmatch(entry.name)
        with contextlib.suppress(OSError):  # already gone, in use, or owned by another user
            if found and _is_abandoned(found["host"], int(found["pid"]), entry.stat().st_mtime):
                os.unlink(entry.path)


def _is_abandoned(host: str, pid: int, written: float) -> bool:
    if time.time() - written > STALE:
        return True
    if host != host_word() or os.name != "posix":  # elsewhere os.kill(pid, 0) is not a harmless test
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False
