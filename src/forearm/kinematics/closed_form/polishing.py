"""Branches made exact by Newton's steps on the arm as it is: how far postures are from a pose,
and steps nearer.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from forearm.arm.arm import Arm
from forearm.kinematics.closed_form.evaluated import hand_poses
from forearm.kinematics.nearby import newton_rows
from forearm.kinematics.newton import pose_error

Floats = NDArray[np.float64]

# A branch is a solution when the hand is there to this (m, rad).
REACHED = 1e-9
# Branches farther off than this do not exist; nearer ones are polished.
NEARLY = 1e-2
# Errors that need no polishing.
FINE = 1e-12


def errors_at(arm: Arm, q: Floats, T: Floats) -> Floats:
    """How far the hand at q (B, n) is from T (B, 4, 4): the larger of the distance and the angle, (B,), or
    the distance if n = 3; infinite where they are not numbers.
    """
    at, wanted = np.moveaxis(hand_poses(arm, q), 0, -1), np.moveaxis(T, 0, -1)
    _, squares = pose_error(list(wanted), list(at), attitude=arm.n != 3)
    error: Floats = np.nan_to_num(np.sqrt(np.max(squares, axis=0)), nan=np.inf)
    return error


def polished(arm: Arm, q: Floats, T: Floats, nearly: float = NEARLY) -> tuple[Floats, Floats]:
    """Postures (B, n) after Newton's steps as long as they make them better, and their errors (B,).

    Most are right to rounding as they are.
    """
    q, error = q.copy(), errors_at(arm, q, T)
    rows = np.flatnonzero((error > FINE) & (error < nearly))
    if rows.size:
        q[rows], error[rows] = newton_rows(arm, T[rows], q[rows], arm.n != 3)
    return q, error
