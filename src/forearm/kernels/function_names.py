"""Names given to a kernel: of functions, and of parameters left open."""

from __future__ import annotations

from forearm.arm.arm import Arm
from forearm.errors import InputError
from forearm.kernels.locks import making
from forearm.values import check_choice


def open_parameters(arm: Arm, names: tuple[str, ...]) -> dict[str, float]:
    """The open parameters, with the arm's own values."""
    if not names:
        return {}
    with making():
        from forearm.reduction.symbolic import chosen_parameters

    return chosen_parameters(arm, names)


# For arms with elastic joints only.
ELASTIC = ("elastic_forward_dynamics", "elastic_inverse_dynamics")
# Functions of a kernel's own methods, known without loading the table of all functions.
OWN = (
    "inverse_dynamics",
    "forward_dynamics",
    "inertia_matrix",
    "bias",
    "gravity",
    "forward_kinematics",
    "jacobian",
    "inverse_kinematics",
    "inverse_dynamics_derivatives",
    "forward_dynamics_derivatives",
    *ELASTIC,
)


def check_names(names: tuple[str, ...]) -> None:
    """Check names of functions to compile."""
    if all(name in OWN for name in names):
        return
    with making():
        from forearm.codegen.functions import FUNCTIONS

    for name in names:
        check_choice(name, FUNCTIONS, "compile, function")


def check_precision(names: tuple[str, ...], dtype: str) -> None:
    """Check that functions can be compiled for a dtype."""
    if "inverse_kinematics" in names and dtype != "float64":
        raise InputError(
            "branches are distinguished by forward kinematics to 1e-7, which needs float64.",
            "inverse_kinematics",
        )
