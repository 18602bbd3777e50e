"""Target machines for object files, in the terms of LLVM and of linkers."""

from __future__ import annotations

from dataclasses import dataclass

ARM, AARCH64, RISCV, X86, WASM = "arm", "aarch64", "riscv", "x86", "wasm"
# All four parts are needed: from "thumbv7em-none-eabihf" LLVM does not infer that floats are passed in
# registers.
CORTEX_M = "thumbv7em-unknown-none-eabihf"
CORTEX_M_FILE = (
    "ELF, 32 bits, little-endian, EABI 5, hard-float arguments, static: link with -mthumb "
    "-mfloat-abi=hard -mcpu={cpu} -mfpu={fpu}. The FPU must be on (CPACR) before the first call."
)


@dataclass(frozen=True)
class TargetMachine:
    """A machine: its name here, its LLVM target, and its description in the header (`about`).

    `fused`: it has a fused multiply-add; `dtypes`: what its hardware computes in, the default first.
    """

    name: str
    family: str
    triple: str
    cpu: str
    about: str
    features: str = ""
    abi: str = ""
    relocation: str = "pic"
    code_model: str = "small"
    fused: bool = True
    dtypes: tuple[str, ...] = ("float64", "float32")


_ALL = (
    TargetMachine(
        "cortex-m4",
        ARM,
        CORTEX_M,
        "cortex-m4",
        CORTEX_M_FILE.format(cpu="cortex-m4", fpu="fpv4-sp-d16"),
        relocation="static",
        dtypes=("float32",),
    ),
    TargetMachine(
        "cortex-m7",
        ARM,
        CORTEX_M,
        "cortex-m7",
        CORTEX_M_FILE.format(cpu="cortex-m7", fpu="fpv5-d16"),
        relocation="static",
    ),
    TargetMachine(
        "aarch64",
        AARCH64,
        "aarch64-unknown-none-elf",
        "generic",
        (
            "ELF, 64 bits, little-endian, AAPCS64, position independent: any Armv8-A with FPU and Advanced "
            "SIMD on, on Linux or without a system."
        ),
    ),
    TargetMachine(
        "riscv64",
        RISCV,
        "riscv64-unknown-none-elf",
        "generic-rv64",
        (
            "ELF, 64 bits, little-endian, position independent: link with -march=rv64gc -mabi=lp64d. The FPU "
            "must be on (mstatus.FS) before the first call."
        ),
        features="+m,+a,+f,+d,+c",
        abi="lp64d",
        code_model="medium",
    ),
    TargetMachine(
        "x86-64-v3",
        X86,
        "x86_64-unknown-none-elf",
        "x86-64-v3",
        (
            "ELF, 64 bits, System V calling convention, position independent, no red zone: any x86-64-v3 "
            "(AVX2, FMA) whose system keeps its vector registers."
        ),
    ),
    TargetMachine(
        "wasm32",
        WASM,
        "wasm32-unknown-unknown",
        "mvp",
        (
            "WebAssembly 1.0, 32-bit addresses: the .wasm file is a module without imports, the .o file is "
            "for wasm-ld."
        ),
        relocation="static",
        fused=False,
    ),
)
TARGETS = {machine.name: machine for machine in _ALL}
