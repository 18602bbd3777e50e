"""Execution of schedules: machine code for each processor, run by one thread each, which share every
evaluation.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from forearm.errors import ForearmError, InputError, shorten
from forearm.kernels.native import host, loaded, object_code
from forearm.schedules.threaded_plan import APART, Threads
from forearm.schedules.threaded_text import LINE, module_of
from forearm.spatial import Floats
from forearm.values import as_floats, check_whole, frozen

MOST_THREADS = 64
PATIENCE = 20_000_000  # polls of another thread's counter before a thread gives up: some ten seconds

Array = Floats


@frozen
class Threaded:
    """A schedule as machine code: call it with the function's inputs, one state (n,) or many (B, n)."""

    threads: Threads
    lanes: tuple[Any, ...]
    memory: Any

    def __call__(self, *states: ArrayLike, patience: int = PATIENCE) -> dict[str, Array]:
        """The results by name. Many states are evaluated in turn, each by all threads together."""
        arrays, many = self._taken(states)
        count = len(arrays[0])
        traced = self.threads.traced
        results = [np.empty((count, *a.shape)) for a in traced.outputs]
        self.run([a.ctypes.data for a in (*arrays, *results)], count, patience)
        return {a.name: made if many else made[0] for a, made in zip(traced.outputs, results, strict=True)}

    def run(self, pointers: list[int], count: int, patience: int = PATIENCE) -> None:
        """Evaluate arrays at these addresses: rows of the inputs, then of the outputs."""
        check_whole(patience, "threads, patience", 1, 2**63 - 1)
        lanes = len(self.lanes)
        shared, numbers = _aligned(self.threads.size + APART), _aligned((LINE // 8) * (lanes + 1))
        status = [1] * lanes
        causes = []

        def work(k: int) -> None:
            try:
                with on_core(k, lanes):
                    last = (shared.ctypes.data, numbers.ctypes.data, count, patience, _yield())
                    status[k] = self.lanes[k](*pointers, *last)
            except BaseException as error:
                numbers[lanes * LINE // 8] = 1  # the stop flag: no thread waits for this one
                causes.append(error)

        others = [threading.Thread(target=work, args=(k,), daemon=True) for k in range(1, lanes)]
        started = []
        try:
            for thread in others:
                thread.start()
                started.append(thread)
            work(0)
        except BaseException:
            numbers[lanes * LINE // 8] = 1  # no thread waits for those that did not start
            raise
        finally:
            for thread in started:
                thread.join()
        _judge(causes, status, patience)

    def _taken(self, states: tuple[ArrayLike, ...]) -> tuple[list[Array], bool]:
        inputs = self.threads.traced.inputs
        if len(states) != len(inputs):
            raise InputError(
                f"expected the arguments {', '.join(a.name for a in inputs)}, got {len(states)} of them.",
                "threads",
            )
        arrays = [as_floats(state, a.name) for state, a in zip(states, inputs, strict=True)]
        many = arrays[0].ndim == len(inputs[0].shape) + 1
        rows = arrays[0].shape[:1] if many else ()
        for array, a in zip(arrays, inputs, strict=True):
            if array.shape != (*rows, *a.shape):
                raise InputError(f"expected shape {(*rows, *a.shape)}, got {array.shape}.", a.name)
        return [np.ascontiguousarray(a if many else a[None]) for a in arrays], many


def _judge(causes: list[BaseException], status: list[int], patience: int) -> None:
    """Raise the error of the thread that failed, if any, not of those that waited for it."""
    for cause in causes:
        if not isinstance(cause, Exception):
            raise cause  # an interrupt is the caller's
    if causes:
        raise ForearmError(
            f"one of {len(status)} failed: {shorten(causes[0])}. Use fewer processors, or the "
            "kernel on one thread.",
            "threads",
        ) from causes[0]
    if any(status):
        raise ForearmError(
            f"one of {len(status)} timed out waiting for another, after {patience} polls; the "
            "machine is too busy for so many threads, or one of them was stopped. Use fewer "
            "processors.",
            "threads",
        )


def compiled_threads(threads: Threads) -> Threaded:
    """Compile the threads to machine code in double precision."""
    if len(threads.steps) > MOST_THREADS:
        raise InputError(
            f"expected at most {MOST_THREADS}, got {len(threads.steps)}. Use fewer processors.", "threads"
        )
    names = [f"lane{k}" for k in range(len(threads.steps))]
    memory = loaded(object_code(module_of(threads, host("float64", 1), _has_pause())), names)
    arrays = len(threads.traced.inputs) + len(threads.traced.outputs)
    kinds = [ctypes.c_void_p] * (arrays + 2) + [ctypes.c_int64] * 2 + [ctypes.c_void_p]
    kind = ctypes.CFUNCTYPE(ctypes.c_int64, *kinds)
    return Threaded(threads, tuple(kind(memory.addresses[name]) for name in names), memory)


def cores() -> int:
    """The number of cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def on_core(k: int, threads: int) -> Iterator[None]:
    """Pin this thread to a core of its own if there are enough: threads that wait for each other must not
    share one.
    """
    allowed = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_setaffinity") else []
    if not 1 < threads <= len(allowed):
        yield
        return
    os.sched_setaffinity(0, {allowed[k]})
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)


def _aligned(count: int) -> NDArray[np.int64]:
    """Zeros, 8 bytes each, aligned to a cache line."""
    space = np.zeros(count + 2 * LINE // 8, dtype=np.int64)
    first = (-space.ctypes.data % LINE) // 8
    return space[first : first + count]


@cache
def _yield() -> int | None:
    """The address of sched_yield, if the system has it."""
    try:
        return ctypes.cast(ctypes.CDLL(None).sched_yield, ctypes.c_void_p).value
    except (OSError, AttributeError, TypeError):
        return None


@cache
def _has_pause() -> bool:
    """Whether the processor has a pause instruction."""
    import llvmlite.binding as llvm

    return bool(llvm.get_default_triple().startswith(("x86_64", "i386", "i686")))
