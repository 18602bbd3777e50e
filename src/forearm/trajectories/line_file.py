"""Cartesian lines in JSON: the request, from which the line is recomputed."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from forearm.arm.arm import Arm
from forearm.errors import InputError, located, shorten
from forearm.logs.motion import FORMAT as TABLE
from forearm.reading.fields import ChoiceField, ListField, NumberField, TableField
from forearm.reading.textfile import read_json_table, write_text
from forearm.trajectories.continuous_snap.motion import SmoothMotion
from forearm.trajectories.continuous_snap.motion_file import FORMAT as SMOOTH
from forearm.trajectories.continuous_snap.motion_file import smooth_motion_from_document
from forearm.trajectories.jerk_limited.motion import JerkMotion
from forearm.trajectories.jerk_limited.motion_file import FORMAT as JERK_FORMAT
from forearm.trajectories.jerk_limited.motion_file import jerk_motion_from_document
from forearm.trajectories.line_speed import PROFILES
from forearm.trajectories.lines import ATTITUDES, HandLine, hand_line
from forearm.trajectories.paths.path_file import FORMAT as PATH_FORMAT
from forearm.trajectories.recorded import RecordedMotion, read_motion, recorded
from forearm.trajectories.series.motion import SeriesMotion
from forearm.trajectories.series.motion_file import FORMAT as SERIES
from forearm.trajectories.series.motion_file import series_motion_from_document
from forearm.trajectories.shortest_time.motion_file import FORMAT as PATH_MOTION
from forearm.trajectories.shortest_time.motion_file import path_motion_from_document
from forearm.trajectories.shortest_time.path_motion import PathMotion
from forearm.trajectories.switching import Switching
from forearm.trajectories.switching_file import FORMAT as SWITCHING
from forearm.trajectories.switching_file import switching_from_document

LoadedMotion = Switching | JerkMotion | SmoothMotion | HandLine | RecordedMotion | PathMotion | SeriesMotion
FORMAT = "forearm-hand-line/1"
HAND_LINE = TableField(
    {
        "format": ChoiceField((FORMAT,)),
        "q0": ListField(NumberField(), doc="the configuration at the start of the line, rad (m)"),
        "to": ListField(ListField(NumberField(), 3), doc="successive positions of the hand, base frame, m"),
        "speed": NumberField("m / s", above=0.0),
        "acceleration": NumberField("m / s^2; absent for profiles without one", above=0.0),
        "profile": ChoiceField(PROFILES),
        "attitude": ChoiceField(ATTITUDES),
    },
    required=("format", "q0", "to", "speed", "profile", "attitude"),
)


def write_line(line: HandLine, path: str | os.PathLike[str]) -> None:
    """Write the file atomically."""
    asked = line.asked
    document: dict[str, Any] = {
        "format": FORMAT,
        "q0": asked.q0.tolist(),
        "to": asked.to.tolist(),
        "speed": asked.speed,
    }
    document |= {} if asked.acceleration is None else {"acceleration": asked.acceleration}
    write_text(path, json.dumps(document | {"profile": asked.profile, "attitude": asked.attitude}) + "\n")


def _kind(written: object) -> str:
    """A format name without its version."""
    return str(written).partition("/")[0]


# Readers of whole documents by their kind of format; they check the version.
READERS: Mapping[str, Callable[[Any, str], LoadedMotion]] = {
    _kind(name): read
    for name, read in (
        (SWITCHING, switching_from_document),
        (JERK_FORMAT, jerk_motion_from_document),
        (SMOOTH, smooth_motion_from_document),
        (PATH_MOTION, path_motion_from_document),
        (SERIES, series_motion_from_document),
    )
}


def load_motion(arm: Arm, path: str | os.PathLike[str]) -> LoadedMotion:
    """Load a motion from a .json file written by `save`: switching points, phases of constant jerk,
    polynomials of continuous snap, a Cartesian line (recomputed for the arm), a motion along a path, a
    periodic motion, or samples.

    Args:
        arm: the arm.
        path: the file.
    """
    where = Path(path)
    document = read_json_table(where, "a format, or t and q")
    kind = _kind(document.get("format", TABLE if "t" in document else None))
    if kind == _kind(PATH_FORMAT):
        raise InputError("it holds a path without timing; use fa.time_optimal to time it.", where.name)
    if kind == _kind(TABLE):
        return recorded(read_motion(arm, where))
    if kind in READERS:
        return READERS[kind](document, where.name)
    if kind != _kind(FORMAT):
        known = ", ".join(sorted((*READERS, _kind(TABLE), _kind(FORMAT))))
        raise InputError(
            f"expected one of {known}, got {shorten(document.get('format'))}. A table of "
            "samples needs none: t and q.",
            where.name,
            "format",
        )
    data = HAND_LINE.read(document, where.name)
    asked = {name: value for name, value in data.items() if name != "format"}
    with located(where.name):
        return hand_line(arm, **asked)
