"""A batch shared by threads: how many take part, and who computes which rows."""

from __future__ import annotations

import os
import threading

import numpy as np

from forearm.errors import InputError, shorten
from forearm.kernels.compiled import Native

ROWS = 2048  # states a thread takes at a time: their inputs and outputs stay in the nearest caches
WORTH = 4 * ROWS  # states from which on a batch may be shared by threads, however little each of them needs
WORK = 15_000_000  # operations, some 0.6 ms: less is not worth starting a thread for


def shared_rows(native: Native, pointers: list[int], steps: list[int], count: int, workers: int) -> None:
    """Blocks of rows, by one thread or several; the answer is the same."""
    step = count if workers == 1 else -(-count // (8 * workers))

    def block(start: int) -> None:
        places = (p + s * start for p, s in zip(pointers, steps, strict=True))
        native.call(*places, min(step, count - start))

    if workers == 1:
        block(0)
        return
    starts = iter(range(0, count, step))

    def work() -> None:
        for start in starts:  # shared: whoever is free takes the next
            block(start)

    others = [threading.Thread(target=work) for _ in range(workers - 1)]
    for thread in others:
        thread.start()
    work()
    for thread in others:
        thread.join()


def worker_count(count: int, threads: int | None, operations: int) -> int:
    """How many threads take part: those asked for, or as many as there are processors where the work is worth it."""
    if threads is not None and (isinstance(threads, bool) or not isinstance(threads, int | np.integer) or threads < 1):
        raise InputError(f"threads: a whole number of at least 1 is needed; came {shorten(threads)}.")
    if threads is None:
        threads = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        threads = threads if count * operations >= WORK else 1
    return int(min(threads, max(1, -(-count // _block(operations)))))


def _block(operations: int) -> int:
    """States that a thread takes at a time, at least: fewer where each of them is much work."""
    return max(8, min(ROWS, WORK // (4 * operations)))
