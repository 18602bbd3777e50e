"""Every measurable parameter of an arm, by name: "link2.com.x", "joint1.friction.coulomb.positive".

Which fields of a drive are parameters, with their units and bounds, is declared in `drive`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from forearm.arm.drive import DIRECTIONS, Bearing, Elasticity, Friction, Motor, TwoSidedField
from forearm.arm.joint import Joint
from forearm.arm.link import Link
from forearm.reading.fields import NumberField
from forearm.records import declaration
from forearm.spatial import TENSOR

PARTS = {"motor": Motor, "friction": Friction, "elasticity": Elasticity, "bearing": Bearing}


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
        parts: dict[str, Any] = {"friction": joint.friction}
        parts |= {f"bearing{k}": bearing for k, bearing in enumerate(joint.bearings, 1)}
        for name, part in (parts | {"motor": joint.motor, "elasticity": joint.elasticity}).items():
            values |= {f"{joint.name}.{name}.{key}": x for key, x in values_of(part).items()}
    return values


def values_of(part: Motor | Friction | Bearing | Elasticity | None) -> dict[str, float]:
    """The known parameters of a part of a drive, by name."""
    values: dict[str, float] = {}
    for name, field in declaration(type(part)).items() if part is not None else ():
        value = getattr(part, name)
        if isinstance(field, TwoSidedField) and value is not None:
            values |= {f"{name}.{way}": x for way, x in zip(DIRECTIONS, value, strict=True)}
        elif getattr(field, "is_parameter", False) and value is not None:
            values[name] = value
    if isinstance(part, Friction) and part.bristle_stiffness is None:
        del values["bristle_damping"]
    return values


def friction_values(friction: Friction) -> dict[str, float]:
    """The parameters of steady-state friction by name, without those of bristles."""
    return {key: x for key, x in values_of(friction).items() if not key.startswith("bristle")}


def declared_number(name: str) -> NumberField | None:
    """The declaration of a parameter that is one number, with its bounds and unit."""
    owner, _, key = name.rpartition(".")
    part = owner.rpartition(".")[2].rstrip("0123456789")
    field = declaration(PARTS.get(part, Link)).get(key)
    return field if isinstance(field, NumberField) else None
