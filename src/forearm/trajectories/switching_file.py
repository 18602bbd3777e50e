"""Switching points in JSON, round-tripped bit for bit."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from forearm.errors import InputError
from forearm.reading.fields import ChoiceField, ListField, NumberField, TableField
from forearm.reading.textfile import read_json, write_text
from forearm.trajectories.json_arrays import shaped_arrays

if TYPE_CHECKING:
    from forearm.trajectories.switching import Switching

FORMAT = "forearm-switching/1"
AGREEMENT = 1e-9  # relative: no file written by `write_switching` misses its points by more

STATE = ListField(NumberField())
SWITCHING = TableField(
    {
        "format": ChoiceField((FORMAT,)),
        "points": ListField(STATE, doc="q where segments meet"),
        "velocities": ListField(STATE, doc="qd there"),
        "phases": ListField(
            ListField(ListField(NumberField(minimum=0.0), 3)), doc="s, three for each joint of each segment"
        ),
        "accelerations": ListField(ListField(ListField(NumberField(), 3)), doc="in these phases"),
    },
    required=("format", "points", "velocities", "phases", "accelerations"),
)


def write_switching(motion: Switching, path: str | os.PathLike[str]) -> None:
    """Write the file atomically."""
    names = ("points", "velocities", "phases", "accelerations")
    write_text(
        path, json.dumps({"format": FORMAT} | {name: getattr(motion, name).tolist() for name in names}) + "\n"
    )


def load_switching(path: str | os.PathLike[str]) -> Switching:
    """Load a motion from a .json file; refused if its phases miss a point."""
    where = Path(path)
    return switching_from_document(read_json(where), where.name)


def switching_from_document(document: Any, name: str) -> Switching:
    """The motion in a document read from a file called `name`."""
    from forearm.trajectories.switching import Switching

    data = SWITCHING.read(document, name)
    k, n = len(data["phases"]), len(data["points"][0]) if data["points"] else 0
    shapes = {"points": (k + 1, n), "velocities": (k + 1, n), "phases": (k, n, 3), "accelerations": (k, n, 3)}
    motion = Switching(**shaped_arrays(data, shapes, name, "one segment and one joint"))
    _check_joined(motion, name)
    return motion


def _check_joined(motion: Switching, where: str) -> None:
    """Refuse phases that miss the next point."""
    q, qd, travelled = motion.points[:-1], motion.velocities[:-1], np.abs(motion.points[:-1])
    fastest = np.abs(qd)
    for i in range(3):
        t, a = motion.phases[..., i], motion.accelerations[..., i]
        q, qd = q + t * (qd + 0.5 * a * t), qd + a * t
        travelled, fastest = travelled + t * np.maximum(fastest, np.abs(qd)), np.maximum(fastest, np.abs(qd))
    missed = np.abs(q - motion.points[1:]) > AGREEMENT * travelled
    missed |= np.abs(qd - motion.velocities[1:]) > AGREEMENT * fastest
    uneven = np.ptp(motion.phases.sum(axis=2), axis=1) > AGREEMENT * motion.segments
    if missed.any() or uneven.any():
        k = int(np.argmax(missed.any(axis=1) | uneven))
        raise InputError(
            "its phases miss the next point, or joints take different times.", where, f"segment {k + 1}"
        )
