"""Assembly read by hand-made examples: stacks, loops, calls and cycles that are known."""

from __future__ import annotations

import pytest

from forearm.errors import ForearmError
from forearm.targets.cycles import M4, M7, CycleEstimate, cycles
from forearm.targets.listing import listings, stack_bytes
from forearm.targets.machines import AARCH64, ARM, RISCV, WASM, X86


def assembly(*lines: str, name: str = "f", kind: str = "@function") -> str:
    """A function's text as LLVM writes it."""
    body = "\n".join(line if line.endswith(":") else f"\t{line.replace(' ', chr(9), 1)}" for line in lines)
    return f"\t.globl\t{name}\n\t.type\t{name},{kind}\n{name}:\n{body}\n.Lfunc_end0:\n"


STACKS = {
    "Thumb": (ARM, ("push.w {r4, r5, r6, lr}", "vpush {d8, d9}", "sub sp, #160", "add sp, #160"), 192),
    "Thumb, single registers": (ARM, ("vpush {s16, s17, s18}", "str lr, [sp, #-8]!"), 12 + 8),
    "Thumb, ranges": (ARM, ("push {r4-r7, lr}", "sub.w sp, sp, #1024", "vldmia sp, {d0, d1}"), 20 + 1024),
    "AArch64": (AARCH64, ("stp d15, d14, [sp, #-80]!", "sub sp, sp, #1, lsl #12", "sub sp, sp, #16"), 4192),
    "AArch64, back": (AARCH64, ("str x30, [sp, #-16]!", "ldr x30, [sp], #16", "add sp, sp, #32"), 16),
    "RISC-V": (RISCV, ("addi sp, sp, -464", "fsd fs0, 8(sp)", "addi sp, sp, 464"), 464),
    "RISC-V, large": (RISCV, ("addi sp, sp, -2032", "lui a0, 1", "addi a0, a0, -16", "sub sp, sp, a0"), 6112),
    "x86": (X86, ("pushq %rbx", "subq $744, %rsp", "addq $744, %rsp", "popq %rbx"), 8 + 8 + 744),
    "x86, aligned": (X86, ("pushq %rbp", "andq $-32, %rsp", "subq $64, %rsp"), 8 + 8 + 24 + 64),
    "WebAssembly": (WASM, ("global.get __stack_pointer", "i32.const 384", "i32.sub"), 384),
    "WebAssembly, other numbers": (WASM, ("local.get 0", "i32.const 384", "i32.sub"), 0),
}  # fmt: skip


@pytest.mark.parametrize("name", STACKS)
def test_stack(name: str) -> None:
    family, lines, expected = STACKS[name]
    assert stack_bytes(listings(assembly(*lines)), "f", family) == expected


def test_the_stack_of_the_deepest_call_is_added() -> None:
    text = assembly("sub sp, #8", name="deep", kind="%function")
    text += assembly("sub sp, #100", name="function.0a", kind="%function")
    text += assembly("sub sp, #16", "bl deep", "bl function.0a", "bl deep", kind="%function")
    functions = listings(text)
    assert list(functions) == ["deep", "function.0a", "f"]
    assert stack_bytes(functions, "f", ARM) == 116


@pytest.mark.parametrize(
    ("family", "line"),
    [
        (ARM, "sub sp, r4"),
        (ARM, "bfc sp, #0, #4"),
        (ARM, "stmdb sp!, {r4}"),
        (AARCH64, "and sp, x9, #0xffffffffffffffe0"),
        (RISCV, "sub sp, sp, t0"),
        (RISCV, "andi sp, sp, -16"),
        (X86, "subq %rax, %rsp"),
    ],
)
def test_a_stack_that_cannot_be_told_is_an_error(family: str, line: str) -> None:
    with pytest.raises(ForearmError, match="moves the stack pointer in an unknown way"):
        stack_bytes(listings(assembly(line)), "f", family)


def spent(*lines: str, table: object = M4) -> CycleEstimate:
    assert table in (M4, M7)
    return cycles(listings(assembly(*lines)), "f", M4 if table is M4 else M7)


def test_cycles_of_the_manual() -> None:
    assert spent("vldr s0, [r0]", "vmul.f32 s1, s0, s0", "vfma.f32 s2, s3, s4") == CycleEstimate(2 + 1 + 3, 0)
    assert spent("vmul.f32 s1, s0, s0", "vadd.f32 s2, s1, s1").once == 3, "a result that is needed next"
    assert spent("vmul.f32 s1, s0, s0", "vadd.f32 s2, s3, s3", "vadd.f32 s4, s1, s1").once == 3
    assert spent("vdiv.f32 s0, s1, s2").once == spent("vsqrt.f32 s0, s1").once == 14
    assert spent("push.w {r4, r5, lr}", "vpush {d8, d9}", "b .L1").once == 4 + 3 + 3
    assert spent("vfma.f32 s0, s1, s2", "vfma.f32 s0, s3, s4").once == 3 + 1 + 3, "its sum is an operand, too"


def test_halves_of_doubles_are_registers() -> None:
    lines = ("vmul.f64 d1, d2, d3", "vmov s0, s3")
    assert spent(*lines, table=M7).once == 7 + 1
    assert spent("vmul.f64 d1, d2, d3", "vmov s0, s9", table=M7).once == 2


def test_a_round_of_a_loop_is_told_apart() -> None:
    found = spent("mov r0, #5", ".LBB0_1:", "vadd.f32 s0, s1, s2", "subs r0, #1", "bne .LBB0_1", "bx lr")
    assert found == CycleEstimate(1 + 1 + 1 + 3 + 3, 1 + 1 + 3)
    assert spent(".LCPI0_0:", "vldr s0, .LCPI0_0").round == 0, "a constant before it is no loop"


def test_calls_cost_what_they_call() -> None:
    text = assembly("vdiv.f32 s0, s1, s2", "bx lr", name="g", kind="%function")
    text += assembly(".LBB1_1:", "bl g", "bne .LBB1_1", "bl g", kind="%function")
    found = cycles(listings(text), "f", M4)
    assert found == CycleEstimate(2 * (3 + 14 + 3) + 3, 3 + 14 + 3 + 3)
