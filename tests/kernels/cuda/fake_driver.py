"""A stand-in for CUDA's driver library on the host's memory: C functions that ctypes calls as it would the
driver's.

Work on streams waits until somebody waits for it (`is_lazy`), so that whoever reads a result or reuses a
buffer too early gets wrong numbers. Kernels are functions of Python, by name: (addresses, count).
"""

from __future__ import annotations

import ctypes
import re
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from ctypes import c_char_p, c_float, c_int, c_size_t, c_uint64, c_void_p
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import pytest

from forearm.kernels.cuda import driver as driver_module
from forearm.kernels.cuda import driver_api
from forearm.kernels.cuda.driver import Driver, driver
from forearm.kernels.cuda.driver_api import LETTERS, SIGNATURES

NAMES = {
    1: ("CUDA_ERROR_INVALID_VALUE", "invalid argument"),
    2: ("CUDA_ERROR_OUT_OF_MEMORY", "out of memory"),
    100: ("CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"),
    201: ("CUDA_ERROR_INVALID_CONTEXT", "invalid device context"),
    218: ("CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"),
    400: ("CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"),
    500: ("CUDA_ERROR_NOT_FOUND", "named symbol not found"),
    700: ("CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"),
}
ATTRIBUTES = {13: 1_980_000, 16: 132, 36: 3_201_000, 37: 6144, 38: 50 << 20, 39: 2048, 97: 232_448, 115: 1}
FAKE = b"fake cubin\n"
ON_HOST = -1
FakeKernel = Callable[[Sequence[int], int], object]


@dataclass
class Block:
    """Memory of a device, or of the host."""

    address: int
    size: int
    device: int
    context: int
    buffer: Any


@dataclass
class FakeStream:
    device: int
    work: deque[tuple[str, Any]] = field(default_factory=deque)


