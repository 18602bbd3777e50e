"""Paths of the joints as JSON, to the last bit and back."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from forearm.errors import InputError
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
        "breaks": ListField(NumberField(), doc="where pieces begin and end, rising from 0"),
        "coefficients": ListField(
            ListField(NUMBERS), doc="of each piece, by rising powers of s - break: one per joint, rad (m)"
        ),
        "polygon": ListField(NUMBERS, doc="the points that it was asked to follow"),
        "marks": ListField(NumberField(), doc="the breaks at which it passes them"),
    },
    required=("format", "name", "breaks", "coefficients"),
)


def write_path(path: JointPath, file: str | os.PathLike[str]) -> None:
    """Write the file whole or not at all."""
    text = json.dumps(path_document(path)) + "\n"
    if len(text) > MAX_JSON_BYTES:
        raise InputError(
            f"{path.name}: its {len(path.coefficients)} pieces take {len(text)} bytes, more than "
            f"the {MAX_JSON_BYTES} that a file of a path may have; make it of fewer points."
        )
    write_text(file, text)


def path_document(path: JointPath) -> dict[str, Any]:
    """What a file of the path holds."""
    document: dict[str, Any] = {"format": FORMAT, "name": path.name, "breaks": path.breaks.tolist()}
    document["coefficients"] = path.coefficients.tolist()
    for key, array in (("polygon", path.polygon), ("marks", path.marks)):
        if array is not None:
            document[key] = array.tolist()
    return document


def load_path(path: str | os.PathLike[str]) -> JointPath:
    """The path in a .json file that `JointPath.save` wrote."""
    where = Path(path)
    return path_from_document(read_json(where), where.name)


def path_from_document(document: Any, name: str) -> JointPath:
    """The path in what a file called `name` holds."""
    data = PATH.read(document, name)
    dimensions = {"breaks": 1, "coefficients": 3, "polygon": 2, "marks": 1}
    arrays = even_arrays(data, dimensions, name)
    try:
        return JointPath(name=data["name"], **arrays)
    except InputError as error:
        raise InputError(f"{name}: {error}") from error
