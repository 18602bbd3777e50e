"""Singular configurations: where the hand cannot move in every direction, and the joints that can move while
it stays fixed.
"""

from __future__ import annotations

import numpy as np

from forearm.arm.arm import Arm
from forearm.kinematics.closed_form.polishing import polished
from forearm.kinematics.closed_form.solver import REACHED, arm_length
from forearm.kinematics.jacobian import jacobian
from forearm.spatial import Flags, Floats

# Singular: the smallest singular value of the Jacobian, with lengths in arm lengths, is below this.
SINGULAR = 1e-6
# Two branches coincide if no joint differs by more (rad, m).
SAME = 1e-6
# Two singular ones coincide if they differ by no more: a double root of an equation met to REACHED is
# known to its square root.
DOUBLE_ROOT = 10.0 * REACHED**0.5
# Joint displacement used to test whether the hand can be brought back without moving them back,
# and the threshold of motion.
TRY = 0.3
MOVED = 1e-3


def scaled_jacobian(arm: Arm, q: Floats) -> Floats:
    """The Jacobian (B, 6 or 3, n) with lengths in units of the arm's length."""
    J = jacobian(arm, q)[..., : arm.n, :]
    J[..., :3, :] /= arm_length(arm)
    return J


def is_singular(arm: Arm, q: Floats) -> Flags:
    """Whether each configuration (B, n) is singular."""
    J = scaled_jacobian(arm, q)
    size = np.linalg.norm(J, axis=(-2, -1))
    # The product of the singular values bounds the smallest: most configurations need no decomposition.
    suspects = np.flatnonzero(np.abs(np.linalg.det(J)) <= SINGULAR * size ** (J.shape[-1] - 1))
    made = np.zeros(len(q), dtype=bool)
    made[suspects] = np.linalg.svd(J[suspects], compute_uv=False)[:, -1] < SINGULAR
    return made


def free_joints(arm: Arm, q: Floats, T: Floats) -> Flags:
    """Joints (B, n) of singular configurations that can move while the hand stays at T; none if two branches
    merely meet.
    """
    weak = np.linalg.svd(scaled_jacobian(arm, q))[2][:, -1, :]
    back, error = polished(arm, q + TRY * weak, T, nearly=np.inf)
    moved = np.abs(back - q)
    family = (error < REACHED) & (moved.max(axis=-1) > TRY / 4.0)
    free: Flags = family[:, None] & (moved > MOVED)
    return free
