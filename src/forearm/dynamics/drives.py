"""Simple drives: rotor inertia, viscous and Coulomb friction. What needs reactions or curves is refused until it is built."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from forearm.arm.arm import Arm
from forearm.errors import ModelError


def refuse_what_is_not_built(arm: Arm) -> None:
    """Bearings, transmission curves and Stribeck friction have their place in the file but no behaviour yet."""
    for joint in arm.tree:
        friction = joint.friction
        asks = [
            ("bearings", bool(joint.bearings)),
            ("a transmission curve", joint.transmission is not None),
            ("Stribeck friction", friction is not None and friction.static is not None),
        ]
        for what, asked in asks:
            if asked:
                raise ModelError(
                    f"arm {arm.name!r}, joint {joint.name!r}: its file asks for {what}, which dynamics does not "
                    "compute yet; use arm.rigid(), or take that from the file, rather than a wrong torque."
                )


def rotor_inertia(arm: Arm) -> NDArray[np.float64]:
    """N^2 J of the drives of each freedom, (n,); a mimicking joint's drive counts with the square of its multiplier."""
    reflected = np.zeros(arm.n)
    for body in arm.moving.bodies:
        if body.joint.motor is not None:
            reflected[body.freedom] += body.multiplier**2 * body.joint.motor.reflected_inertia
    return reflected


def friction_torque(arm: Arm, qd: NDArray[np.float64]) -> NDArray[np.float64]:
    """What friction adds at each freedom, (n,): viscous and Coulomb, sgn(0) = 0.

    On the joint side B qd + Tc; on the motor side |N| (B |N| qd + Tc), with Tc that of the direction of qd.
    """
    torque = np.zeros(arm.n)
    for body in arm.moving.bodies:
        friction = body.joint.friction
        if friction is None:
            continue
        ratio = abs(body.joint.motor.gear_ratio) if friction.side == "motor" and body.joint.motor is not None else 1.0
        speed = body.multiplier * float(qd[body.freedom])
        dry = friction.coulomb[0] if speed > 0.0 else friction.coulomb[1] if speed < 0.0 else 0.0
        torque[body.freedom] += body.multiplier * ratio * (friction.viscous * ratio * speed + dry)
    return torque
