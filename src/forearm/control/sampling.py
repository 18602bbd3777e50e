"""How often to sample: twenty times as fast as the arm swings. Dhanaraj 1.1."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from forearm.arm.arm import Arm, check_arm
from forearm.errors import InputError
from forearm.kernels.kept import kernel_of
from forearm.values import as_finite, as_floats, check_number

Floats = NDArray[np.float64]
SAMPLES = 20.0  # a period of the fastest motion that matters


def sampling_period(frequency: float) -> float:
    """Dt = 2 pi / (20 w): s between samples for a natural or cutoff frequency w, rad/s. Dhanaraj 1.1."""
    return 2.0 * math.pi / (SAMPLES * check_number(frequency, "sampling_period, frequency", above=0.0))


def natural_frequencies(arm: Arm, q: ArrayLike, stiffness: ArrayLike | None = None) -> Floats:
    """How fast an arm swings about a posture, rad/s, rising: w^2 are the eigenvalues of M^-1 (K + dg/dq). NaN
    for motions that it does not come back from.

    Args:
        arm: the arm.
        q: joint coordinates (n,).
        stiffness: K that holds the joints, (n,) or one for all, N m/rad (N/m): of the drives, or gains kp of
            a controller; None: gravity alone brings the arm back.
    """
    check_arm(arm, "natural_frequencies, arm")
    posture = as_finite(q, (arm.n,), "natural_frequencies, q")
    K = np.zeros(arm.n) if stiffness is None else as_floats(stiffness, "natural_frequencies, stiffness")
    if K.shape not in ((), (arm.n,)) or not np.isfinite(K).all() or (K < 0.0).any():
        raise InputError(
            f"natural_frequencies, stiffness: expected {arm.n} numbers of at least 0, got {K.tolist()}."
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
    """The sampling period, s, for the fastest natural frequency in any of the postures.

    Args:
        arm: the arm.
        stiffness: that holds the joints, (n,) or one for all, N m/rad (N/m).
        postures: joint coordinates (m, n).
    """
    rows = np.atleast_2d(as_floats(postures, "period_for, postures"))
    fastest = max(
        (float(np.nanmax(natural_frequencies(arm, row, stiffness), initial=0.0)) for row in rows), default=0.0
    )
    if fastest == 0.0:
        raise InputError(
            "period_for: nothing brings the arm back in these postures, so that it has no "
            "frequency; give stiffness."
        )
    return sampling_period(fastest)
