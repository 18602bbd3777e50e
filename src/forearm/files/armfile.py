"""The layout of the arm file: its tables, keys and types, shared by the reader, the writer and the JSON
Schema.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from forearm.arm.drive import Bearing, Elasticity, Friction, Motor, Transmission
from forearm.arm.joint import CONVENTIONS, KINDS
from forearm.errors import InputError, shorten
from forearm.reading.fields import (
    AngleField,
    ChoiceField,
    ListField,
    MapField,
    NumberField,
    TableField,
    TableListField,
    TextField,
    published,
)
from forearm.records import table_of
from forearm.values import MAX_TEXT

SCHEMA = "forearm-arm/1"

VECTOR = ListField(NumberField(), 3, "[x, y, z] of the free-fall acceleration, such as [0, 0, -9.81]")
POSE = TableField(
    {
        "xyz": ListField(NumberField(), 3, "m"),
        "rpy": ListField(AngleField(), 3, "roll, pitch, yaw: R = Rz(yaw) Ry(pitch) Rx(roll)"),
        "matrix": ListField(ListField(NumberField(), 4), 4, "the full 4x4 pose, instead of xyz and rpy"),
    },
    doc="a pose: xyz and rpy, or matrix",
)
INERTIA_KEYS = ("xx", "yy", "zz", "xy", "xz", "yz")  # in the order in which they are written
INERTIA = TableField(
    {
        "about": ChoiceField(
            ("com", "origin"), "reference point: the centre of mass, or the origin of the link's frame"
        ),
        **{k: NumberField("element of the tensor, kg m^2 (xy = -integral of x y dm)") for k in INERTIA_KEYS},
    },
    required=("about", "xx", "yy", "zz"),
)
LINK = TableField(
    {
        "name": TextField(
            "link1 for the link that the first joint moves, link2 for the second, ..., "
            "unless the joint's child names another"
        ),
        "mass": NumberField("kg", minimum=0.0),
        "com": ListField(NumberField(), 3, "centre of mass in the link's frame, m"),
        "inertia": INERTIA,
    },
    required=("name",),
    doc="a rigid link; without mass and inertia it only carries joints",
)
MOVES: dict[str, Any] = {
    "name": TextField(),
    "kind": ChoiceField(KINDS),
    "axis": ListField(NumberField(), 3, "direction in the joint's frame (default: 0 0 1)"),
    "limits": ListField(AngleField(infinite=True), 2, "[lower, upper], rad (m)"),
    "max_speed": NumberField("rad / s (m / s)", minimum=0.0),
    "max_effort": NumberField("N m (N)", minimum=0.0),
    "motor": table_of(Motor),
    "friction": table_of(Friction, required=("side",)),
    "bearing": ListField(table_of(Bearing), None, "one table per bearing"),
    "transmission": table_of(Transmission),
    "elasticity": table_of(Elasticity, "compliance between motor and link; if absent, the drive is rigid"),
}
JOINT = TableField(
    {
        **MOVES,
        "parent": TextField("parent link (default: the previous joint's child)"),
        "child": TextField("child link (default: link1 for the first joint, link2 for the second, ...)"),
        "dh": TableField(
            {"a": NumberField("m"), "alpha": AngleField(), "d": NumberField("m"), "theta": AngleField()},
            doc="Denavit-Hartenberg row, in the convention given by dh_convention",
        ),
        "frame": TableField(
            {k: POSE.fields[k] for k in ("xyz", "rpy")}, doc="the joint's frame in the parent link"
        ),
        "mimic": TableField(
            {"joint": TextField(), "multiplier": NumberField(), "offset": NumberField()},
            required=("joint",),
            doc="q = multiplier q(joint) + offset",
        ),
        "freedoms": ListField(
            TableField(MOVES, required=("kind",)),
            None,
            "several degrees of freedom at one point, in order, instead of kind",
        ),
    }
)


WORLD = TableField({"world": VECTOR}, required=("world",))


@dataclass(frozen=True)
class Gravity:
    """Free-fall acceleration: [x, y, z] in the base frame, or { world = [x, y, z] } for a rotated base."""

    def read(self, value: Any, place: str) -> dict[str, Any]:
        if isinstance(value, dict):
            return WORLD.read(value, place)
        return {"base": VECTOR.read(value, place)}

    def schema(self) -> dict[str, Any]:
        return {
            "oneOf": [VECTOR.schema(), WORLD.schema()],
            "description": "m / s^2, in the base frame or the world",
        }


@dataclass(frozen=True)
class DeviationsField:
    """Standard deviations by the quoted names of parameters; the arm itself checks the names."""

    def read(self, value: Any, place: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise InputError(f"expected a table [deviations], got {shorten(value)}.", place)
        return value

    def schema(self) -> dict[str, Any]:
        return MapField(
            NumberField("in the unit of the parameter", minimum=0.0),
            "standard deviations of measured parameters, by their quoted names: 'link2.mass', "
            "'link2.com.x', 'link2.inertia.xx' (about the com), 'joint1.friction.viscous', "
            "'joint1.friction.coulomb.positive', 'joint1.motor.rotor_inertia', "
            "'joint1.elasticity.stiffness'",
        ).schema()


ARM = TableField(
    {
        "schema": ChoiceField((SCHEMA,)),
        "name": TextField(),
        "source": TextField("where the parameters come from", MAX_TEXT),
        "notes": TextField("what a user should know", MAX_TEXT),
        "gravity": Gravity(),
        "base": POSE,
        "base_link": TextField("name of the fixed base link (default: link0)"),
        "hand": TableField(
            {"link": TextField("default: the last joint's child"), **POSE.fields},
            doc="the hand frame on a link",
        ),
        "dh_convention": ChoiceField(CONVENTIONS, "convention of every dh row in this file"),
        "parts": TextField("parts file in the same folder that defines the links' mass properties"),
        "joint": TableListField(JOINT, "joint"),
        "link": TableListField(LINK, "link"),
        "deviations": DeviationsField(),
    },
    required=("schema", "name", "joint", "link"),
)


def json_schema() -> dict[str, Any]:
    """The JSON Schema of the arm file, as published in `forearm/schemas/arm.schema.json`."""
    return published("forearm arm file", ARM)
