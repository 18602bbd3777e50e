"""Simple drives: rotor inertia, viscous and Coulomb friction. What needs reactions or curves is refused until it is built."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from forearm.arm.arm import Arm
from forearm.arm.drive import Friction
from forearm.errors import ModelError
from forearm.model import Array, Scalar, Vector


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


def friction_torque(arm: Arm, qd: Vector) -> Array:
    """What friction adds at each freedom, (n,), over any scalar: viscous and Coulomb, sgn(0) = 0.

    On the joint side B qd + Tc; on the motor side |N| (B |N| qd + Tc), with Tc that of the direction of qd.
    """
    torque = np.zeros(arm.n, dtype=float if isinstance(qd, np.ndarray) and qd.dtype == float else object)
    for body in arm.moving.bodies:
        friction = body.joint.friction
        if friction is None:
            continue
        ratio = abs(body.joint.motor.gear_ratio) if friction.side == "motor" and body.joint.motor is not None else 1.0
        speed = qd[body.freedom] * body.multiplier
        scale = body.multiplier * ratio
        torque[body.freedom] = torque[body.freedom] + speed * (friction.viscous * ratio * scale) + _dry(friction, speed, scale)
    return torque


def _dry(friction: Friction, speed: Scalar, scale: float) -> Scalar:
    """Coulomb friction times a scale: the first value forwards, the second backwards, none at rest."""
    forwards, backwards = (scale * torque for torque in friction.coulomb)
    if isinstance(speed, float):
        return forwards if speed > 0.0 else backwards if speed < 0.0 else 0.0
    sign = speed.sign()
    return sign * (0.5 * (forwards - backwards)) + sign * sign * (0.5 * (forwards + backwards))
