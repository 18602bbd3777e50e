"""Arms that have a closed form: three joints of any kind under a spherical wrist,
and what to compare branches with.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import forearm as fa
from forearm import DH, Arm, Joint, Limits, Link
from forearm.kinematics import IKBatch, IKResult
from forearm.spatial import pose, rotation_rpy

Array = NDArray[np.float64]
RIGHT = math.pi / 2
# Shoulder, elbow and wrist without offsets, so that the wrist's centre can be on axis 1.
ELBOW_ROWS = [
    (RIGHT, 0.0, 0.4),
    (0.0, 0.5, 0.0),
    (RIGHT, 0.0, 0.0),
    (-RIGHT, 0.0, 0.45),
    (RIGHT, 0.0, 0.0),
    (0.0, 0.0, 0.1),
]
KINDS = {"R": "revolute", "P": "prismatic"}


def dh_arm(rows: Sequence[Sequence[float]], kinds: str, hand: Array | None = None, limits: Any = None) -> Arm:
    """An arm from standard DH rows (alpha, a, d, theta); theta and d are 0 where they are left out."""
    names = ["base", *(f"link{i + 1}" for i in range(len(rows)))]
    bounds = limits or [Limits()] * len(rows)
    joints = []
    for i, (row, kind) in enumerate(zip(rows, kinds, strict=True)):
        alpha, a, d, theta = (*row, *[0.0] * (4 - len(row)))
        placement = DH(convention="standard", a=a, alpha=alpha, d=d, theta=theta)
        made: Any = KINDS[kind]
        name = f"joint{i + 1}"
        ends = Limits(*bounds[i])
        joints.append(
            Joint(name=name, kind=made, parent=names[i], child=names[i + 1], placement=placement, limits=ends)
        )
    links = tuple(Link(name=name, mass=1.0, inertia=0.1 * np.eye(3)) for name in names)
    arm = Arm(name=f"{kinds} arm", links=links, tree=tuple(joints))
    return arm if hand is None else arm.replace(hand=hand)


def wrist_arm(
    seed: int,
    kinds: str,
    twists: tuple[float | None, float | None] = (None, None),
    lengths: tuple[float, float] = (1.0, 1.0),
    wrist: tuple[float, float] = (RIGHT, -RIGHT),
) -> Arm:
    """A generic arm with three joints of these kinds, a spherical wrist and a tool;
    given twists replace random ones.
    """
    rng = np.random.default_rng([seed, 3])

    def some(low: float, high: float) -> float:
        return float(rng.uniform(low, high) * rng.choice([-1.0, 1.0]))

    rows = []
    for i in range(3):
        free = (some(0.4, 1.2), some(0.1, 0.5), some(0.1, 0.4), some(0.2, 2.0))
        twist = twists[i] if i < 2 else None
        rows.append(
            (free[0] if twist is None else twist, free[1] * (lengths[i] if i < 2 else 1.0), *free[2:])
        )
    rows += [(wrist[0], 0.0, some(0.1, 0.4), some(0.2, 1.0)), (wrist[1], 0.0, 0.0, some(0.2, 1.0))]
    rows += [(some(0.2, 1.0), some(0.02, 0.2), some(0.1, 0.3), some(0.1, 1.0))]
    return dh_arm(
        rows, kinds + "RRR", pose(rotation_rpy(rng.uniform(-1.0, 1.0, 3)), rng.uniform(-0.2, 0.2, 3))
    )


def one(arm: Arm, T: Array, **options: Any) -> IKResult:
    """The answer for one pose."""
    found = fa.kinematics.inverse(arm, T, **options)
    assert isinstance(found, IKResult)
    assert found.reachable == (len(found.q) > 0)
    return found


def many(arm: Arm, T: Array, **options: Any) -> IKBatch:
    """The answer for many poses."""
    found = fa.kinematics.inverse(arm, T, **options)
    assert isinstance(found, IKBatch)
    assert np.isnan(found.q[~found.valid]).all()
    return found


def apart(arm: Arm, first: Array, second: Array) -> Array:
    """The largest difference of joints between postures (..., n), angles modulo 2 pi."""
    turns = np.array([j.kind == "revolute" for j in arm.joints])
    plain = np.abs(first - second)
    wrapped = np.abs(np.remainder(plain + math.pi, 2.0 * math.pi) - math.pi)
    largest: Array = np.where(turns, wrapped, plain).max(axis=-1)
    return largest


def same_sets(arm: Arm, first: Array, second: Array, tolerance: float) -> bool:
    """Whether two sets of postures are one, modulo 2 pi, each posture once."""
    if len(first) != len(second):
        return False
    near = apart(arm, np.asarray(first)[:, None], np.asarray(second)[None]) < tolerance
    return bool((near.sum(axis=0) == 1).all() and (near.sum(axis=1) == 1).all())


def misses(arm: Arm, q: Array, T: Array) -> float:
    """How far the hand is from the pose at postures (m, n), at worst:
    m, and for six joints entries of the rotation.
    """
    off = np.abs(fa.kinematics.forward(arm, np.atleast_2d(q)) - T)
    return float((off if arm.n == 6 else off[..., 3]).max(initial=0.0))
