"""A GPU: its properties, kernels assembled, loaded and launched, copies to and from it."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from ctypes import byref, c_int, c_size_t, c_uint64, c_void_p
from functools import cached_property
from typing import Any

from forearm.errors import InputError
from forearm.kernels.cuda.device_memory import DeviceEvent, DeviceMemory, DeviceStream, PinnedMemory
from forearm.kernels.cuda.direct_launch import direct_launch
from forearm.kernels.cuda.driver_api import DriverApi, DriverError, NoDevice, check_process, process

OLDEST = (7, 0)  # minimum compute capability of the kernels, see ptx.py
MOST_BLOCKS = 2**31 - 1
SHARED_AT_ONCE = 48 << 10  # bytes of shared memory that a function may use without opting in
PLAIN = ctypes.CFUNCTYPE(c_int)
MOST_STREAMS = 64  # streams whose handles a launcher caches
LOG = 1 << 14  # bytes, size of the buffer for the assembler's messages
# CUdevice_attribute, CUfunction_attribute, CUjit_option, CUjitInputType
CLOCK, PROCESSORS, MEMORY_CLOCK, BUS, CACHE, THREADS = 13, 16, 36, 37, 38, 39
MAJOR, MINOR, SHARED_MOST, POOLS = 75, 76, 97, 115
LOCAL_BYTES, REGISTERS, DYNAMIC_SHARED = 3, 4, 8
ERROR_LOG, ERROR_LOG_SIZE = 5, 6
PTX = 1

Launcher = Callable[[int, Sequence[int], int], None]


class Device:
    """One GPU, and this process's primary context on it, which PyTorch, CuPy and JAX share.

    `capability` is (major, minor), `memory` its size in bytes, `shared_most` the maximum shared memory of a
    block in bytes, `processors` the number of multiprocessors, with `threads` each; `clock` and
    `memory_clock` in Hz, `bus` the width of the memory bus in bits, `cache` the size of the L2 cache in
    bytes.
    """

    def __init__(self, api: DriverApi, index: int) -> None:
        self.api, self.index = api, index
        what = f"device {index}"
        self.handle = api.number(what, "cuDeviceGet", index)
        text = ctypes.create_string_buffer(256)
        api(what, "cuDeviceGetName", text, len(text), self.handle)
        self.name = text.value.decode("utf-8", "replace")
        self.capability = (self._attribute(MAJOR), self._attribute(MINOR))
        self.memory = api.number(what, "cuDeviceTotalMem_v2", self.handle, kind=c_size_t)
        self.shared_most = self._attribute(SHARED_MOST)
        self.processors, self.threads = self._attribute(PROCESSORS), self._attribute(THREADS)
        self.clock, self.memory_clock = 1000 * self._attribute(CLOCK), 1000 * self._attribute(MEMORY_CLOCK)
        self.bus, self.cache = self._attribute(BUS), self._attribute(CACHE)
        self.has_pools = "cuMemAllocAsync" in api and bool(self._attribute(POOLS))
        self._lock = threading.Lock()
        if self.capability < OLDEST:
            raise NoDevice(
                f"cuda: device {index} ({self.name}) has compute capability {_dotted(self.capability)}; "
                f"kernels need {_dotted(OLDEST)} (Volta) or later."
            )

    def __repr__(self) -> str:
        return (
            f"<Device {self.index}, {self.name}, capability {_dotted(self.capability)}, "
            f"{self.memory / 2**30:.0f} GiB>"
        )

    def _attribute(self, number: int) -> int:
        return self.api.number(f"device {self.index}", "cuDeviceGetAttribute", number, self.handle)

    @cached_property
    def context(self) -> int:
        """The primary context, retained for good."""
        with self._lock:
            if "context" not in self.__dict__:
                self.__dict__["context"] = self.api.number(
                    f"a context on device {self.index}",
                    "cuDevicePrimaryCtxRetain",
                    self.handle,
                    kind=c_void_p,
                )
            return self.__dict__["context"]  # type: ignore[no-any-return]

    @contextmanager
    def current(self) -> Iterator[None]:
        """Make its context current in this thread, and restore the previous one afterwards."""
        self.api(f"device {self.index}", "cuCtxPushCurrent_v2", self.context)
        try:
            yield
        finally:
            self.api["cuCtxPopCurrent_v2"](byref(c_void_p()))

    def assembled(self, ptx: bytes | str) -> bytes:
        """PTX as machine code for this device (a cubin), assembled by the driver."""
        text = ptx.encode() if isinstance(ptx, str) else bytes(ptx)
        text = text.rstrip(b"\0") + b"\0"
        log = ctypes.create_string_buffer(LOG)
        options = (c_int * 2)(ERROR_LOG, ERROR_LOG_SIZE)
        values = (c_void_p * 2)(ctypes.addressof(log), LOG)
        what = f"assembling for device {self.index}"
        with self.current():
            state = c_void_p()
            self.api(what, "cuLinkCreate_v2", 2, options, values, byref(state))
            try:
                return self._linked(state.value or 0, text)
            except DriverError as error:
                said = log.value.decode("utf-8", "replace").strip()
                error.problem += f" The assembler says: {said or 'nothing'}"
                raise
            finally:
                self.api["cuLinkDestroy"](state)

    def _linked(self, state: int, text: bytes) -> bytes:
        what = f"assembling for device {self.index}"
        self.api(what, "cuLinkAddData_v2", state, PTX, text, len(text), b"kernels", 0, None, None)
        code, size = c_void_p(), c_size_t()
        self.api(what, "cuLinkComplete", state, byref(code), byref(size))
        return ctypes.string_at(code.value or 0, size.value)

    def loaded(self, cubin: bytes) -> DeviceModule:
        """Machine code loaded into the device's memory, never unloaded:
        captured graphs may refer to its functions.
        """
        with self.current():
            what = f"loading {len(cubin):,} bytes of code on device {self.index}"
            handle = self.api.number(what, "cuModuleLoadData", cubin, kind=c_void_p)
        return DeviceModule(self, handle)

    def allocated(self, size: int, stream: int | None = 0) -> DeviceMemory:
        """Memory of this many bytes, for work on the stream, or on any stream (None):
        then freeing it waits for all work.
        """
        has_order = self.has_pools and stream is not None
        return DeviceMemory(self.api, self.current, size, stream or 0, has_order)

    def pinned(self, size: int) -> PinnedMemory:
        """Pinned host memory of this many bytes."""
        return PinnedMemory(self.api, self.current, size)

    def stream(self) -> DeviceStream:
        """A new stream."""
        return DeviceStream(self.api, self.current)

    def event(self, is_timed: bool = True) -> DeviceEvent:
        """A new event."""
        return DeviceEvent(self.api, self.current, is_timed)

    def copy_in(self, to: int, source: int, size: int, stream: int = 0) -> None:
        """Copy from the host, in stream order."""
        self._copy("cuMemcpyHtoDAsync_v2", to, source, size, stream)

    def copy_out(self, to: int, source: int, size: int, stream: int = 0) -> None:
        """Copy to the host, in stream order."""
        self._copy("cuMemcpyDtoHAsync_v2", to, source, size, stream)

    def copy(self, to: int, source: int, size: int, stream: int = 0) -> None:
        """Copy from one place on the device to another, in stream order."""
        self._copy("cuMemcpyDtoDAsync_v2", to, source, size, stream)

    def _copy(self, name: str, to: int, source: int, size: int, stream: int) -> None:
        if size:
            with self.current():
                self.api(f"copying {size:,} bytes", name, to, source, size, stream)

    def synchronize(self) -> None:
        """Wait until all work in its context is done."""
        with self.current():
            self.api(f"waiting for device {self.index}", "cuCtxSynchronize")

    def synchronize_stream(self, stream: int) -> None:
        """Wait until all work on a stream is done."""
        with self.current():  # which of the default streams is meant
            self.api(f"waiting for device {self.index}", "cuStreamSynchronize", stream)

    def free_memory(self) -> int:
        """Free memory, in bytes."""
        free, total = c_size_t(), c_size_t()
        with self.current():
            self.api(f"device {self.index}", "cuMemGetInfo_v2", byref(free), byref(total))
        return free.value

    def is_capturing(self, stream: int) -> bool:
        """Whether work on the stream is being captured into a graph."""
        state = c_int()
        with self.current():
            self.api("a stream", "cuStreamIsCapturing", stream, byref(state))
        return bool(state.value)


class DeviceModule:
    """Kernels in the memory of a device."""

    def __init__(self, device: Device, handle: int) -> None:
        self.device, self.handle = device, handle

    def function(self, name: str, shared: int = 0) -> DeviceFunction:
        """A kernel by name; `shared` is the size of its blocks' shared memory, in bytes."""
        device = self.device
        if shared > device.shared_most:
            raise InputError(
                f"{shared:,} bytes of shared memory per block; device {device.index} ("
                f"{device.name}) has at most {device.shared_most:,}.",
                "cuda",
                name,
            )
        with device.current():
            handle = device.api.number(
                f"kernel {name}", "cuModuleGetFunction", self.handle, name.encode(), kind=c_void_p
            )
            if shared > SHARED_AT_ONCE:
                device.api(f"kernel {name}", "cuFuncSetAttribute", handle, DYNAMIC_SHARED, shared)
        return DeviceFunction(device, name, handle)


