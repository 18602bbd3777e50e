"""NumPy in, NumPy out: states go to the device and results come back in chunks, through pinned memory.

A worker processes one chunk: it fills its pinned memory, queues copy, kernel and copy back on its own stream,
and reads the results. Several workers overlap these phases. Arrays in pinned memory are copied directly.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from math import prod
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from forearm.errors import OutOfMemory
from forearm.kernels.arrays import Array, DType, apart, as_numbers, as_states, copied, results_for
from forearm.kernels.cuda.driver import Device, Launcher, driver
from forearm.kernels.cuda.short_call import OnDevice
from forearm.kernels.dispatch import Call, parameter_values
from forearm.kernels.thread_pool import cores

AT_ONCE = 8 << 20  # bytes of a chunk, in and out
WORKERS = 8  # more do not copy faster
WORTH_ASKING = 1 << 16  # bytes of an array from which it is checked whether it is pinned
ALIGNED = 256  # alignment of arrays on the device, bytes


class Workbench:
    """Pinned memory, device memory and a stream: what a worker needs."""

    def __init__(self, device: Device, size: int) -> None:
        self.size = size
        self.stream = device.stream()
        self.pinned = device.pinned(size)
        self.memory = device.allocated(size, None)


# Kept for later calls, by device: at most WORKERS of them, each of AT_ONCE bytes.
_kept: WeakKeyDictionary[Device, deque[Workbench]] = WeakKeyDictionary()


@contextmanager
def _workbenches(device: Device, size: int, count: int) -> Iterator[list[Workbench]]:
    """As many as memory allows, at least one; kept for later calls on success."""
    kept = _kept.setdefault(device, deque(maxlen=WORKERS))
    made: list[Workbench] = []
    while len(made) < count:
        try:
            if size > AT_ONCE:
                raise IndexError
            made.append(kept.pop())
            continue
        except IndexError:
            pass
        try:
            made.append(Workbench(device, max(size, AT_ONCE)))
        except OutOfMemory:
            if not made:
                raise
            break
    yield made
    kept.extend(bench for bench in made if bench.size == AT_ONCE)


def run(function: OnDevice, given: tuple[Any, ...], call: Call, index: int = 0) -> list[Array]:
    """The results, in the order of the function's outputs, computed on a device."""
    dtype = np.dtype(function.dtype)
    slots = function.inputs[: len(given)]
    looked_at = [as_numbers(slot.name, value, None) for slot, value in zip(slots, given, strict=True)]
    states = as_states(function.arm, slots, looked_at, None)
    batch = states[0].shape[:-1]
    shared: list[Array] = []
    if call.own:
        values = parameter_values(call.parameters, call.own, batch, dtype)
        (states if values.ndim == 2 else shared).append(values)
    asked = results_for([(*batch, *slot.shape) for slot in function.outputs], call.out, dtype)
    results = (
        asked
        if call.out is None
        else [apart(array, [*looked_at, *shared, *states[len(slots) :]]) for array in asked]
    )
    launch = function.launcher(index, bool(call.own) and not shared)
    if not batch:
        rows = _Rows([s[None] for s in states], shared, [r[None] for r in results], dtype)
    else:
        rows = _Rows(states, shared, results, dtype)
    rows.computed(driver().device(index), launch)
    return copied(results, asked)


class _Rows:
    """Rows of states and results, and the offset of each array in the memory of a chunk."""

    def __init__(
        self, states: Sequence[Array], shared: Sequence[Array], results: Sequence[Array], dtype: DType
    ) -> None:
        self.states, self.shared, self.results, self.dtype = states, shared, results, dtype
        self.count = len(states[0])
        self.row_bytes = dtype.itemsize * sum(prod(a.shape[1:]) for a in (*states, *results))
        self.fixed = sum(_rounded(a.nbytes) for a in shared) + ALIGNED * (len(states) + len(results))
        self.is_pinned = [_is_pinned(a, dtype) for a in (*states, *shared, *results)]
        self.at_once = max(1, min(self.count, (AT_ONCE - self.fixed) // self.row_bytes))

    def computed(self, device: Device, launch: Launcher) -> None:
        """All results, computed chunk by chunk."""
        pieces = deque(range(0, self.count, self.at_once))
        workers = min(len(pieces), WORKERS, cores())
        failed = threading.Event()

        def work(bench: Workbench) -> None:
            while not failed.is_set():
                try:
                    start = pieces.popleft()
                except IndexError:
                    return
                try:
                    self._piece(device, bench, launch, slice(start, min(start + self.at_once, self.count)))
                except BaseException:
                    failed.set()
                    raise

        if not pieces:
            return
        with _workbenches(device, self.fixed + self.at_once * self.row_bytes, workers) as benches:
            if len(benches) == 1:
                work(benches[0])
                return
            with ThreadPoolExecutor(len(benches), "forearm-cuda") as pool:
                try:
                    for done in [pool.submit(work, bench) for bench in benches]:
                        done.result()
                except BaseException:  # an interrupt too
                    failed.set()
                    raise

    def _piece(self, device: Device, bench: Workbench, launch: Launcher, rows: slice) -> None:
        count, at = rows.stop - rows.start, 0
        sources, results = [*(a[rows] for a in self.states), *self.shared], [a[rows] for a in self.results]
        places: list[Array] = []  # pinned host memory
        offsets: list[int] = []  # on the device
        for array, is_pinned in zip((*sources, *results), self.is_pinned, strict=True):
            size = array.size * self.dtype.itemsize
            staged = bench.pinned.array[at : at + size].view(self.dtype).reshape(array.shape)
            places.append(array if is_pinned else staged)
            offsets.append(at)
            at += _rounded(size)
        first, stream = len(sources), bench.stream.handle
        for place, array in zip(places, sources, strict=False):
            if place is not array:
                np.copyto(place, array)
        _copied(device, True, bench, places[:first], offsets[: first + 1], stream)
        launch(stream, tuple(bench.memory.address + offset for offset in offsets), count)
        _copied(device, False, bench, places[first:], [*offsets[first:], at], stream)
        bench.stream.synchronize()
        for place, array in zip(places[first:], results, strict=True):
            if place is not array:
                np.copyto(array, place)


def _copied(
    device: Device,
    is_in: bool,
    bench: Workbench,
    places: Sequence[Array],
    offsets: Sequence[int],
    stream: int,
) -> None:
    """Copy between host and device, at the `offsets` of the arrays and of their end:
    in a single copy if they are adjacent.
    """
    host = [place.__array_interface__["data"][0] for place in places]
    sizes = [place.nbytes for place in places]
    if all(a == bench.pinned.address + offset for a, offset in zip(host, offsets, strict=False)):
        host, sizes = host[:1], [offsets[-1] - offsets[0]]
    for here, offset, size in zip(host, offsets, sizes, strict=False):
        there = bench.memory.address + offset
        if is_in:
            device.copy_in(there, here, size, stream)
        else:
            device.copy_out(here, there, size, stream)


def _is_pinned(array: Array, dtype: DType) -> bool:
    """Whether the device can copy from or to an array directly."""
    if array.dtype != dtype or not array.flags.c_contiguous or array.nbytes < WORTH_ASKING:
        return False
    start = array.__array_interface__["data"][0]
    return driver().is_pinned(start) and driver().is_pinned(start + array.nbytes - 1)


def _rounded(size: int) -> int:
    return -(-size // ALIGNED) * ALIGNED