class FakeLibrary:
    """The library. What tests look at: `calls` by name, `launches` (name, addresses, count, stream),
    `faults`, the `blocks` that are allocated; what they set: `kernels`, `fail` (name to CUresult).
    """

    def __init__(
        self,
        devices: int = 1,
        version: int = 12080,
        memory: int = 1 << 30,
        attributes: Mapping[int, int] = ATTRIBUTES,
        capability: tuple[int, int] = (9, 0),
        missing: Sequence[str] = (),
        is_lazy: bool = True,
    ) -> None:
        self.devices, self.version, self.memory, self.is_lazy = devices, version, memory, is_lazy
        self.attributes = {**attributes, 75: capability[0], 76: capability[1]}
        self.kernels: dict[str, FakeKernel] = {}
        self.arities, self.pointers = dict[str, int](), dict[str, int]()
        self.fail: dict[str, int] = {}
        self.calls: list[str] = []
        self.launches: list[tuple[str, tuple[int, ...], int, int]] = []
        self.faults: list[str] = []
        self.blocks: dict[int, Block] = {}
        self.streams: dict[int, FakeStream] = {0: FakeStream(0)}
        self.events: dict[int, tuple[int, int]] = {}  # stream, and how much of its work came before
        self.done: dict[int, int] = {}
        self.modules: dict[int, tuple[int, list[str]]] = {}
        self.functions: dict[int, tuple[int, str]] = {}
        self.shared: dict[int, int] = {}
        self._handles = count(0x1000, 0x10)
        self._contexts = [next(self._handles) for _ in range(devices)]
        self._thread = threading.local()
        self._lock = threading.RLock()
        self._links: dict[int, tuple[Any, list[bytes]]] = {}
        self._texts: dict[int, list[c_char_p]] = {}
        for name, kinds in SIGNATURES.items():
            if name not in missing:
                setattr(
                    self, name, ctypes.CFUNCTYPE(c_int, *(LETTERS[k] for k in kinds))(self._wrapped(name))
                )

    def _wrapped(self, name: str) -> Callable[..., int]:
        inner = getattr(self, "_" + name)

        def call(*arguments: Any) -> int:
            with self._lock:
                self.calls.append(name)
                if name in self.fail:
                    return self.fail[name]
                try:
                    return int(inner(*arguments) or 0)
                except Exception as error:  # C has no exceptions
                    self.faults.append(f"{name}: {error!r}")
                    return 999

        return call

    @property
    def stack(self) -> list[int]:
        """The contexts of this thread, the current one last."""
        if not hasattr(self._thread, "stack"):
            self._thread.stack = []
        return self._thread.stack  # type: ignore[no-any-return]

    def device_of(self, context: int) -> int:
        return self._contexts.index(context) if context in self._contexts else 0

    def foreign_context(self) -> int:
        """A context that is not the primary one."""
        return next(self._handles)

    def taken(self, device: int = 0) -> int:
        """Bytes allocated on a device."""
        return sum(b.size for b in self.blocks.values() if b.device == device)

    def allocate(self, size: int, device: int = 0, context: int | None = None) -> int:
        """Memory on a device, as a framework would take it."""
        buffer = (ctypes.c_uint8 * size)(*b"\xff" * min(size, 64))
        address = ctypes.addressof(buffer)
        owner = self._contexts[device] if context is None else context
        self.blocks[address] = Block(address, size, device, owner, buffer)
        return address

    def block_at(self, address: int) -> Block | None:
        for block in self.blocks.values():
            if block.address <= address < block.address + max(1, block.size):
                return block
        return None

    def is_inside(self, address: int, size: int, on_device: bool = True) -> bool:
        block = self.block_at(address)
        if block is None or (block.device == ON_HOST) == on_device:
            return False
        return address + size <= block.address + block.size

    # work

    def _later(self, stream: int | None, act: Callable[[], object]) -> int:
        handle = stream or 0
        if handle not in self.streams:
            return 400
        self.streams[handle].work.append(("do", act))
        if not self.is_lazy:
            self._drain(handle)
        return 0

    def _drain(self, handle: int, until: int | None = None) -> None:
        """Do a stream's work, up to a number of items since it began."""
        stream = self.streams[handle]
        while stream.work and (until is None or self.done.get(handle, 0) < until):
            kind, what = stream.work.popleft()
            self.done[handle] = self.done.get(handle, 0) + 1
            if kind == "wait":
                self._drain(*what)
            else:
                what()

    def _behind(self, handle: int) -> tuple[int, int]:
        return handle, self.done.get(handle, 0) + len(self.streams[handle].work)

    # the driver's functions

    def _cuInit(self, flags: int) -> int:
        return 0 if self.devices else 100

    def _cuDriverGetVersion(self, place: int) -> None:
        _put(c_int, place, self.version)

    def _cuGetErrorName(self, code: int, place: Any) -> None:
        self._text(code, 0, place)

    def _cuGetErrorString(self, code: int, place: Any) -> None:
        self._text(code, 1, place)

    def _text(self, code: int, which: int, place: Any) -> None:
        kept = self._texts.setdefault(code, [c_char_p(t.encode()) for t in NAMES.get(code, ("", ""))])
        place[0] = kept[which]

    def _cuDeviceGetCount(self, place: int) -> None:
        _put(c_int, place, self.devices)

    def _cuDeviceGet(self, place: int, index: int) -> None:
        _put(c_int, place, index)

    def _cuDeviceGetName(self, place: int, size: int, device: int) -> None:
        ctypes.memmove(place, b"Fake GPU\0", 9)

    def _cuDeviceGetAttribute(self, place: int, number: int, device: int) -> int:
        if number not in self.attributes:
            return 1
        _put(c_int, place, self.attributes[number])
        return 0

    def _cuDeviceTotalMem_v2(self, place: int, device: int) -> None:
        _put(c_size_t, place, self.memory)

    def _cuDevicePrimaryCtxRetain(self, place: int, device: int) -> None:
        _put(c_void_p, place, self._contexts[device])

    def _cuCtxGetCurrent(self, place: int) -> None:
        _put(c_void_p, place, self.stack[-1] if self.stack else None)

    def _cuCtxPushCurrent_v2(self, context: int) -> None:
        self.stack.append(context)

    def _cuCtxPopCurrent_v2(self, place: int) -> int:
        if not self.stack:
            return 201
        _put(c_void_p, place, self.stack.pop())
        return 0

    def _cuCtxSynchronize(self) -> int:
        if not self.stack:
            return 201
        for handle in list(self.streams):
            self._drain(handle)
        return 700 * bool(self.faults)

    def _cuLinkCreate_v2(self, number: int, options: int, values: int, place: int) -> None:
        handle = next(self._handles)
        log = (c_void_p * 2).from_address(values)[0]
        self._links[handle] = (log, [])
        _put(c_void_p, place, handle)

    def _cuLinkAddData_v2(self, state: int, kind: int, text: bytes, size: int, *others: Any) -> int:
        log, parts = self._links[state]
        if kind != 1 or size != len(text) + 1 or b".version" not in text:
            ctypes.memmove(log, b"ptxas fatal: no version\0", 24)
            return 218
        parts.append(text)
        return 0

    def _cuLinkComplete(self, state: int, place: int, size: int) -> None:
        _, parts = self._links[state]
        made = ctypes.create_string_buffer(FAKE + b"".join(parts))
        self._links[state] = (made, parts)
        _put(c_void_p, place, ctypes.addressof(made))
        _put(c_size_t, size, len(made))

    def _cuLinkDestroy(self, state: int) -> None:
        self._links.pop(state)

    def _cuModuleLoadData(self, place: int, cubin: bytes) -> int:
        if not self.stack:
            return 201
        if not cubin.startswith(FAKE):
            return 200
        names = re.findall(r"\.entry (\w+)", cubin.decode())
        handle = next(self._handles)
        self.modules[handle] = (self.stack[-1], names)
        _put(c_void_p, place, handle)
        return 0

    def _cuModuleGetFunction(self, place: int, module: int, name: bytes) -> int:
        context, names = self.modules[module]
        if name.decode() not in names:
            return 500
        handle = next(self._handles)
        self.functions[handle] = (context, name.decode())
        _put(c_void_p, place, handle)
        return 0

    def _cuFuncGetAttribute(self, place: int, number: int, function: int) -> None:
        _put(c_int, place, {3: 16, 4: 72}[number])

    def _cuFuncSetAttribute(self, function: int, number: int, value: int) -> int:
        if number != 8 or value > self.attributes[97]:
            return 1
        self.shared[function] = value
        return 0

    def _cuLaunchKernel(
        self, function: int, gx: int, gy: int, gz: int, bx: int, by: int, bz: int, shared: int,
        stream: int | None, places: int, extra: int | None,
    ) -> int:  # fmt: skip
        context, name = self.functions[function]
        if not self.stack or self.stack[-1] != context:
            return 400 if self.stack else 201
        if (gy, gz, by, bz) != (1, 1, 1, 1) or gx < 1 or shared > self.shared.get(function, 48 << 10):
            return 1
        arity, act = self.arities.get(name, 0), self.kernels.get(name)
        pointers = (c_void_p * (arity + 1)).from_address(places)
        *addresses, states = [c_uint64.from_address(p).value for p in pointers if p]
        if act is None or not (gx - 1) * bx < states <= gx * bx:
            return 1
        self.launches.append((name, tuple(addresses), states, stream or 0))

        def launched() -> None:
            for address in addresses[: self.pointers.get(name)]:
                if self.block_at(address) is None and (address or name not in self.pointers):
                    self.faults.append(f"{name} reads at {address:#x}, which is no memory of the device")
                    return
            act(addresses, states)

        return self._later(stream, launched)

    def define(self, name: str, arity: int, act: FakeKernel, pointers: int | None = None) -> None:
        """A kernel, how many arguments it takes, and how many are addresses or 0 (None: all, none is 0)."""
        self.kernels[name], self.arities[name] = act, arity
        self.pointers |= {} if pointers is None else {name: pointers}

    def _cuMemGetInfo_v2(self, free: int, total: int) -> None:
        device = self.device_of(self.stack[-1])
        _put(c_size_t, free, self.memory - self.taken(device))
        _put(c_size_t, total, self.memory)

    def _cuMemAlloc_v2(self, place: int, size: int) -> int:
        if not self.stack:
            return 201
        device = self.device_of(self.stack[-1])
        if self.taken(device) + size > self.memory:
            return 2
        _put(c_void_p, place, self.allocate(size, device, self.stack[-1]))
        return 0

    def _cuMemAllocAsync(self, place: int, size: int, stream: int | None) -> int:
        return self._cuMemAlloc_v2(place, size)

    def _cuMemFree_v2(self, address: int) -> int:
        for handle in list(self.streams):
            self._drain(handle)
        return 0 if self.blocks.pop(address, None) else 1

    def _cuMemFreeAsync(self, address: int, stream: int | None) -> int:
        if address not in self.blocks:
            return 1
        return self._later(stream, lambda: self.blocks.pop(address, None))

    def _cuMemHostAlloc(self, place: int, size: int, flags: int) -> None:
        _put(c_void_p, place, self.allocate(size, ON_HOST, 0))

    def _cuMemFreeHost(self, address: int) -> int:
        return self._cuMemFree_v2(address)

    def _cuMemcpyHtoDAsync_v2(self, to: int, source: int, size: int, stream: int | None) -> int:
        return self._copied(to, source, size, stream, self.is_inside(to, size))

    def _cuMemcpyDtoHAsync_v2(self, to: int, source: int, size: int, stream: int | None) -> int:
        return self._copied(to, source, size, stream, self.is_inside(source, size))

    def _cuMemcpyDtoDAsync_v2(self, to: int, source: int, size: int, stream: int | None) -> int:
        inside = self.is_inside(source, size) and self.is_inside(to, size)
        return self._copied(to, source, size, stream, inside)

    def _copied(self, to: int, source: int, size: int, stream: int | None, inside: bool) -> int:
        if not inside:
            return 1
        return self._later(stream, lambda: ctypes.memmove(to, source, size))

    def _cuStreamCreate(self, place: int, flags: int) -> int:
        if not self.stack:
            return 201
        handle = next(self._handles)
        self.streams[handle] = FakeStream(self.device_of(self.stack[-1]))
        _put(c_void_p, place, handle)
        return 0

    def _cuStreamDestroy_v2(self, stream: int) -> int:
        if stream not in self.streams:
            return 400
        self._drain(stream)  # destroyed once its work is done
        del self.streams[stream]
        return 0

    def _cuStreamSynchronize(self, stream: int | None) -> int:
        if (stream or 0) not in self.streams:
            return 400
        self._drain(stream or 0)
        return 700 * bool(self.faults)

    def _cuStreamWaitEvent(self, stream: int | None, event: int, flags: int) -> int:
        if event in self.events:
            self.streams[stream or 0].work.append(("wait", self.events[event]))
        return 0

    def _cuStreamIsCapturing(self, stream: int | None, place: int) -> None:
        _put(c_int, place, 0)

    def _cuEventCreate(self, place: int, flags: int) -> None:
        _put(c_void_p, place, next(self._handles))

    def _cuEventDestroy_v2(self, event: int) -> None:
        self.events.pop(event, None)

    def _cuEventRecord(self, event: int, stream: int | None) -> int:
        if (stream or 0) not in self.streams:
            return 400
        self.events[event] = self._behind(stream or 0)
        return 0

    def _cuEventSynchronize(self, event: int) -> int:
        if event in self.events:
            self._drain(*self.events[event])
        return 700 * bool(self.faults)

    def _cuEventElapsedTime(self, place: int, first: int, last: int) -> int:
        if not (first in self.events and last in self.events):
            return 400
        _put(c_float, place, 1.5)
        return 0

    def _cuPointerGetAttribute(self, place: int, number: int, address: int | None) -> int:
        block = self.block_at(address or 0)
        if block is None:
            return 1
        on_device = block.device != ON_HOST
        kind, value = {
            1: (c_void_p, block.context or None),
            2: (c_int, 2 if on_device else 1),
            8: (c_int, 0),
            9: (c_int, max(0, block.device)),
            11: (c_void_p, block.address),
            12: (c_size_t, block.size),
        }[number]
        _put(kind, place, value)
        return 0


def _put(kind: Any, place: int, value: Any) -> None:
    kind.from_address(place).value = value


@contextmanager
def using(library: FakeLibrary) -> Iterator[Driver]:
    """This process's driver is the fake one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(driver_api, "load_library", lambda: library)
        patch.setattr(driver_api.process, "is_used", False)
        patch.setattr(driver_api.process, "is_forked", False)
        patch.setattr(driver_module._here, "driver", None)
        yield driver()
