"""Newton refinement of branches on the exact arm: errors of configurations, and improving steps."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from forearm.arm.arm import Arm
from forearm.kinematics.closed_form.evaluated import hand_poses
from forearm.kinematics.nearby import newton_rows
from forearm.kinematics.newton import pose_error

Floats = NDArray[np.float64]

# A branch is a solution if the hand is within this of the pose (m, rad).
REACHED = 1e-9
# Branches farther off than this do not exist; nearer ones are polished.
NEARLY = 1e-2
# Errors that need no polishing.
FINE = 1e-12


def errors_at(arm: Arm, q: Floats, T: Floats) -> Floats:
    """Error of the hand at q (B, n) from T (B, 4, 4): the larger of distance and angle, (B,), or the distance
    if n = 3; infinite for NaN.
    """
    at, wanted = np.moveaxis(hand_poses(arm, q), 0, -1), np.moveaxis(T, 0, -1)
    _, squares = pose_error(list(wanted), list(at), attitude=arm.n != 3)
    error: Floats = np.nan_to_num(np.sqrt(np.max(squares, axis=0)), nan=np.inf)
    return error


def polished(arm: Arm, q: Floats, T: Floats, nearly: float = NEARLY) -> tuple[Floats, Floats]:
    """Configurations (B, n) after Newton's steps as long as they improve, and their errors (B,).

    Most are exact to rounding without any step.
    """
    q, error = q.copy(), errors_at(arm, q, T)
    rows = np.flatnonzero((error > FINE) & (error < nearly))
    if rows.size:
        q[rows], error[rows] = newton_rows(arm, T[rows], q[rows], arm.n != 3)
    return q, error