class DeviceFunction:
    """A kernel `name(addresses..., i64 count)`, one thread per state."""

    def __init__(self, device: Device, name: str, handle: int) -> None:
        self.device, self.name, self.handle = device, name, handle

    @cached_property
    def registers(self) -> int:
        """Registers per thread."""
        return self._attribute(REGISTERS)

    @cached_property
    def local_bytes(self) -> int:
        """Local memory per thread: arrays, and spilled registers."""
        return self._attribute(LOCAL_BYTES)

    def _attribute(self, number: int) -> int:
        with self.device.current():
            what = f"kernel {self.name}"
            return self.device.api.number(what, "cuFuncGetAttribute", number, self.handle)

    def launcher(self, threads: int, shared: int, arguments: int) -> Launcher:
        """A function of (stream, addresses, count) that launches the kernel on the stream.

        Several threads may call it at once, whichever context is current, and while the stream is being
        captured.

        Args:
            threads: threads per block.
            shared: shared memory per block, bytes.
            arguments: number of addresses that the kernel takes, before the count.
        """
        device, name = self.device, f"kernel {self.name}"
        api, context, index = device.api, device.context, device.index
        # Without prototypes, for which ctypes would convert every argument: half the time.
        launch, current_of = (PLAIN(api.address(name)) for name in ("cuLaunchKernel", "cuCtxGetCurrent"))
        kernel, streams = c_void_p(self.handle), {0: c_void_p(0)}
        free: list[tuple[Any, Any, Any, Any]] = []  # lists are safe to share

        def prepared() -> tuple[Any, Any, Any, Any]:
            values = (c_uint64 * (arguments + 1))()
            start, step = ctypes.addressof(values), ctypes.sizeof(c_uint64)
            places = (c_void_p * (arguments + 1))(*range(start, start + step * (arguments + 1), step))
            current = c_void_p()
            return values, places, current, byref(current)

        def call(stream: int, addresses: Sequence[int], count: int) -> None:
            if count <= 0 or process.is_forked:
                return check_process()
            try:
                own = free.pop()
            except IndexError:
                own = prepared()
            values, places, current, place = own
            values[:] = (*addresses, count)
            on = streams.get(stream)
            if on is None:
                if len(streams) > MOST_STREAMS:
                    streams.clear()
                on = streams[stream] = c_void_p(stream)
            blocks = -(-count // threads)
            if blocks > MOST_BLOCKS:
                raise InputError(
                    f"{count:,} states at once; expected at most {MOST_BLOCKS * threads:,}.", "cuda", name
                )
            code = current_of(place)
            if code == 0 and current.value == context:
                code = launch(kernel, blocks, 1, 1, threads, 1, 1, shared, on, places, None)
            else:
                with device.current():
                    code = launch(kernel, blocks, 1, 1, threads, 1, 1, shared, on, places, None)
            free.append(own)  # the driver has copied the values
            if code:
                raise api.error(code, f"{name}, {count:,} states on device {index}", "cuLaunchKernel")

        told = {
            "kernel": self.handle,
            "threads": threads,
            "shared": shared,
            "context": context,
            "most": MOST_BLOCKS * threads,
            "arguments": arguments,
            "is_forked": ctypes.addressof(process.flag),
            **{entry: api.address(entry) for entry in ("cuLaunchKernel", "cuCtxGetCurrent")},
        }
        made: Launcher = direct_launch(told, call)
        return made


def _dotted(capability: tuple[int, int]) -> str:
    return f"{capability[0]}.{capability[1]}"
