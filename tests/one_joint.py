"""Arms of one joint whose motion has a closed form: a block that slides on a level table,
pushed by its motor or behind a spring, and a beam that turns about it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from forearm import Arm, Elasticity, Frame, Joint, Limits, Link, Motor

MASS = 1.7  # kg of the block
ROTOR = Motor(gear_ratio=-9.0, rotor_inertia=0.01)
MOTOR_MASS = 0.81  # kg: that of the rotor as the block feels it, N^2 J


def block(mass: float = MASS, **drive: Any) -> Arm:
    """A block on a level table, gravity across its way: m q'' = tau - friction. Limits at +-3 m."""
    return _arm("prismatic", (1.0, 0.0, 0.0), mass=mass, **drive)


def two_masses(mass: float = MASS, motor: Motor = ROTOR, drive: Any = None, **spring: Any) -> Arm:
    """The block behind a spring: m q'' = f, B theta'' = tau - f with f = K (theta - q) + D (theta' - q').

    Args:
        mass: of the block.
        motor: with its rotor.
        drive: more fields of the joint.
        **spring: fields of the elasticity.
    """
    return block(mass, motor=motor, elasticity=Elasticity(**spring), **(drive or {}))


def beam(**drive: Any) -> Arm:
    """A link on a level axis, its centre 0.3 m out: gravity pulls with 1.7 * 9.81 * 0.3 N m cos(q)."""
    return _arm("revolute", (0.0, -1.0, 0.0), com=(0.3, 0.0, 0.0), **drive)


def _arm(
    kind: Any,
    axis: tuple[float, float, float],
    com: tuple[float, float, float] = (0.02, 0.03, 0.05),
    mass: float = MASS,
    **drive: Any,
) -> Arm:
    joint = Joint(
        name="way",
        kind=kind,
        parent="table",
        child="block",
        limits=Limits(-3.0, 3.0),
        **drive,
        placement=Frame(xyz=np.zeros(3), rpy=np.zeros(3), axis=np.array(axis)),
    )
    links = (
        Link(name="table", mass=1.0),
        Link(name="block", mass=mass, com=np.array(com), inertia=np.diag([0.011, 0.013, 0.017])),
    )
    return Arm(name="one", links=links, tree=(joint,), gravity=np.array([0.0, 0.0, -9.81]))
