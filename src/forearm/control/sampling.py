"""Sampling rate: twenty samples per period of the arm's fastest oscillation. Dhanaraj 1.1."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from forearm.arm.arm import Arm, check_arm
from forearm.errors import InputError
from forearm.kernels.kept import kernel_of
from forearm.spatial import Floats
from forearm.values import as_finite, as_floats, check_number

SAMPLES = 20.0  # per period of the fastest relevant motion


def sampling_period(frequency: float) -> float:
    """Sampling period Dt = 2 pi / (20 w), s, for a natural or cutoff frequency w, rad/s. Dhanaraj 1.1."""
    return 2.0 * math.pi / (SAMPLES * check_number(frequency, "sampling_period, frequency", above=0.0))


def natural_frequencies(arm: Arm, q: ArrayLike, stiffness: ArrayLike | None = None) -> Floats:
    """Natural frequencies of an arm about a configuration, rad/s, ascending: w^2 are the eigenvalues of M^-1
    (K + dg/dq). NaN for unstable modes.

    Args:
        arm: the arm.
        q: joint coordinates (n,).
        stiffness: K that holds the joints, (n,) or one for all, N m/rad (N/m): of the drives, or gains kp of
            a controller; None: gravity is the only restoring force.
    """
    check_arm(arm, "natural_frequencies, arm")
    posture = as_finite(q, (arm.n,), "natural_frequencies, q")
    K = np.zeros(arm.n) if stiffness is None else as_floats(stiffness, "natural_frequencies, stiffness")
    if K.shape not in ((), (arm.n,)) or not np.isfinite(K).all() or (K < 0.0).any():
        raise InputError(
            f"expected {arm.n} numbers of at least 0, got {K.tolist()}.", "natural_frequencies", "stiffness"
        )
    rest = np.zeros(arm.n)
    rigid = kernel_of(arm.rigid())
    slope = rigid.inverse_dynamics_derivatives(posture, rest, rest)[0]
    half = np.linalg.inv(np.linalg.cholesky(kernel_of(arm).inertia_matrix(posture)))
    squares = np.linalg.eigvalsh(
        half @ (0.5 * (slope + slope.T) + np.diag(np.broadcast_to(K, arm.n))) @ half.T
    )
    return np.asarray(np.sqrt(np.where(squares >= 0.0, squares, np.nan)))


def period_for(arm: Arm, stiffness: ArrayLike, postures: ArrayLike) -> float:
    """Sampling period, s, for the highest natural frequency in any of the configurations.

    Args:
        arm: the arm.
        stiffness: that holds the joints, (n,) or one for all, N m/rad (N/m).
        postures: configurations (m, n).
    """
    rows = np.atleast_2d(as_floats(postures, "period_for, postures"))
    fastest = max(
        (float(np.nanmax(natural_frequencies(arm, row, stiffness), initial=0.0)) for row in rows), default=0.0
    )
    if fastest == 0.0:
        raise InputError(
            "no restoring force in these configurations, so there is no natural frequency; pass stiffness.",
            "period_for",
        )
    return sampling_period(fastest)
