"""Hand measurements from a file: identification of columns and units."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from forearm.arm.arm import Arm, check_arm
from forearm.errors import InputError
from forearm.identification.calibration.measurements import (
    MOST_ROWS,
    ORTHONORMAL,
    TURN,
    Measurements,
    array_columns,
    checked,
)
from forearm.kinematics.orientation import rotation_from
from forearm.logs.columns import Columns, Question, check_header, listed, recognised
from forearm.logs.stream import reading
from forearm.logs.units import units_of
from forearm.reading.npz import read_archive
from forearm.reading.textfile import read_json_table
from forearm.spatial import Floats
from forearm.values import as_floats

UNITS = {
    "rad": ("angles", 1.0),
    "deg": ("angles", 180.0 / math.pi),
    "m": ("lengths", 1.0),
    "mm": ("lengths", 1e3),
}
PLACE = ("x", "y", "z")
# Column names of orientations, and their representation.
ORIENTATIONS = {
    ("qx", "qy", "qz", "qw"): "quaternion_xyzw",
    ("roll", "pitch", "yaw"): "rpy",
    ("rx", "ry", "rz"): "rotation_vector",
}


def read_measurements(
    arm: Arm,
    source: str | os.PathLike[str] | Mapping[str, Any],
    *,
    columns: Mapping[str, str] | None = None,
    units: str | Sequence[str] = (),
) -> Measurements:
    """Read measurements of the hand from a file or from arrays by name, one row per measurement.

    A table (.csv, .parquet) has columns q1.. and x, y, z; for poses also qx, qy, qz, qw (a quaternion), roll,
    pitch, yaw (R = Rz(yaw) Ry(pitch) Rx(roll)) or rx, ry, rz (a rotation vector). Arrays and .npz, .json
    files have q (B, n) and poses (B, 4, 4), points (B, 3), or arrays named like the columns.

    Args:
        arm: the arm; its joints identify the columns of q.
        source: the path of the file (- is CSV on standard input), or arrays by name.
        columns: names of columns, theirs to ours: {"X_mm": "x"}.
        units: "rad" or "deg", and "m" or "mm", in one string or a list (default: rad and m; values that look
            like deg or mm are refused).
    """
    check_arm(arm, "calibrate, arm", moves=True)
    factors = units_of(units, UNITS)
    if isinstance(source, Mapping):
        table, q_columns, name = _of_arrays(source, arm, "measurements"), None, "measurements"
    else:
        kind, name = Path(source).suffix.lower(), Path(source).name
        if kind == ".npz":
            table, q_columns = _of_arrays(read_archive(source)[1], arm, name), None
        elif kind == ".json":
            arrays = read_json_table(Path(source), "q and poses or points")
            table, q_columns = _of_arrays(arrays, arm, name), None
        else:
            table, q_columns, name = _of_table(os.fspath(source), arm, columns)
    first = 0 if q_columns is None else 1
    return _made(arm, table, q_columns or [f"q{i + 1}" for i in range(arm.n)], name, factors, first)


def _made(
    arm: Arm,
    table: Mapping[str, Floats],
    q_columns: Sequence[str],
    name: str,
    factors: Mapping[str, float],
    first: int,
) -> Measurements:
    """Measurements in SI units from columns by our names."""
    angle, length = factors.get("angles", 1.0), factors.get("lengths", 1.0)
    q = table["q"] / [angle if joint.kind == "revolute" else length for joint in arm.joints]
    rows = first + np.arange(len(q))
    if "poses" in table:
        poses = table["poses"].copy()
        poses[:, :3, 3] /= length
        found = Measurements(q, poses, None, rows, name)
        return checked(arm, found, q_columns, array_columns("poses"), tuple(factors))
    at = (
        table["points"] / length if "points" in table else np.column_stack([table[x] for x in PLACE]) / length
    )
    places = PLACE if "points" not in table else array_columns("points")
    form = next((names for names in ORIENTATIONS if all(x in table for x in names)), None)
    if form is None:
        return checked(arm, Measurements(q, None, at, rows, name), q_columns, places, tuple(factors))
    turned = np.column_stack([table[x] for x in form])
    if ORIENTATIONS[form] != "quaternion_xyzw":
        turned = turned / angle
        worst = np.unravel_index(int(np.nanargmax(np.abs(turned))), turned.shape)
        if "angles" not in factors and abs(turned[worst]) > 1.1 * TURN:
            raise InputError(
                f"column {form[worst[1]]} is {turned[worst]:.6g} in row {rows[worst[0]]}, "
                "more than a turn. Are these degrees? Set units to deg, or to rad if the "
                "values are right (--units deg).",
                name,
            )
    else:
        size = np.linalg.norm(turned, axis=1)
        wrong = np.flatnonzero(np.abs(size - 1.0) > ORTHONORMAL)
        if len(wrong):
            raise InputError(
                f"the quaternion {', '.join(form)} has length {size[wrong[0]]:.4g} in row "
                f"{rows[wrong[0]]}, expected 1.",
                name,
            )
        turned = turned / size[:, None]
    poses = np.tile(np.eye(4), (len(q), 1, 1))
    poses[:, :3, :3], poses[:, :3, 3] = rotation_from(turned, ORIENTATIONS[form]), at
    return checked(arm, Measurements(q, poses, None, rows, name), q_columns, places, tuple(factors))


def _of_table(
    path: str, arm: Arm, given: Mapping[str, str] | None
) -> tuple[dict[str, Floats], list[str], str]:
    """Columns of a file by our names, and the file's names of the q columns."""
    theirs = {ours: name for name, ours in (given or {}).items()}
    words = [*PLACE, *(x for names in ORIENTATIONS for x in names)]
    of_q = {name: ours for name, ours in (given or {}).items() if ours not in words}
    with reading(path) as log:
        check_header(log.header, log.name)
        found = recognised(log.header, Question(arm.joint_names, ("q",), ""), ("q",), log.name, of_q or None)
        missing = [f"q{i + 1}" for i in range(arm.n) if ("q", i) not in found]
        if missing:
            raise InputError(f"no column {listed(missing)}; the file has {listed(log.header)}.", log.name)
        lower = {name.lower(): name for name in reversed(log.header)}
        named = {x: theirs.get(x, lower.get(x, "")) for x in words}
        here = {x: log.header.index(name) for x, name in named.items() if name in log.header}
        _check_places(list(here), log.header, log.name)
        places = [*(found["q", i].place for i in range(arm.n)), *here.values()]
        wanted, blocks = Columns({"all": tuple(places)}, (), ("",) * len(places)), []
        for block in log.blocks(wanted, whole=False):
            blocks.append(block.states["all"])
            if sum(map(len, blocks)) > MOST_ROWS:
                raise InputError(f"more than {MOST_ROWS} rows; a few hundred are plenty.", log.name)
    rows = np.concatenate(blocks) if blocks else np.zeros((0, len(places)))
    if not len(rows):
        raise InputError("no usable row.", log.name)
    table = {"q": rows[:, : arm.n]} | {x: rows[:, arm.n + k] for k, x in enumerate(here)}
    return table, [found["q", i].name for i in range(arm.n)], log.name


