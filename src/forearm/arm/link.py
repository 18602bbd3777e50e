"""A rigid link: mass, centre of mass, and inertia about the centre of mass, in the link's own frame."""

from __future__ import annotations

import numpy as np

from forearm.errors import ModelError, shorten
from forearm.reading.fields import ArrayField, NameField
from forearm.records import declared, physical, record, set_field
from forearm.spatial import Floats, MassProperties, inertia_from_pseudo, parallel_axis, pseudo_from_inertia
from forearm.values import frozen_array

# Negative eigenvalues up to this share of the trace are rounding in the file, not a wrong tensor.
SEMIDEFINITE_SLACK = 1e-9
ROUNDING = 1e-18  # kg m^2: moments that a program wrote instead of 0
REPAIRED = 12  # decimals of a repaired tensor, relative to its largest entry
SMALLEST = 1e-6  # m: smaller than any link's radius of gyration, so mass times its square is rounding too


@record
class Link:
    """One rigid body of the arm."""

    name: str = declared(NameField("its unique name"))
    mass: float = physical("mass", "kg", default=0.0, minimum=0.0)
    com: Floats = declared(
        ArrayField((3,), "centre of mass in the link's frame", "m"), default=(0.0, 0.0, 0.0)
    )
    inertia: Floats = declared(
        ArrayField(
            (3, 3),
            "tensor about the centre of mass, axes of the link's frame; I_xy = -integral of x y dm",
            "kg m^2",
        ),
        default=((0.0, 0.0, 0.0),) * 3,
    )

    def __post_init__(self) -> None:
        set_field(self, "inertia", _checked_inertia(self.inertia, self.mass, f"link {self.name!r}"))

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


def is_semidefinite(inertia: Floats, mass: float) -> bool:
    """Whether no principal moment is negative beyond the rounding for a body of this mass (kg)."""
    scale = max(float(np.trace(inertia)), float(np.abs(inertia).max()))
    slack = max(SEMIDEFINITE_SLACK * scale, mass * SMALLEST**2, ROUNDING)
    return bool(np.linalg.eigvalsh(inertia)[0] >= -slack)


def nearest_inertia(inertia: Floats) -> Floats:
    """The physically consistent tensor whose second moments are nearest to those of this one.

    With S = tr(I)/2 - I, the second moments, a rigid body's S is positive semidefinite: negative eigenvalues
    of S are set to 0, and I = tr(S) - S. Principal moments then satisfy the triangle inequality too. The
    result is rounded to REPAIRED digits, to be independent of the machine's eigenvectors.
    """
    values, axes = np.linalg.eigh(pseudo_from_inertia(0.5 * (inertia + inertia.T)))
    made = inertia_from_pseudo((axes * np.maximum(values, 0.0)) @ axes.T)
    scale = float(np.abs(made).max()) or 1.0
    return np.asarray(np.round(0.5 * (made + made.T) / scale, REPAIRED) * scale)


def _checked_inertia(given: Floats, mass: float, where: str) -> Floats:
    scale = float(np.abs(given).max())
    if float(np.abs(given - given.T).max()) > 1e-12 * scale:
        raise ModelError(f"the tensor must be symmetric, got {shorten(given.tolist())}.", where, "inertia")
    inertia = frozen_array(0.5 * (given + given.T), (3, 3), f"{where}, inertia")
    if not is_semidefinite(inertia, mass):
        moments = ", ".join(f"{m:.6g}" for m in np.linalg.eigvalsh(inertia))
        raise ModelError(
            f"must be positive semidefinite, but its principal moments are {moments} kg m^2. "
            "Check the signs of the products of inertia (I_xy = -integral of x y dm) and the "
            "point it is about (centre of mass, not origin).",
            where,
            "inertia",
        )
    return inertia
