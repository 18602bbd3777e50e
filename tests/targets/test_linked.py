"""Object files in the hands of other people's tools: C compilers include the header, GNU's linkers accept the
file beside objects of the same floating-point convention, processors of this machine and QEMU's run it.
"""

from __future__ import annotations

import ctypes
import platform
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from targets.cases import CASES, Case, case, kernel

from forearm.errors import ForearmError
from forearm.kernels import elf
from forearm.kernels.cpu import processor
from forearm.targets.machines import TARGETS

V3 = "x86-64-v3"
GCC = shutil.which("gcc")
TABLES = "torques by tables"


def runs_here() -> bool:
    """Whether this machine runs code for x86-64-v3 as it stands in an ELF file."""
    try:
        return elf.is_possible() and processor(V3).fused
    except ForearmError:
        return False


needs_v3 = pytest.mark.skipif(not runs_here(), reason="this machine does not run x86-64-v3 from ELF files")


def expected(name: str, dtype: str) -> np.ndarray:
    """What the kernel with fused multiply-adds gives."""
    return np.ravel(kernel(name, dtype, V3)(*(np.asarray(x, dtype) for x in case(name).inputs)))


@needs_v3
@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.sweep(first=2)
def test_this_processor_computes_the_reference_and_the_bits_of_its_kernels(name: str, dtype: str) -> None:
    one = case(name)
    source = one.source(V3, dtype)
    assert source.object is not None
    arrays = [np.ascontiguousarray(x, dtype) for x in one.inputs]
    made = np.full(one.truth[0].shape, np.nan, dtype)
    memory = elf.load(source.object)
    kinds = [ctypes.c_void_p] * (len(arrays) + 1)
    ctypes.CFUNCTYPE(None, *kinds)(memory.addresses[source.name])(*(x.ctypes.data for x in [*arrays, made]))
    one.check([made], dtype)
    assert np.array_equal(made.ravel(), expected(name, dtype))


PROGRAM = """
#include <stdio.h>
#include "{name}.h"

int main(void)
{{
    const {scalar} q[] = {{{q}}}, qd[] = {{{qd}}}, qdd[] = {{{qdd}}};
    {scalar} tau[{n}];
    {name}(q, qd, qdd, tau);
    return fwrite(tau, sizeof tau, 1, stdout) == 1 ? 0 : 1;
}}
"""


def written_out(one: Case, dtype: str) -> dict[str, str]:
    """Inputs in C, to the last bit."""
    names = ("q", "qd", "qdd")
    return {
        name: ", ".join(float(value).hex() for value in np.asarray(x, dtype))
        for name, x in zip(names, one.inputs, strict=True)
    }


@needs_v3
@pytest.mark.slow
@pytest.mark.skipif(GCC is None, reason="gcc is not installed")
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.sweep(first=1)
def test_a_program_in_c_includes_the_header_and_links_the_object(dtype: str, tmp_path: Path) -> None:
    one = case(TABLES)
    source = one.source(V3, dtype)
    source.save(tmp_path)
    scalar = "double" if dtype == "float64" else "float"
    text = PROGRAM.format(name=source.name, scalar=scalar, n=one.arm.n, **written_out(one, dtype))
    (tmp_path / "main.c").write_text(text, encoding="ascii")
    flags = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-pie"]
    files = [str(tmp_path / "main.c"), str(tmp_path / f"{source.name}.o")]
    subprocess.run([str(GCC), *flags, *files, "-o", str(tmp_path / "main")], check=True)
    ran = subprocess.run([str(tmp_path / "main")], check=True, capture_output=True, timeout=10)
    assert np.array_equal(np.frombuffer(ran.stdout, dtype), expected(TABLES, dtype))


