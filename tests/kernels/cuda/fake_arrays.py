"""Stand-ins for libraries of arrays on the fake driver's memory: as much of each as kernels ask for.

What a library does to its arrays waits in its stream, as kernels do.
"""

from __future__ import annotations

import ctypes
import sys
import types
from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
import pytest
from kernels.cuda.fake_driver import FakeLibrary

from forearm.kernels.cuda import array_libraries


def memory_view(address: int, shape: tuple[int, ...], dtype: Any) -> np.ndarray[Any, Any]:
    """Memory of the fake device as an array of NumPy's."""
    count = prod(shape)
    if not count:
        return np.empty(shape, dtype)
    raw = (ctypes.c_uint8 * (count * np.dtype(dtype).itemsize)).from_address(address)
    return np.frombuffer(raw, dtype).reshape(shape)


class FakeArrays:
    """What all of them share: a library of arrays with a current stream per device."""

    name = ""

    def __init__(self, library: FakeLibrary) -> None:
        self.library, self.current = library, {0: 0, 1: 0}

    def new(self, values: np.ndarray[Any, Any], device: int = 0) -> np.ndarray[Any, Any]:
        """Memory on the device with these values."""
        address = self.library.allocate(max(1, values.nbytes), device)
        view = memory_view(address, values.shape, values.dtype)
        view[...] = values
        return view

    def later(self, device: int, act: Callable[[], object]) -> None:
        assert self.library._later(self.current[device], act) == 0

    def array(self, values: Any, device: int = 0) -> Any:
        """An array of the library's with these values."""
        raise NotImplementedError

    def values(self, array: Any) -> np.ndarray[Any, Any]:
        """What an array holds after all work on the current stream."""
        self.library._drain(self.current[0])
        return np.array(array.view)


class DTypeName:
    """A dtype of PyTorch's."""

    def __init__(self, name: str) -> None:
        self.name, self.itemsize = name, np.dtype(name).itemsize

    def __str__(self) -> str:
        return f"torch.{self.name}"


