"""Motions along a path in JSON: the path, and s over time."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np

from forearm.errors import InputError
from forearm.reading.fields import ChoiceField, ListField, NumberField, TableField
from forearm.reading.textfile import write_text
from forearm.trajectories.json_arrays import even_arrays
from forearm.trajectories.paths.path_file import PATH, path_document, path_from_document
from forearm.trajectories.shortest_time.path_motion import PathMotion

FORMAT = "forearm-path-motion/1"
MOTION = TableField(
    {
        "format": ChoiceField((FORMAT,)),
        "path": PATH,
        "pieces": ListField(NumberField(), doc="of the path in each interval, by number from 0 on"),
        "knots": ListField(NumberField(), doc="s at the ends of the intervals"),
        "times": ListField(NumberField(), doc="when they are passed, s"),
        "coefficients": ListField(
            ListField(NumberField()), doc="of s in rising powers of the time since the interval began"
        ),
    },
    required=("format", "path", "pieces", "knots", "times", "coefficients"),
)
DIMENSIONS = {"pieces": 1, "knots": 1, "times": 1, "coefficients": 2}
SAME_SPEED = 1e-6  # of the largest: tolerance of speeds where intervals meet
SAME = 1e-9  # of the path: tolerance of the next knot


def write_path_motion(motion: PathMotion, file: str | os.PathLike[str]) -> None:
    """Write the file atomically."""
    document = {"format": FORMAT, "path": path_document(motion.path)}
    document |= {key: getattr(motion, key).tolist() for key in DIMENSIONS}
    write_text(file, json.dumps(document) + "\n")


def path_motion_from_document(document: Any, name: str) -> PathMotion:
    """The motion in a document read from a file called `name`; refused if its intervals do not join."""
    data = MOTION.read(document, name)
    path = path_from_document(document["path"], f"{name}, path")
    pieces, knots, times, coefficients = even_arrays(data, DIMENSIONS, name).values()
    k = len(pieces)
    fits = len(knots) == len(times) == k + 1 and len(coefficients) == k and coefficients.shape[1] >= 2
    if not fits or times[0] != 0.0 or knots[0] != 0.0 or abs(knots[-1] - path.length) > SAME * path.length:
        raise InputError(
            "expected knots from 0 to the path's length, as many times from 0, and one fewer "
            "rows of coefficients and pieces.",
            name,
        )
    if not (np.diff(knots) >= 0.0).all() or not (np.diff(times) >= 0.0).all():
        raise InputError("knots and times must be non-decreasing.", name)
    if not np.isin(pieces, np.arange(len(path.breaks) - 1)).all():
        raise InputError(f"expected whole numbers from 0 to {len(path.breaks) - 2}.", name, "pieces")
    reached, rate = np.zeros(k), np.zeros(k)
    for power in coefficients.T[::-1]:
        rate = rate * np.diff(times) + reached
        reached = reached * np.diff(times) + power
    missed = np.maximum(np.abs(coefficients[:, 0] - knots[:-1]), np.abs(reached - knots[1:]))
    if (missed > SAME * path.length).any():
        raise InputError("it misses the next knot.", name, f"interval {int(missed.argmax()) + 1}")
    jumps = np.abs(coefficients[1:, 1] - rate[:-1])
    if (jumps > SAME_SPEED * np.abs(rate).max()).any():
        raise InputError("the speed jumps at its start.", name, f"interval {int(jumps.argmax()) + 2}")
    return PathMotion(path, knots, times, coefficients, pieces.astype(np.intp))
