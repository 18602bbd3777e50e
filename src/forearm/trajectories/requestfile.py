"""Requests in TOML files: the layout said once, and read without trust."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from forearm.drives.motor import DAC
from forearm.errors import ForearmError, InputError, shorten, suggest
from forearm.reading.fields import (
    AngleField,
    ChoiceField,
    Field,
    ListField,
    NumberField,
    TableField,
    TableListField,
    TextField,
    published,
)
from forearm.reading.textfile import read_toml
from forearm.spatial import pose_xyz_rpy
from forearm.trajectories.requests import Request, Waypoint
from forearm.values import check_whole

SCHEMA = "forearm-request/1"
OPEN = "open"
MOST_BITS = 52


@dataclass(frozen=True)
class OneOrMany:
    """One value for all joints, or a list with one per joint."""

    item: Field
    doc: str = ""

    def read(self, value: Any, place: str) -> Any:
        """A number, or a tuple of them."""
        return (
            ListField(self.item).read(value, place)
            if isinstance(value, list)
            else self.item.read(value, place)
        )

    def schema(self) -> dict[str, Any]:
        """Either of both."""
        return {"oneOf": [self.item.schema(), ListField(self.item).schema()], "description": self.doc}


@dataclass(frozen=True)
class NumberOrOpen:
    """A number, or the word open for a velocity that may be chosen: NaN."""

    def read(self, value: Any, place: str) -> float:
        """The number."""
        return math.nan if value == OPEN else NumberField().read(value, place)

    def schema(self) -> dict[str, Any]:
        """Either of both."""
        return {"oneOf": [NumberField().schema(), {"const": OPEN}]}


@dataclass(frozen=True)
class ConverterBits:
    """How many bits a converter has."""

    def read(self, value: Any, place: str) -> int:
        """The whole number."""
        return check_whole(value, place, 1, MOST_BITS)

    def schema(self) -> dict[str, Any]:
        """Its bounds."""
        doc = "it has 2^bits steps, which divide the span; none where not given"
        return {"type": "integer", "minimum": 1, "maximum": MOST_BITS, "description": doc}


WAYPOINT = TableField(
    {
        "name": TextField("for messages"),
        "q": ListField(AngleField(), None, "joint coordinates, rad (m)"),
        "qd": ListField(
            NumberOrOpen(),
            None,
            "joint velocities, rad / s (m / s), or 'open' for a joint; open where not given",
        ),
        "xyz": ListField(NumberField(), 3, "the hand's origin in the base frame, m, instead of q"),
        "rpy": ListField(AngleField(), 3, "its roll, pitch, yaw: R = Rz(yaw) Ry(pitch) Rx(roll)"),
        "matrix": ListField(
            ListField(NumberField(), 4), 4, "the hand's whole 4x4 pose, instead of xyz and rpy"
        ),
        "hand_velocity": ListField(
            NumberField(), 6, "linear (m / s) then angular (rad / s), base axes; open where not given"
        ),
    },
    doc="a configuration to pass: q, or xyz and rpy, or matrix",
)
LIMITS = TableField(
    {
        "acceleration": OneOrMany(
            NumberField(above=0.0), "rad / s^2 (m / s^2); for the planner to choose where not given"
        ),
        "velocity": OneOrMany(NumberField(above=0.0), "rad / s (m / s); the arm's where not given"),
        "lower": OneOrMany(AngleField(infinite=True), "rad (m); the arm's where not given"),
        "upper": OneOrMany(AngleField(infinite=True), "rad (m); the arm's where not given"),
        "jerk": OneOrMany(
            NumberField(above=0.0), "rad / s^3 (m / s^3); accelerations may jump where not given"
        ),
    }
)
CONVERTER = TableField(
    {
        "span": NumberField("it gives from -span to span, V", above=0.0),
        "bits": ConverterBits(),
        "gain": NumberField("voltage / what it gives, other than 0; 1 where not given"),
    },
    required=("span",),
    doc="the converter whose range voltages must stay in",
)
REQUEST = TableField(
    {
        "schema": ChoiceField((SCHEMA,)),
        "name": TextField(),
        "limits": LIMITS,
        "dac": CONVERTER,
        "waypoint": TableListField(WAYPOINT, "waypoint", "in the order in which they are passed"),
    },
    required=("schema", "waypoint"),
)


def read_request(path: str | os.PathLike[str]) -> Request:
    """The request that a TOML file describes."""
    where = Path(path)
    return request_from_document(read_toml(where), where.name)


def request_from_document(document: dict[str, Any], name: str) -> Request:
    """The request in the tables of a file called `name`."""
    schema = document.get("schema")
    if schema != SCHEMA:
        hint = (
            suggest(schema, (SCHEMA,))
            if isinstance(schema, str)
            else f"the first line must be schema = {SCHEMA!r}."
        )
        raise InputError(
            f"{name}, schema: this version reads {SCHEMA!r}, the file says {shorten(schema)}. {hint}"
        )
    data = REQUEST.read(document, name)
    waypoints = []
    for k, block in enumerate(data["waypoint"]):
        try:
            waypoints.append(_waypoint(block))
        except ForearmError as error:
            called = f"waypoint {shorten(block['name'])}" if "name" in block else f"waypoint[{k + 1}]"
            raise type(error)(f"{name}, {called}: {error}") from error
    try:
        dac = DAC(**data["dac"]) if "dac" in data else None
        return Request(tuple(waypoints), name=data.get("name", name), dac=dac, **data.get("limits", {}))
    except ForearmError as error:
        raise type(error)(f"{name}: {error}") from error


def request_schema() -> dict[str, Any]:
    """The JSON Schema of a request file."""
    return published("forearm request file", REQUEST)


def _waypoint(block: dict[str, Any]) -> Waypoint:
    ways = [key for key in ("q", "xyz", "matrix") if key in block]
    if len(ways) != 1 or ("rpy" in block) != (ways == ["xyz"]):
        got = ", ".join(key for key in ("q", "xyz", "rpy", "matrix") if key in block) or "none of them"
        raise InputError(f"give q, or xyz and rpy, or matrix; got {got}.")
    pose = None
    if ways == ["xyz"]:
        pose = pose_xyz_rpy(np.array(block["xyz"]), np.array(block["rpy"], dtype=float))
    elif ways == ["matrix"]:
        pose = np.array(block["matrix"])
    return Waypoint(
        q=np.array(block["q"], dtype=float) if "q" in block else None,
        qd=np.array(block["qd"]) if "qd" in block else None,
        pose=pose,
        hand_velocity=np.array(block["hand_velocity"]) if "hand_velocity" in block else None,
    )
