"""What the tests of drives share: random arms whose bearings are as wide and as well
greased as those of machines.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from arms import Array, random_arm

from forearm import Arm, Bearing, Joint, Transmission

KINDS: dict[str, dict[str, Any]] = {
    "chain": {},
    "standard": {"convention": "standard"},
    "modified": {"convention": "modified"},
    "turning": {"prismatic": False},
    "tree": {"tree": True},
    "followers": {"mimic": True},
    "tree, followers": {"tree": True, "mimic": True},
}
SHARE = 0.2  # of the random arms' coefficients
WIDER = 0.1  # m


def greased(arm: Arm) -> Arm:
    """The arm with bearings in which friction is less than what makes it, so that torques fix accelerations.

    Supports a few millimetres apart wedge on limbs of 0.3 m, as a drawer does:
    then several motions fit one torque.
    """

    def changed(joint: Joint) -> Joint:
        return dataclasses.replace(joint, bearings=tuple(_wide(b) for b in joint.bearings))

    return arm.replace(tree=tuple(changed(j) for j in arm.tree))


def loaded_arm(kind: str, seed: int, n: int) -> Arm:
    """A random arm of a kind, with every drive there is, a thrust bearing among them."""
    arm = greased(random_arm(seed, n, **KINDS[kind]))
    thrust = Bearing(kind="thrust", mu=0.013, radius=0.031)

    def changed(joint: Joint) -> Joint:
        turns = joint.kind == "revolute"
        return (
            dataclasses.replace(joint, bearings=(*joint.bearings, thrust))
            if joint.bearings and turns
            else joint
        )

    return arm.replace(tree=tuple(changed(j) for j in arm.tree))


def with_efficiency(arm: Arm, seed: int) -> Arm:
    """The arm with bad gears: any efficiency from 0.2 on, rising and falling, by lines or splines."""
    rng = np.random.default_rng([seed, 31])

    def changed(joint: Joint) -> Joint:
        if joint.transmission is None:
            return joint
        loads = np.array([0.05, 0.5, 1.1]) + rng.uniform(0.0, 0.1, 3)
        low, middle, high = rng.uniform(0.2, 0.4), rng.uniform(0.45, 0.6), rng.uniform(0.5, 0.8)
        points = tuple(zip(loads.tolist(), (float(low), float(middle), float(high)), strict=True))
        kind: Any = ("linear", "spline")[int(rng.integers(2))]
        gear = Transmission(
            efficiency=points, rated_torque=float(rng.uniform(5.0, 60.0)), breakaway=0.7, interpolation=kind
        )
        return dataclasses.replace(joint, transmission=gear)

    return arm.replace(tree=tuple(changed(j) for j in arm.tree))


def supports(bearing: Bearing, f: Array, n: Array) -> tuple[Array, Array]:
    """What two supports at offset +- d/2 along z carry across it, by equilibrium of forces and
    moments about the origin.
    """
    assert bearing.distance is not None
    ends = [np.array([0.0, 0.0, bearing.offset + side * bearing.distance / 2.0]) for side in (1.0, -1.0)]
    A, b = np.zeros((4, 4)), np.array([f[0], f[1], n[0], n[1]])
    for k, end in enumerate(ends):
        for axis in (0, 1):
            unit = np.eye(3)[axis]
            A[:, 2 * k + axis] = [*unit[:2], *np.cross(end, unit)[:2]]
    carried = np.linalg.solve(A, b)
    return carried[:2], carried[2:]


def natural_spline(points: Any, at: Array) -> Array:
    """The natural cubic spline by truncated powers: a + b x + sum of c_i (x - x_i)+^3,
    with no curvature at either end.

    Sum c_i = 0 and sum c_i x_i = 0 make it straight beyond the last point;
    held constant there, as a gear's is.
    """
    x, y = np.array(points).T
    m = len(x)
    A, right = np.zeros((m + 2, m + 2)), np.array([*y, 0.0, 0.0])
    A[:m, 0], A[:m, 1] = 1.0, x
    A[:m, 2:] = np.maximum(x[:, None] - x[None, :], 0.0) ** 3
    A[m, 2:], A[m + 1, 2:] = 1.0, x
    c = np.linalg.solve(A, right)
    inside = np.clip(at, x[0], x[-1])
    powers = np.maximum(inside[:, None] - x[None, :], 0.0) ** 3
    return np.asarray(c[0] + c[1] * inside + powers @ c[2:])


def resistance(bearing: Bearing, f: Array, n: Array) -> float:
    """The friction torque (force) of a bearing by what its supports carry, each rubbing by itself."""
    if bearing.kind == "thrust":
        assert bearing.radius is not None
        return float(bearing.mu * bearing.radius * abs(f[2]))
    both = supports(bearing, f, n)
    if bearing.kind == "linear":
        return float(bearing.mu * sum(np.abs(F).sum() for F in both))
    assert bearing.radius is not None
    return float(bearing.mu * bearing.radius * sum(np.hypot(*F) for F in both))


def _wide(bearing: Bearing) -> Bearing:
    distance = None if bearing.distance is None else bearing.distance + WIDER
    return dataclasses.replace(bearing, mu=SHARE * bearing.mu, distance=distance)
