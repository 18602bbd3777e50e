"""The motion table shared by planning, simulation, control and measurement, in any file format."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from forearm.errors import InputError, shorten
from forearm.logs.columns import Columns, listed
from forearm.logs.motion_columns import motion_columns
from forearm.logs.spelling import TIMES, WORDS
from forearm.logs.stream import TEXT, reading
from forearm.logs.table import ENDINGS, write_table
from forearm.reading.npz import read_archive, write_archive
from forearm.reading.textfile import read_json_table, write_text
from forearm.spatial import Floats
from forearm.values import as_floats, check_ending, frozen

FORMAT = "forearm-motion/1"
ARRAYS = (".npz", ".json")
ALL_ENDINGS = (*ENDINGS, *ARRAYS)
MOST_ROWS = 5_000_000


@frozen
class MotionLog:
    """A motion of joints over time; known quantities are (T, n) each, the rest None.

    Args:
        joints: their names, in the order of the columns.
        t: increasing times (T,), s.
        q, qd, qdd: positions, velocities and accelerations, rad (m), per s and s^2.
        tau: drive torques, N m (N).
        voltage, current: motor voltages and currents, V and A.
        wanted_q, wanted_qd, wanted_qdd: the reference of a controller.
        measured_q, measured_qd: its sensor readings.
        asked: the torques that it commanded, N m (N).
        name: of the file, for messages.
        ignored: quantities and columns of the file that were ignored.
    """

    joints: tuple[str, ...]
    t: Floats
    q: Floats | None = None
    qd: Floats | None = None
    qdd: Floats | None = None
    tau: Floats | None = None
    voltage: Floats | None = None
    current: Floats | None = None
    wanted_q: Floats | None = None
    wanted_qd: Floats | None = None
    wanted_qdd: Floats | None = None
    measured_q: Floats | None = None
    measured_qd: Floats | None = None
    asked: Floats | None = None
    name: str = "motion"
    ignored: tuple[str, ...] = ()

    @property
    def blocks(self) -> dict[str, Floats]:
        """The known quantities by name."""
        return {x: block for x in WORDS if (block := getattr(self, x)) is not None}

    def columns(self) -> dict[str, Floats]:
        """The table written to CSV and Parquet: t, q1.., qd1.., tau1.. ."""
        return {"t": self.t} | {
            f"{x}{i + 1}": block[:, i] for x, block in self.blocks.items() for i in range(block.shape[1])
        }

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it atomically as .csv, .parquet, .npz or .json; values read back bit-exactly."""
        kind = Path(path).suffix.lower()
        if kind in ENDINGS:
            write_table(path, self.columns())
        elif kind == ".npz":
            write_archive(path, {"format": FORMAT, "joints": list(self.joints)}, {"t": self.t, **self.blocks})
        elif kind == ".json":
            blocks = {x: block.tolist() for x, block in self.blocks.items()}
            document = {"format": FORMAT, "joints": list(self.joints), "t": self.t.tolist(), **blocks}
            write_text(path, json.dumps(document) + "\n")
        else:
            raise InputError(f"expected an ending of {', '.join(ALL_ENDINGS)} for a motion.", Path(path).name)

    def __repr__(self) -> str:
        span = f"{self.t[0]:g} to {self.t[-1]:g} s" if len(self.t) else "no time"
        return (
            f"<MotionLog of {len(self.joints)} joints: {', '.join(self.blocks)}; {len(self.t)} rows, {span}>"
        )


class HasLog(Protocol):
    """Anything that provides a motion table: a plan, a simulation."""

    @property
    def log(self) -> MotionLog:
        """The table."""
        ...


BLOCKS = tuple(field.name for field in fields(MotionLog) if field.name in WORDS)


def read_motion_log(
    source: str | os.PathLike[str] | Mapping[str, Any],
    joints: Sequence[str],
    *,
    columns: Mapping[str, str] | None = None,
    period: float | None = None,
    used: Sequence[str] = BLOCKS,
    time_unit: float | None = None,
) -> MotionLog:
    """Read the motion in a file (.csv, .parquet, .npz or .json; - is CSV on standard input) or in arrays by
    name.

    Columns are recognised by our names and those of ROS and others, or mapped by `columns`, theirs to ours.
    Without times, rows are a `period` apart. Only the quantities `used` are read; `ignored` lists the others.
    `time_unit` is that of the times, in units per second (default: by the name of their column, else s).
    """
    names = tuple(joints)
    if isinstance(source, Mapping):
        log = _from_arrays(source, names, "log", used, time_unit)
    else:
        path = Path(source)
        if path.suffix.lower() in ARRAYS:
            found = {x: array for x, array in arrays_of_file(path).items() if x in ("t", *BLOCKS)}
            log = _from_arrays(found, names, path.name, used, time_unit)
        else:
            log = _from_table(os.fspath(source), names, columns, used, time_unit)
    return _timed(log, period)


