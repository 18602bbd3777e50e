"""Machine code from LLVM IR, and its functions in memory. LLVM itself is loaded only when needed."""

from __future__ import annotations

import ctypes
import os
import re
import sys
from functools import cache
from typing import TYPE_CHECKING, Any

from forearm.kernels import elf
from forearm.kernels.cpu import HOST, chosen, processor
from forearm.kernels.elf import Loaded
from forearm.kernels.locks import making
from forearm.kernels.memory import check_executable, check_room
from forearm.values import check_choice

if TYPE_CHECKING:
    from forearm.kernels.vectors import Target

# Bytes that LLVM needs, by measurement: to load, to compile anything, and per character of IR.
LIBRARY, LEAST, PER_CHARACTER = 256 << 20, 8 << 20, 64
# Characters of IR times lanes: unoptimised code keeps each value on the stack, of which this much takes some
# 400 kB; longer code is optimised all the same.
LONGEST_QUICK = 2_400_000
OPTIMISED, QUICK = "optimised", "quick"
LONG = 4 << 20  # characters of IR from which LLVM leaves out the second scheduling, a third of its time


def host(dtype: str, lanes: int | None = None, cpu: str | None = None) -> Target:
    """The target for a processor, the one `chosen` unless given: vectors as wide as its registers unless a
    number of lanes is given.
    """
    return _target(dtype, lanes, chosen(cpu))


@cache
def _target(dtype: str, lanes: int | None, cpu: str) -> Target:
    from forearm.kernels.vectors import Target

    llvm_library()
    at = processor(cpu)
    scalar, size = ("double", 8) if dtype == "float64" else ("float", 4)
    return Target(scalar, lanes or at.width // size, at.fused)


def object_code(text: str, cpu: str | None = None) -> bytes:
    """A module as an object file for a processor, the one `chosen` unless given."""
    with making():
        llvm = llvm_library()
        check_room(LEAST + PER_CHARACTER * len(text), "LLVM to compile")
        machine = _machine(chosen(cpu), _level(text))
        module = llvm.parse_assembly(text)
        module.verify()
        # No optimisation passes: common subexpressions are already shared, and the vector code is explicit.
        # Passes doubled the time.
        code: bytes = machine.emit_object(module)
    return code


def loaded(code: bytes, names: list[str], made_here: bool = True) -> Loaded:
    """An object file in memory, with the addresses of its named functions and data.

    LLVM's loader aborts the process on an object that it does not understand. Objects not compiled in this
    process go to it only if there is no other loader, and never because memory ran out.
    """
    if elf.is_possible():
        try:
            return elf.load(code)
        except elf.UnsupportedObject:
            if not made_here:
                raise
    return loaded_by_llvm(code, names)


def loaded_by_llvm(code: bytes, names: list[str]) -> Loaded:
    """The same by LLVM's own loader."""
    with making():
        llvm = llvm_library()
        check_room(LEAST + len(code), "LLVM to load code")
        check_executable()
        engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _machine(HOST))
        found = llvm.ObjectFileRef.from_data(code)
        if not found._ptr:
            found.detach()
            raise elf.UnsupportedObject("not an object file")
        engine.add_object_file(found)
        engine.finalize_object()
        addresses = {
            name: engine.get_function_address(name) or engine.get_global_value_address(name) for name in names
        }
    return Loaded({name: address for name, address in addresses.items() if address}, engine)


def function_of(memory: Loaded, name: str, *kinds: Any) -> Any:
    """A function in memory, callable from Python with arguments of these types; it keeps the memory alive."""
    function: Any = ctypes.CFUNCTYPE(None, *kinds)(memory.addresses[name])
    function.memory = memory
    return function


def llvm_library() -> Any:
    """The library, loaded under the lock: a fork waits for it, so that the child finds it fully loaded."""
    with making():
        if "llvmlite.binding" not in sys.modules:
            check_room(LIBRARY, "LLVM's library")
        import llvmlite.binding as llvm

        return llvm


def is_quick() -> bool:
    """Whether FOREARM_COMPILE asks for code without optimisation: the same bits, compiled in less time."""
    asked = os.environ.get("FOREARM_COMPILE") or OPTIMISED
    return check_choice(asked, (OPTIMISED, QUICK), "FOREARM_COMPILE") == QUICK


def _level(text: str) -> int:
    """LLVM's level of optimisation for a module."""
    lanes = re.search(r"<(\d+) x (?:double|float)>", text)
    if is_quick() and len(text) * (int(lanes[1]) if lanes else 1) < LONGEST_QUICK:
        return 0
    return 3 if len(text) < LONG else 1


def _machine(cpu: str, level: int = 3) -> Any:
    llvm, at = llvm_library(), processor(cpu)
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_default_triple()
    # Small and position-independent: constants are operands of instructions, and the code may be placed
    # anywhere.
    return target.create_target_machine(
        cpu=at.name, features=at.features, opt=level, reloc="pic", codemodel="small"
    )
