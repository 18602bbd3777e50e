"""A small study with everything in it, for tests."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from arms import random_arm

import forearm as fa
from forearm.studies import Normal, Uniform, Variable

STEP = 2e-3
EFFORT, VOLTS, AMPS = 150.0, 160.0, 40.0
MOTOR = fa.Motor(
    gear_ratio=-30.0,
    rotor_inertia=2e-4,
    torque_constant=0.2,
    resistance=1.5,
    max_voltage=VOLTS,
    max_current=AMPS,
)
DRIVEN = random_arm(3, 3, "modified", drives=False).with_drives(
    motor=MOTOR, friction=fa.Friction(coulomb=0.4, viscous=0.2)
)
ARM = DRIVEN.replace(
    tree=tuple(
        replace(joint, max_effort=EFFORT, max_speed=5.0) if joint.kind != "fixed" else joint
        for joint in DRIVEN.tree
    )
)
T = STEP * np.arange(121.0)[:, None]
Q0 = np.array([0.1, -0.2, 0.15])
MOTION = (  # no joint at rest at the start, none like another
    Q0 + np.array([0.3, 0.2, 0.1]) * np.sin(T * np.array([7.0, 9.0, 11.0])),
    np.array([2.1, 1.8, 1.1]) * np.cos(T * np.array([7.0, 9.0, 11.0])),
    -np.array([14.7, 16.2, 12.1]) * np.sin(T * np.array([7.0, 9.0, 11.0])),
)
VARY: dict[str, Any] = {
    "payload.mass": Uniform(0.0, 1.5),
    "payload.com.z": Uniform(0.0, 0.2),
    "friction": Variable("friction", Normal(1.0, 0.3, low=0.2), ("*.friction.*",), factor=True),
    f"{ARM.links[2].name}.mass": Uniform(1.0, 3.0),
    "controller.bandwidth": Uniform(20.0, 60.0),
    "start.joint2": Uniform(-0.02, 0.02),
    "law": ["computed_torque", "pd_gravity", "pid"],
}
FIGURES = (
    "peak_torque", "rms_torque.joint2", "energy", "work", "copper_loss", "tracking_error", "hand_error",
    "peak_voltage.joint1", "rms_voltage.joint3", "torque_margin", "voltage_margin", "current_margin",
    "speed_margin",
    "required_peak_torque.joint1", "required_rms_torque", "required_peak_voltage.joint3", "required_energy",
    "manipulability",
)  # fmt: skip


def small_study(rows: int = 40, **more: Any) -> fa.Study:
    given: dict[str, Any] = {
        "motion": MOTION,
        "law": "pd_gravity",
        "step": STEP,
        "rows": rows,
        "rows_per_part": 7,
        "seed": 5,
    }
    return fa.Study("small", ARM, VARY, FIGURES, **(given | more))
