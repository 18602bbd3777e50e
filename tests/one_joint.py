"""Arms of one joint whose motion has a closed form: a block that slides on a level table,
a beam that turns about it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from forearm import Arm, Frame, Joint, Limits, Link

MASS = 1.7  # kg of the block


def block(**drive: Any) -> Arm:
    """A block on a level table, gravity across its way: m q'' = tau - friction. Limits at +-3 m."""
    return _arm("prismatic", (1.0, 0.0, 0.0), **drive)


def beam(**drive: Any) -> Arm:
    """A link on a level axis, its centre 0.3 m out: gravity pulls with 1.7 * 9.81 * 0.3 N m cos(q)."""
    return _arm("revolute", (0.0, -1.0, 0.0), com=(0.3, 0.0, 0.0), **drive)


def _arm(
    kind: Any,
    axis: tuple[float, float, float],
    com: tuple[float, float, float] = (0.02, 0.03, 0.05),
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
        Link(name="block", mass=MASS, com=np.array(com), inertia=np.diag([0.011, 0.013, 0.017])),
    )
    return Arm(name="one", links=links, tree=(joint,), gravity=np.array([0.0, 0.0, -9.81]))
