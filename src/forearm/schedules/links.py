"""Serial arms as the subtasks see them: links in frames whose z axis is the joint.

Frames are those of Dhanaraj 4.3.1 where twists are right angles. Any other rotation between two joints is a
turn about z, absorbed by the frame of the link before, a twist about x, and a turn about z, added to the
joint's angle.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cached_property

import numpy as np

from forearm.arm.arm import Arm
from forearm.errors import ModelError
from forearm.model import Array, Model, RigidBody, Scalar, Vector, cos_sin, model_of, turn_z
from forearm.values import frozen

# What rotations leave where 0 or 1 should stand: lengths relative to the arm's largest,
# tensors to their own largest entry.
ROUNDING = 1e-14


@frozen
class SubtaskLink:
    """One link in a frame whose z axis is its joint. Dhanaraj 4.3.1.

    Attributes:
        revolute: whether the joint turns.
        axes: rotates vectors from the joint's frame, before its own rotation about z, into the frame of the
            link before: entries 0, 1 and -1, or a turn about x.
        angle: added to q of a revolute joint; the constant rotation about z of a prismatic one, rad.
        p: from the origin of the link before to this one's, in that link's frame, at q = 0, m.
        m: mass, kg.
        s: centre of mass, m.
        I: diagonal of the inertia tensor about the centre of mass, kg m^2.
        products: its other entries Ixy, Ixz, Iyz, kg m^2.
        roll: rotation of the frame about z against the joint's own, which makes the next twist one about x,
        rad.
    """

    revolute: bool
    axes: Array
    angle: float
    p: Array
    m: float
    s: Array
    I: Array  # noqa: E741
    products: Array
    roll: float = 0.0

    @cached_property
    def is_square(self) -> bool:
        """Whether `axes` only rename axes: the twist is a right angle."""
        return _is_whole(self.axes)

    @cached_property
    def is_renamed(self) -> bool:
        """Whether the frame is that of the link before under other names, in all configurations."""
        return not self.revolute and self.is_square and self.angle == 0.0

    @cached_property
    def is_diagonal(self) -> bool:
        """Whether the products of inertia are 0."""
        return not self.products.any()


@frozen
class SubtaskChain:
    """The links from the base outwards, and gravity g in base axes, m/s^2."""

    name: str
    links: tuple[SubtaskLink, ...]
    g: Array

    def __len__(self) -> int:
        return len(self.links)


@frozen
class JointState:
    """A joint's values before any subtask: cosine and sine, rate, acceleration,
    and p with the distance that the joint has slid.
    """

    c: Scalar
    s: Scalar
    qd: Scalar
    qdd: Scalar
    p: tuple[Scalar, Scalar, Scalar]


def chain_of(arm: Arm) -> SubtaskChain:
    """The links of a serial arm without its drives; ModelError for trees and mimicking joints."""
    model = model_of(arm)
    if not model.is_serial:
        raise ModelError(
            f"expected a serial arm, got {model.name!r}, a tree or an arm with mimicking "
            "joints; schedule its generated code instead (without --subtasks, or "
            "forearm.schedules.automatic).",
            "subtasks",
        )
    size = max((float(np.abs(v).max()) for b in model.bodies for v in (b.pb, b.pa, b.r)), default=0.0)
    links: list[SubtaskLink] = []
    g = model.g
    for body, axes, p in zip(model.bodies, *_between(model), strict=True):
        found = _right_angles(axes, body.revolute)
        if found is None:
            roll, twist, angle = _rolled(axes)
            found, p, g = (twist, angle), _turned_back(roll, p), g if links else _turned_back(roll, g)
            links[-1:] = [_roll(link, roll) for link in links[-1:]]
        links.append(_link(body, *found, _cleared(p, size), size))
    return SubtaskChain(arm.name, tuple(links), g)


def joints_at(chain: SubtaskChain, q: Vector, qd: Vector, qdd: Vector) -> list[JointState]:
    """The joints at a state, over any scalar that has a cosine and a sine."""
    made = []
    for link, at, rate, acceleration in zip(chain.links, q, qd, qdd, strict=True):
        p = link.p.tolist()
        if link.revolute:
            c, s = cos_sin(at + link.angle if link.angle else at)
        else:
            c, s = math.cos(link.angle), math.sin(link.angle)
            for k, share in along(link):
                p[k] = p[k] + share * at
        made.append(JointState(c, s, rate, acceleration, (p[0], p[1], p[2])))
    return made


def along(link: SubtaskLink) -> list[tuple[int, float]]:
    """The axes of the link before along which the joint moves, each with its direction cosine."""
    return [(k, share) for k, share in enumerate(link.axes[:, 2].tolist()) if share != 0.0]


def _between(model: Model) -> tuple[list[Array], list[Array]]:
    """For each joint its rotation and position relative to the joint before, at q = 0."""
    rotations, ways = [], []
    R, p = np.eye(3), np.zeros(3)  # the constant part behind the joint before
    for body in model.bodies:
        rotations.append(_snapped(R @ body.Rb))
        ways.append(R @ body.pb + p)
        R, p = body.Ra, body.pa
    return rotations, ways


def _link(body: RigidBody, axes: Array, angle: float, p: Array, size: float) -> SubtaskLink:
    tensor = body.Ra @ body.I @ body.Ra.T
    s = _cleared(body.Ra @ body.r + body.pa, size)
    return SubtaskLink(
        body.revolute, axes, angle, p, float(body.m), s, np.diag(tensor).copy(), _products(tensor)
    )


def _products(tensor: Array) -> Array:
    """Ixy, Ixz, Iyz; 0 where only rounding is left."""
    products = tensor[(0, 0, 1), (1, 2, 2)]
    return _cleared(products, max(float(np.abs(np.diag(tensor)).max()), 1e-300))


def _right_angles(R: Array, revolute: bool) -> tuple[Array, float] | None:
    """R = axes . turn_z(angle), with axes of entries 0, 1 and -1; None if there are none."""
    if _is_whole(R):
        return R, 0.0
    k = next((k for k in range(3) if abs(R[k, 2]) < ROUNDING), None)
    if revolute and k is not None:
        angle = math.atan2(-R[k, 1], R[k, 0])
        axes = _snapped(R @ turn_z(-angle))
        if _is_whole(axes):
            return axes, angle
    return None


def _rolled(R: Array) -> tuple[float, Array, float]:
    """R = turn_z(roll) . turn_x(twist) . turn_z(angle): roll, turn_x(twist) and angle."""
    sine = math.hypot(R[0, 2], R[1, 2])
    if sine < ROUNDING:  # a joint parallel to the one before
        flip = np.diag([1.0, R[2, 2], R[2, 2]])
        return 0.0, np.round(flip), math.atan2(-R[0, 1], R[0, 0])
    roll = math.atan2(R[0, 2], -R[1, 2])
    twist = np.array([[1.0, 0.0, 0.0], [0.0, R[2, 2], -sine], [0.0, sine, R[2, 2]]])
    return roll, _snapped(twist), math.atan2(R[2, 0], R[2, 1])


def _roll(link: SubtaskLink, roll: float) -> SubtaskLink:
    """The link in a frame that is rolled about its joint."""
    xy, xz, yz = link.products
    tensor = np.diag(link.I) + np.array([[0.0, xy, xz], [xy, 0.0, yz], [xz, yz, 0.0]])
    R = _snapped(turn_z(roll))
    tensor = R.T @ tensor @ R
    return replace(
        link,
        angle=link.angle + roll,
        s=_turned_back(roll, link.s),
        I=np.diag(tensor).copy(),
        products=_products(tensor),
        roll=roll,
    )


def _turned_back(roll: float, v: Array) -> Array:
    return _snapped(turn_z(roll)).T @ v


def _is_whole(R: Array) -> bool:
    return bool(np.isin(R, (-1.0, 0.0, 1.0)).all())


def _snapped(R: Array) -> Array:
    snapped = R.copy()
    for whole in (-1.0, 0.0, 1.0):
        snapped[np.abs(snapped - whole) < ROUNDING] = whole
    return snapped


def _cleared(v: Array, size: float) -> Array:
    return np.where(np.abs(v) <= ROUNDING * size, 0.0, v)
