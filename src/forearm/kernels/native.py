"""Machine code from LLVM's text, and its functions in memory.
LLVM itself is loaded only when it is needed.
"""

from __future__ import annotations

import ctypes
import threading
from functools import cache
from typing import TYPE_CHECKING, Any

from forearm.kernels import elf
from forearm.kernels.elf import Loaded

if TYPE_CHECKING:
    from forearm.kernels.vectors import Target

_LOCK = threading.Lock()  # LLVM's own tables are shared by the whole process


@cache
def host(dtype: str, lanes: int | None = None) -> Target:
    """The target for this machine: vectors as wide as its registers unless a number of lanes is given."""
    import llvmlite.binding as llvm

    from forearm.kernels.vectors import Target

    features = llvm.get_host_cpu_features()
    width = 64 if features.get("avx512f") else 32 if features.get("avx") else 16
    scalar, size = ("double", 8) if dtype == "float64" else ("float", 4)
    # Arm's cores all have fused multiply-add, and LLVM does not list it among their features.
    fused = bool(features.get("fma")) or not llvm.get_default_triple().startswith(("x86", "i386", "i686"))
    return Target(scalar, lanes or width // size, fused)


def object_code(text: str) -> bytes:
    """A module's text as an object file for this machine."""
    import llvmlite.binding as llvm

    with _LOCK:
        machine = _machine()
        module = llvm.parse_assembly(text)
        module.verify()
        # No passes over the text: nothing is computed twice in it, and the vectors are written out.
        # Passes doubled the time.
        code: bytes = machine.emit_object(module)
    return code


def loaded(code: bytes, names: list[str], made_here: bool = True) -> Loaded:
    """An object file in memory, with the addresses of what is named in it.

    LLVM's loader ends the process on an object that it does not understand. One that was not made in this
    process goes there only where there is no other loader.
    """
    if elf.is_possible():
        try:
            return elf.load(code)
        except elf.NotHere:
            if not made_here:
                raise
    return loaded_by_llvm(code, names)


def loaded_by_llvm(code: bytes, names: list[str]) -> Loaded:
    """The same by LLVM's own loader."""
    import llvmlite.binding as llvm

    with _LOCK:
        engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _machine())
        found = llvm.ObjectFileRef.from_data(code)
        if not found._ptr:
            found.detach()
            raise elf.NotHere("not an object file")
        engine.add_object_file(found)
        engine.finalize_object()
        addresses = {
            name: engine.get_function_address(name) or engine.get_global_value_address(name) for name in names
        }
    return Loaded({name: address for name, address in addresses.items() if address}, engine)


def function_of(memory: Loaded, name: str, *kinds: Any) -> Any:
    """A function in memory for Python to call with arguments of these kinds;
    the memory stays as long as the function does.
    """
    function: Any = ctypes.CFUNCTYPE(None, *kinds)(memory.addresses[name])
    function.memory = memory
    return function


def _machine() -> Any:
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_default_triple()
    # Small and position-independent: constants are operands of instructions, and the code may lie anywhere.
    return target.create_target_machine(
        cpu=llvm.get_host_cpu_name(),
        features=llvm.get_host_cpu_features().flatten(),
        opt=3,
        reloc="pic",
        codemodel="small",
    )
