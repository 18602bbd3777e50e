"""Compiled functions that Python calls without anything in between, for one state in arrays that need no conversion.

The machine code reads NumPy's array objects itself: type, dtype, shape, flags, data. What does not fit exactly (lists, other
dtypes, many states, keywords it does not know) goes to the ordinary method with the arguments untouched. That the objects lie
in memory as they are expected to is probed against known arrays first; where they do not, only the ordinary method is used.
"""

from __future__ import annotations

import ctypes
import struct
import sys
import sysconfig
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from forearm.codegen.functions import Traced
from forearm.codegen.program import Argument

# Where the fields of an array object are, in bytes, on CPython with 8-byte pointers.
TYPE, DATA, ND, DIMENSIONS, DESCR, FLAGS = 8, 16, 24, 32, 56, 64
CONTIGUOUS, ALIGNED, WRITEABLE = 0x1, 0x100, 0x400
TUPLE_SIZE, TUPLE_ITEMS = 16, 24
FASTCALL_KEYWORDS = 0x80 | 0x02
ARRAY_NEW = 93  # the place of PyArray_New in NumPy's table of C functions, fixed by its ABI
OUT = sys.intern("out")


class MethodDef(ctypes.Structure):
    """CPython's PyMethodDef."""

    _fields_ = (
        ("name", ctypes.c_char_p), ("method", ctypes.c_void_p), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p),
    )  # fmt: skip


@cache
def is_possible() -> bool:
    """Whether objects lie in memory as expected: this CPython, and arrays of every kind that is told apart."""
    if sys.implementation.name != "cpython" or struct.calcsize("P") != 8 or sysconfig.get_config_var("Py_GIL_DISABLED"):
        return False
    try:
        samples = [np.arange(5.0), np.arange(6.0).reshape(2, 3), np.arange(6.0)[::2], np.arange(4, dtype=np.float32)]
        samples[0].flags.writeable = False
        return all(_lies_as_expected(sample) for sample in samples) and _tuples_do() and _new_array_works()
    except Exception:
        return False


def _lies_as_expected(array: Any) -> bool:
    def at(offset: int, kind: Any) -> Any:
        return kind.from_address(id(array) + offset).value

    flags = at(FLAGS, ctypes.c_int)
    dims = [ctypes.c_ssize_t.from_address(at(DIMENSIONS, ctypes.c_void_p) + 8 * k).value for k in range(array.ndim)]
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
    return size == 2 and ctypes.c_void_p.from_address(id(pair) + TUPLE_ITEMS).value == id(OUT)


def _new_array_works() -> bool:
    make = ctypes.PYFUNCTYPE(
        ctypes.py_object, ctypes.py_object, ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p,
        ctypes.c_int, ctypes.c_int, ctypes.c_void_p,
    )(array_new())  # fmt: skip
    dims = (ctypes.c_ssize_t * 2)(2, 3)
    made = make(np.ndarray, 2, ctypes.addressof(dims), np.dtype(np.float64).num, None, None, 0, 0, None)
    return type(made) is np.ndarray and made.shape == (2, 3) and made.dtype == np.float64 and made.flags.c_contiguous


@cache
def array_new() -> int:
    """The address of NumPy's PyArray_New."""
    core = getattr(np, "_core", None) or np.core
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    table = get(core._multiarray_umath._ARRAY_API, None)
    return int(ctypes.c_void_p.from_address(table + 8 * ARRAY_NEW).value or 0)


def symbols() -> dict[str, int]:
    """What the code below calls: addresses by name."""
    api = ctypes.pythonapi
    made = {name: ctypes.cast(getattr(api, name), ctypes.c_void_p).value or 0 for name in ("PyObject_Vectorcall", "Py_IncRef")}
    return made | {"forearm_PyArray_New": array_new()}


