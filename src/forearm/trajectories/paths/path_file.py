"""Joint paths in JSON, round-tripped bit for bit."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from forearm.errors import InputError, located
from forearm.reading.fields import ChoiceField, ListField, NumberField, TableField, TextField
from forearm.reading.textfile import MAX_JSON_BYTES, read_json, write_text
from forearm.trajectories.json_arrays import even_arrays
from forearm.trajectories.paths.joint_path import JointPath

FORMAT = "forearm-path/1"
NUMBERS = ListField(NumberField())
PATH = TableField(
    {
        "format": ChoiceField((FORMAT,)),
        "name": TextField("for messages"),
        "breaks": ListField(NumberField(), doc="boundaries of the pieces, increasing from 0"),
        "coefficients": ListField(
            ListField(NUMBERS), doc="of each piece, by ascending powers of s - break: one per joint, rad (m)"
        ),
        "polygon": ListField(NUMBERS, doc="the points that it was made to follow"),
        "marks": ListField(NumberField(), doc="the breaks at which it passes them"),
    },
    required=("format", "name", "breaks", "coefficients"),
)


def write_path(path: JointPath, file: str | os.PathLike[str]) -> None:
    """Write the file atomically."""
    text = json.dumps(path_document(path)) + "\n"
    if len(text) > MAX_JSON_BYTES:
        raise InputError(
            f"its {len(path.coefficients)} pieces need {len(text)} bytes, above the limit of "
            f"{MAX_JSON_BYTES} for a path file; use fewer points.",
            path.name,
        )
    write_text(file, text)


def path_document(path: JointPath) -> dict[str, Any]:
    """The document of a path file."""
    document: dict[str, Any] = {"format": FORMAT, "name": path.name, "breaks": path.breaks.tolist()}
    document["coefficients"] = path.coefficients.tolist()
    for key, array in (("polygon", path.polygon), ("marks", path.marks)):
        if array is not None:
            document[key] = array.tolist()
    return document


def load_path(path: str | os.PathLike[str]) -> JointPath:
    """The path in a .json file written by `JointPath.save`."""
    where = Path(path)
    return path_from_document(read_json(where), where.name)


def path_from_document(document: Any, name: str) -> JointPath:
    """The path in a document read from a file called `name`."""
    data = PATH.read(document, name)
    dimensions = {"breaks": 1, "coefficients": 3, "polygon": 2, "marks": 1}
    arrays = even_arrays(data, dimensions, name)
    with located(name):
        return JointPath(name=data["name"], **arrays)
