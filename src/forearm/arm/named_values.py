"""Every measurable parameter of an arm, by name: "link2.com.x", "joint1.friction.coulomb.positive"."""

from __future__ import annotations

from collections.abc import Iterable

from forearm.arm.drive import Elasticity, Friction, Motor
from forearm.arm.joint import Joint
from forearm.arm.link import Link
from forearm.spatial import TENSOR

DIRECTIONS = ("positive", "negative")
CONSTANTS = ("gear_ratio", "rotor_inertia", "torque_constant", "resistance", "inductance", "amplifier_gain")


def named_values(links: Iterable[Link], tree: Iterable[Joint]) -> dict[str, float]:
    """The parameters of links and drives by name, in order, with inertia about the centre of mass.

    A joint without friction has no friction parameters; unknown motor constants are left out.
    """
    values: dict[str, float] = {}
    for link in links:
        values[f"{link.name}.mass"] = link.mass
        values |= {f"{link.name}.com.{axis}": float(x) for axis, x in zip("xyz", link.com, strict=True)}
        values |= {f"{link.name}.inertia.{key}": float(link.inertia[ik]) for key, ik in TENSOR.items()}
    for joint in tree:
        if joint.friction is not None:
            figures = friction_values(joint.friction) | bristle_values(joint.friction)
            values |= {f"{joint.name}.friction.{k}": x for k, x in figures.items()}
        values |= {f"{joint.name}.bearing{k + 1}.mu": b.mu for k, b in enumerate(joint.bearings)}
        if joint.motor is not None:
            values |= {f"{joint.name}.motor.{k}": x for k, x in motor_values(joint.motor).items()}
        if joint.elasticity is not None:
            springs = elasticity_values(joint.elasticity)
            values |= {f"{joint.name}.elasticity.{k}": x for k, x in springs.items()}
    return values


def friction_values(friction: Friction) -> dict[str, float]:
    """The parameters of steady-state friction by name; those of the Stribeck curve only if there is one."""
    values = {"viscous": friction.viscous}
    values |= {f"coulomb.{way}": x for way, x in zip(DIRECTIONS, friction.coulomb, strict=True)}
    if friction.static is not None and friction.stribeck_speed is not None:
        values |= {f"static.{way}": x for way, x in zip(DIRECTIONS, friction.static, strict=True)}
        values["stribeck_speed"] = friction.stribeck_speed
    return values


def bristle_values(friction: Friction) -> dict[str, float]:
    """The parameters of LuGre bristles by name, if any; steady-state torques do not depend on them."""
    if friction.bristle_stiffness is None:
        return {}
    return {"bristle_stiffness": friction.bristle_stiffness, "bristle_damping": friction.bristle_damping}


def elasticity_values(elasticity: Elasticity) -> dict[str, float]:
    """The parameters of a spring by name; one given by a curve has no stiffness."""
    stiffness = {} if elasticity.stiffness is None else {"stiffness": elasticity.stiffness}
    return stiffness | {"damping": elasticity.damping, "half_gap": elasticity.half_gap}


def motor_values(motor: Motor) -> dict[str, float]:
    """The known constants of a motor, by name."""
    values = {key: getattr(motor, key) for key in CONSTANTS}
    return {key: value for key, value in values.items() if value is not None}
