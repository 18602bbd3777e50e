"""The arms that the subtasks are for: serial, twists of right angles, diagonal tensors;
their links in axes of the joints.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from forearm.arm.arm import Arm
from forearm.errors import ModelError
from forearm.model import Array, RigidBody, Scalar, Vector, cos_sin, model_of, refuse_tree

# What turning leaves where 0 or 1 should stand: lengths relative to the arm's largest,
# tensors to their own largest entry.
ROUNDING = 1e-14
WHAT = "dividing the torques into subtasks of three operations"


@dataclass(frozen=True, eq=False)
class SubtaskLink:
    """One link in axes whose z is its joint: p leads to it from the link before, in
    that one's axes, at q = 0.

    `axes` turns vectors of the joint's axes, before its own turn about z, into those of the link before; its
    entries are 0, 1 and -1. `angle` is added to q. s is the centre of mass, I the diagonal of the tensor
    about it. Dhanaraj 4.3.1.
    """

    revolute: bool
    axes: Array
    angle: float
    p: Array
    m: float
    s: Array
    I: Array  # noqa: E741


@dataclass(frozen=True, eq=False)
class SubtaskChain:
    """The links from the base on, and free fall in base axes."""

    name: str
    links: tuple[SubtaskLink, ...]
    g: Array

    def __len__(self) -> int:
        return len(self.links)


@dataclass(frozen=True, eq=False)
class JointState:
    """What is known of a joint before any subtask: cosine and sine, rate, acceleration,
    and p with the way that it slid.
    """

    c: Scalar
    s: Scalar
    qd: Scalar
    qdd: Scalar
    p: tuple[Scalar, Scalar, Scalar]


def chain_of(arm: Arm) -> SubtaskChain:
    """The links of an arm, its drives left out, or an error that names the first that the
    43 subtasks are not for.
    """
    model = model_of(arm)
    refuse_tree(model, WHAT)
    size = max((float(np.abs(v).max()) for b in model.bodies for v in (b.pb, b.pa, b.r)), default=0.0)
    links = []
    # the constant part behind the joint before: frames are moved to where their joints are
    R, p = np.eye(3), np.zeros(3)
    for name, body in zip((j.name for j in arm.joints), model.bodies, strict=True):
        axes, angle = _right_angles(_snapped(R @ body.Rb), body.revolute, f"{arm.name}, {name}")
        links.append(_link(body, axes, angle, _cleared(R @ body.pb + p, size), size, f"{arm.name}, {name}"))
        R, p = body.Ra, body.pa
    return SubtaskChain(arm.name, tuple(links), model.g)


def joints_at(chain: SubtaskChain, q: Vector, qd: Vector, qdd: Vector) -> list[JointState]:
    """The joints at a state, over any scalar that has a cosine and a sine."""
    made = []
    for link, at, rate, acceleration in zip(chain.links, q, qd, qdd, strict=True):
        p = link.p.tolist()
        if link.revolute:
            c, s = cos_sin(at + link.angle if link.angle else at)
        else:
            c, s = 1.0, 0.0
            k, sign = along(link)
            p[k] = p[k] + sign * at
        made.append(JointState(c, s, rate, acceleration, (p[0], p[1], p[2])))
    return made


def along(link: SubtaskLink) -> tuple[int, float]:
    """Which axis of the link before lies along the joint, and with what sign."""
    k = int(np.flatnonzero(link.axes[:, 2])[0])
    return k, float(link.axes[k, 2])


def _link(body: RigidBody, axes: Array, angle: float, p: Array, size: float, where: str) -> SubtaskLink:
    tensor = body.Ra @ body.I @ body.Ra.T
    diagonal = np.diag(tensor).copy()
    if np.abs(tensor - np.diag(diagonal)).max() > ROUNDING * max(np.abs(diagonal).max(), 1e-300):
        raise ModelError(
            f"{where}: its link has products of inertia, and {WHAT} knows diagonal tensors only (Dhanaraj "
            "4.3.1); leave them out where they are small, or take a task graph of the generated code."
        )
    return SubtaskLink(
        body.revolute, axes, angle, p, float(body.m), _cleared(body.Ra @ body.r + body.pa, size), diagonal
    )


def _right_angles(R: Array, revolute: bool, where: str) -> tuple[Array, float]:
    """R = axes . turn_z(angle), with axes of entries 0, 1 and -1."""
    if _is_whole(R):
        return R, 0.0
    k = next((k for k in range(3) if abs(R[k, 2]) < ROUNDING), None)
    if revolute and k is not None:
        angle = math.atan2(-R[k, 1], R[k, 0])
        c, s = math.cos(angle), math.sin(angle)
        axes = _snapped(R @ np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]]))
        if _is_whole(axes):
            return axes, angle
    raise ModelError(
        f"{where}: its axes and those of the link before are not at right angles, and {WHAT} needs twists "
        "of 0, 90 or -90 degrees, for a sliding joint every angle so (Dhanaraj 4.3.1); take a task graph "
        "of the generated code."
    )


def _is_whole(R: Array) -> bool:
    return bool(np.isin(R, (-1.0, 0.0, 1.0)).all())


def _snapped(R: Array) -> Array:
    snapped = R.copy()
    for whole in (-1.0, 0.0, 1.0):
        snapped[np.abs(snapped - whole) < ROUNDING] = whole
    return snapped


def _cleared(v: Array, size: float) -> Array:
    return np.where(np.abs(v) <= ROUNDING * size, 0.0, v)
