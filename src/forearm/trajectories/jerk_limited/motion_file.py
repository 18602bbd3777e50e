"""Phases of constant jerk in JSON, round-tripped bit for bit."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np

from forearm.errors import InputError
from forearm.reading.fields import ChoiceField, ListField, NumberField, TableField
from forearm.reading.textfile import write_text
from forearm.trajectories.jerk_limited.motion import NAMES, JerkMotion
from forearm.trajectories.json_arrays import shaped_arrays

FORMAT = "forearm-jerk-motion/1"
AGREEMENT = 1e-9  # relative: no file written by `write_jerk_motion` misses its points by more

STATE = ListField(NumberField())
JERK_MOTION = TableField(
    {
        "format": ChoiceField((FORMAT,)),
        "points": ListField(STATE, doc="q where segments meet"),
        "velocities": ListField(STATE, doc="qd there"),
        "accelerations": ListField(STATE, doc="qdd there"),
        "phases": ListField(
            ListField(ListField(NumberField(minimum=0.0))), doc="s, of each joint of each segment"
        ),
        "jerks": ListField(ListField(STATE), doc="in these phases"),
        "segments": ListField(NumberField(minimum=0.0), doc="s, of each segment"),
    },
    required=("format", "points", "velocities", "accelerations", "phases", "jerks", "segments"),
)


def write_jerk_motion(motion: JerkMotion, path: str | os.PathLike[str]) -> None:
    """Write the file atomically."""
    document = {"format": FORMAT} | {name: getattr(motion, name).tolist() for name in NAMES}
    write_text(path, json.dumps(document) + "\n")


def jerk_motion_from_document(document: Any, name: str) -> JerkMotion:
    """The motion in a document read from a file called `name`."""
    data = JERK_MOTION.read(document, name)
    k, n = len(data["segments"]), len(data["points"][0]) if data["points"] else 0
    p = len(data["phases"][0][0]) if data["phases"] and data["phases"][0] else 0
    shapes: dict[str, tuple[int, ...]] = dict.fromkeys(NAMES[:3], (k + 1, n))
    shapes |= {"phases": (k, n, p), "jerks": (k, n, p), "segments": (k,)}
    motion = JerkMotion(**shaped_arrays(data, shapes, name, "one segment, one joint and one phase"))
    _check_joined(motion, name)
    return motion


def _check_joined(motion: JerkMotion, where: str) -> None:
    """Refuse phases that miss the next point."""
    time, q, qd, qdd = motion._from_start
    T = motion.segments[:, None]
    hardest = np.abs(qdd).max(axis=2) + np.abs(motion.jerks).max(axis=2) * T
    fastest = np.abs(qd).max(axis=2) + hardest * T
    places = np.abs(q).max(axis=2) + fastest * T
    wrong = np.abs(time[..., -1] - T) > AGREEMENT * T
    for nodes, ends, scale in (
        (q, motion.points, places),
        (qd, motion.velocities, fastest),
        (qdd, motion.accelerations, hardest),
    ):
        wrong |= np.abs(nodes[..., -1] - ends[1:]) > AGREEMENT * scale
    if wrong.any():
        k = int(np.argmax(wrong.any(axis=1)))
        raise InputError(
            "its phases miss the next point, or joints take different times.", where, f"segment {k + 1}"
        )
