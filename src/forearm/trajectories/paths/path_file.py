"""Joint paths in JSON, round-tripped bit for bit."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from forearm.errors import InputError, located
from forearm.reading.fields import TextField
from forearm.reading.textfile import MAX_JSON_BYTES, read_json, write_text
from forearm.trajectories.json_arrays import document_of, even_arrays, format_table, numbers
from forearm.trajectories.paths.joint_path import JointPath

PATH = format_table(
    "forearm-path/1",
    "polygon",
    "marks",
    name=TextField("for messages"),
    breaks=numbers("boundaries of the pieces, increasing from 0"),
    coefficients=numbers("of each piece, by ascending powers of s - break: one per joint, rad (m)", 3),
    polygon=numbers("the points that it was made to follow", 2),
    marks=numbers("the breaks at which it passes them"),
)


def write_path(path: JointPath, file: str | os.PathLike[str]) -> None:
    """Write the file atomically."""
    text = json.dumps(document_of(path, PATH)) + "\n"
    if len(text) > MAX_JSON_BYTES:
        raise InputError(
            f"its {len(path.coefficients)} pieces need {len(text)} bytes, above the limit of "
            f"{MAX_JSON_BYTES} for a path file; use fewer points.",
            path.name,
        )
    write_text(file, text)


def load_path(path: str | os.PathLike[str]) -> JointPath:
    """The path in a .json file written by `JointPath.save`."""
    where = Path(path)
    return path_from_document(read_json(where), where.name)


def path_from_document(document: Any, name: str) -> JointPath:
    """The path in a document read from a file called `name`."""
    data = PATH.read(document, name)
    arrays = even_arrays(data, {"breaks": 1, "coefficients": 3, "polygon": 2, "marks": 1}, name)
    with located(name):
        return JointPath(name=data["name"], **arrays)
