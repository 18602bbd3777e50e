"""Arms whose parameters are known, to make logs of, and arms as one would believe them to be."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any, Literal

import numpy as np
from arms import random_arm
from numpy.typing import NDArray

import forearm as fa
from forearm import Arm, Friction, Motor
from forearm.control import perturbed
from forearm.reduction.base import base_parameters

Floats = NDArray[np.float64]
Belief = Literal["none", "wrong", "simple", "same"]

# Coulomb friction of the Panda: the ends of the sigmoid of Gaz and others 2019, N m; the rest is assumed.
PANDA_FORWARDS = (0.299, 0.487, 0.247, 0.704, 0.465, 0.124, 0.288)
PANDA_BACKWARDS = (-0.247, -0.385, -0.394, -0.575, -0.374, -0.179, -0.277)
PANDA_VISCOUS = (0.35, 0.42, 0.28, 0.39, 0.17, 0.13, 0.11)  # N m s/rad
PANDA_ROTOR = (6.1e-5, 6.3e-5, 4.2e-5, 4.4e-5, 1.9e-5, 2.1e-5, 1.7e-5)  # kg m^2, behind gears of 100
# All assumed: some 5 % of the joint's effort is dry friction, gears of 101 as published.
UR10_COULOMB = ((9.1, -8.3), (10.4, -9.7), (6.2, -6.9), (1.9, -1.6), (1.5, -1.8), (1.3, -1.2))
UR10_VISCOUS = (12.1, 13.4, 7.2, 1.7, 1.4, 1.2)
UR10_ROTOR = (1.3e-4, 1.4e-4, 8.2e-5, 2.1e-5, 2.3e-5, 1.9e-5)
CONSTANT, RESISTANCE = 0.11, 0.62  # N m / A, ohm


def driven(arm: Arm, ratio: float, rotor: Any, coulomb: Any, viscous: Any) -> Arm:
    """The arm with a motor and friction on the joint's side in every joint; motors differ a little."""
    drives = {}
    for k, joint in enumerate(arm.joints):
        motor = Motor(
            gear_ratio=ratio,
            rotor_inertia=rotor[k],
            torque_constant=CONSTANT * (1.0 - 0.05 * k),
            resistance=RESISTANCE * (1.0 + 0.1 * k),
        )
        drives[joint.name] = {"motor": motor, "friction": Friction(viscous=viscous[k], coulomb=coulomb[k])}
    return arm.with_drives(drives)


@cache
def panda_true() -> Arm:
    """The Panda by Gaz 2019 with Coulomb and viscous friction, rotors and gears."""
    coulomb = list(zip(PANDA_FORWARDS, PANDA_BACKWARDS, strict=True))
    return driven(fa.load("panda"), 100.0, PANDA_ROTOR, coulomb, PANDA_VISCOUS)


@cache
def ur10_true() -> Arm:
    """The UR10 as published, with friction, rotors and gears."""
    return driven(fa.load("ur10"), 101.0, UR10_ROTOR, UR10_COULOMB, UR10_VISCOUS)


@cache
def small_true(n: int = 2, seed: int = 7, *, prismatic: bool = False, side: str = "joint") -> Arm:
    """A generic arm of a few joints with plain friction and rotors, quick enough for hundreds of logs."""
    rng = np.random.default_rng([seed, n, 3])
    arm = random_arm(seed, n, prismatic=prismatic, fixed=False, drives=False)
    drives = {}
    for joint in arm.joints:
        N = float(rng.uniform(40.0, 90.0))
        share = 1.0 if side == "joint" else 1.0 / N
        ends = (0.5, 1.5)
        forwards, backwards = (share * float(x) for x in rng.uniform(*ends, 2))
        friction = Friction(
            side="motor" if side == "motor" else "joint",
            viscous=float(rng.uniform(0.4, 1.2)) * share**2,
            coulomb=(forwards, -backwards),
        )
        motor = Motor(
            gear_ratio=N,
            rotor_inertia=float(rng.uniform(0.1, 0.3)) / N**2,
            torque_constant=float(rng.uniform(0.05, 0.12)),
            resistance=float(rng.uniform(0.4, 1.1)),
        )
        drives[joint.name] = {"motor": motor, "friction": friction}
    limited = [
        replace(j, max_speed=2.5 if j.kind == "revolute" else 0.8, max_effort=60.0)
        if j.kind != "fixed"
        else j
        for j in arm.with_drives(drives).tree
    ]
    return arm.replace(name=f"small{n}", tree=tuple(limited))