class FakeTorch(FakeArrays):
    name = "torch"

    def __init__(self, library: FakeLibrary, patch: pytest.MonkeyPatch) -> None:
        super().__init__(library)
        fake, module = self, types.ModuleType("torch")
        self.is_grad_enabled = True

        class Tensor:
            layout, has_memory, negative, requires_grad, cut = "strided", True, False, False, 0

            def __init__(self, view: np.ndarray[Any, Any], where: int, base: Any = None) -> None:
                self.view, self.where = view, where
                self.base = view if base is None else base
                self.freed = False

            is_cuda = property(lambda self: self.where >= 0)
            device = property(lambda self: f"cuda:{self.where}" if self.where >= 0 else "cpu")
            shape = property(lambda self: self.view.shape)
            dtype = property(lambda self: getattr(module, self.view.dtype.name))
            nbytes = property(lambda self: self.view.nbytes)

            def __eq__(self, other: object) -> bool:
                raise AssertionError("tensors are compared entry by entry")

            __hash__ = object.__hash__

            def data_ptr(self) -> int:
                if not self.has_memory:
                    raise RuntimeError("Cannot access data pointer of Tensor that doesn't have storage\nmore")
                return 0 if self.freed or not self.view.size else int(self.view.ctypes.data)

            def untyped_storage(self) -> Any:
                return types.SimpleNamespace(nbytes=lambda: 0 if self.freed else self.base.nbytes - self.cut)

            def storage_offset(self) -> int:
                return int(self.view.ctypes.data - self.base.ctypes.data) // self.view.itemsize

            def stride(self) -> tuple[int, ...]:
                return tuple(s // self.view.itemsize for s in self.view.strides)

            def element_size(self) -> int:
                return int(self.view.itemsize)

            def numel(self) -> int:
                return int(self.view.size)

            def get_device(self) -> int:
                return self.where

            def is_neg(self) -> bool:
                return self.negative

            def is_contiguous(self) -> bool:
                return bool(self.view.flags.c_contiguous)

            def expand(self, shape: tuple[int, ...]) -> Any:
                return Tensor(np.broadcast_to(self.view, shape), self.where, self.base)

            def contiguous(self) -> Any:
                made = fake.new(np.zeros(self.view.shape, self.view.dtype), self.where)
                fake.later(self.where, lambda: np.copyto(made, self.view))
                return Tensor(made, self.where)

            def fill_(self, number: float) -> Any:
                fake.later(self.where, lambda: self.view.fill(number))
                return self

            def copy_(self, other: Any) -> None:
                fake.later(self.where, lambda: np.copyto(self.view, other.view))

            def __setitem__(self, where: Any, value: Any) -> None:
                source = value.view if isinstance(value, Tensor) else value
                fake.later(self.where, lambda: self.view.__setitem__(where, source))

            def sum(self, axis: int) -> Any:
                total = Tensor(fake.new(np.zeros(self.view.sum(axis).shape, self.view.dtype), self.where), 0)
                fake.later(self.where, lambda: np.copyto(total.view, self.view.sum(axis)))
                return total

            def to(self, where: Any) -> Any:
                return Tensor(fake.new(self.view, where.index), where.index)

        Tensor.__module__ = "torch"
        self.Tensor = Tensor
        module.__dict__.update(
            Tensor=Tensor,
            strided="strided",
            is_grad_enabled=lambda: self.is_grad_enabled,
            device=lambda kind, index: types.SimpleNamespace(kind=kind, index=index),
            empty=lambda shape, dtype, device: Tensor(
                self.new(np.full(shape, np.nan, str(dtype).removeprefix("torch.")), device.index),
                device.index,
            ),
            from_numpy=lambda a: Tensor(a, -1),
            _C=types.SimpleNamespace(_cuda_getCurrentRawStream=lambda index: self.current[index]),
            **{name: DTypeName(name) for name in ("float64", "float32", "float16", "int64")},
        )
        patch.setitem(sys.modules, "torch", module)

    def array(self, values: Any, device: int = 0) -> Any:
        values = np.asarray(values)
        return self.Tensor(self.new(values, device) if device >= 0 else values, device)

    def part(self, array: Any, where: Any) -> Any:
        return self.Tensor(array.view[where], array.where, array.base)


class FakeCupy(FakeArrays):
    name = "cupy"

    def __init__(self, library: FakeLibrary, patch: pytest.MonkeyPatch) -> None:
        super().__init__(library)
        fake, module = self, types.ModuleType("cupy")

        class ndarray:  # noqa: N801 - as CuPy has it
            def __init__(self, view: np.ndarray[Any, Any], where: int) -> None:
                self.view = view
                memory = types.SimpleNamespace(ptr=int(view.ctypes.data) if view.size else 0)
                self.data = types.SimpleNamespace(ptr=memory.ptr, mem=memory, device_id=where)

            shape = property(lambda self: self.view.shape)
            ndim = property(lambda self: self.view.ndim)
            dtype = property(lambda self: self.view.dtype)
            size = property(lambda self: self.view.size)
            flags = property(lambda self: types.SimpleNamespace(c_contiguous=self.view.flags.c_contiguous))

            def __setitem__(self, where: Any, value: Any) -> None:
                source = value.view if isinstance(value, ndarray) else value
                fake.later(self.data.device_id, lambda: self.view.__setitem__(where, source))

            def reshape(self, *shape: Any) -> Any:
                return ndarray(self.view.reshape(*shape), self.data.device_id)

            def sum(self, axis: int) -> Any:
                where = inside[-1]
                total = ndarray(fake.new(np.zeros(self.view.sum(axis).shape, self.view.dtype), where), where)
                fake.later(where, lambda: np.copyto(total.view, self.view.sum(axis)))
                return total

        class Device:
            def __init__(self, index: int) -> None:
                self.index = index

            def __enter__(self) -> None:
                inside.append(self.index)

            def __exit__(self, *_: object) -> None:
                inside.pop()

        inside: list[int] = []
        ndarray.__module__ = "cupy"
        self.ndarray = ndarray

        def copied(array: Any) -> Any:
            if array.view.flags.c_contiguous:
                return array
            made = ndarray(fake.new(np.zeros(array.view.shape, array.view.dtype), inside[-1]), inside[-1])
            made[...] = array
            return made

        def full(shape: tuple[int, ...], number: float, dtype: str) -> Any:
            return ndarray(fake.new(np.full(shape, number, dtype), inside[-1]), inside[-1])

        module.__dict__.update(
            ndarray=ndarray,
            cuda=types.SimpleNamespace(
                Device=Device, get_current_stream=lambda index: types.SimpleNamespace(ptr=self.current[index])
            ),
            empty=lambda shape, dtype: full(shape, np.nan, dtype),
            full=full,
            asarray=lambda a: ndarray(fake.new(a, inside[-1]), inside[-1]),
            broadcast_to=lambda a, shape: ndarray(np.broadcast_to(a.view, shape), a.data.device_id),
            ascontiguousarray=copied,
        )
        patch.setitem(sys.modules, "cupy", module)

    def array(self, values: Any, device: int = 0) -> Any:
        return self.ndarray(self.new(np.asarray(values), device), device)

    def part(self, array: Any, where: Any) -> Any:
        return self.ndarray(array.view[where], array.data.device_id)


class FakeJax(FakeArrays):
    """What was given waits in a stream that nobody else knows."""

    name = "jax"

    def __init__(self, library: FakeLibrary, patch: pytest.MonkeyPatch) -> None:
        super().__init__(library)
        library.streams[0x77] = type(library.streams[0])(0)
        self.current = {0: 0x77, 1: 0x77}
        fake, module, numpy = self, types.ModuleType("jax"), types.ModuleType("jax.numpy")
        devices = [types.SimpleNamespace(platform="gpu", local_hardware_id=k) for k in (0, 1)]

        class ArrayImpl:
            deleted = False

            def __init__(self, view: np.ndarray[Any, Any], where: int, platform: str = "gpu") -> None:
                self.view, self.where, self.platform = view, where, platform

            shape = property(lambda self: self.view.shape)
            ndim = property(lambda self: self.view.ndim)
            dtype = property(lambda self: self.view.dtype)
            size = property(lambda self: self.view.size)

            def is_deleted(self) -> bool:
                return self.deleted

            def devices(self) -> set[Any]:
                return {DeviceName(self.platform, self.where)}

            def sum(self, axis: int) -> Any:
                made = fake.new(np.zeros(self.view.sum(axis).shape, self.view.dtype), self.where)
                fake.later(0, lambda: np.copyto(made, self.view.sum(axis)))
                return ArrayImpl(made, self.where)

            def block_until_ready(self) -> Any:
                fake.library._drain(0x77)
                return self

            def unsafe_buffer_pointer(self) -> int:
                assert not fake.library.streams[0x77].work, "not waited for"
                return int(self.view.ctypes.data)

        class DeviceName:
            def __init__(self, platform: str, index: int) -> None:
                self.platform, self.local_hardware_id = platform, index

            def __repr__(self) -> str:
                return f"{self.platform}:{self.local_hardware_id}"

        class Tracer:
            shape = (4, 3)

        ArrayImpl.__module__, Tracer.__module__ = "jaxlib._jax", "jax._src.core"
        self.ArrayImpl, self.Tracer = ArrayImpl, Tracer

        def full(shape: tuple[int, ...], number: float, dtype: str, device: Any = None) -> Any:
            where = device.local_hardware_id if device else 0
            made = fake.new(np.zeros(shape, dtype), where)
            fake.later(0, lambda: made.fill(number))
            return ArrayImpl(made, where)

        def broadcast(a: Any, shape: tuple[int, ...]) -> Any:
            made = fake.new(np.zeros(shape, a.view.dtype), a.where)
            fake.later(0, lambda: np.copyto(made, a.view))
            return ArrayImpl(made, a.where)

        numpy.__dict__.update(
            empty=lambda shape, dtype, device: full(shape, 0.0, dtype, device),
            full=full,
            broadcast_to=broadcast,
        )
        module.__dict__.update(
            numpy=numpy,
            devices=devices,
            device_put=lambda a, device: ArrayImpl(self.new(a, device.local_hardware_id), 0),
        )
        patch.setitem(sys.modules, "jax", module)
        patch.setitem(sys.modules, "jax.numpy", numpy)

    def array(self, values: Any, device: int = 0) -> Any:
        values = np.asarray(values)
        made = self.new(np.zeros(values.shape, values.dtype), device)
        self.later(device, lambda: np.copyto(made, values))
        return self.ArrayImpl(made, device)


class FakeInterface(FakeArrays):
    """Arrays with nothing but `__cuda_array_interface__`, on a stream that they tell."""

    name = "interface"

    def __init__(self, library: FakeLibrary, patch: pytest.MonkeyPatch) -> None:
        super().__init__(library)

        class Described:
            __cuda_array_interface__: Any = None  # found on the type, as those of real libraries are

            def __init__(self, view: np.ndarray[Any, Any], **others: Any) -> None:
                self.view = view
                self.__cuda_array_interface__ = {
                    "shape": view.shape,
                    "typestr": view.dtype.str,
                    "data": (int(view.ctypes.data), False),
                    "strides": None if view.flags.c_contiguous else view.strides,
                    "version": 3,
                    "stream": None,
                    **others,
                }

            shape = property(lambda self: self.view.shape)

        self.Described = Described

    def array(self, values: Any, device: int = 0, **others: Any) -> Any:
        return self.Described(self.new(np.asarray(values), device), **others)

    def part(self, array: Any, where: Any) -> Any:
        return self.Described(array.view[where])

    def values(self, array: Any) -> np.ndarray[Any, Any]:
        if isinstance(array, self.Described):
            self.library._drain(0)
            return np.array(array.view)
        return np.array(array.copy_to_host())


def forget() -> None:
    """What is known of libraries that this test has made."""
    array_libraries._by_type.clear()
    for make in array_libraries._KINDS.values():
        getattr(make, "cache_clear", lambda: None)()
