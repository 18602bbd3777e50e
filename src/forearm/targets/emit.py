"""Object file and assembly of LLVM IR for a machine, by llvmlite alone: the same on every computer."""

from __future__ import annotations

from typing import Any

from forearm.errors import ForearmError
from forearm.kernels.locks import making
from forearm.kernels.memory import check_room
from forearm.kernels.native import LEAST, PER_CHARACTER, llvm_library
from forearm.targets.machines import TargetMachine


def emitted(text: str, name: str, machine: TargetMachine) -> tuple[bytes, str]:
    """(object file, assembly) of a module's text; they do not depend on this computer."""
    with making():
        code = emitted_object(text, name, machine)
        made, module = _module(text, name, machine)
        assembly: str = made.emit_assembly(module)
    return code, assembly


def emitted_object(text: str, name: str, machine: TargetMachine) -> bytes:
    """The object file alone."""
    with making():
        made, module = _module(text, name, machine)
        code: bytes = made.emit_object(module)
    return code


def is_known(machine: TargetMachine) -> bool:
    """Whether the installed LLVM supports a machine."""
    with making():
        try:
            _llvm_machine(llvm_library(), machine)
        except ForearmError:
            return False
    return True


def _module(text: str, name: str, machine: TargetMachine) -> tuple[Any, Any]:
    """LLVM's target machine, and a parsed module for it."""
    llvm = llvm_library()
    check_room(LEAST + 2 * PER_CHARACTER * len(text), "LLVM to compile")
    made = _llvm_machine(llvm, machine)
    module = llvm.parse_assembly(f'source_filename = "{name}"\n{text}')
    module.triple, module.data_layout = machine.triple, str(made.target_data)
    module.verify()
    return made, module


def llvm_version() -> str:
    """The version of LLVM in llvmlite; other versions may select other instructions."""
    with making():
        return ".".join(map(str, llvm_library().llvm_version_info))


def _llvm_machine(llvm: Any, machine: TargetMachine) -> Any:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    try:
        target = llvm.Target.from_triple(machine.triple)
    except RuntimeError:
        raise ForearmError(
            f"this llvmlite was built without LLVM's target for {machine.name}; the wheels on "
            "PyPI include it: pip install --force-reinstall llvmlite.",
            "generate",
            "target",
        ) from None
    return target.create_target_machine(
        cpu=machine.cpu,
        features=machine.features,
        opt=3,
        reloc=machine.relocation,
        codemodel=machine.code_model,
        abiname=machine.abi,
    )
