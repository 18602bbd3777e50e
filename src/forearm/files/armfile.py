"""The layout of the arm file, said once: what may stand where. Reader, writer and JSON Schema follow it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from forearm.arm.drive import BEARINGS, INTERPOLATIONS, SIDES
from forearm.arm.joint import CONVENTIONS, KINDS
from forearm.reading.fields import Angle, Blocks, Choice, Number, Row, Table, Text, published
from forearm.values import MAX_TEXT

SCHEMA = "forearm-arm/1"

VECTOR = Row(Number(), 3, "[x, y, z] of the free-fall acceleration, such as [0, 0, -9.81]")
POSE = Table(
    {
        "xyz": Row(Number(), 3, "m"),
        "rpy": Row(Angle(), 3, "roll, pitch, yaw: R = Rz(yaw) Ry(pitch) Rx(roll)"),
        "matrix": Row(Row(Number(), 4), 4, "the whole 4x4 pose, instead of xyz and rpy"),
    },
    doc="a pose: xyz and rpy, or matrix",
)
INERTIA_KEYS = ("xx", "yy", "zz", "xy", "xz", "yz")  # as they are written
INERTIA = Table(
    {
        "about": Choice(
            ("com", "origin"), "the point: the centre of mass, or the origin of the link's frame"
        ),
        **{k: Number("kg m^2, element of the tensor (xy = -integral of x y dm)") for k in INERTIA_KEYS},
    },
    required=("about", "xx", "yy", "zz"),
)
LINK = Table(
    {
        "name": Text(
            "link1 for what the first joint moves, link2 for the second, ... unless the "
            "joint's child says otherwise"
        ),
        "mass": Number("kg", minimum=0.0),
        "com": Row(Number(), 3, "centre of mass in the link's frame, m"),
        "inertia": INERTIA,
    },
    required=("name",),
    doc="a rigid link; without mass and inertia it only carries joints",
)
PAIR = Row(Number(), 2, "[for qd > 0, for qd < 0], the second at most 0, such as [0.3, -0.3]")
MOTOR = Table(
    {
        "gear_ratio": Number("motor angle / joint angle; negative when reversed"),
        "rotor_inertia": Number("kg m^2, motor side; the joint feels gear_ratio^2 times it", minimum=0.0),
        "torque_constant": Number("N m / A", above=0.0),
        "resistance": Number("ohm", above=0.0),
        "inductance": Number("H", minimum=0.0),
        "max_voltage": Number("V", above=0.0),
        "max_current": Number("A", above=0.0),
        "amplifier_gain": Number("motor voltage / output of the converter in front of it; 1 unless given"),
    }
)
FRICTION = Table(
    {
        "side": Choice(SIDES, "the side of the gear that the figures are for"),
        "viscous": Number("N m s / rad (N s / m), on that side", minimum=0.0),
        "coulomb": PAIR,
        "static": PAIR,
        "stribeck_speed": Number(
            "rad / s (m / s), on that side: of the motor's shaft where it is the motor's", above=0.0
        ),
    },
    required=("side",),
)
BEARING = Table(
    {
        "kind": Choice(BEARINGS),
        "mu": Number("coefficient of friction", minimum=0.0),
        "radius": Number("m", above=0.0),
        "distance": Number("between the supports, m", above=0.0),
        "offset": Number("of their midpoint along the axis from the joint's origin, m"),
    },
    required=("kind", "mu"),
)
TRANSMISSION = Table(
    {
        "efficiency": Row(Row(Number(), 2), None, "[[load / rated torque, efficiency], ...], loads rising"),
        "rated_torque": Number("joint side, N m (N)", above=0.0),
        "breakaway": Number("joint side, N m (N)", minimum=0.0),
        "interpolation": Choice(INTERPOLATIONS),
    },
    required=("efficiency", "rated_torque"),
)
MOVES: dict[str, Any] = {
    "name": Text(),
    "kind": Choice(KINDS),
    "axis": Row(Number(), 3, "direction in the joint's frame; 0 0 1 unless given"),
    "limits": Row(Angle(infinite=True), 2, "[lower, upper], rad (m)"),
    "max_speed": Number("rad / s (m / s)", minimum=0.0),
    "max_effort": Number("N m (N)", minimum=0.0),
    "motor": MOTOR,
    "friction": FRICTION,
    "bearing": Row(BEARING, None, "one table a bearing"),
    "transmission": TRANSMISSION,
}
JOINT = Table(
    {
        **MOVES,
        "parent": Text("link it sits on; the previous joint's child unless given"),
        "child": Text("link it moves; link1 for the first joint, link2 for the second, ... unless given"),
        "dh": Table(
            {"a": Number("m"), "alpha": Angle(), "d": Number("m"), "theta": Angle()},
            doc="Denavit-Hartenberg row, in the convention that dh_convention says",
        ),
        "frame": Table(
            {k: POSE.fields[k] for k in ("xyz", "rpy")}, doc="the joint's frame in the parent link"
        ),
        "mimic": Table(
            {"joint": Text(), "multiplier": Number(), "offset": Number()},
            required=("joint",),
            doc="q = multiplier q(joint) + offset",
        ),
        "freedoms": Row(
            Table(MOVES, required=("kind",)), None, "several freedoms at one point, in order, instead of kind"
        ),
    }
)


WORLD = Table({"world": VECTOR}, required=("world",))


@dataclass(frozen=True)
class Gravity:
    """Free-fall acceleration: [x, y, z] in the base frame, or { world = [x, y,
    z] } when the base is turned.
    """

    def read(self, value: Any, place: str) -> dict[str, Any]:
        if isinstance(value, dict):
            return WORLD.read(value, place)
        return {"base": VECTOR.read(value, place)}

    def schema(self) -> dict[str, Any]:
        return {
            "oneOf": [VECTOR.schema(), WORLD.schema()],
            "description": "m / s^2, in the base frame or the world",
        }


ARM = Table(
    {
        "schema": Choice((SCHEMA,)),
        "name": Text(),
        "source": Text("where the numbers come from", MAX_TEXT),
        "notes": Text("what a user should know", MAX_TEXT),
        "gravity": Gravity(),
        "base": POSE,
        "base_link": Text("name of the link that does not move; link0 unless given"),
        "hand": Table(
            {"link": Text("the last joint's child unless given"), **POSE.fields},
            doc="the hand's frame on a link",
        ),
        "dh_convention": Choice(CONVENTIONS, "of every dh row in this file"),
        "parts": Text("parts file, beside this one, that the links' numbers come from"),
        "joint": Blocks(JOINT, "joint"),
        "link": Blocks(LINK, "link"),
    },
    required=("schema", "name", "joint", "link"),
)


def json_schema() -> dict[str, Any]:
    """The JSON Schema of the arm file, as published in `forearm/schemas/arm.schema.json`."""
    return published("forearm arm file", ARM)
