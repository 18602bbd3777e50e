"""Denavit-Hartenberg parameters as symbols, for serial arms of revolute joints in one convention.

Both conventions result in the same chain: segment i rotates by q_i + theta_i, and the step to the next is d_i
along z, a along x, a twist alpha about x. The link's frame is after d (modified) or after all three
(standard).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from forearm.arm.arm import Arm
from forearm.arm.joint import DH
from forearm.model import Array, Model, Scalar, Z
from forearm.portable import cos_sin, matmul
from forearm.reduction.chain import NO_TURN, Chain, Pair, Segment, moved
from forearm.reduction.frames import snapped_pair
from forearm.reduction.inertial import Value, gravity_of, link_moments
from forearm.symbols.scalars import objects

GEOMETRY = ("a", "alpha", "d", "theta")


def geometry_values(arm: Arm) -> dict[str, float]:
    """The geometric parameters by name, such as "joint2.alpha";
    empty if the arm is not a single such table.
    """
    placements = [joint.placement for joint in arm.tree]
    tables = {p.convention for p in placements if isinstance(p, DH)}
    plain = all(j.kind == "revolute" and j.mimic is None and isinstance(j.placement, DH) for j in arm.tree)
    if not plain or not arm.is_serial or len(tables) != 1:
        return {}
    return {f"{j.name}.{name}": float(getattr(j.placement, name)) for j in arm.tree for name in GEOMETRY}


def chain_of_table(model: Model, arm: Arm, value: Value) -> Chain:
    """The chain of an arm by its Denavit-Hartenberg table, with other values for the chosen parameters."""
    segments = []
    own = []
    step, twist = np.zeros(3, dtype=object), NO_TURN
    for i, joint in enumerate(arm.tree):
        a, alpha, d, theta = _row(arm, i, value)
        if _modified(arm):
            before, turn, frame = (step + objects([a, 0.0, 0.0]), alpha, _pose(NO_TURN, (0.0, 0.0, d)))
            step = objects([0.0, 0.0, d])
        else:
            before, turn, frame = step, twist, _pose(alpha, (a, 0.0, d))
            step, twist = objects([a, 0.0, d]), alpha
        m, h, J = moved(*link_moments(arm.link(joint.child), value), frame[:3, :3], frame[:3, 3])
        segments.append(Segment(i - 1, True, NO_TURN, turn, before, Z, theta, m, h, J))
        own.append(frame)
    return Chain(model, tuple(segments), gravity_of(arm, value), np.eye(3), tuple(own))


def model_of_table(model: Model, arm: Arm, value: Value) -> Model:
    """The model with other values for the chosen geometric parameters."""
    bodies = list(model.bodies)
    for i in range(len(bodies)):
        a, alpha, d, theta = _row(arm, i, value)
        about_z = _turn_z(_pair(theta))
        along = _pose(alpha, (a, 0.0, 0.0))
        if _modified(arm):
            Rb, pb = matmul(along[:3, :3], about_z), along[:3, 3] + along[:3, 2] * d
            bodies[i] = replace(bodies[i], Rb=Rb, pb=pb)
        else:
            p = objects([a, 0.0, d])
            bodies[i] = replace(bodies[i], Rb=about_z, pb=np.zeros(3), Ra=along[:3, :3], pa=p)
    return replace(model, bodies=tuple(bodies))


def _modified(arm: Arm) -> bool:
    placement = arm.tree[0].placement
    return isinstance(placement, DH) and placement.convention == "modified"


def _row(arm: Arm, i: int, value: Value) -> tuple[Scalar, Pair, Scalar, Scalar]:
    joint = arm.tree[i]
    a, alpha, d, theta = (
        value(f"{joint.name}.{name}", float(getattr(joint.placement, name))) for name in GEOMETRY
    )
    return a, _pair(alpha), d, theta


def _pair(angle: Scalar) -> Pair:
    if isinstance(angle, float):
        return snapped_pair(*cos_sin(angle))
    return angle.cos(), angle.sin()


def _turn_z(pair: Pair) -> Array:
    c, s = pair
    return objects([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def _pose(alpha: Pair, p: tuple[Scalar, ...]) -> Array:
    """A twist about x and a position."""
    c, s = alpha
    rows = [[1.0, 0.0, 0.0, p[0]], [0.0, c, -s, p[1]], [0.0, s, c, p[2]], [0.0, 0.0, 0.0, 1.0]]
    return objects(rows)
