"""An arm with motors and friction, and numbers of it that differ from row to row."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from arms import random_arm

import forearm as fa

STEP, STEPS = 1e-3, 60
ROWS = 13  # no multiple of any number of lanes
MOTOR = fa.Motor(gear_ratio=-30.0, rotor_inertia=2e-4, torque_constant=0.2, resistance=1.5)
ARM = random_arm(3, 3, "modified", drives=False).with_drives(
    motor=MOTOR, friction=fa.Friction(coulomb=0.4, viscous=0.2)
)
LIMITED = ARM.replace(
    tree=tuple(replace(joint, max_effort=3.0) if joint.kind != "fixed" else joint for joint in ARM.tree)
)


def drawn(seed: int, low: float, high: float, *shape: int) -> Any:
    return np.random.default_rng(seed).uniform(low, high, shape)


Q0, QD0 = drawn(1, -0.5, 0.5, ROWS, 3), drawn(2, -1.0, 1.0, ROWS, 3)
DIFFERENT: dict[str, Any] = {
    "joint1.friction.viscous": drawn(3, 0.0, 1.0, ROWS),
    "joint2.friction.coulomb.positive": drawn(4, 0.1, 0.8, ROWS),
    f"{ARM.links[2].name}.mass": drawn(5, 1.0, 3.0, ROWS),
    "joint3.motor.rotor_inertia": drawn(6, 0.0, 5e-4, ROWS),
    "payload.mass": drawn(7, 0.0, 2.0, ROWS),
    "payload.com.z": drawn(8, 0.0, 0.2, ROWS),
    "payload.inertia.xx": drawn(9, 0.01, 0.02, ROWS),
    "payload.inertia.yy": drawn(9, 0.01, 0.02, ROWS),
    "payload.inertia.zz": drawn(9, 0.01, 0.02, ROWS),
    "counterweight.part2.mass": drawn(18, 0.0, 3.0, ROWS),
    "counterweight.part2.com.x": drawn(19, -0.3, 0.0, ROWS),
    f"counterweight.{ARM.hand.link}.mass": 0.4,
    f"counterweight.{ARM.hand.link}.com.y": drawn(20, -0.1, 0.1, ROWS),
}
ELECTRIC: dict[str, Any] = {
    "joint1.motor.torque_constant": drawn(10, 0.1, 0.3, ROWS),
    "joint2.motor.resistance": drawn(11, 1.0, 3.0, ROWS),
    "joint3.motor.gear_ratio": drawn(12, -50.0, -20.0, ROWS),
}


def row_of(given: dict[str, Any], k: int) -> dict[str, float]:
    return {name: float(np.broadcast_to(x, (ROWS,))[k]) for name, x in given.items()}
