"""Standard deviations of the values in an arm file, from the covariance of parameters, to first order."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from forearm.arm.arm import Arm
from forearm.errors import InputError
from forearm.identification.new_arm import main_link
from forearm.identification.payload.regressor import moved, tensor_of
from forearm.spatial import TENSOR, Floats, inverse_pose
from forearm.values import as_shape

AXES = "xyz"
NEGLIGIBLE = 1e-9  # of a Jacobian's largest entry, in the units of its parameters


def deviations_of(arm: Arm, covariance: ArrayLike, names: Sequence[str] = ()) -> dict[str, float]:
    """Standard deviations of masses, centres of mass, inertias and drive parameters, by name.

    "link2.mass", "link2.com.x", "link2.inertia.xx" (about the centre of mass, axes of the link) of the main
    link of each moving body; links fixed to it are assumed known. Then the other unknowns under their own
    names. Infinite if a value depends on an undetermined parameter.

    Args:
        arm: the arm with the values that the covariance belongs to.
        covariance: of the ten parameters per moving body, then of the unknowns in `names` (P, P).
        names: of the unknowns after the inertial parameters, such as "joint1.friction.viscous".
    """
    bodies = arm.moving.bodies
    count = 10 * len(bodies)
    P = count + len(names)
    C = as_shape(covariance, (P, P), "deviations_of, covariance")
    known = np.diag(C)
    if np.isnan(C).any() or (known < 0.0).any():
        raise InputError("expected no NaN, and a non-negative diagonal.", "deviations_of", "covariance")
    made: dict[str, float] = {}
    for index in range(len(bodies)):
        ten = slice(10 * index, 10 * index + 10)
        link = main_link(arm, index)
        labels = [f"{link.name}.mass", *(f"{link.name}.com.{a}" for a in AXES)]
        labels += [f"{link.name}.inertia.{entry}" for entry in TENSOR]
        made |= dict(zip(labels, _spread(_jacobian(arm, index), C[ten, ten]), strict=True))
    return made | {name: float(np.sqrt(v)) for name, v in zip(names, known[count:], strict=True)}


def _spread(J: Floats, C: Floats) -> list[float]:
    """sqrt(diag(J C J^T)), infinite if a row of J involves an undetermined parameter."""
    unknown, endless = np.isinf(np.diag(C)), np.isinf(J).any(axis=1)
    inner, J = np.where(unknown[:, None] | unknown[None, :], 0.0, C), np.where(np.isinf(J), 0.0, J)
    variances = np.maximum(np.einsum("ij,jk,ik->i", J, inner, J), 0.0)
    lost = endless | (np.abs(J[:, unknown]) > NEGLIGIBLE).any(axis=1)
    return [float(v) for v in np.where(lost, np.inf, np.sqrt(variances))]


def _jacobian(arm: Arm, index: int) -> Floats:
    """d (mass, com, inertia about it) / d (ten parameters of the body) of its main link (10, 10)."""
    link = main_link(arm, index)
    back = inverse_pose(arm.moving.frames[link.name][1])
    turned = moved(back[:3, :3], back[:3, 3])  # the parameters about the link's own origin
    m, c = link.mass, link.com
    if m == 0.0:
        J = np.full((10, 10), np.inf)
        J[0] = np.eye(10)[0]
        return J
    columns = []
    for unit in np.eye(10):
        dm, dh, about = unit[0], unit[1:4], tensor_of(unit[4:])
        dc = (dh - c * dm) / m
        # of m (c.c - c c^T) = (h.h - h h^T) / m
        crossed = np.outer(dh, c) + np.outer(c, dh) - np.outer(c, c) * dm
        inertia = about - np.trace(crossed) * np.eye(3) + crossed
        columns.append([dm, *dc, *(inertia[place] for place in TENSOR.values())])
    return np.array(columns).T @ turned
