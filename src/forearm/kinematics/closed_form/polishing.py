"""Branches made exact by Newton's method on the arm as it is:
how far postures are from a pose, and steps nearer.

For branches of arms with as many joints as the hand has freedoms, by the thousand and mostly right to
rounding before the first step, where a step that does not help is given up. `kinematics.newton` is for any
arm and from postures farther off.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from forearm.arm.arm import Arm
from forearm.kinematics.closed_form.evaluated import hand_jacobian, hand_poses
from forearm.kinematics.newton import way_between

Floats = NDArray[np.float64]

# A branch is a solution when the hand is there to this (m, rad).
REACHED = 1e-9
# Branches farther off than this do not exist; nearer ones are polished.
NEARLY = 1e-2
# Errors that need no polishing, and those that rounding may leave near singular postures.
FINE = 1e-12
ROUNDED = 1e-11
STEPS = 20
# Damping of a Newton step, relative to |J|^2: what keeps it short at singular postures,
# and by how much it grows.
DAMPING = 1e-14
STIFFER = 30.0


def off_by(arm: Arm, q: Floats, T: Floats) -> Floats:
    """What moves the hand from where it is at q (B, n) to T (B, 4, 4): m and rad in base axes,
    (B, 6); (B, 3) if n = 3.
    """
    return way_between(hand_poses(arm, q), T, attitude=arm.n != 3)


def error_of(off: Floats) -> Floats:
    """The larger of the distance and the angle, (B,); infinite where they are not numbers."""
    distance, angle = np.linalg.norm(off[:, :3], axis=-1), np.linalg.norm(off[:, 3:], axis=-1)
    error: Floats = np.nan_to_num(np.maximum(distance, angle), nan=np.inf)
    return error


def polished(
    arm: Arm, q: Floats, T: Floats, nearly: float = NEARLY, steps: int = STEPS
) -> tuple[Floats, Floats]:
    """Postures (B, n) after Newton steps as long as they make them better, and their errors (B,).

    A step that does not is tried again shorter: dq = J^T (J J^T + damping)^-1 off.
    """
    q = q.copy()
    off = off_by(arm, q, T)
    error = error_of(off)
    damping = np.full(len(q), DAMPING)
    active = np.flatnonzero((error > FINE) & (error < nearly))
    for _ in range(steps):
        if not active.size:
            break
        J = hand_jacobian(arm, q[active])
        JT = np.swapaxes(J, -1, -2)
        square = J @ JT
        ridge = damping[active] * np.trace(square, axis1=-2, axis2=-1)
        step = JT @ np.linalg.solve(
            square + ridge[:, None, None] * np.eye(J.shape[-2]), off[active][..., None]
        )
        tried = q[active] + step[..., 0]
        off_tried = off_by(arm, tried, T[active])
        error_tried = error_of(off_tried)
        better = error_tried < error[active]
        kept = active[better]
        q[kept], off[kept], error[kept] = tried[better], off_tried[better], error_tried[better]
        damping[active] = np.where(better, DAMPING, damping[active] * STIFFER)
        # What is within rounding and does not get better is as good as it gets.
        active = active[
            np.where(better, error[active] > FINE, (error[active] > ROUNDED) & (damping[active] < 1.0))
        ]
    return q, error
