"""Simple drives: rotor inertia, viscous and Coulomb friction. What needs reactions or curves is refused until it is built."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from forearm.arm.arm import Arm
from forearm.arm.moving import Body
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
        if body.joint.friction is not None:
            speed = qd[body.freedom] * body.multiplier
            torque[body.freedom] = torque[body.freedom] + simple_friction(*friction_coefficients(body), speed)
    return torque


def friction_coefficients(body: Body) -> tuple[float, float, float]:
    """Of the friction that a body's joint adds at its freedom: viscous, and dry forwards and backwards."""
    friction, motor = body.joint.friction, body.joint.motor
    if friction is None:
        return 0.0, 0.0, 0.0
    ratio = abs(motor.gear_ratio) if friction.side == "motor" and motor is not None else 1.0
    scale = body.multiplier * ratio
    forwards, backwards = (scale * torque for torque in friction.coulomb)
    return friction.viscous * ratio * scale, forwards, backwards


def simple_friction(viscous: Scalar, forwards: Scalar, backwards: Scalar, speed: Scalar) -> Scalar:
    """Viscous friction and Coulomb's: the first value forwards, the second backwards, none at rest."""
    if isinstance(speed, float):
        return speed * viscous + (forwards if speed > 0.0 else backwards if speed < 0.0 else 0.0)
    sign = speed.sign()
    return speed * viscous + (sign * (0.5 * (forwards - backwards)) + sign * sign * (0.5 * (forwards + backwards)))
