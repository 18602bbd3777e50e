"""The hand's pose and Jacobian, over any scalar, in the frames of a chain. Waters II.

For chains as built by `frames`: regrouping preserves torques, but does not rotate symmetric bodies.
"""

from __future__ import annotations

import numpy as np

from forearm.model import Array, Vector, cross
from forearm.portable import matmul
from forearm.reduction.chain import Chain, Pair, levers, turns
from forearm.symbols.scalars import objects


def frames_on_path(chain: Chain, q: Vector) -> list[tuple[int, Array, Array]]:
    """From the base to the segment that carries the hand: its index, axes (columns) and origin,
    in the chain's base axes.
    """
    at, l = turns(chain, q), levers(chain, q)  # noqa: E741
    path: list[int] = []
    i = chain.model.hand
    while i >= 0:
        path.insert(0, i)
        i = chain.segments[i].parent
    R, p = np.eye(3, dtype=object), np.zeros(3, dtype=object)
    made = []
    for i in path:
        s = chain.segments[i]
        p = p + R @ l[i]
        R = _then_about_z(_then_about_x(_then_about_z(R, s.phi), s.alpha), at[i].pair)
        made.append((i, R, p))
    return made


def hand_pose(chain: Chain, q: Vector) -> Array:
    """Pose of the hand in the base frame, (4, 4)."""
    R, p = _hand(chain, frames_on_path(chain, q))
    T = np.zeros((4, 4), dtype=object)
    T[:3, :3], T[:3, 3], T[3, 3] = chain.R_base @ R, chain.R_base @ p, 1.0
    return T


def jacobian(chain: Chain, q: Vector) -> Array:
    """(linear velocity of the hand's origin; angular velocity) = J rates, base axes: (6, joints)."""
    frames = frames_on_path(chain, q)
    _, hand = _hand(chain, frames)
    J = np.zeros((6, len(chain.segments)), dtype=object)
    for i, R, p in frames:
        s = chain.segments[i]
        z = R @ s.axis
        J[:3, i] = chain.R_base @ (cross(z, hand - p) if s.revolute else z)
        J[3:, i] = chain.R_base @ z if s.revolute else np.zeros(3)
    return J


def _hand(chain: Chain, frames: list[tuple[int, Array, Array]]) -> tuple[Array, Array]:
    model = chain.model
    if not frames:  # the hand is on the base: undo the rotation of the chain's base frame
        return matmul(chain.R_base.T, model.R_hand), matmul(chain.R_base.T, model.p_hand)
    i, R, p = frames[-1]
    own = chain.own[i]
    if own.dtype != object:
        own = np.where(np.abs(own) < 1e-15, 0.0, own)
    R_hand, p_hand = matmul(own[:3, :3], model.R_hand), matmul(own[:3, :3], model.p_hand) + own[:3, 3]
    return R @ R_hand, p + R @ p_hand


def _then_about_z(R: Array, turn: Pair) -> Array:
    c, s = turn
    x, y, z = R.T
    return objects([x * c + y * s, y * c - x * s, z]).T


def _then_about_x(R: Array, turn: Pair) -> Array:
    c, s = turn
    x, y, z = R.T
    return objects([x, y * c + z * s, z * c - y * s]).T
