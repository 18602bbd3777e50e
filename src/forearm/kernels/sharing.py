"""A batch shared by threads: how many take part, and who computes which rows."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forearm.errors import InputError, shorten
from forearm.kernels.compiled import Native

Array = NDArray[Any]
ROWS = 2048  # states a thread takes at a time: their inputs and outputs stay in the nearest caches
WORTH = 4 * ROWS  # states from which on a batch may be shared by threads, however little each of them needs
WORK = 15_000_000  # operations, some 0.6 ms: less is not worth starting a thread for


def shared_rows(
    native: Native, arrays: Sequence[Array], steps: Sequence[int], count: int, workers: int
) -> None:
    """Blocks of rows, by one thread or several; the answer is the same.
    `steps` are bytes from row to row of each array.
    """
    pointers = [array.__array_interface__["data"][0] for array in arrays]
    if workers == 1:
        native.call(*pointers, count)
        return
    size = -(-count // (8 * workers))
    starts = iter(range(0, count, size))

    def work(_: Sequence[Array]) -> None:
        for start in starts:  # shared: whoever is free takes the next
            native.call(
                *(p + s * start for p, s in zip(pointers, steps, strict=True)), min(size, count - start)
            )

    others: list[threading.Thread] = []
    try:
        for _ in range(workers - 1):
            # Each holds the arrays: an interrupt may end this function while others are
            # still writing to them.
            thread = threading.Thread(target=work, args=(arrays,))
            try:
                thread.start()
            except RuntimeError:  # the system has no more threads: those that there are do the work
                break
            others.append(thread)
        work(arrays)
    finally:
        for _ in starts:  # after an interrupt nobody begins another block
            pass
        for thread in others:
            thread.join()


def worker_count(count: int, threads: int | None, operations: int) -> int:
    """How many threads take part: those asked for, or as many as there are processors
    where the work is worth it.
    """
    if threads is not None and (
        isinstance(threads, bool) or not isinstance(threads, int | np.integer) or threads < 1
    ):
        raise InputError(f"threads: a whole number of at least 1 is needed; came {shorten(threads)}.")
    if threads is None:
        threads = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        threads = threads if count * operations >= WORK else 1
    return int(min(threads, max(1, -(-count // _block(operations)))))


def _block(operations: int) -> int:
    """States that a thread takes at a time, at least: fewer where each of them is much work."""
    return max(8, min(ROWS, WORK // (4 * operations)))
