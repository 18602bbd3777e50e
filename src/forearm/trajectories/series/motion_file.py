"""Periodic motions in JSON: the basis, the initial configuration and the coefficients."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np

from forearm.errors import InputError
from forearm.reading.fields import ChoiceField, ListField, NumberField, TableField
from forearm.reading.textfile import write_text
from forearm.trajectories.json_arrays import even_arrays
from forearm.trajectories.series.basis import BASES, resting
from forearm.trajectories.series.motion import SeriesMotion

FORMAT = "forearm-series-motion/1"
MOTION = TableField(
    {
        "format": ChoiceField((FORMAT,)),
        "basis": ChoiceField(BASES),
        "duration": NumberField("s", above=0.0),
        "start": ListField(NumberField(), doc="the configuration at both ends, rad (m)"),
        "coefficients": ListField(
            ListField(NumberField()), doc="one row per function of the basis, one column per joint, rad (m)"
        ),
    },
    required=("format", "basis", "duration", "start", "coefficients"),
)
DIMENSIONS = {"start": 1, "coefficients": 2}
AT_REST = 1e-9  # of the largest coefficient: tolerance of rest at the ends


def write_series_motion(motion: SeriesMotion, file: str | os.PathLike[str]) -> None:
    """Write the file atomically."""
    document = {"format": FORMAT, "basis": motion.basis, "duration": motion.duration}
    document |= {key: getattr(motion, key).tolist() for key in DIMENSIONS}
    write_text(file, json.dumps(document) + "\n")


def series_motion_from_document(document: Any, name: str) -> SeriesMotion:
    """The motion in a document read from a file called `name`; refused if it is not at rest at its ends."""
    data = MOTION.read(document, name)
    start, coefficients = even_arrays(data, DIMENSIONS, name).values()
    count = len(coefficients)
    if coefficients.shape[1] != len(start):
        raise InputError(
            f"expected rows of {len(start)} numbers, like start, got {coefficients.shape[1]}.",
            name,
            "coefficients",
        )
    if data["basis"] == "fourier" and count % 2:
        raise InputError(
            f"a Fourier series has as many cosines as sines, got {count} rows.", name, "coefficients"
        )
    Z = resting(data["basis"], count)
    missed = np.abs(coefficients - Z @ (Z.T @ coefficients)).max()
    if missed > AT_REST * np.abs(coefficients).max():
        raise InputError(
            "not at rest at its ends: sum h^2 a_h and sum h b_h must be 0.", name, "coefficients"
        )
    return SeriesMotion(data["basis"], float(data["duration"]), start, coefficients)
