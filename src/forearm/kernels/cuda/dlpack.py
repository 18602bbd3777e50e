"""Arrays received through DLPack: the capsule read by ctypes, and released."""

from __future__ import annotations

import ctypes
from ctypes import (
    POINTER,
    c_bool,
    c_int32,
    c_int64,
    c_uint8,
    c_uint16,
    c_uint32,
    c_uint64,
    c_void_p,
    py_object,
)
from functools import cache
from typing import Any, NamedTuple

from forearm.errors import InputError

CUDA, CUDA_MANAGED = 2, 13  # DLDeviceType
KINDS = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 5: "complex", 6: "bool"}  # DLDataTypeCode
NAME, NAME_VERSIONED = b"dltensor", b"dltensor_versioned"
USED = {NAME: b"used_dltensor", NAME_VERSIONED: b"used_dltensor_versioned"}
MAJOR, READ_ONLY = 1, 1


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", c_void_p),
        ("device_type", c_int32),
        ("device_id", c_int32),
        ("ndim", c_int32),
        ("code", c_uint8),
        ("bits", c_uint8),
        ("lanes", c_uint16),
        ("shape", POINTER(c_int64)),
        ("strides", POINTER(c_int64)),
        ("byte_offset", c_uint64),
    )


_DELETER = ctypes.CFUNCTYPE(None, c_void_p)


class _Managed(ctypes.Structure):
    _fields_ = (("tensor", _Tensor), ("context", c_void_p), ("deleter", c_void_p))


class _ManagedVersioned(ctypes.Structure):
    _fields_ = (
        ("major", c_uint32),
        ("minor", c_uint32),
        ("context", c_void_p),
        ("deleter", c_void_p),
        ("flags", c_uint64),
        ("tensor", _Tensor),
    )


class ReceivedTensor(NamedTuple):
    """The content of a capsule; strides in entries, None if rows are contiguous.
    `release` returns it to its owner.
    """

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None
    dtype: str
    device_type: int
    device: int
    is_writeable: bool
    release: Any


@cache
def _api() -> Any:
    """Python's capsule functions, with a prototype of our own:
    that of other users of ctypes stays unchanged.
    """
    get = ctypes.PYFUNCTYPE(c_void_p, py_object, ctypes.c_char_p)(("PyCapsule_GetPointer", ctypes.pythonapi))
    is_valid = ctypes.PYFUNCTYPE(c_bool, py_object, ctypes.c_char_p)(("PyCapsule_IsValid", ctypes.pythonapi))
    rename = ctypes.PYFUNCTYPE(ctypes.c_int, py_object, ctypes.c_char_p)(
        ("PyCapsule_SetName", ctypes.pythonapi)
    )
    return get, is_valid, rename


def received(name: str, value: Any, stream: int) -> ReceivedTensor:
    """An object's array, for use on a stream of ours; it must be released."""
    try:
        capsule = value.__dlpack__(stream=stream or 1)  # 1 means the default stream here
    except Exception as error:  # any error of the producer
        raise InputError(f"{type(value).__name__} refused to export its array ({error}).", name) from error
    get, is_valid, rename = _api()
    kind = next((kind for kind in USED if is_valid(capsule, kind)), None)
    if kind is None:
        raise InputError(f"__dlpack__ of {type(value).__name__} did not return a usable capsule.", name)
    address = get(capsule, kind)
    managed: Any = (_Managed if kind == NAME else _ManagedVersioned).from_address(address)
    rename(capsule, USED[kind])  # from now on it is ours to release

    def release() -> None:
        if managed.deleter:
            _DELETER(managed.deleter)(address)

    flags = 0
    if kind == NAME_VERSIONED:
        if managed.major != MAJOR:
            release()
            raise InputError(f"expected DLPack version {MAJOR}, got {managed.major}.", name)
        flags = managed.flags
    t = managed.tensor
    shape = tuple(t.shape[: t.ndim])
    strides = tuple(t.strides[: t.ndim]) if t.strides else None
    dtype = f"{KINDS.get(t.code, 'unknown')}{t.bits}" + (f"x{t.lanes}" if t.lanes != 1 else "")
    place = (t.data or 0) + t.byte_offset
    return ReceivedTensor(
        place, shape, strides, dtype, t.device_type, t.device_id, not flags & READ_ONLY, release
    )
