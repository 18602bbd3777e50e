"""Arms with elastic joints to control: a chain with springs of every kind, one joint on a level table, and
motions of continuous snap.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from one_joint import block

import forearm as fa
from forearm import Arm, Elasticity, Motor
from forearm.trajectories.continuous_snap.motion import SmoothMotion
from forearm.trajectories.continuous_snap.planner import smooth

RATIOS = (90.0, -70.0, 50.0)
ROTORS = (2.6e-5, 1.3e-5, 5.1e-6)  # kg m^2: 0.21, 0.064 and 0.013 at the joints
POINTS = ((4e-3, 0.9), (9e-3, 2.6), (1.5e-2, 5.2))
SPRINGS = (
    Elasticity(stiffness=950.0),
    Elasticity(curve=POINTS, interpolation="spline"),
    Elasticity(stiffness=58.0),
)
LINES = Elasticity(curve=((3e-3, 0.11), (8e-3, 0.37), (1.4e-2, 0.83)))


@cache
def elastic_chain(damping: float = 0.0, last: Elasticity = SPRINGS[2]) -> Arm:
    """chain3 with motors behind springs, 12 to 17 Hz."""
    arm, drives = fa.load("chain3"), {}
    for joint, ratio, rotor, spring, share in zip(
        arm.joints, RATIOS, ROTORS, (*SPRINGS[:2], last), (1.0, 0.3, 0.04), strict=True
    ):
        motor = Motor(gear_ratio=ratio, rotor_inertia=rotor, torque_constant=0.05, resistance=1.3)
        drives[joint.name] = {"motor": motor, "elasticity": replace(spring, damping=share * damping)}
    return arm.with_drives(drives)


@cache
def elastic_panda(damping: float) -> Arm:
    """Franka's arm with rotors and springs of about the size that harmonic drives have."""
    arm = fa.load("panda")
    rotors, springs = (0.6, 0.6, 0.5, 0.5, 0.2, 0.2, 0.2), (14e3,) * 4 + (9e3,) * 3
    return arm.with_drives(
        {
            joint.name: {
                "motor": Motor(gear_ratio=100.0, rotor_inertia=1e-4 * B),
                "elasticity": Elasticity(stiffness=K, damping=damping),
            }
            for joint, B, K in zip(arm.joints, rotors, springs, strict=True)
        }
    )


def elastic_block(inertia: float = 0.4, **spring: Any) -> Arm:
    """A block of 1.7 kg on a level table behind a spring, its rotor as heavy as so many kg."""
    motor = Motor(gear_ratio=20.0, rotor_inertia=inertia / 400.0, torque_constant=0.2, resistance=0.9)
    return block(motor=motor, elasticity=Elasticity(**{"stiffness": 2500.0, "damping": 6.0} | spring))


def snap_motion(start: ArrayLike, end: ArrayLike, duration: float) -> SmoothMotion:
    """From rest to rest with a continuous snap."""
    return smooth(np.array([start, end]), duration=duration)
