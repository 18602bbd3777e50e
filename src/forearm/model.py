"""The model that every formulation uses, over any scalar: floats or symbols.

Joint i rotates about or translates along z of its joint frame:
T_parent_i(q) = [Rb pb] . motion_z(q) . [Ra pa]. Standard Denavit-Hartenberg has its constant part behind the
motion (Ra, pa), modified Denavit-Hartenberg and URDF before it (Rb, pb).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np

from forearm.arm.arm import Arm
from forearm.errors import ModelError
from forearm.portable import matmul
from forearm.spatial import rotation_from_z
from forearm.spatial import tilde as tilde
from forearm.symbols.scalars import is_zero
from forearm.values import frozen

Array = Any  # NDArray of float64, or of objects that add and multiply
Scalar = Any
Vector = Any  # one scalar a joint: a list or an array
Note = Callable[[str, int, Any], None]

Z = np.array([0.0, 0.0, 1.0])
# Rounding error of sin and cos of right angles, replaced by 0 and 1.
ROUNDING = 1e-15


def symbolic(values: Any) -> Array:
    """Numbers or symbols as an array of objects."""
    return np.array(values, dtype=object)


def cross(a: Array, b: Array) -> Array:
    """The vector product over any scalar."""
    # Python's own floats are faster than NumPy's one by one
    (a0, a1, a2), (b0, b1, b2) = a.tolist(), b.tolist()
    return np.array([a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0])


@frozen
class RigidBody:
    """One moving body: the constant parts of its joint, and mass m, centre r, inertia I
    about r, in its own frame.
    """

    parent: int
    revolute: bool
    Rb: Array
    pb: Array
    Ra: Array
    pa: Array
    m: Scalar
    r: Array
    I: Array  # noqa: E741
    z: Array = field(init=False)  # the joint's axis in the body's frame
    s: Array = field(init=False)  # from the joint's origin to the body's, in the body's frame
    ends_at_joint: bool = field(init=False)  # whether s is 0

    def __post_init__(self) -> None:
        for name, value in (("z", matmul(self.Ra.T, Z)), ("s", matmul(self.Ra.T, self.pa))):
            object.__setattr__(self, name, value)
        object.__setattr__(self, "ends_at_joint", all(is_zero(x) for x in self.s))


@frozen
class Model:
    """Moving bodies, parents first; `g` is free fall in base axes;
    the hand's pose on the body that carries it.

    Body k is moved by freedom `freedom[k]` as multiplier[k] q + offset[k] (1 and 0 unless it mimics another).
    `cross` is the vector product that formulations take; `rotations` has R of each joint where it is given
    and not to be made from the joint's coordinate. Operation counts set both, for other people's conventions.
    """

    name: str
    bodies: tuple[RigidBody, ...]
    g: Array
    hand: int
    R_hand: Array
    p_hand: Array
    n: int
    freedom: tuple[int, ...]
    multiplier: tuple[float, ...]
    offset: tuple[float, ...]
    cross: Callable[[Array, Array], Array] = cross
    rotations: tuple[Array, ...] = ()

    @property
    def is_serial(self) -> bool:
        """Whether each body is on the one before it and every joint is a freedom."""
        return not self.has_followers and all(b.parent == i - 1 for i, b in enumerate(self.bodies))

    @property
    def has_followers(self) -> bool:
        """Whether some joint mimics another, so that there are fewer freedoms than joints."""
        return self.freedom != tuple(range(self.n))

    def rates(self, freedoms: Vector) -> list[Scalar]:
        """One rate, acceleration or step per joint from one per freedom:
        what follows another moves with its multiplier.
        """
        return [freedoms[f] * m for f, m in zip(self.freedom, self.multiplier, strict=True)]

    def coordinates(self, q: Vector) -> list[Scalar]:
        """One coordinate per joint from one per freedom."""
        return [rate + offset for rate, offset in zip(self.rates(q), self.offset, strict=True)]

    def gathered(self, tau: Vector) -> list[Scalar]:
        """Torques at the freedoms from those at the joints: the transpose of how freedoms move joints."""
        made: list[Scalar] = [0.0] * self.n
        for value, f, m in zip(tau, self.freedom, self.multiplier, strict=True):
            made[f] = made[f] + value * m
        return made

    def gathered_matrix(self, M: Array) -> Array:
        """A matrix over the freedoms from one over the joints."""
        if not self.has_followers:
            return M
        made = np.zeros((self.n, self.n), dtype=M.dtype)
        movers = list(zip(self.freedom, self.multiplier, strict=True))
        for j, (f, m) in enumerate(movers):
            for k, (f_k, m_k) in enumerate(movers):
                made[f, f_k] = made[f, f_k] + M[j, k] * (m * m_k)
        return made

    def map(self, number: Callable[[float], Scalar]) -> Model:
        """The same model over another scalar; 0, 1 and -1 are structure and stay what they are."""

        def one(value: Scalar) -> Scalar:
            if not isinstance(value, float):  # a symbol already
                return value
            return float(value) if value in (0.0, 1.0, -1.0) else number(float(value))

        def each(array: Array) -> Array:
            made = np.empty(array.shape, dtype=object)
            for index, value in np.ndenumerate(array):
                made[index] = one(value)
            return made

        bodies = tuple(
            RigidBody(
                b.parent,
                b.revolute,
                each(b.Rb),
                each(b.pb),
                each(b.Ra),
                each(b.pa),
                one(b.m),
                each(b.r),
                each(b.I),
            )
            for b in self.bodies
        )
        return replace(
            self, bodies=bodies, g=each(self.g), R_hand=each(self.R_hand), p_hand=each(self.p_hand)
        )


@frozen
class Base:
    """How the base moves: angular velocity, angular acceleration, linear acceleration, in base
    axes, without gravity.
    """

    w: Array
    wd: Array
    a: Array


@frozen
class Wrench:
    """External force at the hand's origin and moment about it, in hand axes."""

    force: Array
    moment: Array


