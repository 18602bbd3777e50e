"""Cycles that a function takes on a Cortex-M, estimated from its instructions: in order, one at a time,
each when its operands are ready, memory without wait states.

Cortex-M4: the tables of its Technical Reference Manual (Arm DDI 0439, 3.3 and 7.2.3), by which FPU
arithmetic takes one more cycle if the next instruction needs its result. Cortex-M7: Arm publishes no such
table; these are the latencies of LLVM's model of it (ARMScheduleM7.td). Its second pipeline is ignored.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from forearm.targets.listing import Instruction, Listing

REFILL = 2  # extra cycles of a taken branch: the pipeline is refilled
REGISTER = re.compile(r"\b(?:[rsd]\d+|sp|lr)\b")
SEVERAL = ("push", "pop", "vpush", "vpop", "ldm", "stm", "vldm", "vstm")
WITHOUT_RESULT = ("vstr", "str", "cmp", "cmn", "tst", "teq", "vcmp", "push", "vpush", "stm", "vstm", "it")
MULTIPLY_ADD = ("vfma", "vfms", "vfnma", "vfnms", "vmla", "vmls", "vnmla", "vnmls")
SUMS = ("vadd", "vsub")
PRODUCTS = ("vmul", "vnmul")


@dataclass(frozen=True)
class CycleEstimate:
    """Cycles of one call with one iteration of each loop, and of one more iteration of every loop."""

    once: int
    round: int


@dataclass(frozen=True)
class CycleTable:
    """By prefix of an instruction's name, first match: cycles until the next instruction can start, and
    until the result is ready.
    """

    rows: tuple[tuple[str, int, int], ...]

    def of(self, instruction: Instruction) -> tuple[int, int]:
        """Cycles of one instruction; a load or store of several registers takes one cycle for each."""
        name, operands = instruction.name, instruction.operands
        if name.startswith(SEVERAL):
            each = 2 + operands[operands.find("{") :].count(",")
            return each, each
        if instruction.is_branch:
            return 1 + REFILL, 1
        return next(((issue, result) for start, issue, result in self.rows if name.startswith(start)), (1, 1))


M4 = CycleTable(
    (
        *((name, 14, 15) for name in ("vdiv", "vsqrt")),
        *((name, 3, 4) for name in MULTIPLY_ADD),
        *((name, 1, 2) for name in (*SUMS, *PRODUCTS, "vcvt")),
        *((name, 2, 2) for name in ("vldr", "vstr", "ldr", "str")),
    )
)
M7 = CycleTable(
    (
        *((f"{name}.f32", 1, 16) for name in ("vdiv", "vsqrt")),
        *((f"{name}.f64", 1, 30) for name in ("vdiv", "vsqrt")),
        *((f"{name}.f32", 1, 6) for name in MULTIPLY_ADD),
        *((f"{name}.f64", 1, 11) for name in MULTIPLY_ADD),
        *((f"{name}.f32", 1, 3) for name in (*SUMS, *PRODUCTS)),
        *((f"{name}.f64", 1, 4) for name in SUMS),
        *((f"{name}.f64", 1, 7) for name in PRODUCTS),
        *((name, 1, 3) for name in ("vldr", "ldr", "vcvt")),
    )
)
TABLES = {"cortex-m4": M4, "cortex-m7": M7}


def cycles(functions: dict[str, Listing], name: str, table: CycleTable) -> CycleEstimate:
    """Cycles of a function with its callees; both sides of a branch are counted."""
    listing = functions[name]
    inside = {k for first, last in listing.loops() for k in range(first, last + 1)}
    now = again = 0
    ready: dict[str, int] = {}  # cycle at which a register's value is available
    for k, i in enumerate(listing.instructions):
        issue, result = table.of(i)
        made, needed = _registers(i)
        start = max([now, *(ready.get(register, 0) for register in needed)])
        ready.update(dict.fromkeys(made, start + result))
        spent = start + issue - now
        if i.operands in functions:
            other = cycles(functions, i.operands, table)
            spent += other.once
            again += 0 if k in inside else other.round
        now += spent
        again += spent if k in inside else 0
    return CycleEstimate(now, again)


def _registers(i: Instruction) -> tuple[list[str], list[str]]:
    """The registers that an instruction writes and reads; a double counts as its two halves."""
    found = REGISTER.findall(i.operands)
    has_result = not i.is_branch and not i.name.startswith(WITHOUT_RESULT)
    made = found[:1] if has_result else []
    needed = found if i.name.startswith(MULTIPLY_ADD) or not has_result else found[1:]
    return _halves(made), _halves(needed)


def _halves(registers: list[str]) -> list[str]:
    made: list[str] = []
    for register in registers:
        if register[0] == "d":
            made += [f"s{2 * int(register[1:])}", f"s{2 * int(register[1:]) + 1}"]
        else:
            made.append(register)
    return made
