"""Functions of an arm on GPUs:
machine code for each GPU architecture, loaded from the cache or compiled on demand.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from forearm.arm.arm import Arm
from forearm.kernels import cache
from forearm.kernels.cache_key import surroundings, told
from forearm.kernels.compiled import CompileRequest, Slot, TracedRequest
from forearm.kernels.cuda.driver import Device, DeviceFunction, DriverError, Launcher, driver
from forearm.kernels.load_or_compile import About
from forearm.kernels.locks import making

if TYPE_CHECKING:
    from forearm.symbols.counts import Counts

ENTRY = "entry"  # the name of every kernel in its module
# the metadata of a kernel, and its PTX
Make = Callable[[], tuple[About, str]]


@dataclass(frozen=True, eq=False)
class LoadedKernel:
    """A kernel on a device, and its launch configuration:
    `threads` per block, one per state, and bytes of `shared` memory.
    """

    kernel: DeviceFunction
    threads: int
    shared: int
    call: Launcher

    @property
    def function(self) -> int:
        """CUDA's handle."""
        return self.kernel.handle


class DeviceCompiled:
    """Functions of an arm compiled as one, for GPUs;
    `index` is the default device; `fast` code uses approximations.
    """

    def __init__(self, request: CompileRequest | TracedRequest, index: int = 0, fast: bool = False) -> None:
        self.request, self.index, self.fast = request, index, fast
        self._about: About | None = None
        self._loaded: dict[tuple[int, bool], LoadedKernel] = {}

    @property
    def arm(self) -> Arm | None:
        """The arm."""
        return self.request.arm

    @property
    def dtype(self) -> str:
        """The dtype of all arrays."""
        return self.request.dtype

    @property
    def inputs(self) -> tuple[Slot, ...]:
        """The input arrays; `parameters` last, if some were left open."""
        return self._slots("inputs")

    @property
    def outputs(self) -> tuple[Slot, ...]:
        """The output arrays."""
        return self._slots("outputs")

    @property
    def counts(self) -> Counts:
        """Operations of one evaluation."""
        from forearm.symbols.counts import Counts

        return Counts(**self._told["counts"])

    def launcher(self, index: int | None = None, each: bool = False) -> Launcher:
        """A function of (stream, addresses, count) that launches it on a device: addresses of inputs, open
        parameters and outputs in order. With `each`, every state has its own parameters.
        """
        return self.loaded(index, each).call

    def loaded(self, index: int | None = None, each: bool = False) -> LoadedKernel:
        """The kernel on a device, from memory, from the cache, or compiled now."""
        at = self.index if index is None else index
        return self._loaded.get((at, each)) or self._found(at, each)

    @property
    def _told(self) -> About:
        if self._about is None:
            self.loaded()
        assert self._about is not None
        return self._about

    def _slots(self, which: str) -> tuple[Slot, ...]:
        return tuple(Slot(name, tuple(map(int, shape))) for name, shape in self._told[which])

    def _found(self, index: int, each: bool) -> LoadedKernel:
        def make() -> tuple[About, str]:
            from forearm.kernels.cuda.device_request import made

            return made(self.request, each, self.fast)

        parts = (self.request.key, "each" if each else "batch", self.fast)
        about, kernel = kept_or_assembled(parts, make, driver().device(index))
        if self._about is None:
            self._about = about
        return self._loaded.setdefault((index, each), kernel)


def kept_or_assembled(parts: tuple[object, ...], make: Make, device: Device) -> tuple[About, LoadedKernel]:
    """The metadata of the code for these parts, and the kernel on a device; machine code is cached for
    devices of this capability and this driver version, whose assembler produced it.
    """
    there = ["cuda", *device.capability, *driver().version]
    key = cache.key_of(*told(parts), there, surroundings())
    kept = cache.read(key)
    if kept is not None:
        # Code that differs from what was written is compiled again.
        with contextlib.suppress(KeyError, TypeError, ValueError, DriverError):
            return kept[0], _placed(device, *kept)
    with making():
        about, ptx = make()
    code = device.assembled(ptx)
    cache.write(key, about, code)
    return about, _placed(device, about, code)


def _placed(device: Device, about: About, code: bytes) -> LoadedKernel:
    threads, shared = int(about["threads"]), int(about["shared"])
    kernel = device.loaded(code).function(ENTRY, shared)
    return LoadedKernel(kernel, threads, shared, kernel.launcher(threads, shared, int(about["arguments"])))
