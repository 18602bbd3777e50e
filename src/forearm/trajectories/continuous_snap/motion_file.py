"""Motions of continuous snap in JSON, round-tripped bit for bit."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np

from forearm.errors import InputError, shorten
from forearm.reading.fields import ChoiceField, ListField, NumberField, TableField
from forearm.reading.textfile import write_text
from forearm.trajectories.continuous_snap.motion import SmoothMotion
from forearm.trajectories.json_arrays import shaped_arrays

FORMAT = "forearm-smooth-motion/1"
STATES = ("positions", "velocities", "accelerations", "jerks", "snaps")
SMOOTH_MOTION = TableField(
    {
        "format": ChoiceField((FORMAT,)),
        "positions": ListField(ListField(NumberField()), doc="q where polynomials meet, rad (m)"),
        "velocities": ListField(ListField(NumberField()), doc="qd there"),
        "accelerations": ListField(ListField(NumberField()), doc="qdd there"),
        "jerks": ListField(ListField(NumberField()), doc="qddd there"),
        "snaps": ListField(ListField(NumberField()), doc="qdddd there"),
        "segments": ListField(NumberField(minimum=0.0), doc="s, of each polynomial"),
        "passed": ListField(NumberField(minimum=0.0), doc="states at the points, by number from 0 on"),
    },
    required=("format", *STATES, "segments", "passed"),
)


def write_smooth_motion(motion: SmoothMotion, path: str | os.PathLike[str]) -> None:
    """Write the file atomically."""
    states = dict(zip(STATES, np.moveaxis(motion.states, 1, 0).tolist(), strict=True))
    rest = {"segments": motion.segments.tolist(), "passed": motion.passed.tolist()}
    write_text(path, json.dumps({"format": FORMAT, **states, **rest}) + "\n")


def smooth_motion_from_document(document: Any, name: str) -> SmoothMotion:
    """The motion in a document read from a file called `name`."""
    data = SMOOTH_MOTION.read(document, name)
    m, n = len(data["segments"]), len(data["positions"][0]) if data["positions"] else 0
    shapes: dict[str, tuple[int, ...]] = dict.fromkeys(STATES, (m + 1, n))
    arrays = shaped_arrays(data, shapes | {"segments": (m,)}, name, "one polynomial and one joint")
    states, segments = np.stack([arrays[key] for key in STATES], axis=1), arrays["segments"]
    leaps = np.flatnonzero((segments == 0.0) & (states[1:] != states[:-1]).any(axis=(1, 2)))
    if leaps.size:
        raise InputError("its duration is 0, but the state changes.", name, f"segments[{int(leaps[0]) + 1}]")
    passed = np.array(data["passed"])
    if len(passed) < 2 or passed[0] != 0 or passed[-1] != m or not (np.diff(passed) > 0).all():
        raise InputError(f"expected at least two whole numbers, increasing from 0 to {m}.", name, "passed")
    if not np.isin(passed, np.arange(m + 1)).all():
        raise InputError(f"expected whole numbers, got {shorten(data['passed'])}.", name, "passed")
    return SmoothMotion(states, segments, passed.astype(np.intp))
