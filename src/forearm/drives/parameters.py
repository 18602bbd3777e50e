"""Symbolic drive parameters, by name: "joint2.friction.viscous", "joint2.motor.rotor_inertia"."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from forearm.arm.arm import Arm
from forearm.arm.drive import DIRECTIONS, Friction, Motor
from forearm.arm.joint import Joint
from forearm.arm.named_values import friction_values, values_of
from forearm.drives.friction import FrictionLaw
from forearm.drives.joint import Drive, drives_of
from forearm.symbols.scalars import Scalar

MOTOR = ("gear_ratio", "rotor_inertia")  # parameters of torques
CONSTANTS = ("torque_constant", "resistance")  # parameters of voltages only


def drive_values(arm: Arm) -> dict[str, float]:
    """Every friction and motor parameter that may stay symbolic, with its value, by joint.

    The structure decides which exist: a joint without friction has none, one without `static` no Stribeck
    curve.
    """
    values: dict[str, float] = {}
    for joint in (body.joint for body in arm.moving.bodies):
        figures = {} if joint.friction is None else friction_values(joint.friction)
        values |= {f"{joint.name}.friction.{key}": x for key, x in figures.items()}
        values |= _constants(joint, MOTOR)
    return values


def _constants(joint: Joint, keys: Sequence[str]) -> dict[str, float]:
    known = values_of(joint.motor)
    return {f"{joint.name}.motor.{key}": known[key] for key in keys if key in known}


def motor_constant_values(arm: Arm) -> dict[str, float]:
    """The known motor constants that only affect voltages, by joint."""
    return {name: x for joint in arm.joints for name, x in _constants(joint, CONSTANTS).items()}


def drives_over(arm: Arm, symbols: Mapping[str, Scalar]) -> tuple[Drive, ...]:
    """The arm's drives with symbols in place of the named parameters."""
    return tuple(
        _over(drive, body.joint.name, body.joint.motor, symbols)
        for drive, body in zip(drives_of(arm), arm.moving.bodies, strict=True)
    )


def _over(drive: Drive, joint: str, motor: Motor | None, symbols: Mapping[str, Scalar]) -> Drive:
    if not any(name.startswith((f"{joint}.friction.", f"{joint}.motor.")) for name in symbols):
        return drive
    if isinstance(drive.friction, Friction):
        drive = replace(drive, friction=_law(drive.friction, f"{joint}.friction", symbols))
    if motor is not None:
        N, J = (symbols.get(f"{joint}.motor.{key}", getattr(motor, key)) for key in MOTOR)
        drive = replace(drive, ratio=abs(N), rotor=N * N * J)
    return drive


def _law(friction: Friction, name: str, symbols: Mapping[str, Scalar]) -> FrictionLaw:
    values = {key: symbols.get(f"{name}.{key}", x) for key, x in friction_values(friction).items()}
    coulomb, static = (
        tuple(values[f"{kind}.{way}"] for way in DIRECTIONS) if f"{kind}.positive" in values else None
        for kind in ("coulomb", "static")
    )
    return FrictionLaw(friction.side, values["viscous"], coulomb, static, values.get("stribeck_speed"))
