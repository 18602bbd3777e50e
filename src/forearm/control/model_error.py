"""Model errors: arms that differ from the controller's model."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from forearm.arm.arm import Arm
from forearm.arm.drive import Transmission
from forearm.arm.joint import Joint
from forearm.arm.link import Link
from forearm.spatial import Floats
from forearm.values import check_number, check_whole

MOST = 0.9  # a share: keeps masses positive
LEAST = 0.1  # of an efficiency, if losses would exceed it


def without_friction(arm: Arm) -> Arm:
    """The same arm with its motors and rotors, without friction, bearings and gear losses."""
    bare = (dataclasses.replace(j, friction=None, bearings=(), transmission=None) for j in arm.tree)
    return arm.replace(tree=tuple(bare))


def without_backlash(arm: Arm) -> Arm:
    """The same arm without backlash and without coupling of rotor spin to the links: the motion of the links
    then determines that of the motors.
    """
    springs = {
        j.name: dataclasses.replace(j.elasticity, half_gap=0.0, rotor_axis=None)
        for j in arm.joints
        if j.elasticity is not None
    }
    bare = (dataclasses.replace(j, elasticity=springs.get(j.name)) for j in arm.tree)
    return arm.replace(tree=tuple(bare))


def without_gravity(arm: Arm) -> Arm:
    """The same arm without gravity."""
    return arm.replace(gravity=np.zeros(3))


def perturbed(arm: Arm, share: float, seed: int = 0) -> Arm:
    """The arm with its measured parameters off by up to a share, uniformly distributed; lengths, gear ratios
    and limits stay.

    Perturbed are masses, centres and inertias of links; rotors, torque constants and resistances of motors;
    friction with its bristles, bearing friction, and gear losses (1 - efficiency, breakaway); stiffness,
    damping and gap of springs. A tensor is scaled as a whole, so that it stays physically consistent, and so
    is the curve of a spring.

    Args:
        arm: the arm.
        share: largest relative error.
        seed: of the random errors.
    """
    share = check_number(share, "perturbed, share", minimum=0.0, maximum=MOST)
    rng = np.random.default_rng(check_whole(seed, "perturbed, seed", 0))

    def off(count: int = 1) -> Floats:
        return np.asarray(1.0 + share * rng.uniform(-1.0, 1.0, count))

    links = [
        Link(name=k.name, mass=k.mass * off()[0], com=k.com * off(3), inertia=k.inertia * off()[0])
        for k in arm.links
    ]
    return arm.replace(links=tuple(links), tree=tuple(_mistaken_joint(joint, off) for joint in arm.tree))


def _mistaken_joint(joint: Joint, off: Callable[[int], Floats]) -> Joint:
    rotor, constant, resistance, b, c, gear = off(6).tolist()
    f = _scaled(joint.friction, viscous=b, coulomb=c, static=c)
    if f is not None and f.bristle_stiffness is not None:
        s0, s1 = off(2).tolist()
        f = _scaled(f, bristle_stiffness=s0, bristle_damping=s1)
    bearings = tuple(_scaled(one, mu=float(off(1)[0])) for one in joint.bearings)
    spring = joint.elasticity
    if spring is not None:
        k, d, gap = off(3).tolist()
        curve = tuple((deflection, torque * k) for deflection, torque in spring.curve)
        spring = dataclasses.replace(_scaled(spring, stiffness=k, damping=d, half_gap=gap), curve=curve)
    return dataclasses.replace(
        joint,
        motor=_scaled(joint.motor, rotor_inertia=rotor, torque_constant=constant, resistance=resistance),
        friction=f,
        bearings=bearings,
        transmission=_mistaken_gear(joint.transmission, gear),
        elasticity=spring,
    )


def _scaled(part: Any, **factors: float) -> Any:
    """A part with these fields multiplied; what is absent stays so."""
    if part is None:
        return None
    return dataclasses.replace(part, **{name: _times(getattr(part, name), x) for name, x in factors.items()})


def _times(value: Any, x: float) -> Any:
    if isinstance(value, tuple):
        return tuple(each * x for each in value)
    return None if value is None else value * x


def _mistaken_gear(gear: Transmission | None, x: float) -> Transmission | None:
    """Losses times x; the efficiency stays above 0."""
    if gear is None:
        return None
    kept = tuple((load, max(eta - (x - 1.0) * (1.0 - eta), LEAST * eta)) for load, eta in gear.efficiency)
    return dataclasses.replace(gear, efficiency=kept, breakaway=gear.breakaway * x)
