"""A measured log as arrays: t, q and torques, from a file or from columns,
checked before anything is computed.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forearm.arm.arm import Arm
from forearm.errors import InputError, ModelError
from forearm.logs.columns import Columns, Question, find_columns
from forearm.logs.stream import reading
from forearm.values import as_floats, check_choice, check_kind, check_number

Floats = NDArray[np.float64]
TIMES = ("t", "time", "t_s", "time_s")
QUANTITIES = ("q", "tau", "current")
MOST_ROWS = 5_000_000


@dataclass(frozen=True, eq=False)
class MeasuredLog:
    """Times (T,) that rise, positions and torques (T, n); torques are motor torque times gear ratio."""

    name: str
    t: Floats
    q: Floats
    tau: Floats
    from_current: bool


def measured_log(
    arm: Arm, log: str | os.PathLike[str] | Mapping[str, Any], period: float | None
) -> MeasuredLog:
    """The log of an arm: a path of a CSV or Parquet file, or a mapping with t (T,), q (T,
    n) and tau or current (T, n).
    """
    if isinstance(log, Mapping):
        name, found = "log", _from_columns(arm, log)
    else:
        check_kind(log, (str, os.PathLike), "log")
        name, found = os.path.basename(os.fspath(log)), _from_file(arm, os.fspath(log))
    if ("tau" in found) == ("current" in found):
        what = (
            "both tau and current are there; leave one out"
            if "tau" in found
            else "neither tau nor current of the joints"
        )
        raise InputError(f"{name}: {what}. A log against the model needs one of them for every joint.")
    if "q" not in found:
        raise InputError(
            f"{name}: no positions q of the joints; torques alone cannot be held against a model."
        )
    t = _times(name, found.get("t"), len(found["q"]), period)
    _check_order(name, t)
    tau = found["tau"] if "tau" in found else found["current"] * torque_constants(arm)
    return MeasuredLog(name, t, found["q"], tau, "current" in found)


def torque_constants(arm: Arm) -> Floats:
    """N Kt of every motor, N m / A (n,): what a current is worth in torque."""
    unknown = [j.name for j in arm.joints if j.motor is None or j.motor.torque_constant is None]
    if unknown:
        raise ModelError(
            f"arm {arm.name!r}: currents need the torque_constant of every motor; {', '.join(unknown)} "
            f"{'has' if len(unknown) == 1 else 'have'} none. Give them in the arm file, or a log of torques."
        )
    return np.array(
        [
            j.motor.gear_ratio * j.motor.torque_constant
            for j in arm.joints
            if j.motor and j.motor.torque_constant
        ]
    )


def _from_file(arm: Arm, path: str) -> dict[str, Floats]:
    """All quantities of the file in one pass."""
    with reading(path) as log:
        joints = tuple(j.name for j in arm.joints)
        columns = find_columns(
            log.header, Question(joints, QUANTITIES, "tau_model"), log.name, is_written=False
        )
        times = [log.header.index(name) for name in TIMES if name in log.header][:1]
        places = [*times, *columns.flat]
        # one quantity as wide as all of them together
        wanted = Columns({"all": tuple(places)}, (), ("",) * len(places))
        blocks, count = [], 0
        for block in log.blocks(wanted, whole=False):
            blocks.append(block.states["all"])
            count += block.count
            if count > MOST_ROWS:
                raise InputError(
                    f"{log.name}: more than {MOST_ROWS} rows; split it, or keep every second sample."
                )
        rows = np.concatenate(blocks) if blocks else np.zeros((0, len(places)))
    found = {"t": rows[:, 0]} if times else {}
    for k, x in enumerate(columns.places):
        start = len(times) + k * arm.n
        found[x] = rows[:, start : start + arm.n]
    return found


def _from_columns(arm: Arm, given: Mapping[str, Any]) -> dict[str, Floats]:
    for name in given:
        check_choice(name, ("t", *QUANTITIES), "log, column")
    found = {name: as_floats(value, f"log, {name}") for name, value in given.items()}
    counts = {len(a) if a.ndim else 0 for a in found.values()}
    for name, array in found.items():
        shape = ("T",) if name == "t" else ("T", arm.n)
        if array.ndim != len(shape) or array.shape[1:] != shape[1:] or len(counts) != 1:
            raise InputError(
                f"log, {name}: expected shape ({', '.join(map(str, shape))}) with one T for all, "
                f"got {array.shape}."
            )
        bad = np.argwhere(~np.isfinite(array))
        if bad.size:
            raise InputError(
                f"log, {name}: row {bad[0][0]} is {array[tuple(bad[0])]}; leave such rows "
                "out, a gap is allowed."
            )
    return found


def _times(name: str, t: Floats | None, count: int, period: float | None) -> Floats:
    if t is not None:
        if period is not None:
            raise InputError(f"{name}: there is a column of times already; leave period out.")
        return t
    if period is None:
        raise InputError(
            f"{name}: no column of times ({', '.join(TIMES)}); give the period between rows, in s."
        )
    return np.asarray(check_number(period, "log, period", above=0.0) * np.arange(count), dtype=np.float64)


def _check_order(name: str, t: Floats) -> None:
    back = np.flatnonzero(np.diff(t) <= 0.0)
    if back.size:
        k = int(back[0])
        raise InputError(
            f"{name}: time does not rise from row {k} ({t[k]:.9g} s) to row {k + 1} ({t[k + 1]:.9g} s); "
            "sort the rows by time and leave doubles out."
        )
