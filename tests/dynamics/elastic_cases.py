"""What the tests of elastic joints share: generic arms with springs."""

from __future__ import annotations

import dataclasses
from typing import Any, Literal

import numpy as np
from arms import random_arm
from drives.making import loaded_arm
from dynamics.cases import Array, simple_drives

from forearm import Arm, Elasticity, Joint

Motion = tuple[Any, Any, Any, Any, Any]  # q and four derivatives by time
Spring = Literal["linear", "lines", "spline", "mixed"]


def spring(rng: np.random.Generator, kind: str, **more: Any) -> Elasticity:
    """A generic spring of some 1e4 N m / rad."""
    if kind == "linear":
        return Elasticity(stiffness=float(rng.uniform(4e3, 3e4)), **more)
    deflections = np.cumsum(rng.uniform(1.8e-3, 3e-3, 3))
    slopes = 3e3 + np.cumsum(rng.uniform(1e3, 4e3, 3))  # it stiffens, as gears do
    torques = np.cumsum(np.diff(deflections, prepend=0.0) * slopes)
    points = tuple(zip(deflections.tolist(), torques.tolist(), strict=True))
    interpolation: Literal["linear", "spline"] = "spline" if kind == "spline" else "linear"
    return Elasticity(curve=points, interpolation=interpolation, **more)


def with_springs(
    arm: Arm, seed: int, kind: Spring = "mixed", damping: float = 0.0, rigid: int = 0, **more: Any
) -> Arm:
    """The arm with springs in all freedoms but the first so many; damping is D of the first, and others
    differ.
    """
    rng, count = np.random.default_rng([seed, 61]), 0
    elastic = {joint.name for joint in arm.joints[rigid:]}

    def changed(joint: Joint) -> Joint:
        nonlocal count
        if joint.name not in elastic:
            return joint
        count += 1
        which = ("linear", "lines", "spline")[count % 3] if kind == "mixed" else kind
        made = spring(rng, which, damping=damping * (1.0 + 0.3 * count), **more)
        return dataclasses.replace(joint, elasticity=made)

    return arm.replace(tree=tuple(map(changed, arm.tree)))


def elastic_arms() -> dict[str, Arm]:
    """Chains and trees, turning and sliding, with every drive that there is, and rigid joints among elastic
    ones.
    """
    return {
        "bare springs": with_springs(simple_drives(random_arm(71, 4)), 1, "linear"),
        "every drive": with_springs(loaded_arm("chain", 72, 4), 2),
        "rigid first": with_springs(loaded_arm("turning", 73, 4), 3, rigid=2),
        "standard": with_springs(loaded_arm("standard", 74, 3), 4, "lines"),
        "tree": with_springs(loaded_arm("tree", 75, 4), 5, "spline"),
        "followers": with_springs(loaded_arm("followers", 76, 3), 6),
        "one joint": with_springs(loaded_arm("turning", 77, 1), 7, "spline"),
    }


def elastic_state(arm: Arm, seed: int) -> list[Array]:
    """q, qd, theta, thetad, tau, (n,) each, with deflections as springs have them."""
    rng = np.random.default_rng([seed, 62])

    def some(low: float, high: float) -> Array:
        values: Array = rng.uniform(low, high, arm.n) * rng.choice([-1.0, 1.0], arm.n)
        return values

    q, qd = some(0.2, 2.5), some(0.3, 1.5)
    return [q, qd, q + some(5e-4, 6e-3), qd + some(0.02, 0.2), some(5.0, 40.0)]
