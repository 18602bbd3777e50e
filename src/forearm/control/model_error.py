"""What a controller may not know: arms that differ from the one that it believes in."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from forearm.arm.arm import Arm
from forearm.arm.joint import Joint
from forearm.arm.link import Link
from forearm.values import check_number

Floats = NDArray[np.float64]
MOST = 0.9  # a share: masses stay positive


def without_friction(arm: Arm) -> Arm:
    """The same arm with its motors and rotors, without friction, bearings and gear losses."""
    bare = (dataclasses.replace(j, friction=None, bearings=(), transmission=None) for j in arm.tree)
    return arm.replace(tree=tuple(bare))


def without_gravity(arm: Arm) -> Arm:
    """The same arm in free space."""
    return arm.replace(gravity=np.zeros(3))


def mistaken(arm: Arm, share: float, seed: int = 0) -> Arm:
    """The arm with every parameter off by up to a share of it, evenly spread: masses, centres, inertias, friction, rotors.

    A tensor is scaled as a whole, so that it stays that of a body.
    """
    share = check_number(share, "mistaken, share", minimum=0.0, maximum=MOST)
    rng = np.random.default_rng(seed)

    def off(count: int = 1) -> Floats:
        return np.asarray(1.0 + share * rng.uniform(-1.0, 1.0, count))

    links = [Link(name=k.name, mass=k.mass * off()[0], com=k.com * off(3), inertia=k.inertia * off()[0]) for k in arm.links]
    return arm.replace(links=tuple(links), tree=tuple(_mistaken_joint(joint, off) for joint in arm.tree))


def _mistaken_joint(joint: Joint, off: Callable[[int], Floats]) -> Joint:
    a, b, c = (float(x) for x in off(3))
    motor = None if joint.motor is None else dataclasses.replace(joint.motor, rotor_inertia=joint.motor.rotor_inertia * a)
    f = joint.friction
    if f is not None:
        static = None if f.static is None else (f.static[0] * c, f.static[1] * c)
        f = dataclasses.replace(f, viscous=f.viscous * b, coulomb=(f.coulomb[0] * c, f.coulomb[1] * c), static=static)
    return dataclasses.replace(joint, motor=motor, friction=f)
