"""Checks and measurements of a finished object file: that it has no undefined symbols, its sizes, stack and
cycles; and the lines of its header that state them.
"""

from __future__ import annotations

from dataclasses import dataclass

from forearm.errors import ForearmError
from forearm.targets.cycles import TABLES, CycleEstimate, cycles
from forearm.targets.emit import llvm_version
from forearm.targets.listing import listings, stack_bytes
from forearm.targets.machines import WASM, TargetMachine
from forearm.targets.object_file import ObjectSizes, sizes, undefined_symbols
from forearm.targets.wasm_link import undefined_imports
from forearm.targets.wasm_object import CODE, read_object

HOW = {
    "cortex-m4": "with the cycles of Arm's reference manual of the Cortex-M4 (DDI 0439)",
    "cortex-m7": "with the latencies of LLVM's model of the Cortex-M7, one instruction per cycle at most",
}


@dataclass(frozen=True)
class ObjectFacts:
    """Sizes in bytes, the stack of each function by name,
    and cycles if there is a table for the machine.
    """

    sizes: ObjectSizes
    stack: dict[str, int]
    cycles: CycleEstimate | None

    @property
    def figures(self) -> dict[str, int]:
        """The same by name."""
        made = {
            "code_bytes": self.sizes.code,
            "constant_bytes": self.sizes.constants,
            "stack_bytes": max(self.stack.values()),
        }
        if self.cycles is not None:
            made |= {"cycles": self.cycles.once}
            if self.cycles.round:
                made |= {"round_cycles": self.cycles.round}
        return made


def measured(code: bytes, assembly: str, names: list[str], machine: TargetMachine) -> ObjectFacts:
    """The measurements of an object file with these functions; cycles are those of the last one."""
    check_whole(code, machine)
    functions = listings(assembly)
    table = TABLES.get(machine.name)
    return ObjectFacts(
        _sizes(code, machine),
        {name: stack_bytes(functions, name, machine.family) for name in names},
        None if table is None else cycles(functions, names[-1], table),
    )


def check_whole(code: bytes, machine: TargetMachine) -> None:
    """Raise unless the object has no undefined symbols and no variables."""
    missing = (undefined_imports if machine.family == WASM else undefined_symbols)(code)
    if missing:
        wanted = ", ".join(sorted(set(missing)))
        raise ForearmError(
            f"the object file for {machine.name} would need {wanted} from a library; please "
            "report the arm and the function.",
            "generate",
            "target",
        )
    if _sizes(code, machine).variables:
        raise ForearmError(
            f"the object file for {machine.name} would have variables; please report the arm "
            "and the function.",
            "generate",
            "target",
        )


def _sizes(code: bytes, machine: TargetMachine) -> ObjectSizes:
    if machine.family != WASM:
        return sizes(code)
    made = read_object(code)
    constants = [name.startswith(".rodata") for name in made.segment_names]
    in_data = [len(s) for s, is_constant in zip(made.segments, constants, strict=True) if is_constant]
    return ObjectSizes(len(made.sections[CODE]), sum(in_data), sum(map(len, made.segments)) - sum(in_data))


def said(name: str, machine: TargetMachine, found: ObjectFacts, is_single: bool) -> list[str]:
    """The lines of the header."""
    lines = [
        f"Machine code for {machine.name} in {name}.o. {machine.about}",
        (
            f"{found.sizes.code} bytes of code, {found.sizes.constants} bytes of constants beside it; no "
            "variables, no allocation, nothing called outside."
        ),
        "Stack at most, below that of the caller: "
        + ", ".join(f"{size} bytes in {function}" for function, size in found.stack.items())
        + ".",
    ]
    if found.cycles is not None:
        lines.append(_cycles_said(found.cycles, HOW[machine.name]))
    fused = (
        "multiply-adds are fused, as in forearm's kernels on processors that have them"
        if machine.fused
        else "products and sums are rounded one by one, as in forearm's kernels for the processor generic"
    )
    lines.append(
        f"Arithmetic is IEEE 754 to nearest, subnormal numbers kept; {fused}. "
        "Sines, cosines, exponentials and angles are in the code. A state with NaN or infinity gives NaN."
    )
    size = 4 if is_single else 8
    lines.append(f"Arrays are aligned to {size} bytes, as C aligns them. Safe in interrupts and threads.")
    if machine.family == WASM:
        lines.append(
            f"{name}.wasm exports memory, heap_base (the first byte that is free for arrays) and the "
            "functions, which take addresses."
        )
    lines.append(f"Made by LLVM {llvm_version()}; another version may choose other instructions.")
    return lines


def _cycles_said(found: CycleEstimate, how: str) -> str:
    again = f", and {found.round} for another round of its loops" if found.round else ""
    return (
        f"Cycles of one call: about {found.once}{again}. This is an estimate from the instructions, in "
        f"order, each when its operands are there, {how}; memory without wait states."
    )
