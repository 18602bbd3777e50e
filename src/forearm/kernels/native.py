"""Machine code from LLVM's text, in this process, for this machine."""

from __future__ import annotations

import ctypes
import threading
from dataclasses import dataclass
from functools import cache
from typing import Any

import llvmlite.binding as llvm

from forearm.kernels.ir import Target

_LOCK = threading.Lock()  # LLVM's own tables are shared by the whole process


@dataclass(frozen=True, eq=False)
class Native:
    """A compiled function of arrays and a count; what it needs to stay in memory is kept with it.

    `entry` is the address of the function that Python calls directly, 0 if there is none.
    """

    call: Any
    engine: Any
    entry: int


@cache
def host(dtype: str, lanes: int | None = None) -> Target:
    """The target for this machine: vectors as wide as its registers unless a number of lanes is given."""
    features = llvm.get_host_cpu_features()
    width = 64 if features.get("avx512f") else 32 if features.get("avx") else 16
    scalar, size = ("double", 8) if dtype == "float64" else ("float", 4)
    # Arm's cores all have fused multiply-add, and LLVM does not list it among their features.
    fused = bool(features.get("fma")) or not llvm.get_default_triple().startswith(("x86", "i386", "i686"))
    return Target(scalar, lanes or width // size, fused)


def compiled(text: str, name: str, arrays: int, outside: dict[str, int] | None = None) -> Native:
    """The function `name` of a module's text: pointers to so many arrays, then the count. `outside` are symbols it calls."""
    with _LOCK:
        machine = _machine()
        for symbol, address in (outside or {}).items():
            llvm.add_symbol(symbol, address)
        module = llvm.parse_assembly(text)
        module.verify()
        options = llvm.create_pipeline_tuning_options(speed_level=2)
        options.slp_vectorization = options.loop_vectorization = False  # the vectors are written out already
        builder = llvm.create_pass_builder(machine, options)
        builder.getModulePassManager().run(module, builder)
        engine = llvm.create_mcjit_compiler(module, machine)
        engine.finalize_object()
        address = engine.get_function_address(name)
        entry = engine.get_function_address(f"{name}_direct") if outside else 0
    return Native(ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * arrays, ctypes.c_int64)(address), engine, entry)


def _machine() -> Any:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=3
    )  # fmt: skip
