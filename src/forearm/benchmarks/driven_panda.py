"""The Panda with drives that its arm file does not include, for benchmarks and comparisons."""

from __future__ import annotations

import numpy as np

from forearm.arm.arm import Arm
from forearm.arm.drive import Bearing, Friction, Motor, Transmission
from forearm.files.load import load

# Gaz and others 2019, supplement: friction of joints 1 to 7 is
# f1 / (1 + exp(-f2 (qd + f3))) - f1 / (1 + exp(-f2 f3))
F1 = (0.54615, 0.87224, 0.64068, 1.2794, 0.83904, 0.30301, 0.56489)  # N m
F2 = (5.1181, 9.0657, 10.136, 5.5903, 8.3469, 17.133, 10.336)  # s/rad
F3 = (0.039533, 0.025882, -0.04607, 0.036194, 0.026226, -0.021047, 0.0035526)  # rad/s

# assumed: no data of the Panda's motors, gears and bearings are published
MOTOR = Motor(gear_ratio=100.0, torque_constant=0.1, resistance=0.5, max_voltage=24.0)
VISCOUS, BREAKAWAY, STRIBECK_SPEED = 0.2, 1.5, 0.1  # N m s/rad; static / Coulomb; rad/s
EFFICIENCY = ((0.1, 0.6), (0.5, 0.8), (1.0, 0.85))
LEAST = 0.2  # N m: load-independent loss of a gear
BEARING = Bearing(kind="journal", mu=0.002, radius=0.04, distance=0.1)


def panda_with_friction() -> Arm:
    """The Panda with the friction that Gaz and others identified, as Coulomb friction: their sigmoid is
    within 1 % of its limits from 0.9 rad/s on.
    """
    arm = load("panda")
    drives = {}
    for joint, f1, f2, f3 in zip(arm.joints, F1, F2, F3, strict=True):
        below = f1 / (1.0 + float(np.exp(-f2 * f3)))
        drives[joint.name] = {"friction": Friction(coulomb=(f1 - below, -below))}
    return arm.with_drives(drives)


def panda_with_motors() -> Arm:
    """The same with viscous friction, Stribeck's, and motors for 24 V, all assumed."""
    arm = panda_with_friction()
    drives = {}
    for joint in arm.joints:
        assert joint.friction is not None
        forwards, backwards = joint.friction.coulomb
        static = (BREAKAWAY * forwards, BREAKAWAY * backwards)
        friction = Friction(
            viscous=VISCOUS, coulomb=(forwards, backwards), static=static, stribeck_speed=STRIBECK_SPEED
        )
        drives[joint.name] = {"motor": MOTOR, "friction": friction}
    return arm.with_drives(drives)


def panda_with_gears() -> Arm:
    """The same with gears by efficiency and bearings by load, assumed."""
    arm = panda_with_motors()
    drives = {}
    for joint in arm.joints:
        assert joint.max_effort is not None
        gear = Transmission(efficiency=EFFICIENCY, rated_torque=joint.max_effort, breakaway=LEAST)
        drives[joint.name] = {"transmission": gear, "bearings": (BEARING,)}
    return arm.with_drives(drives)
