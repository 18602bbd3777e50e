"""The layout of the arm file: its tables, keys and types, shared by the reader, the writer and the JSON
Schema.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from forearm.arm.arm import Arm
from forearm.arm.drive import Friction
from forearm.arm.joint import CONVENTIONS, DH, Frame, Joint
from forearm.arm.link import Link
from forearm.errors import InputError, shorten
from forearm.reading.fields import (
    AngleField,
    ArrayField,
    ChoiceField,
    ListField,
    MapField,
    NumberField,
    TableField,
    TableListField,
    TextField,
    published,
)
from forearm.records import RecordField, declaration

SCHEMA = "forearm-arm/1"

OF_ARM, OF_FRAME, OF_JOINT, OF_LINK = map(declaration, (Arm, Frame, Joint, Link))
VECTOR = ListField(NumberField(), 3, "[x, y, z] of the free-fall acceleration, such as [0, 0, -9.81]")
POSE = TableField(
    {
        "xyz": OF_FRAME["xyz"],
        "rpy": OF_FRAME["rpy"],
        "matrix": ArrayField((4, 4), "the full 4x4 pose, instead of xyz and rpy"),
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
        **OF_LINK,
        "name": TextField(
            "link1 for the link that the first joint moves, link2 for the second, ..., "
            "unless the joint's child names another"
        ),
        "inertia": INERTIA,
    },
    required=("name",),
    doc="a rigid link; without mass and inertia it only carries joints",
)
MOVES: dict[str, Any] = {
    "name": OF_JOINT["name"],
    "kind": OF_JOINT["kind"],
    "axis": OF_FRAME["axis"],
    **{key: OF_JOINT[key] for key in ("limits", "max_speed", "max_effort", "motor")},
    "friction": RecordField(Friction, "its friction", required=("side",)),
    "bearing": OF_JOINT["bearings"],
    "transmission": OF_JOINT["transmission"],
    "elasticity": OF_JOINT["elasticity"],
}
JOINT = TableField(
    {
        **MOVES,
        "parent": TextField("parent link (default: the previous joint's child)"),
        "child": TextField("child link (default: link1 for the first joint, link2 for the second, ...)"),
        "dh": TableField(
            {key: number for key, number in declaration(DH).items() if key != "convention"},
            doc="Denavit-Hartenberg row, in the convention given by dh_convention",
        ),
        "frame": TableField(
            {key: POSE.fields[key] for key in ("xyz", "rpy")}, doc="the joint's frame in the parent link"
        ),
        "mimic": OF_JOINT["mimic"],
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
        **{key: OF_ARM[key] for key in ("name", "source", "notes")},
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
        "home": ListField(
            AngleField(), None, "home position, a value per movable joint in their order, rad (m)"
        ),
    },
    required=("schema", "name", "joint", "link"),
)


def json_schema() -> dict[str, Any]:
    """The JSON Schema of the arm file, as published in `forearm/schemas/arm.schema.json`."""
    return published("forearm arm file", ARM)
