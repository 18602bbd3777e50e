"""Memory for machine code: objects packed into a few mappings, so that tens of thousands of them fit.

Code occupies whole pages from the low end of an arena, data cache lines from the high end. A page is writable
or executable, never both: code pages are written before they become executable, and become writable again
only after the code in them has been freed. The memory is private: a forked child has its own copy, which it
may continue to write.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import mmap
import os
import sys
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forearm.errors import ForearmError, OutOfMemory

PAGE, LINE = mmap.PAGESIZE, 64
SIZE = 1 << 20  # bytes of an arena; anything larger than a quarter of it gets a mapping of its own
MAP_FIXED = 0x10  # Linux's value, which Python does not export
MAPPINGS = 16  # mappings that must remain available to LLVM
Range = tuple[int, int]
Token = NDArray[np.float64]


class Arena:
    """One mapping, and its free ranges in order."""

    def __init__(self, size: int) -> None:
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        self.memory = mmap.mmap(-1, size, flags=flags, prot=mmap.PROT_READ | mmap.PROT_WRITE)
        self.base = ctypes.addressof(ctypes.c_char.from_buffer(self.memory))
        self.size = self.left = size
        self.free: list[Range] = [(0, size)]
        self.executable = bytearray(size // PAGE)  # 1 for each executable page

    def take(self, code: int, data: int, align: int) -> tuple[Range, Range] | None:
        """Allocate whole pages for code, and room for data; None if there is not enough."""
        for start, end in self.free:
            at = rounded(start, PAGE)
            if at + code <= end:
                pages = self._cut(at, at + code)
                break
        else:
            return None
        if not data:
            return pages, (0, 0)
        for start, end in reversed(self.free):
            at = (end - data) // align * align
            if at >= start:
                return pages, self._cut(at, at + data)
        self.give(pages)
        return None

    def _cut(self, first: int, last: int) -> Range:
        """Cut a range out of the free range that contains it."""
        k = next(k for k, (start, end) in enumerate(self.free) if start <= first and last <= end)
        start, end = self.free[k]
        self.free[k : k + 1] = [(a, b) for a, b in ((start, first), (last, end)) if a < b]
        self.left -= last - first
        return first, last

    def give(self, given: Range) -> None:
        """Free a range and merge it with adjacent free ranges."""
        start, end = given
        self.left += end - start
        before = [r for r in self.free if r[1] < start]
        behind = [r for r in self.free if r[0] > end]
        touching = self.free[len(before) : len(self.free) - len(behind)]
        whole = (min([start, *(a for a, _ in touching)]), max([end, *(b for _, b in touching)]))
        self.free = [*before, *([whole] if start < end else touching), *behind]

    def protect(self, taken: Range, executable: bool) -> None:
        """Make the pages of a range executable, or writable."""
        first, last = taken[0] // PAGE, rounded(taken[1], PAGE) // PAGE
        if self.executable.count(executable, first, last) == last - first:
            return
        start, size = first * PAGE, (last - first) * PAGE
        rights = mmap.PROT_READ | (mmap.PROT_EXEC if executable else mmap.PROT_WRITE)
        if _libc().mprotect(self.base + start, size, rights) != 0:
            error = _error()
            if not (executable and isinstance(error, PermissionError)):
                raise error
            self._map_again(start, size, error)
        self.executable[first:last] = bytes([executable]) * (last - first)

    def _map_again(self, start: int, size: int, refused: OSError) -> None:
        """Replace pages by executable ones with the same content, which were never writable."""
        try:
            file = os.memfd_create("forearm")
        except (AttributeError, OSError):
            raise not_executable(refused) from None
        try:
            os.pwrite(file, self.memory[start : start + size], 0)
            rights, flags = mmap.PROT_READ | mmap.PROT_EXEC, mmap.MAP_PRIVATE | MAP_FIXED
            if _libc().mmap(self.base + start, size, rights, flags, file, 0) != self.base + start:
                raise _error()
        except PermissionError:
            raise not_executable(refused) from None
        finally:
            os.close(file)


@dataclass
class _Arenas:
    """The arenas, and the blocks in them by number."""

    arenas: list[Arena]
    taken: dict[int, tuple[Arena, Range, Range, weakref.ref[Token]]]
    # Never blocking: a finaliser or a signal handler may run while its own thread holds it.
    lock: threading.Lock


_here = _Arenas([], {}, threading.Lock())
_returned: deque[int] = deque()
_numbers = count()


def _settle() -> None:
    """Release what was freed; later, if another thread holds the lock."""
    lock = _here.lock
    if not lock.acquire(blocking=False):
        return
    try:
        while _returned:
            found = _here.taken.pop(_returned.popleft(), None)
            if found is None:  # of the process that this one was forked from
                continue
            arena, code, data, _ = found
            with contextlib.suppress(OSError):  # locked memory stays
                arena.memory.madvise(mmap.MADV_DONTNEED, code[0], code[1] - code[0])
            arena.give(code)
            arena.give(data)
            if arena.left == arena.size:
                _here.arenas.remove(arena)
    finally:
        lock.release()


def _token(number: int) -> tuple[Token, weakref.ref[Token]]:
    """The owner token of a block: when it is collected, the block of this number is free.

    An empty array, since the garbage collector does not track arrays: in a garbage cycle it is collected
    after all finalisers have run, which may still call the code. Instances of Python classes would be
    collected earlier.
    """

    def given_back(_: object, is_ending: Callable[[], bool] = sys.is_finalizing) -> None:
        if not is_ending():  # at exit modules are gone, and all memory is about to be
            _returned.append(number)
            _settle()

    token = np.empty(0)
    return token, weakref.ref(token, given_back)


@dataclass(frozen=True, eq=False)
class MemoryBlock:
    """Memory for the code and the data of one object, for the lifetime of this instance."""

    arena: Arena
    code: Range
    data: Range
    token: Token | None = None

    def write(self, address: int, content: bytes | bytearray) -> None:
        """Write into the block, before it is sealed."""
        at = address - self.arena.base
        self.arena.memory[at : at + len(content)] = content

    def seal(self) -> None:
        """Make the code executable and read-only."""
        with _told(self.code[1] - self.code[0]):
            self.arena.protect(self.code, True)


def block(code: int, data: int, align: int = LINE) -> MemoryBlock:
    """Writable memory for this many bytes of code and of data."""
    code, data, align = rounded(code, PAGE), rounded(data, LINE), max(align, LINE)
    with _told(code + data):
        made = _shared(code, data, align) if code + data <= SIZE // 4 else None
        made = made or _alone(code, data)
        for taken in (made.code, made.data):
            made.arena.protect(taken, False)
    return made


def _shared(code: int, data: int, align: int) -> MemoryBlock | None:
    """In a shared arena; None if another thread holds the lock, or there is no memory for another arena."""
    _settle()
    lock = _here.lock
    if not lock.acquire(blocking=False):
        return None
    try:
        for arena in reversed(_here.arenas):
            if arena.left >= code + data and (found := arena.take(code, data, align)):
                return _noted(arena, *found)
        with contextlib.suppress(OSError):
            arena = Arena(SIZE)
            if found := arena.take(code, data, align):
                _here.arenas.append(arena)
                return _noted(arena, *found)
        return None
    finally:
        lock.release()


def _noted(arena: Arena, code: Range, data: Range) -> MemoryBlock:
    number = next(_numbers)
    token, watch = _token(number)
    _here.taken[number] = (arena, code, data, watch)
    return MemoryBlock(arena, code, data, token)


def _alone(code: int, data: int) -> MemoryBlock:
    """In a mapping of its own, freed with it."""
    return MemoryBlock(Arena(rounded(code + data, PAGE)), (0, code), (code, code + data))


def rounded(size: int, unit: int) -> int:
    """Round up to a multiple."""
    return -(-size // unit) * unit


@contextlib.contextmanager
def _told(size: int) -> Iterator[None]:
    """Report lack of memory as such."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOMEM, errno.EAGAIN):
            raise
        raise no_memory(f"{size:,} bytes of machine code", error) from None


