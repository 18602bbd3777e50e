"""PTX, the GPU's assembly language, from LLVM IR by llvmlite alone."""

from __future__ import annotations

from forearm.errors import ForearmError
from forearm.kernels.locks import making
from forearm.kernels.memory import check_room
from forearm.kernels.native import LEAST, PER_CHARACTER, llvm_library

TRIPLE = "nvptx64-nvidia-cuda"
# The oldest target that drivers still assemble; its code ran as fast on the newest GPU.
OLDEST, FEATURES = "sm_70", "+ptx60"


def assembly(text: str) -> str:
    """A module as PTX for every GPU from Volta on; no operation is contracted or reordered."""
    with making():
        llvm = llvm_library()
        check_room(LEAST + PER_CHARACTER * len(text), "LLVM to compile")
        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()
        try:
            target = llvm.Target.from_triple(TRIPLE)
        except RuntimeError:
            raise ForearmError(
                "this llvmlite was built without the NVPTX target; the wheels on PyPI "
                "include it: pip install --force-reinstall llvmlite.",
                "compile",
                "device",
            ) from None
        machine = target.create_target_machine(cpu=OLDEST, features=FEATURES, opt=3)
        module = llvm.parse_assembly(text)
        module.triple, module.data_layout = TRIPLE, str(machine.target_data)
        module.verify()
        made: str = machine.emit_assembly(module)
    return made
