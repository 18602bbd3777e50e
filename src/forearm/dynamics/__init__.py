"""The dynamics of arms: every classical formulation, each in a file of its own, over any scalar. One answer.

`reference` calls them by name; `model` is what they all start from.
"""

from forearm.dynamics.reference import (
    bias,
    coriolis_matrix,
    formulations,
    forward,
    gravity,
    inertia_matrix,
    inverse,
    kinetic_energy,
    potential_energy,
    trace,
)

__all__ = [
    "bias",
    "coriolis_matrix",
    "formulations",
    "forward",
    "gravity",
    "inertia_matrix",
    "inverse",
    "kinetic_energy",
    "potential_energy",
    "trace",
]
