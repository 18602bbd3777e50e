"""A batch distributed over threads: how many take part, and which rows each computes; memory for the threads
of NumPy's linear algebra.
"""

from __future__ import annotations

import os
import threading
from _thread import LockType, allocate_lock, start_new_thread
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from numpy.typing import NDArray

from forearm.errors import OutOfMemory
from forearm.kernels.compiled import Native
from forearm.kernels.memory import is_left, no_memory
from forearm.values import check_whole

Array = NDArray[Any]
P = ParamSpec("P")
T = TypeVar("T")
ROWS = 2048  # states per block: their inputs and outputs stay in the nearest caches
WORTH = 4 * ROWS  # states from which on a batch may be distributed over threads, however cheap each is
WORK = 15_000_000  # operations, about 0.6 ms: less work does not justify starting a thread
THREAD = 16 << 20  # bytes that must remain to start a thread: its stack, and some reserve
SMALL = 64 << 10  # bytes that every stack must have left
ALGEBRA = 128 << 20  # bytes that must remain for linear algebra: its buffers, and some arrays
STACK = 8 << 20  # and for the stack of each of its threads


def shared_rows(
    native: Native, arrays: Sequence[Array], steps: Sequence[int], count: int, workers: int
) -> None:
    """Process blocks of rows, on one thread or several;
    the result is the same. `steps` are bytes from row to row of each array.
    """
    check_stack(native)
    pointers = [array.__array_interface__["data"][0] for array in arrays]
    if workers == 1:
        native.call(*pointers, count)
        return
    size = -(-count // (8 * workers))
    done = bytearray(-(-count // size))  # 1 for each block that is done
    blocks = iter(range(len(done)))
    begun: list[LockType] = []  # one for each thread that was started, free when it has ended

    def work(some: Iterable[int]) -> None:
        for k in some:
            start = k * size
            native.call(
                *(p + s * start for p, s in zip(pointers, steps, strict=True)), min(size, count - start)
            )
            done[k] = 1

    # Each thread holds references to the arrays: an interrupt may end this function while others still write
    # to them.
    def helped(ended: LockType, _: Sequence[Array]) -> None:
        begun.append(ended)
        try:
            work(blocks)  # shared: whichever thread is free takes the next
        except MemoryError:
            pass
        finally:
            ended.release()

    try:
        _start(helped, arrays, workers - 1, native.stack)
        work(blocks)
    finally:
        for _ in blocks:  # after an interrupt no thread starts another block
            pass
        for ended in begun:
            ended.acquire()
    work(k for k, is_done in enumerate(done) if not is_done)  # of a thread that ran out of memory


def check_stack(native: Native) -> None:
    """Raise OutOfMemory if the stack of this thread cannot grow: the system would kill the process."""
    if native.stack > SMALL and not is_left(native.stack + SMALL):
        raise no_memory(f"{native.stack:,} bytes on the stack", MemoryError("the stack cannot grow"))


def _start(work: Callable[..., None], arrays: Sequence[Array], most: int, stack: int) -> None:
    """Start threads, fewer than requested if the system has no more, or no memory for them.

    Not those of `threading`: starting one waits for ever if the new thread runs out of memory during its
    start.
    """
    if 0 < threading.stack_size() < 2 * stack:
        return
    with suppress(RuntimeError, MemoryError):
        for _ in range(most):
            if not is_left(THREAD + stack):
                return
            ended = allocate_lock()
            ended.acquire()
            start_new_thread(work, (ended, arrays))


def worker_count(count: int, threads: int | None, operations: int) -> int:
    """The number of threads that take part: as requested, or one per processor if the work justifies it."""
    if threads is not None:
        threads = check_whole(threads, "threads", 1)
    else:
        threads = cores() if count * operations >= WORK else 1
    return int(min(threads, max(1, -(-count // _block(operations)))))


def cores() -> int:
    """The number of processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def says_if_memory_is_short(function: Callable[P, T]) -> Callable[P, T]:
    """A function that relies on NumPy's linear algebra, and raises OutOfMemory where memory is short.

    Without memory for its buffers OpenBLAS ends the process; after a fork it waits for ever for a thread that
    could not start.
    """

    @wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> T:
        what = function.__name__
        remedy = "Free memory, or raise the limit of this process (ulimit -v)."
        needed = ALGEBRA + STACK * cores()
        if not is_left(needed):
            raise OutOfMemory(f"fewer than {needed >> 20} MB of address space are left. {remedy}", what)
        try:
            return function(*args, **kwargs)
        except OutOfMemory:
            raise
        except MemoryError as error:
            raise OutOfMemory(f"no memory ({error}). {remedy}", what) from None

    return called


def _block(operations: int) -> int:
    """Minimum number of states that a thread takes at a time: fewer if each of them is expensive."""
    return max(8, min(ROWS, WORK // (4 * operations)))
