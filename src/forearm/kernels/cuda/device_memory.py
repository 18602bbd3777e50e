"""Device memory and pinned host memory, streams and events, each freed with its owner."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager
from ctypes import c_float, c_void_p
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forearm.kernels.cuda.driver_api import DriverApi

PORTABLE = 1  # pinned for every context
UNBLOCKING = 1  # streams that do not wait for the default stream
UNTIMED = 2
Current = Callable[[], AbstractContextManager[None]]


def _given_back(owner: object, current: Current, api: DriverApi, name: str, *arguments: Any) -> None:
    """Call a function when the owner is collected;
    not at interpreter exit, when the driver may be gone too.
    """

    def give() -> None:
        try:
            with current():
                api.quietly(name, *arguments)
        except Exception:  # freed already, with a lost context
            return

    weakref.finalize(owner, give).atexit = False


class DeviceMemory:
    """Bytes on a device, at an `address`; freed in stream order."""

    def __init__(self, api: DriverApi, current: Current, size: int, stream: int, is_ordered: bool) -> None:
        self.size, self.stream = size, stream
        what = f"{size:,} bytes on the device"
        with current():
            if is_ordered:
                made = api.number(what, "cuMemAllocAsync", max(1, size), stream, kind=c_void_p)
            else:
                made = api.number(what, "cuMemAlloc_v2", max(1, size), kind=c_void_p)
        self.address = made
        free = ("cuMemFreeAsync", made, stream) if is_ordered else ("cuMemFree_v2", made)
        _given_back(self, current, api, *free)


class PinnedMemory:
    """Pinned host memory, which a device copies from and to directly, as an array of bytes."""

    def __init__(self, api: DriverApi, current: Current, size: int) -> None:
        self.size = size
        with current():
            self.address = api.number(
                f"{size:,} bytes of pinned memory", "cuMemHostAlloc", max(1, size), PORTABLE, kind=c_void_p
            )
        owner: Any = (ctypes.c_uint8 * max(1, size)).from_address(self.address)
        # Views of the array keep its base alive, and that keeps the memory.
        self.array: NDArray[np.uint8] = np.frombuffer(owner, np.uint8)[:size]
        _given_back(owner, current, api, "cuMemFreeHost", self.address)


class DeviceEvent:
    """A point in the order of a stream."""

    def __init__(self, api: DriverApi, current: Current, is_timed: bool = True) -> None:
        self._api, self._current = api, current
        with current():
            flags = 0 if is_timed else UNTIMED
            self.handle = api.number("an event", "cuEventCreate", flags, kind=c_void_p)
        _given_back(self, current, api, "cuEventDestroy_v2", self.handle)

    def record(self, stream: int) -> None:
        """Record the event after all work submitted to the stream so far."""
        with self._current():
            self._api("an event", "cuEventRecord", self.handle, stream)

    def synchronize(self) -> None:
        """Wait until it has occurred."""
        with self._current():
            self._api("waiting for an event", "cuEventSynchronize", self.handle)

    def elapsed(self, later: DeviceEvent) -> float:
        """Seconds from this event to a later one, both of which have occurred."""
        made = c_float()
        with self._current():
            self._api("timing", "cuEventElapsedTime", ctypes.byref(made), self.handle, later.handle)
        return 1e-3 * made.value


class DeviceStream:
    """Work that a device executes in order; it does not wait for the default stream."""

    def __init__(self, api: DriverApi, current: Current) -> None:
        self._api, self._current = api, current
        with current():
            self.handle = api.number("a stream", "cuStreamCreate", UNBLOCKING, kind=c_void_p)
        _given_back(self, current, api, "cuStreamDestroy_v2", self.handle)

    def wait(self, event: DeviceEvent) -> None:
        """Make later work on this stream wait for the event."""
        with self._current():
            self._api("a stream", "cuStreamWaitEvent", self.handle, event.handle, 0)

    def synchronize(self) -> None:
        """Wait until all its work is done."""
        with self._current():
            self._api("waiting for a stream", "cuStreamSynchronize", self.handle)