# Linux programs that call the function, write what it made and exit.
THUMB = """
    .syntax unified
    .thumb
    .text
    .global _start
    .thumb_func
_start:
    ldr r0, =q
    ldr r1, =qd
    ldr r2, =qdd
    ldr r3, =tau
    bl {name}
    movs r0, #1
    ldr r1, =tau
    ldr r2, ={size}
    movs r7, #4
    svc 0
    movs r0, #0
    movs r7, #1
    svc 0
    .ltorg
"""
A64 = """
    .text
    .global _start
_start:
    adr x0, q
    adr x1, qd
    adr x2, qdd
    adr x3, tau
    bl {name}
    mov x0, #1
    adr x1, tau
    mov x2, #{size}
    mov x8, #64
    svc #0
    mov x0, #0
    mov x8, #93
    svc #0
"""
RV64 = """
    .option norelax
    .text
    .global _start
_start:
    la a0, q
    la a1, qd
    la a2, qdd
    la a3, tau
    call {name}
    li a0, 1
    la a1, tau
    li a2, {size}
    li a7, 64
    ecall
    li a0, 0
    li a7, 93
    ecall
"""
M4 = ["-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16"]
M7 = ["-mcpu=cortex-m7", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv5-d16"]
TOOLS: dict[str, tuple[str, list[str], str, str]] = {  # GNU's tools, their flags, a program, and who runs it
    "cortex-m4": ("arm-none-eabi-", M4, THUMB, "qemu-arm"),
    "cortex-m7": ("arm-none-eabi-", M7, THUMB, "qemu-arm"),
    "aarch64": ("aarch64-linux-gnu-", [], A64, "qemu-aarch64"),
    "riscv64": ("riscv64-linux-gnu-", ["-march=rv64gc", "-mabi=lp64d"], RV64, "qemu-riscv64"),
}


@pytest.mark.long
@pytest.mark.parametrize("target", TOOLS)
@pytest.mark.parametrize("name", [TABLES, "torques of the Puma"])
def test_linkers_of_others_and_qemu(target: str, name: str, tmp_path: Path) -> None:
    prefix, flags, text, qemu = TOOLS[target]
    for tool in (f"{prefix}as", f"{prefix}ld", qemu):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    one, dtype = case(name), TARGETS[target].dtypes[0]
    source = one.source(target, dtype)
    source.save(tmp_path)
    size = np.dtype(dtype).itemsize
    word = ".quad" if size == 8 else ".long"
    lines = [text.format(name=source.name, size=size * one.arm.n), "    .data", "    .balign 8"]
    for label, x in zip(("q", "qd", "qdd"), one.inputs, strict=True):
        bits = np.asarray(x, dtype).view(f"u{size}")
        lines.append(f"{label}: {word} {', '.join(map(str, bits))}")
    lines += [f"tau: .space {size * one.arm.n}", '    .section .note.GNU-stack, "", %progbits', ""]
    (tmp_path / "start.s").write_text("\n".join(lines), encoding="ascii")
    start, program = str(tmp_path / "start.o"), str(tmp_path / "program")
    subprocess.run([f"{prefix}as", *flags, str(tmp_path / "start.s"), "-o", start], check=True)
    link = [f"{prefix}ld", "--fatal-warnings", start, str(tmp_path / f"{source.name}.o"), "-o", program]
    subprocess.run(link, check=True)
    ran = subprocess.run([qemu, program], check=True, capture_output=True, timeout=60)
    found = np.frombuffer(ran.stdout, dtype)
    one.check([found], dtype)
    if platform.machine() == "x86_64" and runs_here():
        assert np.array_equal(found, expected(name, dtype))


@pytest.mark.long
@pytest.mark.skipif(shutil.which("arm-none-eabi-ld") is None, reason="arm-none-eabi-ld is not installed")
def test_soft_float_objects_are_kept_apart(tmp_path: Path) -> None:
    """The linker reads how floats are passed from both files."""
    source = case(TABLES).source("cortex-m4", "float32")
    source.save(tmp_path)
    soft = ["-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=soft"]
    attributes = "    .eabi_attribute 23, 3\n    .eabi_attribute 28, 0\n"  # IEEE numbers, passed elsewhere
    text = f"    .syntax unified\n{attributes}    .global _start\n_start: bl {source.name}\n"
    (tmp_path / "start.s").write_text(text, encoding="ascii")
    start = str(tmp_path / "start.o")
    subprocess.run(["arm-none-eabi-as", *soft, str(tmp_path / "start.s"), "-o", start], check=True)
    ran = subprocess.run(
        ["arm-none-eabi-ld", start, str(tmp_path / f"{source.name}.o"), "-o", str(tmp_path / "program")],
        check=False,
        capture_output=True,
        text=True,
    )
    assert ran.returncode != 0
    assert "uses VFP register arguments" in ran.stderr