def entry_text(name: str, traced: Traced, dtype: Any) -> str:
    """`PyObject *name_direct(self, args, count, keywords)`: computes, or hands everything to `self`, the ordinary method."""
    (output,) = traced.outputs
    given = len(traced.inputs)
    lines = [
        f"define ptr @{name}_direct(ptr %self, ptr %args, i64 %count, ptr %names) nounwind {{", "entry:",
        f"  %enough = icmp eq i64 %count, {given}", "  br i1 %enough, label %counted, label %other",
        "counted:", "  %bare = icmp eq ptr %names, null", "  br i1 %bare, label %arrays, label %named",
        "named:", f"  %size.at = getelementptr i8, ptr %names, i64 {TUPLE_SIZE}", "  %size = load i64, ptr %size.at",
        "  %single = icmp eq i64 %size, 1", "  br i1 %single, label %one, label %other",
        "one:", f"  %item.at = getelementptr i8, ptr %names, i64 {TUPLE_ITEMS}", "  %item = load i64, ptr %item.at",
        f"  %is.out = icmp eq i64 %item, {id(OUT)}", "  br i1 %is.out, label %arrays, label %other", "arrays:",
    ]  # fmt: skip
    for k, a in enumerate(traced.inputs):
        lines += _checked(k, a, dtype, CONTIGUOUS | ALIGNED, f"in{k}", f"next{k}")
    lines += ["  br i1 %bare, label %new, label %given", "given:"]
    lines += _checked(given, output, dtype, CONTIGUOUS | ALIGNED | WRITEABLE, "out", "take")
    lines += ["  call void @Py_IncRef(ptr %object.out)", "  br label %run"]
    dims = ", ".join(f"i64 {n}" for n in output.shape)
    lines += [
        "new:", f"  %dims = alloca [{len(output.shape)} x i64]", f"  store [{len(output.shape)} x i64] [{dims}], ptr %dims",
        f"  %kind = inttoptr i64 {id(np.ndarray)} to ptr",
        f"  %made = call ptr @forearm_PyArray_New(ptr %kind, i32 {len(output.shape)}, ptr %dims, i32 {dtype.num}, "
        "ptr null, ptr null, i32 0, i32 0, ptr null)",
        "  %failed = icmp eq ptr %made, null", "  br i1 %failed, label %error, label %filled", "filled:",
        f"  %made.at = getelementptr i8, ptr %made, i64 {DATA}", "  %made.data = load ptr, ptr %made.at", "  br label %run",
        "run:", "  %result = phi ptr [ %object.out, %take ], [ %made, %filled ]",
        "  %to = phi ptr [ %data.out, %take ], [ %made.data, %filled ]",
    ]  # fmt: skip
    call = ", ".join([*(f"ptr %data.in{k}" for k in range(given)), "ptr %to", "i64 1"])
    lines += [f"  call void @{name}({call})", "  ret ptr %result", "error:", "  ret ptr null", "other:"]
    lines += [
        "  %answer = call ptr @PyObject_Vectorcall(ptr %self, ptr %args, i64 %count, ptr %names)",
        "  ret ptr %answer",
        "}",
    ]
    declared = [
        "declare ptr @PyObject_Vectorcall(ptr, ptr, i64, ptr)", "declare void @Py_IncRef(ptr)",
        "declare ptr @forearm_PyArray_New(ptr, i32, ptr, i32, ptr, ptr, i32, i32, ptr)",
    ]  # fmt: skip
    return "\n".join([*declared, *lines])


def _checked(k: int, a: Argument, dtype: Any, flags: int, tag: str, onward: str) -> list[str]:
    """Argument k is an array of this dtype, these flags and this shape, or everything goes to the ordinary method."""
    conditions = [
        (TYPE, "i64", str(id(np.ndarray))), (ND, "i32", str(len(a.shape))), (DESCR, "i64", str(id(dtype))),
    ]  # fmt: skip
    lines = [f"  %slot.{tag} = getelementptr ptr, ptr %args, i64 {k}", f"  %object.{tag} = load ptr, ptr %slot.{tag}"]
    for number, (offset, kind, expected) in enumerate(conditions):
        lines += [f"  %at.{tag}.{number} = getelementptr i8, ptr %object.{tag}, i64 {offset}"]
        lines += [f"  %is.{tag}.{number} = load {kind}, ptr %at.{tag}.{number}"]
        lines += [f"  %ok.{tag}.{number} = icmp eq {kind} %is.{tag}.{number}, {expected}"]
        lines += [f"  br i1 %ok.{tag}.{number}, label %{tag}.{number}.yes, label %other", f"{tag}.{number}.yes:"]
    lines += [f"  %at.{tag}.flags = getelementptr i8, ptr %object.{tag}, i64 {FLAGS}"]
    lines += [f"  %is.{tag}.flags = load i32, ptr %at.{tag}.flags", f"  %have.{tag} = and i32 %is.{tag}.flags, {flags}"]
    lines += [f"  %ok.{tag}.flags = icmp eq i32 %have.{tag}, {flags}"]
    lines += [f"  %at.{tag}.dims = getelementptr i8, ptr %object.{tag}, i64 {DIMENSIONS}"]
    lines += [f"  %dims.{tag} = load ptr, ptr %at.{tag}.dims"]
    fits = f"%ok.{tag}.flags"
    for axis, size in enumerate(a.shape):
        lines += [f"  %dim.{tag}.{axis}.at = getelementptr i64, ptr %dims.{tag}, i64 {axis}"]
        lines += [f"  %dim.{tag}.{axis} = load i64, ptr %dim.{tag}.{axis}.at"]
        lines += [f"  %fits.{tag}.{axis} = icmp eq i64 %dim.{tag}.{axis}, {size}"]
        lines += [f"  %all.{tag}.{axis} = and i1 {fits}, %fits.{tag}.{axis}"]
        fits = f"%all.{tag}.{axis}"
    lines += [f"  %at.{tag}.data = getelementptr i8, ptr %object.{tag}, i64 {DATA}"]
    lines += [f"  %data.{tag} = load ptr, ptr %at.{tag}.data", f"  br i1 {fits}, label %{onward}, label %other", f"{onward}:"]
    return lines


def callable_at(address: int, name: str, ordinary: Callable[..., Any]) -> tuple[Any, Any]:
    """The machine code at an address as a built-in function of Python, and what must stay in memory with it."""
    definition = MethodDef(name.encode(), address, FASTCALL_KEYWORDS, (ordinary.__doc__ or "").encode())
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype, make.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)
    return make(ctypes.addressof(definition), ordinary, None), definition
