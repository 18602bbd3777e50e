"""Compiled functions that Python calls directly, for arrays that need no conversion.

The machine code reads NumPy's array objects itself: type, dtype, shape, flags, data. Whatever does not match
exactly (lists, other dtypes, batches large enough for several threads, unknown keywords) goes to the ordinary
method with its arguments untouched. The expected object layout is first probed on known arrays; if it
differs, only the ordinary method is used. Addresses of this process are in a table beside the code, filled
after loading.
"""

from __future__ import annotations

import ctypes
import inspect
import struct
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

# Offsets of the fields of an array object, in bytes, on CPython with 8-byte pointers.
TYPE, DATA, ND, DIMENSIONS, DESCR, FLAGS = 8, 16, 24, 32, 56, 64
CONTIGUOUS, ALIGNED, WRITEABLE = 0x1, 0x100, 0x400
TUPLE_SIZE, TUPLE_ITEMS = 16, 24
FASTCALL_KEYWORDS = 0x80 | 0x02
ARRAY_NEW = 93  # the index of PyArray_New in NumPy's table of C functions, fixed by its ABI
OUT = sys.intern("out")


class MethodDef(ctypes.Structure):
    """CPython's PyMethodDef."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("method", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


@cache
def is_possible() -> bool:
    """Whether objects have the expected memory layout,
    on this CPython and for every kind of array that is distinguished.
    """
    if (
        sys.implementation.name != "cpython"
        or struct.calcsize("P") != 8
        or not getattr(sys, "_is_gil_enabled", lambda: True)()
    ):
        return False
    try:
        samples = [
            np.arange(5.0),
            np.arange(6.0).reshape(2, 3),
            np.arange(6.0)[::2],
            np.arange(4, dtype=np.float32),
        ]
        samples[0].flags.writeable = False
        return all(_lies_as_expected(sample) for sample in samples) and _tuples_do() and _new_array_works()
    except Exception:
        return False


def _lies_as_expected(array: Any) -> bool:
    def at(offset: int, kind: Any) -> Any:
        return kind.from_address(id(array) + offset).value

    flags = at(FLAGS, ctypes.c_int)
    dims = [
        ctypes.c_ssize_t.from_address(at(DIMENSIONS, ctypes.c_void_p) + 8 * k).value
        for k in range(array.ndim)
    ]
    return bool(
        at(TYPE, ctypes.c_void_p) == id(np.ndarray)
        and at(DATA, ctypes.c_void_p) == array.ctypes.data
        and at(ND, ctypes.c_int) == array.ndim
        and tuple(dims) == array.shape
        and at(DESCR, ctypes.c_void_p) == id(array.dtype)
        and bool(flags & CONTIGUOUS) == array.flags.c_contiguous
        and bool(flags & ALIGNED) == array.flags.aligned
        and bool(flags & WRITEABLE) == array.flags.writeable
    )


def _tuples_do() -> bool:
    pair = (OUT, "other")
    size = ctypes.c_ssize_t.from_address(id(pair) + TUPLE_SIZE).value
    kind = ctypes.c_void_p.from_address(id(pair) + TYPE).value
    return (
        size == 2
        and kind == id(tuple)
        and ctypes.c_void_p.from_address(id(pair) + TUPLE_ITEMS).value == id(OUT)
    )


def _new_array_works() -> bool:
    make = ctypes.PYFUNCTYPE(
        ctypes.py_object,
        ctypes.py_object,
        ctypes.c_int,
        ctypes.c_void_p,
        ctypes.c_int,
        ctypes.c_void_p,
        ctypes.c_void_p,
        ctypes.c_int,
        ctypes.c_int,
        ctypes.c_void_p,
    )(array_new())
    dims = (ctypes.c_ssize_t * 2)(2, 3)
    made = make(np.ndarray, 2, ctypes.addressof(dims), np.dtype(np.float64).num, None, None, 0, 0, None)
    return (
        type(made) is np.ndarray
        and made.shape == (2, 3)
        and made.dtype == np.float64
        and made.flags.c_contiguous
    )


@cache
def array_new() -> int:
    """The address of NumPy's PyArray_New."""
    core = getattr(np, "_core", None) or np.core
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    table = get(core._multiarray_umath._ARRAY_API, None)
    return int(ctypes.c_void_p.from_address(table + 8 * ARRAY_NEW).value or 0)


# Addresses of this process that the code needs, in the order of its table.
OBJECTS = (
    "ordinary", "out", "ndarray", "dtype", "PyObject_Vectorcall", "Py_IncRef", "Py_DecRef", "PyTuple_New",
    "PyTuple_SetItem", "PyArray_New", "PyEval_SaveThread", "PyEval_RestoreThread", "batch", "most",
    "tuple",
)  # fmt: skip
LONG = 512  # states from which on Python's GIL is released


def fill(table: int, dtype: Any, ordinary: Callable[..., Any]) -> None:
    """Write this process's addresses into the table of the code; batches are enabled by `allow_batches`.

    `ordinary` is the method that handles everything else; the caller keeps a reference to it as long as the
    code may be called.
    """
    api = ctypes.pythonapi
    known = {
        "ordinary": id(ordinary),
        "out": id(OUT),
        "ndarray": id(np.ndarray),
        "dtype": id(dtype),
        "PyArray_New": array_new(),
        "batch": 0,
        "most": -1,
        "tuple": id(tuple),
    }
    for place, name in enumerate(OBJECTS):
        value = known[name] if name in known else ctypes.cast(getattr(api, name), ctypes.c_void_p).value or 0
        ctypes.c_int64.from_address(table + 8 * place).value = value


def allow_batches(table: int, address: int, most: int) -> None:
    """Let batches of up to this many states call the function at this address directly."""
    for name, value in (("batch", address), ("most", most)):  # in this order: other threads may be reading
        ctypes.c_int64.from_address(table + 8 * OBJECTS.index(name)).value = value


def callable_at(address: int, name: str, owner: Any) -> Any:
    """The machine code at an address as a built-in function of Python, named after a method of its owner."""
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype, make.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)
    kind: Any = type(owner)
    return make(_definition(address, name, kind), owner, None)


@cache
def _definition(address: int, name: str, kind: Any) -> int:
    """The address of a MethodDef for the code at an address; later code at the same address reuses it."""
    method = getattr(kind, name)
    signature = inspect.signature(method)
    _, *taken = (p.replace(annotation=p.empty) for p in signature.parameters.values())
    listed = str(signature.replace(parameters=taken, return_annotation=signature.empty))
    doc = f"{name}($self, {listed[1:]}\n--\n\n{method.__doc__ or ''}"
    definition = MethodDef(name.encode(), address, FASTCALL_KEYWORDS, doc.encode())
    # A built-in function reads its definition even while it is being freed, possibly at interpreter exit when
    # modules are gone: definitions are never freed, some hundred bytes each.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(definition))
    return ctypes.addressof(definition)
