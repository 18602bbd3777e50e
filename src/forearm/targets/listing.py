"""LLVM's assembly, parsed for properties of functions: instructions, loops, calls, stack."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache

from forearm.errors import ForearmError
from forearm.targets.machines import AARCH64, ARM, RISCV, WASM, X86

LABEL = re.compile(r"([\w.$]+):")
FUNCTION = re.compile(r"\s*\.type\s+([\w.$]+)\s*,\s*[@%]function")
NUMBER = r"(-?(?:0x[0-9a-f]+|\d+))"
SPACE = re.compile(r"\s+")
BRANCH = re.compile(r"b(l|x|lx)?(eq|ne|cs|hs|cc|lo|mi|pl|vs|vc|hi|ls|ge|lt|gt|le)?(\.[nw])?|cbn?z")  # Thumb


@dataclass(frozen=True)
class Instruction:
    """An instruction and its operands as written."""

    name: str
    operands: str

    @property
    def is_branch(self) -> bool:
        """Whether it is a Thumb branch or call."""
        return BRANCH.fullmatch(self.name) is not None


@dataclass
class Listing:
    """A function: its instructions in order, and the places of its labels among them."""

    instructions: list[Instruction] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)

    def loops(self) -> list[tuple[int, int]]:
        """(first, last) instruction of each loop of Thumb code: from a label to a branch back to it."""
        found = []
        for k, instruction in enumerate(self.instructions):
            to = instruction.operands.rpartition(",")[2].strip()
            if instruction.is_branch and self.labels.get(to, k + 1) <= k:
                found.append((self.labels[to], k))
        return found


def listings(assembly: str) -> dict[str, Listing]:
    """The functions of an assembly by name."""
    names = set(FUNCTION.findall(assembly))
    made: dict[str, Listing] = {}
    now: Listing | None = None
    for line in assembly.splitlines():
        if label := LABEL.match(line):
            if label[1] in names:
                now = made[label[1]] = Listing()
            elif now is not None:
                now.labels[label[1]] = len(now.instructions)
            continue
        name, _, operands = line.strip().partition("\t")
        if now is not None and name and not name.startswith((".", "@", "#", "//")):
            now.instructions.append(Instruction(name.strip(), SPACE.sub(" ", operands.strip())))
    return made


def called(listing: Listing, functions: dict[str, Listing]) -> list[str]:
    """The functions that a function calls, one entry per call site."""
    names = (i.operands.strip() for i in listing.instructions)
    return [name for name in names if name in functions]


def stack_bytes(functions: dict[str, Listing], name: str, family: str) -> int:
    """Largest stack use of a function and its callees, bytes, return addresses included."""

    @cache
    def of(function: str) -> int:
        listing = functions[function]
        return _frame(listing, family) + max((of(other) for other in called(listing, functions)), default=0)

    return of(name)


def _frame(listing: Listing, family: str) -> int:
    size = RETURN[family]
    registers: dict[str, int] = {}
    for k, instruction in enumerate(listing.instructions):
        size += READERS[family](listing, k, instruction, registers)
    return size


def _arm(_: Listing, __: int, i: Instruction, ___: dict[str, int]) -> int:
    """Thumb: push, vpush, str with writeback, sub."""
    name = i.name.removesuffix(".w").removesuffix("w")
    if name == "push":
        return 4 * _registers(i.operands)
    if name == "vpush":
        return (8 if "d" in i.operands else 4) * _registers(i.operands)
    if moved := re.search(rf"\[sp, #{NUMBER}\]!", i.operands):
        return max(0, -int(moved[1], 0))
    # add and mov release stack
    if not i.operands.startswith(("sp,", "sp!")) or name in ("add", "mov"):
        return 0
    # without writeback the stack pointer is unchanged
    if name.startswith(("ldm", "vldm", "stm", "vstm")) and i.operands.startswith("sp,"):
        return 0
    if name == "sub" and (moved := re.fullmatch(rf"sp, (?:sp, )?#{NUMBER}", i.operands)):
        return int(moved[1], 0)
    raise _unknown(i)


def _registers(operands: str) -> int:
    """Number of registers in a list such as {r4-r6, lr}."""
    count = 0
    for part in operands.strip("{} ").split(","):
        first, _, last = part.strip().partition("-")
        count += int(last[1:]) - int(first[1:]) + 1 if last else 1
    return count


def _aarch64(_: Listing, __: int, i: Instruction, ___: dict[str, int]) -> int:
    """stp and str with writeback, sub."""
    if moved := re.search(rf"\[sp, #{NUMBER}\]!", i.operands):
        return max(0, -int(moved[1], 0))
    if not i.operands.startswith("sp,") or i.name in ("add", "mov"):
        return 0
    if i.name == "sub" and (moved := re.fullmatch(rf"sp, sp, #{NUMBER}(, lsl #12)?", i.operands)):
        return int(moved[1], 0) << (12 if moved[2] else 0)
    raise _unknown(i)


def _riscv(_: Listing, __: int, i: Instruction, registers: dict[str, int]) -> int:
    """addi with a negative constant; sub of a register that lui, li and addi set to a constant."""
    parts = [part.strip() for part in i.operands.split(",")]
    if parts[0] != "sp":
        if i.name in ("lui", "li"):
            registers[parts[0]] = int(parts[1], 0) << (12 if i.name == "lui" else 0)
        elif i.name in ("addi", "addiw") and parts[1] in registers:
            registers[parts[0]] = registers[parts[1]] + int(parts[2], 0)
        elif i.name not in ("sw", "sd", "fsw", "fsd"):
            registers.pop(parts[0], None)
        return 0
    if i.name == "addi":
        return max(0, -int(parts[2], 0))
    if i.name == "add" and parts[2] in registers:
        return max(0, -registers[parts[2]])
    if i.name == "sub" and parts[2] in registers:
        return registers[parts[2]]
    raise _unknown(i)


def _x86(_: Listing, __: int, i: Instruction, ___: dict[str, int]) -> int:
    """push, sub, and an alignment if vectors are spilled."""
    if i.name == "pushq":
        return 8
    if not i.operands.endswith("%rsp") or i.name in ("addq", "popq", "leaq", "movq"):
        return 0
    if moved := re.fullmatch(rf"\${NUMBER}, %rsp", i.operands):
        if i.name == "subq":
            return int(moved[1], 0)
        if i.name == "andq":
            return -int(moved[1], 0) - 8
    raise _unknown(i)


def _wasm(listing: Listing, k: int, i: Instruction, _: dict[str, int]) -> int:
    """A constant subtracted from the stack pointer at the start of a function."""
    if i.name != "i32.sub" or k < 2:
        return 0
    before, number = listing.instructions[k - 2 : k]
    if before == Instruction("global.get", "__stack_pointer") and number.name == "i32.const":
        return int(number.operands, 0)
    return 0


def _unknown(i: Instruction) -> ForearmError:
    return ForearmError(
        f"{i.name} {i.operands} moves the stack pointer in an unknown way, so that stack use "
        "cannot be determined; please report the arm and the function.",
        "generate",
        "target",
    )


RETURN = {ARM: 0, AARCH64: 0, RISCV: 0, X86: 8, WASM: 0}  # bytes that a call pushes on the stack
Frame = Callable[[Listing, int, Instruction, dict[str, int]], int]
READERS: dict[str, Frame] = {ARM: _arm, AARCH64: _aarch64, RISCV: _riscv, X86: _x86, WASM: _wasm}