def with_stribeck(arm: Arm, more: float = 0.6, speed: float = 0.12) -> Arm:
    """The arm with friction at breaking loose larger by a share, decaying with a speed of the joint."""
    drives = {}
    for k, joint in enumerate(arm.joints):
        f = joint.friction
        assert f is not None
        N = abs(joint.motor.gear_ratio) if joint.motor and f.side == "motor" else 1.0
        larger = 1.0 + more * (1.0 + 0.1 * k)
        static = (larger * f.coulomb[0], larger * f.coulomb[1])
        drives[joint.name] = {
            "friction": replace(f, static=static, stribeck_speed=N * speed * (1.0 + 0.2 * k))
        }
    return arm.with_drives(drives)


def with_lossy_gears(arm: Arm, efficiency: float = 0.75, rated: float = 50.0) -> Arm:
    """The arm with gears that lose a share of what they carry."""
    gear = fa.Transmission(efficiency=((0.5, efficiency),), rated_torque=rated)
    return arm.with_drives({j.name: {"transmission": gear} for j in arm.joints})


def believed(true: Arm, share: float = 0.3, friction: Belief = "none", seed: int = 5) -> Arm:
    """An arm as its maker might describe it: figures off by a share, gear ratios and geometry right.

    `friction` is "none", "wrong" (off by the share), "simple" (off too, but neither Stribeck's nor by load)
    or "same" as it is; without friction there are no bearings and no losses of gears either.
    """
    arm = perturbed(true, share, seed)
    drives: dict[str, dict[str, Any]] = {}
    for off, joint in zip(arm.joints, true.joints, strict=True):
        if friction == "none":
            drives[joint.name] = {"friction": None, "bearings": (), "transmission": None}
        elif friction == "simple" and off.friction is not None:
            simple = replace(off.friction, static=None, stribeck_speed=None)
            drives[joint.name] = {"friction": simple, "bearings": (), "transmission": None}
        elif friction == "same":
            drives[joint.name] = {
                "friction": joint.friction,
                "bearings": joint.bearings,
                "transmission": joint.transmission,
            }
    return arm.with_drives(drives)


def with_motors_of(arm: Arm, true: Arm) -> Arm:
    """The arm with the torque constants and resistances of another: those of a data sheet that is right."""
    drives = {}
    for off, joint in zip(arm.joints, true.joints, strict=True):
        assert off.motor is not None
        assert joint.motor is not None
        known = replace(joint.motor, rotor_inertia=off.motor.rotor_inertia)
        drives[joint.name] = {"motor": known}
    return arm.with_drives(drives)


def behind_gear(arm: Arm) -> Arm:
    """What a torque sensor behind the gear feels: no rotor, no gear losses, no friction at the motor."""
    made = []
    for joint in arm.tree:
        motor = None if joint.motor is None else replace(joint.motor, rotor_inertia=0.0)
        friction = joint.friction if joint.friction is None or joint.friction.side == "joint" else None
        made.append(replace(joint, motor=motor, friction=friction, transmission=None))
    return arm.replace(tree=tuple(made))


def true_values(arm: Arm) -> dict[str, float]:
    """What an identification of the arm should find, by the names of its parameters.

    Base inertial parameters are those of the arm itself: where a rotor cannot be told from a link, neither
    stands for itself, see `with_rotors`.
    """
    base = base_parameters(arm)
    values = dict(zip(base.names, base.values.tolist(), strict=True))
    for joint in arm.joints:
        if joint.friction is not None:
            f = joint.friction
            values[f"{joint.name}.friction.viscous"] = f.viscous
            for way, x in zip(("positive", "negative"), f.coulomb, strict=True):
                values[f"{joint.name}.friction.coulomb.{way}"] = x
            if f.static is not None and f.stribeck_speed is not None:
                for way, x in zip(("positive", "negative"), f.static, strict=True):
                    values[f"{joint.name}.friction.static.{way}"] = x
                values[f"{joint.name}.friction.stribeck_speed"] = f.stribeck_speed
        if joint.motor is not None:
            values[f"{joint.name}.motor.rotor_inertia"] = joint.motor.rotor_inertia
            for key in ("torque_constant", "resistance"):
                if getattr(joint.motor, key) is not None:
                    values[f"{joint.name}.motor.{key}"] = getattr(joint.motor, key)
        values[f"{joint.name}.offset"] = 0.0
        values[f"{joint.name}.gain"] = 1.0
    return values
