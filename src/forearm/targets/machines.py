"""The machines that object files are made for, as LLVM and the linkers of others know them."""

from __future__ import annotations

from dataclasses import dataclass

ARM, AARCH64, RISCV, X86, WASM = "arm", "aarch64", "riscv", "x86", "wasm"
BOTH = ("float64", "float32")


@dataclass(frozen=True)
class TargetMachine:
    """A machine: its name here, what LLVM is told of it, and what the header says of it.

    `fused` is its multiply-add; `dtypes` are those that it computes in hardware, the default first.
    """

    name: str
    family: str
    triple: str
    cpu: str
    features: str
    abi: str
    relocation: str
    fused: bool
    dtypes: tuple[str, ...]
    about: str

    @property
    def bits(self) -> int:
        """Of an address."""
        return 32 if self.family in (ARM, WASM) else 64


_ALL = (
    # A triple of four parts: from one of three LLVM does not see that floats are passed in registers.
    TargetMachine(
        "cortex-m4",
        ARM,
        "thumbv7em-unknown-none-eabihf",
        "cortex-m4",
        "",
        "",
        "static",
        True,
        ("float32",),
        (
            "ELF, 32 bits, little-endian, EABI 5 with hard-float arguments, static: link with -mcpu=cortex-m4 "
            "-mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16. The FPU must be on (CPACR) before the first call."
        ),
    ),
    TargetMachine(
        "cortex-m7",
        ARM,
        "thumbv7em-unknown-none-eabihf",
        "cortex-m7",
        "",
        "",
        "static",
        True,
        BOTH,
        (
            "ELF, 32 bits, little-endian, EABI 5 with hard-float arguments, static: link with -mcpu=cortex-m7 "
            "-mthumb -mfloat-abi=hard -mfpu=fpv5-d16. The FPU must be on (CPACR) before the first call."
        ),
    ),
    TargetMachine(
        "aarch64",
        AARCH64,
        "aarch64-unknown-none-elf",
        "generic",
        "",
        "",
        "pic",
        True,
        BOTH,
        (
            "ELF, 64 bits, little-endian, AAPCS64, position independent: any Armv8-A with its FPU and Advanced "
            "SIMD on, on Linux or without a system."
        ),
    ),
    TargetMachine(
        "riscv64",
        RISCV,
        "riscv64-unknown-none-elf",
        "generic-rv64",
        "+m,+a,+f,+d,+c",
        "lp64d",
        "pic",
        True,
        BOTH,
        (
            "ELF, 64 bits, little-endian, position independent: link with -march=rv64gc -mabi=lp64d. The FPU must "
            "be on (mstatus.FS) before the first call."
        ),
    ),
    TargetMachine(
        "x86-64-v3",
        X86,
        "x86_64-unknown-none-elf",
        "x86-64-v3",
        "",
        "",
        "pic",
        True,
        BOTH,
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
        "",
        "",
        "static",
        False,
        BOTH,
        "WebAssembly 1.0 (MVP), 32-bit addresses: the .wasm file is a module without imports, the .o file for wasm-ld.",
    ),
)
TARGETS = {machine.name: machine for machine in _ALL}