def _check_places(here: Sequence[str], header: Sequence[str], name: str) -> None:
    missing = [x for x in PLACE if x not in here]
    if missing:
        raise InputError(
            f"no column {listed(missing)}; expected q1.. with x, y, z, and for poses qx, qy, "
            f"qz, qw, roll, pitch, yaw or rx, ry, rz; the file has {listed(header)}. Map "
            "other names: --columns THEIRS=x.",
            name,
        )
    forms = [names for names in ORIENTATIONS if any(x in here for x in names)]
    if len(forms) > 1:
        raise InputError(f"two sets of orientation columns, {forms[0]} and {forms[1]}; remove one.", name)
    lacking = [x for names in forms for x in names if x not in here]
    if lacking:
        raise InputError(
            f"incomplete orientation, {listed(lacking)} missing; expected all of {', '.join(forms[0])}.", name
        )


def _of_arrays(given: Mapping[str, Any], arm: Arm, name: str) -> dict[str, Floats]:
    words = ["q", "poses", "points", *PLACE, *(x for names in ORIENTATIONS for x in names)]
    arrays = {x: as_floats(given[x], f"{name}, {x}") for x in words if given.get(x) is not None}
    if "q" not in arrays:
        raise InputError(f"no q; found {listed(list(given)) or 'nothing'}.", name)
    if "poses" not in arrays and "points" not in arrays:
        _check_places(list(arrays), list(given), name)
    count = len(arrays["q"]) if arrays["q"].ndim else 0
    shapes: dict[str, tuple[int, ...]] = {"q": (count, arm.n), "poses": (count, 4, 4), "points": (count, 3)}
    for x, array in arrays.items():
        if array.shape != shapes.get(x, (count,)):
            raise InputError(f"expected shape {shapes.get(x, (count,))}, got {array.shape}.", name, x)
    if not count:
        raise InputError("no usable row.", name)
    return arrays
