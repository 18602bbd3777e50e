"""Opens a user's log: a file, arrays by name, or a plan or simulation result."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from forearm.arm.arm import Arm
from forearm.errors import InputError, Keyword, Sentence, shorten
from forearm.identification.requests import LogReading
from forearm.identification.signals.table import LogTable, in_chunks
from forearm.logs.columns import Columns, listed
from forearm.logs.csvfile import CsvReader
from forearm.logs.motion import MotionLog, arrays_of_file
from forearm.logs.motion_columns import motion_columns
from forearm.logs.spelling import time_column, words_for
from forearm.logs.stream import PARQUET, STANDARD, TEXT, Log, reading
from forearm.logs.units import units_of
from forearm.spatial import Floats
from forearm.values import as_floats

READ = ("measured_q", "q", "qd", "qdd", "tau", "current", "voltage")
EFFORTS = ("tau", "current", "voltage")
SIMULATED = "energy_supplied"  # only tables of simulations have it; their tau is the torque of the motors


def open_log(log: Any, arm: Arm, asked: LogReading, name: str | None) -> LogTable:
    """The log as a table, with selected quantities in SI units."""
    if isinstance(log, str | os.PathLike):
        kind = Path(log).suffix.lower()
        if kind in (*TEXT, *PARQUET) or os.fspath(log) == STANDARD:
            return _from_file(os.fspath(log), arm, asked, name)
        return _from_arrays(arrays_of_file(Path(log)), arm, asked, name or Path(log).name)
    if not isinstance(log, MotionLog) and hasattr(log, "keys") and hasattr(log, "__getitem__"):
        arrays = {str(key): log[key] for key in log.keys()}  # noqa: SIM118
        return _from_arrays(arrays, arm, asked, name or "log")
    if not isinstance(log, MotionLog):  # torques of a plan or simulation are computed, not measured
        log, asked = getattr(log, "log", log), replace(asked, effort=asked.effort or "tau")
    if not isinstance(log, MotionLog):
        raise InputError(
            "expected the path of a file, arrays by name, or a plan or simulation result, got "
            f"{shorten(log)}.",
            "log",
        )
    table = _from_arrays({"t": log.t, **log.blocks}, arm, asked, name or log.name)
    return replace(table, is_ours=True)


def _from_file(path: str, arm: Arm, asked: LogReading, name: str | None) -> LogTable:
    with reading(path) as log:
        name = name or log.name
        found = motion_columns(log.header, _joints(arm), READ, log.name, asked.columns)
        chosen = _chosen(tuple(found.names), found.ignored, name, asked)
        head, n = int(found.time is not None), arm.n
        at = {x: found.places[head + k * n : head + (k + 1) * n] for k, x in enumerate(found.names)}
        places = (*found.places[:head], *(place for x in chosen for place in at[x]))
        columns = Columns({"all": places}, (), ("",) * len(places))
        kind, first = ("line", log.line) if isinstance(log, CsvReader) else ("row", 1)
        # a pipe is read once
        kept = list(_rows(log, columns)) if path == STANDARD else None

    def rows() -> Iterator[Floats]:
        if kept is not None:
            yield from kept
        else:
            with reading(path) as again:
                yield from _rows(again, columns)

    names = {x: found.names[x] for x in chosen}
    table = _table(arm, asked, name, names, found.time, found.time_unit, rows)
    return replace(table, place=lambda row: f"{kind} {row + first}")


def _joints(arm: Arm) -> tuple[str, ...]:
    return tuple(joint.name for joint in arm.joints)


def _rows(log: Log, columns: Columns) -> Iterator[Floats]:
    for block in log.blocks(columns, whole=False, missing=True):
        yield block.states["all"]


def _from_arrays(given: Mapping[str, Any], arm: Arm, asked: LogReading, name: str) -> LogTable:
    """Arrays (T, n) by quantity, or one column (T,) per joint, as in a data frame."""
    if not given:
        raise InputError(f"empty; expected arrays t (T,), q (T, {arm.n}) and tau.", name)
    header, words = list(given), words_for(READ, asked.columns)
    whole = {words[key.lower()]: key for key in header if key.lower() in words}
    if whole:
        times = time_column(header, asked.columns)
        time, unit = (header[times[0]], times[1]) if times else (None, 1.0)
        ignored = tuple(key for key in header if key != time and key not in whole.values())
        chosen = _chosen(tuple(whole), ignored, name, asked)
        keys: dict[str, tuple[str, ...]] = {x: (whole[x],) for x in chosen}
        names = {x: tuple(f"{whole[x]}, {joint}" for joint in _joints(arm)) for x in chosen}
    else:
        found = motion_columns(header, _joints(arm), READ, name, asked.columns)
        time, unit = found.time, found.time_unit
        names = keys = {x: found.names[x] for x in _chosen(tuple(found.names), found.ignored, name, asked)}
    shape = (-1, arm.n) if whole else (-1,)
    arrays = {} if time is None else {time: _array(given[time], (-1,), f"{name}, {time}")}
    arrays |= {key: _array(given[key], shape, f"{name}, {key}") for group in keys.values() for key in group}
    lengths = {key: len(array) for key, array in arrays.items()}
    if len(set(lengths.values())) > 1:
        said = listed([f"{key} {count}" for key, count in lengths.items()])
        raise InputError(f"expected the same number of rows for every quantity, got {said}.", name)

    def rows() -> Iterator[Floats]:
        for parts in zip(*map(in_chunks, arrays.values()), strict=True):
            yield np.column_stack(parts)

    return _table(arm, asked, name, names, time, unit, rows)


def _array(value: Any, shape: tuple[int, ...], what: str) -> Floats:
    """Values of this shape, uncopied if float64 already; -1: any length."""
    array = value if isinstance(value, np.ndarray) and value.dtype == np.float64 else as_floats(value, what)
    if array.ndim != len(shape) or array.shape[1:] != shape[1:]:
        text = ", ".join("T" if size < 0 else str(size) for size in shape)
        raise InputError(f"expected shape ({text}{',' if len(shape) == 1 else ''}), got {array.shape}.", what)
    return np.asarray(array)  # masked arrays and others as what they hold


def _table(
    arm: Arm,
    asked: LogReading,
    name: str,
    names: Mapping[str, tuple[str, ...]],
    time: str | None,
    time_unit: float,
    rows: Callable[[], Iterator[Floats]],
) -> LogTable:
    """The table of rows in the units of their source: the time, if any, then quantity by quantity."""
    units = units_of(asked.units)
    is_angle = np.array([joint.kind == "revolute" for joint in arm.joints], dtype=np.float64)
    turning = np.where(is_angle > 0.0, units.get("angles", 1.0), 1.0)
    parts = [turning if x.removeprefix("measured_") in ("q", "qd", "qdd") else np.ones(arm.n) for x in names]
    scale = np.concatenate([[units.get("times", time_unit)], *parts])

    def chunks() -> Iterator[Floats]:
        count = 0
        for block in rows():
            if time is None:  # rows are numbered
                numbers = np.arange(count, count + len(block), dtype=np.float64)
                block = np.column_stack([numbers, block])
            count += len(block)
            yield block / scale

    return LogTable(name, time, names, is_angle, False, lambda row: f"row {row}", chunks)


def _chosen(there: Sequence[str], ignored: Sequence[str], name: str, asked: LogReading) -> tuple[str, ...]:
    """The quantities to read of those present: positions, the effort, then what goes with them; `ignored`
    columns are for messages.
    """
    effort = _effort(there, ignored, name, asked.effort)
    missing = [x for x in ("q", "qd", "qdd") if x not in there]
    if asked.derivatives == "logged" and missing:
        raise InputError(f"'logged' needs q, qd and qdd; missing: {listed(missing)}.", name, "derivatives")
    # logged derivatives belong to q, not to the noisy sensor's measurement
    position = "measured_q" if "measured_q" in there and asked.derivatives != "logged" else "q"
    if position not in there:
        raise InputError(
            f"no joint positions q; the log has {listed([*there, *ignored])}. Map the "
            "columns: columns={'theirs': 'q'} (--columns theirs=q).",
            name,
        )
    beside = ("current",) if effort == "voltage" and "current" in there else ()
    motion = tuple(x for x in ("qd", "qdd") if x in there and position == "q")
    return position, effort, *beside, *motion


def _effort(there: Sequence[str], ignored: Sequence[str], name: str, wanted: str | None) -> str:
    found = [x for x in EFFORTS if x in there]
    has = f"the log has {listed([*there, *ignored])}."
    if wanted is not None:
        if wanted not in found:
            raise InputError(f"no {wanted}; {has}", name, "effort")
        return wanted
    if not found:
        raise InputError(
            f"no joint effort (tau, current or voltage); {has} Map the columns: "
            "columns={'theirs': 'tau'} (--columns theirs=tau).",
            name,
        )
    if len(found) > 1 and "tau" in found and SIMULATED not in ignored:
        said = f"found {' and '.join(found)}; choose which to fit: "
        raise InputError(
            Sentence(said, Keyword("effort", found[0]), f" or {' or '.join(map(repr, found[1:]))}."), name
        )
    return "tau" if "tau" in found else "voltage" if "voltage" in found else "current"
