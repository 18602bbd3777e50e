"""The fit written out once more, all rows at a time: reference regressor, columns of drives by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from forearm import Arm
from forearm.dynamics import regressor
from forearm.reduction.base import base_parameters

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class DenseFit:
    """Least squares of b = A x: values, covariance by the noise of joints, residual, leverages."""

    names: tuple[str, ...]
    values: Floats
    covariance: Floats
    residual: Floats
    leverages: Floats
    rank: int


def dense_columns(arm: Arm, log: Mapping[str, Floats], names: Sequence[str], side: str = "motor") -> Floats:
    """The rows (T, n, p) of unknowns by name, for viscous and Coulomb friction; no gears that lose."""
    base = base_parameters(arm)
    q, qd, qdd = (log[x] for x in ("q", "qd", "qdd"))
    Y = regressor(arm.rigid(), q, qd, qdd)[..., list(base.columns)]
    A = np.zeros((*q.shape, len(names)))
    place = {joint.name: k for k, joint in enumerate(arm.joints)}
    for p, name in enumerate(names):
        if name in base.names:
            A[..., p] = Y[..., base.names.index(name)]
            continue
        joint, _, what = name.partition(".")
        k = place[joint]
        motor, friction = arm.joints[k].motor, arm.joints[k].friction
        N = abs(motor.gear_ratio) if motor is not None else 1.0
        ratio = N if friction is not None and friction.side == "motor" else 1.0
        here = {
            "friction.viscous": ratio**2 * qd[:, k],
            "friction.coulomb.positive": ratio * (qd[:, k] > 0.0),
            "friction.coulomb.negative": ratio * (qd[:, k] < 0.0),
            "motor.rotor_inertia": N**2 * qdd[:, k] if side == "motor" else 0.0 * qdd[:, k],
            "offset": np.ones(len(q)),
        }
        A[:, k, p] = here[what]
    return A


def dense_fit(
    arm: Arm,
    log: Mapping[str, Floats],
    names: Sequence[str],
    side: str = "motor",
    sigma: Floats | None = None,
) -> DenseFit:
    """Least squares over all joints and samples, rows divided by sigma (n,) where it is given."""
    weight = np.ones(arm.n) if sigma is None else 1.0 / sigma
    A = (dense_columns(arm, log, names, side) * weight[:, None]).reshape(-1, len(names))
    b = (log["tau"] * weight).ravel()
    size = np.linalg.norm(A, axis=0)
    U, s, Vt = np.linalg.svd(A / size, full_matrices=False)
    rank = int((s > 1e-10 * s[0]).sum())
    x = (Vt.T / s) @ (U.T @ b)
    residual = (b - (A / size) @ x).reshape(-1, arm.n)
    leverages = np.sum(U**2, axis=1).reshape(-1, arm.n)
    # joints differ in their noise, and each loses as many degrees of freedom as its rows have leverage
    variance = np.sum(residual**2, axis=0) / (len(residual) - leverages.sum(axis=0))
    inverse = (Vt.T / s) @ U.T / size[:, None]
    covariance = (inverse * np.tile(variance, len(residual))) @ inverse.T
    return DenseFit(tuple(names), x / size, covariance, residual, leverages, rank)
