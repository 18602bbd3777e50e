"""A body's inertia as a solid ellipsoid of the same mass and moments."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from forearm.spatial import Floats, pseudo_from_inertia
from forearm.values import check_number, frozen_array

ROUNDING = 1e-12  # of the largest: a square below this counts as 0
SWEEPS = 12  # Jacobi sweeps; five suffice for doubles


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

    With J = tr(I)/2 - I the semi-axis along each principal axis is sqrt(5 J / m). Moments that violate the
    triangle inequality (A + B < C) would make one of them imaginary: it is then 0.

    Args:
        mass: mass, kg.
        inertia: tensor (3, 3) about the centre of mass, kg m^2.
    """
    mass = check_number(mass, "ellipsoid, mass (kg)")
    tensor = frozen_array(inertia, (3, 3), "ellipsoid, inertia")
    if mass <= 0.0:
        return None
    values, axes = principal_axes(pseudo_from_inertia(0.5 * (tensor + tensor.T)))
    squares = 5.0 / mass * values
    squares = np.where(squares > ROUNDING * np.abs(squares).max(), squares, 0.0)
    return Ellipsoid(np.sqrt(squares), axes) if squares.any() else None


def principal_axes(J: Floats) -> tuple[Floats, Floats]:
    """The eigenvalues of a symmetric matrix (3, 3), ascending, and a rotation with the eigenvectors as
    columns.

    Jacobi rotations, which give the same result on every machine, even with repeated eigenvalues.
    """
    A, V = J.tolist(), np.eye(3).tolist()
    for _ in range(SWEEPS):
        for p, q in ((0, 1), (0, 2), (1, 2)):
            if abs(A[p][q]) > ROUNDING * ROUNDING * (abs(A[p][p]) + abs(A[q][q])):
                _rotate(A, V, p, q)
    order = sorted(range(3), key=lambda k: A[k][k])
    axes = np.array([[row[k] for k in order] for row in V])
    for k in range(2):  # fixed sign: the largest entry of an axis is positive
        axes[:, k] *= np.copysign(1.0, axes[np.argmax(np.round(np.abs(axes[:, k]), 6)), k])
    axes[:, 2] = np.cross(axes[:, 0], axes[:, 1])
    return np.array([A[k][k] for k in order]), axes + 0.0


def _rotate(A: list[list[float]], V: list[list[float]], p: int, q: int) -> None:
    """Rotate the axes p and q so that A[p][q] becomes 0."""
    ratio = (A[q][q] - A[p][p]) / (2.0 * A[p][q])
    tangent = (1.0 if ratio >= 0.0 else -1.0) / (abs(ratio) + math.sqrt(ratio * ratio + 1.0))
    c = 1.0 / math.sqrt(tangent * tangent + 1.0)
    s = tangent * c
    for row in (*A, *V):
        row[p], row[q] = c * row[p] - s * row[q], s * row[p] + c * row[q]
    for k in range(3):
        A[p][k], A[q][k] = c * A[p][k] - s * A[q][k], s * A[p][k] + c * A[q][k]
    A[p][q] = A[q][p] = 0.0
