"""Requests in TOML files: the schema, and validated reading of untrusted files."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from forearm.drives.motor import DAC
from forearm.errors import InputError, located, shorten
from forearm.reading.fields import (
    AngleField,
    ChoiceField,
    FlagOr,
    ListField,
    NumberField,
    TableField,
    TableListField,
    TextField,
    WholeField,
    published,
)
from forearm.reading.formats import refuse_other_format
from forearm.reading.textfile import read_toml
from forearm.records import declaration, table_of
from forearm.spatial import pose_xyz_rpy
from forearm.trajectories.path_options import PathOptions
from forearm.trajectories.requests import Request, Waypoint

SCHEMA = "forearm-request/1"
OPEN = "open"
MOST_BITS = 52


@dataclass(frozen=True)
class NumberOrOpen:
    """A number, or the word "open" for a velocity that the planner chooses: NaN."""

    def read(self, value: Any, place: str) -> float:
        """The number."""
        return math.nan if value == OPEN else NumberField().read(value, place)

    def schema(self) -> dict[str, Any]:
        """A number or the word."""
        return {"oneOf": [NumberField().schema(), {"const": OPEN}]}


WAYPOINT = TableField(
    {
        "name": TextField("for messages"),
        "q": ListField(AngleField(), None, "joint coordinates, rad (m)"),
        "qd": ListField(
            NumberOrOpen(), None, "joint velocities, rad / s (m / s), or 'open' for a joint; default: open"
        ),
        "xyz": ListField(NumberField(), 3, "the hand's origin in the base frame, m, instead of q"),
        "rpy": ListField(AngleField(), 3, "its roll, pitch, yaw: R = Rz(yaw) Ry(pitch) Rx(roll)"),
        "matrix": ListField(
            ListField(NumberField(), 4), 4, "the hand's whole 4x4 pose, instead of xyz and rpy"
        ),
        "hand_velocity": ListField(
            NumberField(), 6, "linear (m / s) then angular (rad / s), base axes; default: open"
        ),
    },
    doc="a configuration to pass: q, or xyz and rpy, or matrix",
)
_OF_REQUEST = declaration(Request)
LIMITS = TableField(
    {
        key: _OF_REQUEST[key]
        for key in (
            *("acceleration", "velocity", "lower", "upper", "torque", "current", "voltage", "jerk", "snap"),
            *("path_jerk", "hand_speed", "hand_acceleration"),
        )
    }
)
OPTIONS = table_of(
    PathOptions, "whether to plan the fastest motion along a path through the points, or its options"
)
CONVERTER = TableField(
    {
        "span": NumberField("output range from -span to span, V", above=0.0),
        "bits": WholeField("2^bits steps over the span; default: not quantised", 1, MOST_BITS),
        "gain": NumberField("voltage / converter output, other than 0; default: 1"),
    },
    required=("span",),
    doc="the converter whose range limits the voltages",
)
REQUEST = TableField(
    {
        "schema": ChoiceField((SCHEMA,)),
        "name": TextField(),
        "time_optimal": FlagOr(OPTIONS, OPTIONS.doc),
        "tolerance": OPTIONS.fields["tolerance"],
        "duration": _OF_REQUEST["duration"],
        "limits": LIMITS,
        "dac": CONVERTER,
        "waypoint": TableListField(WAYPOINT, "waypoint", "in the order in which they are passed"),
    },
    required=("schema", "waypoint"),
)


def read_request(path: str | os.PathLike[str]) -> Request:
    """Read a request from a TOML file."""
    where = Path(path)
    return request_from_document(read_toml(where), where.name)


def request_from_document(document: dict[str, Any], name: str) -> Request:
    """The request in the tables of a file called `name`."""
    refuse_other_format(document, name, SCHEMA)
    data = REQUEST.read(document, name)
    waypoints = []
    for k, block in enumerate(data["waypoint"]):
        called = f"waypoint {shorten(block['name'])}" if "name" in block else f"waypoint[{k + 1}]"
        with located(name, called):
            waypoints.append(_waypoint(block))
    with located(name):
        dac = DAC(**data["dac"]) if "dac" in data else None
        return Request(
            tuple(waypoints),
            name=data.get("name", name),
            dac=dac,
            time_optimal=_path_options(data),
            duration=data.get("duration"),
            **data.get("limits", {}),
        )


def request_schema() -> dict[str, Any]:
    """The JSON Schema of a request file."""
    return published("forearm request file", REQUEST)


def _path_options(data: dict[str, Any]) -> PathOptions | None:
    """The options of a time-optimal request; None for other requests."""
    given = data.get("time_optimal", False)
    said = dict(given) if isinstance(given, dict) else {}
    if "tolerance" in data:
        if given is False:
            raise InputError(
                "only for time-optimal plans, as the envelope around the straight lines "
                "between waypoints; add time_optimal = true, or omit it.",
                "tolerance",
            )
        if "tolerance" in said:
            raise InputError("also set under [time_optimal]; set it once.", "tolerance")
        said["tolerance"] = data["tolerance"]
    return None if given is False else PathOptions(**said)


def _waypoint(block: dict[str, Any]) -> Waypoint:
    ways = [key for key in ("q", "xyz", "matrix") if key in block]
    if len(ways) != 1 or ("rpy" in block) != (ways == ["xyz"]):
        got = ", ".join(key for key in ("q", "xyz", "rpy", "matrix") if key in block) or "none of them"
        raise InputError(f"expected q, or xyz and rpy, or matrix, got {got}.")
    pose = None
    if ways == ["xyz"]:
        pose = pose_xyz_rpy(np.array(block["xyz"]), np.array(block["rpy"], dtype=float))
    elif ways == ["matrix"]:
        pose = np.array(block["matrix"])
    given = {key: block[key] for key in ("q", "qd", "hand_velocity") if key in block}
    return Waypoint(pose=pose, **given)
