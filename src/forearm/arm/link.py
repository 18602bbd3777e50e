"""A rigid link: mass, centre of mass, and inertia about the centre of mass, in the link's own frame."""

from __future__ import annotations

import numpy as np

from forearm.arm.record import quantity, record, set_field
from forearm.errors import ModelError, shorten
from forearm.spatial import Floats, MassProperties, parallel_axis
from forearm.values import check_name, frozen_array

# An eigenvalue this far below zero, against the trace, is rounding in the file and not a wrong tensor.
SEMIDEFINITE_SLACK = 1e-9
ROUNDING = 1e-18  # kg m^2: moments that a program wrote for 0


@record
class Link:
    """One rigid body of the arm.

    Args:
        name: its name, which no other link of the arm has.
        mass: mass, kg.
        com: centre of mass (3,) in the link's frame, m.
        inertia: tensor (3, 3) about the centre of mass, axes of the link's frame, kg m^2; off the diagonal
            I_xy = -integral of x y dm.
    """

    name: str
    mass: float = 0.0
    com: Floats = (0.0, 0.0, 0.0)  # type: ignore[assignment]
    inertia: Floats = ((0.0, 0.0, 0.0),) * 3  # type: ignore[assignment]

    def __post_init__(self) -> None:
        check_name(self.name, "link")
        where = f"link {self.name!r}"
        set_field(self, "mass", quantity(self.mass, f"{where}, mass", minimum=0.0))
        set_field(self, "com", frozen_array(self.com, (3,), f"{where}, com"))
        set_field(self, "inertia", _checked_inertia(self.inertia, where))

    @property
    def properties(self) -> MassProperties:
        """Mass, centre of mass and inertia about it."""
        return self.mass, self.com, self.inertia

    @property
    def massless(self) -> bool:
        """Whether the link has neither mass nor inertia."""
        return self.mass == 0.0 and not self.inertia.any()

    @property
    def inertia_about_origin(self) -> Floats:
        """The tensor about the origin of the link's frame, by the parallel-axis theorem."""
        return self.inertia + parallel_axis(self.mass, self.com)


def _checked_inertia(value: object, where: str) -> Floats:
    given = frozen_array(value, (3, 3), f"{where}, inertia")  # type: ignore[arg-type]
    scale = float(np.abs(given).max())
    if float(np.abs(given - given.T).max()) > 1e-12 * scale:
        raise ModelError(f"{where}, inertia: the tensor must be symmetric, got {shorten(given.tolist())}.")
    inertia = frozen_array(0.5 * (given + given.T), (3, 3), f"{where}, inertia")
    moments = np.linalg.eigvalsh(inertia)
    if moments[0] < -max(SEMIDEFINITE_SLACK * max(float(np.trace(inertia)), scale), ROUNDING):
        raise ModelError(
            f"{where}, inertia: must be positive semidefinite, but its principal moments are "
            f"{', '.join(f'{m:.6g}' for m in moments)} kg m^2. Check the signs of the products of inertia "
            "(I_xy = -integral of x y dm) and the point it is about (centre of mass, not origin)."
        )
    return inertia
