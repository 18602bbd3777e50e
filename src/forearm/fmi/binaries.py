"""Libraries for several systems from one module, by LLVM alone: no compiler, no linker, nothing from outside.

They are for any processor of a family, never for the one at hand.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from forearm.kernels.dll import dynamic_library
from forearm.kernels.locks import making
from forearm.kernels.memory import check_room
from forearm.kernels.native import LEAST, PER_CHARACTER, llvm_library
from forearm.kernels.shared_object import shared_object
from forearm.kernels.vectors import Target


@dataclass(frozen=True)
class Platform:
    """A system with its processors: LLVM's words for it, the folders of FMI 2 and 3, a file's ending."""

    triple: str
    cpu: str
    fused: bool
    folders: dict[int, str]
    ending: str

    @property
    def target(self) -> Target:
        """One lane of float64."""
        return Target("double", 1, self.fused)


PLATFORMS = {
    "x86_64-linux": Platform(
        "x86_64-pc-linux-gnu", "x86-64", False, {2: "linux64", 3: "x86_64-linux"}, ".so"
    ),
    "x86_64-windows": Platform(
        "x86_64-pc-windows-msvc", "x86-64", False, {2: "win64", 3: "x86_64-windows"}, ".dll"
    ),
    "aarch64-linux": Platform("aarch64-linux-gnu", "generic", True, {3: "aarch64-linux"}, ".so"),
}


def possible(version: int) -> list[str]:
    """The platforms that a version of FMI names and that the LLVM at hand can write for."""
    llvm = llvm_library()
    with making():
        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()
    found = []
    for name, platform in PLATFORMS.items():
        try:
            llvm.Target.from_triple(platform.triple)
        except RuntimeError:
            continue
        if version in platform.folders:
            found.append(name)
    return found


def library(text: str, platform: Platform, exported: Sequence[str], name: str) -> bytes:
    """The library of a module; `name` is what a DLL calls itself."""
    with making():
        llvm = llvm_library()
        check_room(LEAST + PER_CHARACTER * len(text), "LLVM to compile")
        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()
        machine = llvm.Target.from_triple(platform.triple).create_target_machine(
            cpu=platform.cpu, features="", opt=3, reloc="pic", codemodel="small"
        )
        module = llvm.parse_assembly(text)
        module.triple, module.data_layout = platform.triple, str(machine.target_data)
        module.verify()
        code: bytes = machine.emit_object(module)
    if platform.ending == ".dll":
        return dynamic_library(code, exported, f"{name}.dll")
    return shared_object(code, exported)