AT_REST = Base(np.zeros(3), np.zeros(3), np.zeros(3))


@lru_cache(maxsize=64)
def model_of(arm: Arm) -> Model:
    """The model of an arm over floats."""
    index, T_hand = arm.moving.frames[arm.hand.link]
    hand = matmul(T_hand, arm.hand.pose)
    bodies = []
    for body in arm.moving.bodies:
        Q = rotation_from_z(body.axis)
        bodies.append(
            RigidBody(
                parent=body.parent,
                revolute=body.kind == "revolute",
                Rb=_snapped(matmul(body.before[:3, :3], Q)),
                pb=_snapped(body.before[:3, 3]),
                Ra=_snapped(matmul(Q.T, body.after[:3, :3])),
                pa=_snapped(matmul(Q.T, body.after[:3, 3])),
                m=body.mass,
                r=body.com,
                I=body.inertia,
            )
        )
    moving = arm.moving.bodies
    return Model(
        name=arm.name,
        bodies=tuple(bodies),
        g=arm.gravity,
        hand=index,
        R_hand=hand[:3, :3],
        p_hand=hand[:3, 3],
        n=arm.n,
        freedom=tuple(b.freedom for b in moving),
        multiplier=tuple(b.multiplier for b in moving),
        offset=tuple(b.offset for b in moving),
    )


@dataclass(eq=False)
class JointTransform:
    """A joint at its coordinate: R turns the body's axes into the parent's,
    l leads from the parent's origin to the joint.

    `up` takes a vector to the parent's axes, `down` brings it into the body's. Over floats, and where the
    model gives it, they multiply by R; over other scalars they make the elementary turns one after the other,
    which takes fewer operations.
    """

    body: RigidBody
    Rz: Array
    l: Array  # noqa: E741
    R: Array | None

    def up(self, v: Array) -> Array:
        """From the body's axes to the parent's."""
        if self.R is not None:
            return self.R @ v
        return self.body.Rb @ (self.Rz @ (self.body.Ra @ v))

    def down(self, v: Array) -> Array:
        """From the parent's axes to the body's."""
        if self.R is not None:
            return self.R.T @ v
        return self.body.Ra.T @ (self.Rz.T @ (self.body.Rb.T @ v))


def steps(model: Model, q: Vector) -> list[JointTransform]:
    """Every joint of the model at q, the coordinates of its joints (one per body)."""
    made = []
    for body, qi in zip(model.bodies, q, strict=True):
        plain = body.Rb.dtype != object and isinstance(qi, float)
        if body.revolute:
            Rz = turn_z(qi)
            made.append(JointTransform(body, Rz, body.pb, body.Rb @ Rz @ body.Ra if plain else None))
        else:
            made.append(
                JointTransform(
                    body, np.eye(3), body.pb + body.Rb @ Z * qi, body.Rb @ body.Ra if plain else None
                )
            )
    for step, R in zip(made, model.rotations, strict=False):
        step.R = R
    return made


def turn_z(q: Scalar) -> Array:
    """The turn about z by q."""
    c, s = cos_sin(q)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def cos_sin(q: Scalar) -> tuple[Scalar, Scalar]:
    """Cosine and sine of a float or of a scalar that brings its own."""
    if isinstance(q, float):
        return math.cos(q), math.sin(q)
    return q.cos(), q.sin()


def children(model: Model) -> list[list[int]]:
    """For each body the bodies that sit on it."""
    return by_parent([body.parent for body in model.bodies])


def by_parent(parents: Sequence[int]) -> list[list[int]]:
    """For each of some bodies, given by its parent's index, those that sit on it; -1 is the base."""
    lists: list[list[int]] = [[] for _ in parents]
    for index, parent in enumerate(parents):
        if parent >= 0:
            lists[parent].append(index)
    return lists


def refuse_tree(model: Model, what: str) -> None:
    """Refuse arms that are not serial chains."""
    if not model.is_serial:
        raise ModelError(
            f"{what} is a method for serial chains, and {model.name!r} is a tree or has mimicking joints; "
            "of the formulations, newton-euler, modified-newton-euler, gibbs-appell, kane, lagrange-silver "
            "and the Hollerbach forms take trees."
        )


def noted(note: Note, link: int, **values: Any) -> None:
    """Note several quantities of a link, each by its symbol."""
    for symbol, value in values.items():
        note(symbol, link, value)


def silent(_symbol: str, _link: int, _value: Any) -> None:
    """A note function that discards its input."""


def _snapped(array: Array) -> Array:
    snapped = array.copy()
    for whole in (-1.0, 0.0, 1.0):
        snapped[np.abs(snapped - whole) < ROUNDING] = whole
    return snapped