def no_memory(what: str, error: Exception) -> OutOfMemory:
    """The error to raise when the system refuses memory."""
    why = getattr(error, "strerror", None) or error
    return OutOfMemory(
        f"no memory for {what} ({why}). Drop kernels that are no longer used, or raise the "
        "limit of this process (ulimit -v; on Linux vm.max_map_count, which counts mappings).",
        "kernels",
    )


def check_room(size: int, what: str) -> None:
    """Raise OutOfMemory unless this many bytes can be had: LLVM aborts the process when it runs out."""
    if not hasattr(mmap, "MAP_PRIVATE"):
        return
    flags, rights = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, (mmap.PROT_READ, mmap.PROT_READ | mmap.PROT_WRITE)
    try:
        # With different protection, so that the system keeps them separate.
        probes = [mmap.mmap(-1, PAGE, flags=flags, prot=rights[k % 2]) for k in range(MAPPINGS)]
        probes.append(mmap.mmap(-1, max(1, size), flags=flags, prot=rights[1]))
    except (OSError, MemoryError) as error:
        raise no_memory(what, error) from None
    for probe in probes:
        probe.close()


def not_executable(error: OSError) -> ForearmError:
    """The error to raise when the system refuses executable memory."""
    return ForearmError(
        f"this process may not make memory executable ({error.strerror}), which compiled "
        "functions must be. Lift what forbids it: systemd's MemoryDenyWriteExecute=, "
        "prctl(PR_SET_MDWE) or SELinux's deny_execmem; or use fa.dynamics and fa.kinematics, "
        "which compile nothing.",
        "kernels",
    )


def check_executable() -> None:
    """Raise unless memory can be made executable: LLVM's loader crashes where it cannot."""
    if hasattr(mmap, "MAP_PRIVATE"):
        probe = Arena(PAGE)
        if _libc().mprotect(probe.base, PAGE, mmap.PROT_READ | mmap.PROT_EXEC) != 0:
            raise not_executable(_error())


def is_left(size: int) -> bool:
    """Whether this much address space is available."""
    try:
        if hasattr(mmap, "MAP_PRIVATE"):
            mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS).close()
        return True
    except (OSError, MemoryError):
        return False


@cache
def _libc() -> Any:
    library = ctypes.CDLL(None, use_errno=True)
    library.mprotect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    library.mmap.argtypes = (*library.mprotect.argtypes, ctypes.c_int, ctypes.c_int, ctypes.c_long)
    library.mmap.restype = ctypes.c_void_p
    return library


def _error() -> OSError:
    return OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def _in_child() -> None:
    """If another thread held the arenas when this process was forked, leave them untouched."""
    if _here.lock.locked():
        _here.arenas, _here.taken, _here.lock = [], {}, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
