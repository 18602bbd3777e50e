"""Shared libraries for several systems from one module, by LLVM alone: no compiler, no linker.

They run on any processor of a family and do not depend on the one at hand.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from forearm.kernels.dll import dynamic_library
from forearm.kernels.shared_object import shared_object
from forearm.kernels.vectors import Target
from forearm.targets.emit import emitted_object, is_known
from forearm.targets.machines import AARCH64, X86, TargetMachine


@dataclass(frozen=True)
class Platform:
    """A system and processor family: its LLVM target, its folders in FMI 2 and 3, the file suffix."""

    machine: TargetMachine
    folders: dict[int, str]
    ending: str

    @property
    def target(self) -> Target:
        """One lane of float64."""
        return Target("double", 1, self.machine.fused)


PLATFORMS = {
    "x86_64-linux": Platform(
        TargetMachine("x86_64-linux", X86, "x86_64-pc-linux-gnu", "x86-64", "Linux on x86", fused=False),
        {2: "linux64", 3: "x86_64-linux"},
        ".so",
    ),
    "x86_64-windows": Platform(
        TargetMachine(
            "x86_64-windows", X86, "x86_64-pc-windows-msvc", "x86-64", "Windows on x86", fused=False
        ),
        {2: "win64", 3: "x86_64-windows"},
        ".dll",
    ),
    "aarch64-linux": Platform(
        TargetMachine("aarch64-linux", AARCH64, "aarch64-linux-gnu", "generic", "Linux on Arm"),
        {3: "aarch64-linux"},
        ".so",
    ),
}


def possible(version: int) -> list[str]:
    """The platforms that a version of FMI names and the installed LLVM supports."""
    return [name for name, p in PLATFORMS.items() if version in p.folders and is_known(p.machine)]


def library(text: str, platform: Platform, exported: Sequence[str], name: str) -> bytes:
    """The shared library of a module; `name` is the DLL's own name."""
    code = emitted_object(text, name, platform.machine)
    if platform.ending == ".dll":
        return dynamic_library(code, exported, f"{name}.dll")
    return shared_object(code, exported)
