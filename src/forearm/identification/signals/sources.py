"""Opens a user's log: a file, arrays by name, or a plan or simulation result."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from forearm.arm.arm import Arm
from forearm.errors import InputError, shorten
from forearm.identification.signals.quantities import READ, ChosenQuantities, chosen_quantities
from forearm.identification.signals.table import LogTable, stacked
from forearm.logs.columns import Columns, listed
from forearm.logs.csvfile import CsvReader
from forearm.logs.motion import MotionLog, arrays_of_file
from forearm.logs.motion_columns import MotionColumns, motion_columns
from forearm.logs.spelling import time_column, words_for
from forearm.logs.stream import PARQUET, STANDARD, TEXT, Log, reading
from forearm.logs.units import units_of
from forearm.spatial import Floats
from forearm.values import as_floats


@dataclass(frozen=True)
class LogRequest:
    """Options for reading a log: its arm, column names, units, effort, source of derivatives, and name."""

    arm: Arm
    columns: Mapping[str, str] | None
    units: str | Sequence[str]
    effort: str | None
    derivatives: str | None
    name: str | None

    @property
    def joints(self) -> tuple[str, ...]:
        """Names of the joints."""
        return tuple(joint.name for joint in self.arm.joints)


def open_log(log: Any, asked: LogRequest) -> LogTable:
    """The log as a table, with selected quantities in SI units."""
    if isinstance(log, str | os.PathLike):
        kind = Path(log).suffix.lower()
        if kind in (*TEXT, *PARQUET) or os.fspath(log) == STANDARD:
            return _from_file(os.fspath(log), asked)
        return _from_arrays(arrays_of_file(Path(log)), asked, Path(log).name)
    if isinstance(log, MotionLog):
        return _from_motion(log, asked)
    if hasattr(log, "keys") and hasattr(log, "__getitem__"):
        return _from_arrays({str(key): log[key] for key in log.keys()}, asked, "log")  # noqa: SIM118
    if isinstance(getattr(log, "log", None), MotionLog):
        return _from_motion(log.log, replace(asked, effort=asked.effort or "tau"))  # computed, not measured
    raise InputError(
        f"expected the path of a file, arrays by name, or a plan or simulation result, got {shorten(log)}.",
        "log",
    )


def _from_file(path: str, asked: LogRequest) -> LogTable:
    with reading(path) as log:
        found = motion_columns(log.header, asked.joints, READ, log.name, asked.columns)
        name = asked.name or log.name
        chosen = chosen_quantities(tuple(found.names), found.ignored, name, asked.effort, asked.derivatives)
        columns = _columns(found, chosen.all, asked.arm.n)
        kind, first = ("line", log.line) if isinstance(log, CsvReader) else ("row", 1)
        # a pipe is read once
        kept = list(_rows(log, columns)) if path == STANDARD else None
    scale = _scale(asked, chosen.all, found.time_unit)

    def blocks() -> Iterator[Floats]:
        if kept is not None:
            yield from kept
        else:
            with reading(path) as again:
                yield from _rows(again, columns)

    def chunks() -> Iterator[Floats]:
        count = 0
        for rows in blocks():
            if found.time is None:
                rows = np.column_stack([np.arange(count, count + len(rows), dtype=np.float64), rows])
            count += len(rows)
            yield rows / scale

    return LogTable(
        name=name,
        time=found.time,
        position=chosen.position,
        effort=chosen.effort,
        names={x: found.names[x] for x in chosen.all},
        is_angle=_angles(asked.arm),
        is_ours=False,
        place=lambda row: f"{kind} {row + first}",
        chunks=chunks,
    )


def _columns(found: MotionColumns, quantities: Sequence[str], n: int) -> Columns:
    """Columns of the times and these quantities in a file."""
    head = int(found.time is not None)
    at = {x: found.places[head + k * n : head + (k + 1) * n] for k, x in enumerate(found.names)}
    places = [*found.places[:head], *(place for x in quantities for place in at[x])]
    return Columns({"all": tuple(places)}, (), ("",) * len(places))


def _rows(log: Log, columns: Columns) -> Iterator[Floats]:
    for block in log.blocks(columns, whole=False, missing=True):
        yield block.states["all"]


def _from_motion(log: MotionLog, asked: LogRequest) -> LogTable:
    return replace(_from_arrays({"t": log.t, **log.blocks}, asked, log.name), is_ours=True)


def _from_arrays(given: Mapping[str, Any], asked: LogRequest, name: str) -> LogTable:
    """Arrays (T, n) by quantity, or one column (T,) per joint, as in a data frame."""
    name = asked.name or name
    if not given:
        raise InputError(f"empty; expected arrays t (T,), q (T, {asked.arm.n}) and tau.", name)
    times = time_column(list(given), asked.columns)
    time = list(given)[times[0]] if times else None
    words = words_for(READ, asked.columns)
    whole = {words[key.lower()]: key for key in given if key.lower() in words}
    if not whole:
        return _from_columns(given, asked, name)
    t = None if time is None else _array(given[time], (-1,), f"{name}, {time}")
    known = tuple(whole)
    ignored = tuple(key for key in given if key != time and key not in whole.values())
    chosen = chosen_quantities(known, ignored, name, asked.effort, asked.derivatives)
    shape = (-1, asked.arm.n)
    blocks = [_array(given[whole[x]], shape, f"{name}, {whole[x]}") for x in chosen.all]
    names = {x: tuple(f"{whole[x]}, {joint}" for joint in asked.joints) for x in chosen.all}
    return _of_arrays(asked, name, (t, time, times[1] if times else 1.0), blocks, names, chosen)


def _from_columns(given: Mapping[str, Any], asked: LogRequest, name: str) -> LogTable:
    header = list(given)
    found = motion_columns(header, asked.joints, READ, name, asked.columns)
    chosen = chosen_quantities(tuple(found.names), found.ignored, name, asked.effort, asked.derivatives)
    arrays = {key: _array(given[key], (-1,), f"{name}, {key}") for key in _used(found, chosen.all)}
    _check_lengths(arrays, name)
    blocks = [np.column_stack([arrays[key] for key in found.names[x]]) for x in chosen.all]
    names = {x: found.names[x] for x in chosen.all}
    t = arrays[found.time] if found.time else None
    return _of_arrays(asked, name, (t, found.time, found.time_unit), blocks, names, chosen)


def _used(found: MotionColumns, quantities: Sequence[str]) -> list[str]:
    return [*([found.time] if found.time else []), *(key for x in quantities for key in found.names[x])]


def _of_arrays(
    asked: LogRequest,
    name: str,
    times: tuple[Floats | None, str | None, float],
    blocks: list[Floats],
    names: Mapping[str, tuple[str, ...]],
    chosen: ChosenQuantities,
) -> LogTable:
    t, time, unit = times
    lengths = dict(zip(names, blocks, strict=True)) | ({time: t} if t is not None and time else {})
    _check_lengths(lengths, name)
    scale = _scale(asked, tuple(names), unit)

    def chunks() -> Iterator[Floats]:
        for rows in stacked(t, blocks):
            yield rows / scale

    return LogTable(
        name=name,
        time=time,
        position=chosen.position,
        effort=chosen.effort,
        names=names,
        is_angle=_angles(asked.arm),
        is_ours=False,
        place=lambda row: f"row {row}",
        chunks=chunks,
    )


def _array(value: Any, shape: tuple[int, ...], what: str) -> Floats:
    """Values of this shape, uncopied if float64 already; -1: any length."""
    array = value if isinstance(value, np.ndarray) and value.dtype == np.float64 else as_floats(value, what)
    if array.ndim != len(shape) or array.shape[1:] != shape[1:]:
        text = ", ".join("T" if size < 0 else str(size) for size in shape)
        raise InputError(f"expected shape ({text}{',' if len(shape) == 1 else ''}), got {array.shape}.", what)
    return np.asarray(array)


def _check_lengths(arrays: Mapping[str, Floats], name: str) -> None:
    lengths = {key: len(array) for key, array in arrays.items()}
    if len(set(lengths.values())) > 1:
        said = listed([f"{key} {count}" for key, count in lengths.items()])
        raise InputError(f"expected the same number of rows for every quantity, got {said}.", name)


def _angles(arm: Arm) -> Floats:
    return np.array([joint.kind == "revolute" for joint in arm.joints], dtype=np.float64)


def _scale(asked: LogRequest, quantities: Sequence[str], time_unit: float) -> Floats:
    """Factor of each column's unit to SI."""
    given = units_of(asked.units)
    turning = np.where(_angles(asked.arm) > 0.0, given.get("angles", 1.0), 1.0)
    ones = np.ones(asked.arm.n)
    parts = [turning if x.removeprefix("measured_") in ("q", "qd", "qdd") else ones for x in quantities]
    return np.concatenate([[given.get("times", time_unit)], *parts])
