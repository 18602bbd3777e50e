"""The whole code of an FMU as one module of LLVM IR: the arm, an instance, and FMI's functions."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from forearm.fmi import fmi2_ir, fmi3_ir
from forearm.fmi.cell_functions import cell_function
from forearm.fmi.instance_ir import instance_parts
from forearm.fmi.model_functions import FmuModel
from forearm.fmi.variables import FmuVariable, access_of, start_values
from forearm.kernels.ir import intrinsics
from forearm.kernels.llvm import joined
from forearm.kernels.vectors import Target

ENTRY_POINTS = {2: fmi2_ir.entry_points, 3: fmi3_ir.entry_points}


def model_parts(model: FmuModel, target: Target) -> list[str]:
    """The functions of the arm."""
    return [
        cell_function(f"model.{name}", traced, model.layout, list(model.parameters), target)
        for name, traced in model.functions.items()
    ]


def module_text(
    model: FmuModel,
    parts: Sequence[str],
    variables: Sequence[FmuVariable],
    version: int,
    token: str,
    target: Target,
) -> tuple[str, list[str]]:
    """The module, and the exported names; `parts` are the functions of the arm."""
    layout = model.layout
    access, starts = access_of(variables, layout.size), start_values(variables, layout.size)
    tag = int.from_bytes(hashlib.sha256(token.encode("ascii")).digest()[:7], "little")
    instance = instance_parts(layout, starts, access, token, tag, bool(model.dry))
    functions, names = ENTRY_POINTS[version](layout)
    text = joined([*intrinsics(target), *parts, *instance, *functions])
    return "\n".join(line for line in text.splitlines() if not line.startswith(";")), names
