"""Array libraries whose device arrays kernels accept:
how each describes its arrays, and allocates new ones.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import cache
from operator import attrgetter
from typing import Any

import numpy as np

from forearm.errors import InputError
from forearm.kernels.arrays import Array
from forearm.kernels.compiled import Shape
from forearm.kernels.cuda.device_arrays import ArrayLibrary, DeviceArray, check_place
from forearm.kernels.cuda.driver import DeviceStream, driver
from forearm.kernels.cuda.unknown_arrays import DLPACK, INTERFACE, NUMBA, is_lent_on_device
from forearm.values import refuse_tracer

OF_TENSORS = attrgetter("shape", "dtype", "requires_grad")  # t.data = ... changes any of them in place
LOWEST = 1 << 32  # device arrays have higher addresses


class TorchArrays:
    """PyTorch tensors."""

    name, is_awaited = "PyTorch", False

    def __init__(self) -> None:
        self.torch: Any = sys.modules["torch"]
        self._tensor = self.torch.Tensor
        self._devices: dict[int, Any] = {}
        self._dtypes = {name: getattr(self.torch, name) for name in ("float64", "float32")}
        self._place, self._contiguous = self._tensor.data_ptr, self._tensor.is_contiguous
        # a tenth of the public function's time
        raw = getattr(self.torch._C, "_cuda_getCurrentRawStream", None)
        self.stream: Any = raw or (lambda device: self.torch.cuda.current_stream(device).cuda_stream)

    def seen(self, name: str, value: Any, stream: int) -> DeviceArray:
        """Describe a tensor."""
        torch = self.torch
        if not value.is_cuda:
            raise InputError(
                f"expected a tensor on a CUDA device ({name}.cuda()), or NumPy arrays "
                f"throughout, got one on {value.device}.",
                name,
            )
        if value.requires_grad and torch.is_grad_enabled():
            raise InputError(
                "the tensor requires a gradient, which this call does not propagate; use the "
                f"functions of k.torch, or {name}.detach().",
                name,
            )
        if value.layout is not torch.strided:
            raise InputError(f"expected a dense tensor, got {value.layout}; use {name}.to_dense().", name)
        if value.is_neg():
            value = value.resolve_neg()
        try:
            if type(value).__name__ == "FakeTensor":  # data_ptr would warn, and return 0
                raise RuntimeError("it is a FakeTensor")
            address, storage = value.data_ptr(), value.untyped_storage().nbytes()
        except RuntimeError as error:  # tensors of vmap, of torch.compile
            raise InputError(
                f"the tensor has no memory of its own ({str(error).splitlines()[0]}); inside "
                "vmap, grad and torch.compile use the functions of k.torch.",
                name,
            ) from None
        reach = 1 + sum((n - 1) * s for n, s in zip(value.shape, value.stride(), strict=True))
        needed = (value.storage_offset() + reach) * value.element_size()
        if value.numel() and (storage < needed or address < LOWEST):
            raise InputError(
                f"the tensor needs {needed:,} bytes, but its storage has {storage:,}; was it "
                "freed (resize_)?",
                name,
            )
        device, dtype = value.get_device(), str(value.dtype).removeprefix("torch.")
        stream, shape, is_contiguous = self.stream(device), tuple(value.shape), value.is_contiguous()
        return DeviceArray(address, shape, dtype, is_contiguous, True, device, stream, self, value)

    def addresses(
        self, values: Sequence[Any], shapes: Sequence[Shape], dtype: str
    ) -> tuple[int, Shape] | None:
        """Addresses of tensors, if all can be used without conversion."""
        kind, wanted, made = self._tensor, self._dtypes[dtype], []
        device, size = values[0].get_device(), wanted.itemsize
        if device < 0:
            return None
        try:
            for t, shape in zip(values, shapes, strict=True):
                if (
                    type(t) is not kind
                    or t.get_device() != device
                    or t.dtype is not wanted
                    or t.shape != shape
                    or not t.is_contiguous()
                    or t.requires_grad
                    or t.untyped_storage().nbytes() < t.storage_offset() * size + t.nbytes  # it was resized
                ):
                    return None
                made.append(t.data_ptr())
        except RuntimeError:  # without memory of its own
            return None
        return (device, tuple(made)) if min(made) >= LOWEST else None  # lower ones are those of freed storage

    def unchanged(self, values: Sequence[Any]) -> tuple[Shape, list[Any]]:
        """Addresses of tensors, and what else can be changed of them in place; C functions only."""
        return tuple(map(self._place, values)), [*map(OF_TENSORS, values), *map(self._contiguous, values)]

    def empty(self, shape: Shape, dtype: str, device: int, stream: int) -> Any:
        """A new tensor."""
        return self.torch.empty(shape, dtype=self._dtypes[dtype], device=self._device(device))

    def _device(self, index: int) -> Any:
        if index not in self._devices:
            self._devices[index] = self.torch.device("cuda", index)
        return self._devices[index]

    def filled(self, number: float, shape: Shape, dtype: str, device: int, stream: int) -> Any:
        """A new tensor filled with a number."""
        return self.empty(shape, dtype, device, stream).fill_(number)

    def plain(self, array: DeviceArray, name: str, shape: Shape, stream: int) -> Any:
        """Broadcast to the shape, row by row in memory."""
        return array.value.expand(shape).contiguous()

    def sent(self, values: Array, device: int, stream: int) -> Any:
        """A host array copied to the device."""
        return self.torch.from_numpy(np.array(values)).to(self._device(device))

    def columns(self, values: Sequence[Any], shape: Shape, dtype: str, device: int, stream: int) -> Any:
        """Tensors and numbers side by side along the last axis of the shape."""
        made = self.empty(shape, dtype, device, stream)
        for k, value in enumerate(values):
            made[..., k] = value
        return made

    def assign(self, to: DeviceArray, source: DeviceArray, stream: int) -> None:
        """Copy one tensor into another."""
        to.value.copy_(source.value)

    def summed(self, array: DeviceArray, stream: int) -> Any:
        """The sum over the first axis."""
        return array.value.sum(axis=0)


class CupyArrays:
    """CuPy arrays."""

    name, is_awaited = "CuPy", False

    def __init__(self) -> None:
        self.cupy: Any = sys.modules["cupy"]
        self._array = self.cupy.ndarray

    def seen(self, name: str, value: Any, stream: int) -> DeviceArray:
        """Describe an array."""
        memory = value.data
        if value.size and memory.mem.ptr == 0:
            raise InputError("the memory of the array was freed.", name)
        device = memory.device_id
        flags = value.flags
        made = DeviceArray(
            memory.ptr, value.shape, value.dtype.name, flags.c_contiguous, True, device,
            self.stream(device), self, value,
        )  # fmt: skip
        if type(memory.mem).__name__ == "UnownedMemory" and flags.c_contiguous:
            check_place(name, made)
        return made

    def addresses(
        self, values: Sequence[Any], shapes: Sequence[Shape], dtype: str
    ) -> tuple[int, Shape] | None:
        """Addresses of arrays, if all can be used without conversion."""
        kind, made = self._array, []
        device = values[0].data.device_id
        for a, shape in zip(values, shapes, strict=True):
            if type(a) is not kind or a.shape != shape or a.dtype != dtype or not a.flags.c_contiguous:
                return None
            memory = a.data
            if memory.device_id != device or memory.mem.ptr == 0:
                return None
            made.append(memory.ptr)
        return device, tuple(made)

    def stream(self, device: int) -> int:
        """The current stream."""
        return self.cupy.cuda.get_current_stream(device).ptr  # type: ignore[no-any-return]

    def empty(self, shape: Shape, dtype: str, device: int, stream: int) -> Any:
        """A new array."""
        with self.cupy.cuda.Device(device):
            return self.cupy.empty(shape, dtype)

    def filled(self, number: float, shape: Shape, dtype: str, device: int, stream: int) -> Any:
        """A new array filled with a number."""
        with self.cupy.cuda.Device(device):
            return self.cupy.full(shape, number, dtype)

    def plain(self, array: DeviceArray, name: str, shape: Shape, stream: int) -> Any:
        """Broadcast to the shape, row by row in memory."""
        with self.cupy.cuda.Device(array.device):
            return self.cupy.ascontiguousarray(self.cupy.broadcast_to(array.value, shape))

    def sent(self, values: Array, device: int, stream: int) -> Any:
        """A host array copied to the device."""
        with self.cupy.cuda.Device(device):
            return self.cupy.asarray(values)

    def columns(self, values: Sequence[Any], shape: Shape, dtype: str, device: int, stream: int) -> Any:
        """Arrays and numbers side by side along the last axis of the shape."""
        made = self.empty(shape, dtype, device, stream)
        with self.cupy.cuda.Device(device):
            for k, value in enumerate(values):
                made[..., k] = value
        return made

    def assign(self, to: DeviceArray, source: DeviceArray, stream: int) -> None:
        """Copy one array into another."""
        with self.cupy.cuda.Device(to.device):
            to.value[...] = source.value

    def summed(self, array: DeviceArray, stream: int) -> Any:
        """The sum over the first axis."""
        with self.cupy.cuda.Device(array.device):
            return array.value.sum(axis=0)


class JaxArrays:
    """JAX arrays, outside JAX's transformations. JAX manages its own streams: its arrays are waited for
    before use, and results are complete before they are handed to it.
    """

    name, is_awaited = "JAX", True

    def __init__(self) -> None:
        self._devices: dict[int, Any] = {}
        self._streams: dict[int, DeviceStream] = {}

    def seen(self, name: str, value: Any, stream: int) -> DeviceArray:
        """Describe an array."""
        refuse_tracer(name, value)
        if value.is_deleted():
            raise InputError("the array was deleted, or donated to another function.", name)
        devices = list(value.devices())
        if len(devices) != 1 or devices[0].platform not in ("gpu", "cuda"):
            raise InputError(
                "expected an array on a single CUDA device, or NumPy arrays throughout, got "
                f"one on {', '.join(map(str, devices))}.",
                name,
            )
        if not _is_in_rows(value):
            raise InputError("expected an array in row-major memory layout.", name)
        address = value.block_until_ready().unsafe_buffer_pointer() if value.size else 0
        found = driver().pointer(address) if address else None
        device = devices[0].local_hardware_id if found is None else found.device
        self._devices[device] = devices[0]
        return DeviceArray(address, value.shape, value.dtype.name, True, False, device, None, self, value)

    def addresses(
        self, values: Sequence[Any], shapes: Sequence[Shape], dtype: str
    ) -> tuple[int, Shape] | None:
        """Unknown: JAX arrays must be waited for."""
        return None

    def stream(self, device: int) -> int:
        """A stream of ours."""
        if device not in self._streams:
            self._streams.setdefault(device, driver().device(device).stream())
        return self._streams[device].handle

    def empty(self, shape: Shape, dtype: str, device: int, stream: int) -> Any:
        """A new array that nobody else has seen."""
        numpy: Any = sys.modules["jax.numpy"]
        made = numpy.empty(shape, dtype, device=self._devices.get(device))
        if made.dtype.name != dtype:
            raise InputError(
                f"expected an array of {dtype}, got {made.dtype.name}; call "
                "jax.config.update('jax_enable_x64', True) first.",
                "JAX",
            )
        return made.block_until_ready()

    def filled(self, number: float, shape: Shape, dtype: str, device: int, stream: int) -> Any:
        """A new array filled with a number."""
        numpy: Any = sys.modules["jax.numpy"]
        return numpy.full(shape, number, dtype, device=self._devices.get(device))

    def plain(self, array: DeviceArray, name: str, shape: Shape, stream: int) -> Any:
        """Broadcast to the shape."""
        numpy: Any = sys.modules["jax.numpy"]
        return numpy.broadcast_to(array.value, shape)

    def sent(self, values: Array, device: int, stream: int) -> Any:
        """A host array copied to the device."""
        return sys.modules["jax"].device_put(values, self._devices.get(device))

    def columns(self, values: Sequence[Any], shape: Shape, dtype: str, device: int, stream: int) -> Any:
        """Arrays and numbers side by side along the last axis of the shape."""
        numpy: Any = sys.modules["jax.numpy"]
        with sys.modules["jax"].default_device(self._devices.get(device)):
            return numpy.stack([numpy.broadcast_to(numpy.asarray(v, dtype), shape[:-1]) for v in values], -1)

    def assign(self, to: DeviceArray, source: DeviceArray, stream: int) -> None:
        """Not supported: JAX arrays are immutable."""
        raise InputError("JAX arrays are immutable; leave it out.", "out")

    def summed(self, array: DeviceArray, stream: int) -> Any:
        """The sum over the first axis."""
        return array.value.sum(axis=0)


def _is_in_rows(value: Any) -> bool:
    """Whether a JAX array has the default row-major layout; older versions have no other."""
    layout = getattr(getattr(value, "format", None), "layout", None)
    order = getattr(layout, "major_to_minor", None)
    return order is None or tuple(order) == tuple(range(value.ndim))


_KINDS: dict[tuple[str, str], Callable[[], ArrayLibrary]] = {
    ("torch", "Tensor"): cache(TorchArrays),
    ("cupy", "ndarray"): cache(CupyArrays),
    ("jax", "Tracer"): (jax_arrays := cache(JaxArrays)),
    ("jax", "ArrayImpl"): jax_arrays,
    ("jaxlib", "ArrayImpl"): jax_arrays,
    ("numba", "DeviceNDArrayBase"): lambda: NUMBA,
}
_by_type: dict[type, ArrayLibrary | None] = {}
MOST_TYPES = 256  # cached types, then the cache is cleared: short-lived classes are not kept alive for ever


def library_of(value: object) -> ArrayLibrary | None:
    """The library of a device array; None for what is in host memory."""
    kind = type(value)
    try:
        return _by_type[kind]
    except KeyError:
        found = _library(kind)
    if found is DLPACK:  # arrays of one type may be on the host or on a device
        return found if is_lent_on_device(value) else None
    if len(_by_type) > MOST_TYPES:
        _by_type.clear()
    _by_type[kind] = found
    return found


def _library(kind: type) -> ArrayLibrary | None:
    if kind.__module__ in ("builtins", "numpy"):
        return None
    for base in kind.__mro__:
        found = _KINDS.get((base.__module__.partition(".")[0], base.__name__))
        if found is not None:
            return found()
    if issubclass(kind, np.ndarray):
        return None
    if hasattr(kind, "__cuda_array_interface__"):
        return INTERFACE
    return DLPACK if hasattr(kind, "__dlpack_device__") else None
