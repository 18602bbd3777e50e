"""Arrays lent by DLPack on the fake driver's memory: capsules as another library would make them."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest
from kernels.cuda.fake_arrays import FakeInterface
from kernels.cuda.fake_driver import FakeLibrary

from forearm.kernels.cuda import dlpack

_new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(
    ("PyCapsule_New", ctypes.pythonapi)
)
_is_valid = ctypes.PYFUNCTYPE(ctypes.c_bool, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_IsValid", ctypes.pythonapi)
)
_destructor = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)


class FakeLending(FakeInterface):
    """A library that lends: it counts what it got back."""

    name = "dlpack"

    def __init__(self, library: FakeLibrary, patch: pytest.MonkeyPatch, is_versioned: bool = False) -> None:
        super().__init__(library, patch)
        self.lent = self.returned = 0
        self.is_versioned, self.streams, self.device_type = is_versioned, [], 2  # type: tuple[bool, list[Any], int]
        self.flags, self.major = 0, 1
        self._kept: list[Any] = []
        fake = self

        class Lent:
            def __init__(self, view: np.ndarray[Any, Any], device: int) -> None:
                self.view, self.device = view, device
                self.shape = view.shape

            def __dlpack_device__(self) -> tuple[int, int]:
                return fake.device_type, self.device

            def __dlpack__(self, stream: int | None = None) -> Any:
                fake.streams.append(stream)
                return fake.capsule(self.view, self.device)

        self.Lent = Lent

    def capsule(self, view: np.ndarray[Any, Any], device: int) -> Any:
        managed: Any = (dlpack._ManagedVersioned if self.is_versioned else dlpack._Managed)()
        shape = (ctypes.c_int64 * view.ndim)(*view.shape)
        strides = (ctypes.c_int64 * view.ndim)(*(s // view.itemsize for s in view.strides))

        def given_back(_: int) -> None:
            self.returned += 1

        deleter = dlpack._DELETER(given_back)
        managed.deleter = ctypes.cast(deleter, ctypes.c_void_p)
        if self.is_versioned:
            managed.major, managed.minor, managed.flags = self.major, 0, self.flags
        t = managed.tensor
        offset = 8 if view.size > 1 else 0
        t.data, t.byte_offset = view.ctypes.data - offset, offset
        t.device_type, t.device_id, t.ndim = self.device_type, device, view.ndim
        t.code, t.bits, t.lanes = {"f": 2, "i": 0}[view.dtype.kind], 8 * view.itemsize, 1
        t.shape, t.strides = shape, strides
        self._kept += [managed, shape, strides, deleter]
        self.lent += 1
        kind = dlpack.NAME_VERSIONED if self.is_versioned else dlpack.NAME

        def unused(capsule: int) -> None:
            """Nobody took it."""
            if _is_valid(capsule, kind):
                self.returned += 1

        destructor = _destructor(unused)
        self._kept.append(destructor)
        return _new(ctypes.addressof(managed), kind, ctypes.cast(destructor, ctypes.c_void_p))

    def array(self, values: Any, device: int = 0, **_: Any) -> Any:
        return self.Lent(self.new(np.asarray(values), device), device)

    def part(self, array: Any, where: Any) -> Any:
        return self.Lent(array.view[where], array.device)

    def values(self, array: Any) -> np.ndarray[Any, Any]:
        if isinstance(array, self.Lent):
            self.library._drain(0)
            return np.array(array.view)
        return np.array(array.copy_to_host())
