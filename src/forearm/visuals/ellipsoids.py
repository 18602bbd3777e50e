"""A body's inertia as a solid ellipsoid of the same mass and moments."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from forearm.spatial import Floats, pseudo_from_inertia
from forearm.values import check_number, frozen_array

ROUNDING = 1e-12  # of the largest: a square below this is 0


class Ellipsoid(NamedTuple):
    """A solid ellipsoid about the centre of mass.

    Attributes:
        radii: semi-axes (3,), m, largest last.
        rotation: (3, 3), the axes as columns in the body's frame.
    """

    radii: Floats
    rotation: Floats


def ellipsoid(mass: float, inertia: ArrayLike) -> Ellipsoid | None:
    """The solid ellipsoid of uniform density with this mass and inertia; None without mass or extent.

    With J = tr(I)/2 - I the semi-axis along each principal axis is sqrt(5 J / m). Moments that no body has
    (A + B < C) would make one of them imaginary: it is 0 then.

    Args:
        mass: mass, kg.
        inertia: tensor (3, 3) about the centre of mass, kg m^2.
    """
    mass = check_number(mass, "ellipsoid, mass (kg)")
    tensor = frozen_array(inertia, (3, 3), "ellipsoid, inertia")
    if mass <= 0.0:
        return None
    squares, axes = np.linalg.eigh(pseudo_from_inertia(0.5 * (tensor + tensor.T)))
    squares = 5.0 / mass * squares
    squares = np.where(squares > ROUNDING * np.abs(squares).max(), squares, 0.0)
    if not squares.any():
        return None
    for k in range(2):  # one sign on every machine: the largest entry of an axis is positive
        largest = axes[np.argmax(np.round(np.abs(axes[:, k]), 6)), k]
        axes[:, k] = np.copysign(1.0, largest) * axes[:, k]
    axes[:, 2] = np.cross(axes[:, 0], axes[:, 1])
    return Ellipsoid(np.sqrt(squares), axes)