def arrays_of_file(path: Path) -> dict[str, Any]:
    """The contents of an .npz or a .json file, by name."""
    if check_ending(path, (*ALL_ENDINGS, *TEXT), "a table of a motion") == ".npz":
        return read_archive(path)[1]
    return _document(path)


def _document(path: Path) -> dict[str, Any]:
    found = read_json_table(path, "t, q and others")
    return {x: value for x, value in found.items() if value is not None}


def _from_arrays(
    given: Mapping[str, Any], joints: tuple[str, ...], name: str, used: Sequence[str], time_unit: float | None
) -> MotionLog:
    unknown = [x for x in given if x not in ("t", *BLOCKS)]
    if unknown:
        known = ", ".join(("t", *BLOCKS))
        raise InputError(f"{shorten(unknown[0])} is not a quantity of a motion; known are {known}.", name)
    arrays = {x: as_floats(value, f"{name}, {x}") for x, value in given.items() if x in used or x == "t"}
    if not set(arrays) - {"t"}:
        raise InputError(
            f"expected one of {', '.join(used)}, found {listed(list(given)) or 'nothing'}.", name
        )
    counts = {len(a) if a.ndim else 0 for a in arrays.values()}
    for x, array in arrays.items():
        shape = ("T",) if x == "t" else ("T", len(joints))
        if array.ndim != len(shape) or array.shape[1:] != shape[1:] or len(counts) != 1:
            raise InputError(
                f"expected shape ({', '.join(map(str, shape))}) with one T for all, got {array.shape}.",
                name,
                x,
            )
        bad = np.argwhere(~np.isfinite(array))
        if bad.size:
            raise InputError(
                f"row {bad[0][0]} is {array[tuple(bad[0])]}; remove such rows; gaps are allowed.", name, x
            )
    t = arrays.pop("t", np.full(counts.pop(), np.nan)) / (time_unit or 1.0)
    ignored = tuple(x for x in given if x not in used and x != "t")
    return MotionLog(joints, t, **arrays, name=name, ignored=ignored)


def _from_table(
    path: str,
    joints: tuple[str, ...],
    given: Mapping[str, str] | None,
    used: Sequence[str],
    time_unit: float | None,
) -> MotionLog:
    with reading(path) as log:
        found = motion_columns(log.header, joints, used, log.name, given)
        rows = _rows(log, found.places)
    unit = time_unit or found.time_unit
    t = rows[:, 0] / unit if found.time is not None else np.full(len(rows), np.nan)
    first, n = int(found.time is not None), len(joints)
    blocks = {x: rows[:, first + k * n : first + (k + 1) * n] for k, x in enumerate(found.names)}
    return MotionLog(joints, t, **blocks, name=log.name, ignored=found.ignored)


def _rows(log: Any, places: Sequence[int]) -> Floats:
    """All rows of these columns."""
    wanted = Columns({"all": tuple(places)}, (), ("",) * len(places))
    blocks, count = [], 0
    for block in log.blocks(wanted, whole=False):
        blocks.append(block.states["all"])
        count += block.count
        if count > MOST_ROWS:
            raise InputError(f"more than {MOST_ROWS} rows; split it, or keep every second sample.", log.name)
    return np.concatenate(blocks) if blocks else np.zeros((0, len(places)))


def _timed(log: MotionLog, period: float | None) -> MotionLog:
    """The log, checked for increasing times."""
    if not len(log.t):
        raise InputError("no usable row; expected at least one time with its values.", log.name)
    if np.isnan(log.t).all():
        if period is None:
            raise InputError(
                f"no time column ({listed([x for x in TIMES if TIMES[x] == 1.0])}); give the "
                "sampling period, in s.",
                log.name,
            )
        return replace(log, t=period * np.arange(float(len(log.t))))
    if period is not None:
        raise InputError("there is already a time column; omit period.", log.name)
    back = np.flatnonzero(np.diff(log.t) <= 0.0)
    if back.size:
        k = int(back[0])
        raise InputError(
            f"time does not increase from row {k} ({log.t[k]:.9g} s) to row {k + 1} ("
            f"{log.t[k + 1]:.9g} s); sort the rows by time and remove duplicates.",
            log.name,
        )
    return log
