"""Launches by machine code that Python calls directly: as fast as the driver itself."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

from forearm.kernels import fastcall
from forearm.kernels.cpu import GENERIC
from forearm.kernels.elf import Loaded
from forearm.kernels.fastcall import FASTCALL_KEYWORDS, TUPLE_ITEMS, TUPLE_SIZE, TYPE, MethodDef
from forearm.kernels.load_or_compile import About, kept_or_made

# What the code needs to know of a kernel and of this process: integers and addresses in this order.
ORDER = (
    "kernel", "threads", "shared", "context", "most", "arguments", "is_forked", "ordinary", "tuple", "none",
    "cuLaunchKernel", "cuCtxGetCurrent", "PyLong_AsUnsignedLongLong", "PyObject_Vectorcall", "Py_IncRef",
    "PyEval_SaveThread", "PyEval_RestoreThread",
)  # fmt: skip
MOST_ARGUMENTS = 63
NAME = "launch"
_held: list[Any] = []  # kernels are never unloaded, and neither is what their launches read


def direct_launch(told: dict[str, int], ordinary: Any) -> Any:
    """A function of (stream, addresses, count) that launches a kernel if the addresses are a tuple and its
    context is current, and calls the `ordinary` function otherwise, errors included.

    `told` are the values of ORDER, except Python's own.
    """
    if not fastcall.is_possible() or told["arguments"] > MOST_ARGUMENTS:
        return ordinary
    api, none = ctypes.pythonapi, None
    known = told | {"ordinary": id(ordinary), "tuple": id(tuple), "none": id(none)}
    table = (ctypes.c_uint64 * len(ORDER))()
    for k, name in enumerate(ORDER):
        table[k] = known[name] if name in known else _address(getattr(api, name))
    address = ctypes.addressof(table)
    make = api.PyCFunction_NewEx
    make.restype, make.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)
    capsule = api.PyCapsule_New
    capsule.restype, capsule.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    definition = MethodDef(NAME.encode(), _code(), FASTCALL_KEYWORDS, b"")
    _held.append((table, ordinary, definition))
    return make(ctypes.addressof(definition), capsule(address, None, None), None)


def _address(function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0


@cache
def _code() -> int:
    """The address of the code, for all kernels."""

    def make() -> tuple[About, bytes]:
        from forearm.kernels.ir import module_text
        from forearm.kernels.native import host, object_code

        about = {"arm": "", "functions": [NAME], "dtype": "float64", "part": "cuda launch"}
        return about, object_code(module_text([launch_text()], host("float64", 1, GENERIC)), GENERIC)

    def place(_: About, memory: Loaded) -> int:
        _held.append(memory)
        return memory.addresses[NAME]

    return kept_or_made(("cuda launch",), [NAME], make, place, cpu=GENERIC)


CAPSULE_POINTER = 16  # offset of the pointer in a capsule, bytes


def launch_text() -> str:
    """`PyObject *launch(capsule, args, count, names)`: (stream, addresses, states) to cuLaunchKernel."""
    from forearm.kernels.llvm import IRFunction, Value

    f = IRFunction(NAME, "ptr self, ptr args, i64 count, ptr names", "ptr")
    owner, args, count, names = f.arguments
    other, failed = f.label(), f.label()
    table = f.field("ptr", owner, CAPSULE_POINTER)
    told: dict[str, Value] = {}
    for k, name in enumerate(ORDER):
        is_place = name[:2] in ("Py", "cu") or name in ("kernel", "ordinary", "none", "is_forked")
        told[name] = f.load("ptr" if is_place else "i64", f.at(table, k, "i64"))

    def need(test: str, a: Value, b: Any) -> None:
        f.go(other, unless=f.compared(test, a, b))

    def number_of(item: Value) -> Value:
        made = f.call(told["PyLong_AsUnsignedLongLong"], item, kind="i64")
        f.go(failed, where=made.equals(-1))
        return made

    values, places = f.space("i64", MOST_ARGUMENTS + 1), f.space("ptr", MOST_ARGUMENTS + 1)
    current = f.space("ptr", 1)
    need("eq", count, 3)
    need("eq", names, None)
    need("eq", f.load("i64", told["is_forked"]), 0)
    given = f.entry("ptr", args, 1)
    need("eq", f.field("i64", given, TYPE), told["tuple"])
    need("eq", f.field("i64", given, TUPLE_SIZE), told["arguments"])
    f.call(told["cuCtxGetCurrent"], current, kind="i32")
    need("eq", f.cast("ptrtoint", f.load("ptr", current), "i64"), told["context"])
    stream = number_of(f.load("ptr", args))
    states = number_of(f.entry("ptr", args, 2))
    need("sgt", states, 0)
    need("sle", states, told["most"])
    items = f.at(given, TUPLE_ITEMS, "i8")
    with f.loop(0, told["arguments"]) as turn:
        value = number_of(f.entry("ptr", items, turn))
        place = f.at(values, turn, "i64")
        f.store(value, place)
        f.put(place, places, turn, "ptr")
    last = f.at(values, told["arguments"], "i64")
    f.store(states, last)
    f.put(last, places, told["arguments"], "ptr")
    blocks = f.op("udiv", states + (told["threads"] - 1), told["threads"])
    one = Value("1", "i32")
    sizes = [f.cast("trunc", x, "i32") for x in (blocks, told["threads"], told["shared"])]
    thread = f.call(told["PyEval_SaveThread"], kind="ptr")
    code = f.call(
        told["cuLaunchKernel"],
        told["kernel"],
        *(sizes[0], one, one, sizes[1], one, one, sizes[2]),
        f.cast("inttoptr", stream, "ptr"),
        places,
        None,
        kind="i32",
    )
    f.call(told["PyEval_RestoreThread"], thread)
    need("eq", code, 0)
    f.call(told["Py_IncRef"], told["none"])
    f.ret(told["none"])
    f.begin(failed)
    f.ret(None)
    f.begin(other)
    f.ret(f.call(told["PyObject_Vectorcall"], told["ordinary"], args, count, names, kind="ptr"))
    return f.text()
