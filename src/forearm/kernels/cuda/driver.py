"""CUDA's driver, loaded on first use, once per process, and its devices."""

from __future__ import annotations

import ctypes
import threading
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from forearm.errors import InputError, shorten
from forearm.kernels.cuda import driver_api
from forearm.kernels.cuda.device import Device, DeviceFunction, DeviceModule, Launcher
from forearm.kernels.cuda.device_memory import DeviceEvent, DeviceMemory, DeviceStream, PinnedMemory
from forearm.kernels.cuda.driver_api import (
    ELSEWHERE,
    DriverApi,
    DriverError,
    NoDevice,
    OutOfDeviceMemory,
    check_process,
    initialised,
)

__all__ = [
    "Device",
    "DeviceEvent",
    "DeviceFunction",
    "DeviceMemory",
    "DeviceModule",
    "DeviceStream",
    "Driver",
    "DriverError",
    "Launcher",
    "MemoryRange",
    "NoDevice",
    "OutOfDeviceMemory",
    "PinnedMemory",
    "driver",
]
# CUpointer_attribute, CUmemorytype
CONTEXT, MEMORY_TYPE, MANAGED, ORDINAL, START, SIZE = 1, 2, 8, 9, 11, 12
ON_HOST, ON_DEVICE = 1, 2
NO_CONTEXT = 201  # CUresult
OLDEST = (9, 0)  # the first that can assemble the output of ptx.py


class MemoryRange(NamedTuple):
    """What the driver knows of the memory at an address;
    `context` is 0 if it does not belong to a single one.
    """

    is_on_device: bool
    device: int
    context: int
    start: int
    size: int


class Driver:
    """The driver and its devices.
    `version` is the CUDA version that it supports, (major, minor), `count` the number of devices.
    """

    def __init__(self, library: Any) -> None:
        self.api: DriverApi = initialised(library)
        version = self.api.number("its version", "cuDriverGetVersion")
        self.version = (version // 1000, version % 1000 // 10)
        if self.version < OLDEST:
            raise NoDevice(
                f"cuda: the driver is too old: expected support for CUDA {OLDEST[0]}.{OLDEST[1]} or later, "
                f"got {self.version[0]}.{self.version[1]}; install a newer NVIDIA driver. {ELSEWHERE}"
            )
        self.count = self.api.number("counting devices", "cuDeviceGetCount")
        if self.count == 0:
            raise NoDevice(f"cuda: {driver_api.WHY[driver_api.NONE_THERE]} {ELSEWHERE}")
        self._devices: dict[int, Device] = {}
        self._lock = threading.Lock()

    def address(self, name: str) -> int:
        """The address of a driver function, by its name in the library, such as "cuLaunchKernel"."""
        return self.api.address(name)

    def device(self, index: int = 0) -> Device:
        """A device by its index."""
        found = self._devices.get(index)
        if found is not None:
            return found
        if not isinstance(index, int) or not 0 <= index < self.count:
            there = "0 (one device)" if self.count == 1 else f"0 to {self.count - 1}"
            raise InputError(f"expected {there}, got {shorten(index)}.", "cuda", "device")
        with self._lock:
            if index not in self._devices:
                self._devices[index] = Device(self.api, index)
            return self._devices[index]

    def pointer(self, address: int) -> MemoryRange | None:
        """The memory that contains an address, None if the driver knows of none there."""
        if self._asked(ctypes.c_int, MEMORY_TYPE, address) is None:
            return None
        kind, managed, index, context, start, size = (
            self._asked(kind, number, address) or 0
            for kind, number in (
                (ctypes.c_int, MEMORY_TYPE),
                (ctypes.c_int, MANAGED),
                (ctypes.c_int, ORDINAL),
                (ctypes.c_void_p, CONTEXT),
                (ctypes.c_void_p, START),
                (ctypes.c_size_t, SIZE),
            )
        )
        return MemoryRange(kind == ON_DEVICE or bool(managed), index, context, start, size)

    def is_pinned(self, address: int) -> bool:
        """Whether an address is in pinned host memory."""
        return self._asked(ctypes.c_int, MEMORY_TYPE, address) == ON_HOST

    def _asked(self, kind: Any, number: int, address: int) -> int | None:
        check_process()
        made = kind()
        asked = self.api["cuPointerGetAttribute"]
        code = asked(ctypes.byref(made), number, address)
        if code == NO_CONTEXT:
            with self.device(0).current():
                code = asked(ctypes.byref(made), number, address)
        return None if code else made.value


@dataclass
class _Loaded:
    """The driver of this process, once it is needed."""

    driver: Driver | None = None
    lock: Any = field(default_factory=threading.Lock)


_here = _Loaded()


def driver() -> Driver:
    """The driver; NoDevice says what is missing if there is none."""
    check_process()
    found = _here.driver
    if found is None:
        with _here.lock:
            if _here.driver is None:
                _here.driver = Driver(driver_api.load_library())
            found = _here.driver
    return found
