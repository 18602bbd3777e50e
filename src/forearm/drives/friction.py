"""Friction of a joint or a motor: viscous, Coulomb with a value per direction, and Stribeck at low speeds."""

from __future__ import annotations

from typing import Literal

from forearm.arm.drive import Friction
from forearm.symbols.scalars import Scalar, exp
from forearm.values import frozen


@frozen
class FrictionLaw:
    """`Friction` over any scalar: its parameters may be symbols, or values reflected across the gear."""

    side: Literal["joint", "motor"]
    viscous: Scalar
    coulomb: Scalar  # a pair: for qd > 0, for qd < 0
    static: Scalar | None
    stribeck_speed: Scalar | None


@frozen
class KnownFriction:
    """Friction whose torque at the joint is known already, as that of bristles from their state."""

    side: Literal["joint", "motor"]
    torque: Scalar


def across(motor_side: Friction | FrictionLaw, ratio: Scalar) -> FrictionLaw:
    """Friction of a motor as its joint feels it, for |N| = ratio: |N| (B |N| qd + Tc)."""
    f, N = motor_side, ratio
    static = None if f.static is None else (N * f.static[0], N * f.static[1])
    speed = None if f.stribeck_speed is None else f.stribeck_speed / N
    return FrictionLaw("joint", N * f.viscous * N, (N * f.coulomb[0], N * f.coulomb[1]), static, speed)


def friction_torque(
    friction: Friction | FrictionLaw | KnownFriction, speed: Scalar, direction: Scalar
) -> Scalar:
    """B v + Tc for the direction (-1, 0, 1) of motion, or of the motion about to begin.

    With `static`, Tc is replaced with Tc + (Ts - Tc) exp(-(v / vs)^2) (Armstrong's form of the Stribeck
    curve).
    """
    if isinstance(friction, KnownFriction):
        return friction.torque
    forwards, backwards = (level(friction, side, speed) for side in (0, 1))
    return speed * friction.viscous + dry(forwards, backwards, direction)


def level(friction: Friction | FrictionLaw, side: int, speed: Scalar) -> Scalar:
    """Dry friction forwards (0) or backwards (1), signed as it opposes the drive."""
    if friction.static is None or friction.stribeck_speed is None:
        return friction.coulomb[side]
    ratio = speed * (1.0 / friction.stribeck_speed)
    return friction.coulomb[side] + (friction.static[side] - friction.coulomb[side]) * exp(-(ratio * ratio))


def dry(forwards: Scalar, backwards: Scalar, direction: Scalar) -> Scalar:
    """The first value forwards, the second backwards, 0 at rest."""
    if isinstance(direction, float | int):
        return forwards if direction > 0.0 else backwards if direction < 0.0 else 0.0
    return direction * (0.5 * (forwards - backwards)) + direction * direction * (0.5 * (forwards + backwards))
