"""Suspicious efforts: clipped, coarsely quantised, constant, or of implausible size."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from forearm.arm.arm import Arm
from forearm.arm.drive import Motor
from forearm.errors import InputError
from forearm.identification.log_derivatives import noise_of
from forearm.identification.signals.scan import Scan, TopValues
from forearm.identification.signals.table import LogTable
from forearm.logs.columns import listed
from forearm.spatial import Floats
from forearm.values import frozen

UNITS = {"tau": "N m", "current": "A", "voltage": "V"}
OFTEN = 20  # least number of samples at the extreme value,
SHARE = 1e-3  # least fraction of all samples, and
PILED = 8.0  # least ratio to the count at the next value: clipped
FEW_VALUES = 0.25  # of the samples: repeated values indicate quantisation
COARSE = 1.5  # times the noise: a significant step
MILLI = 30.0  # times the largest effort: milli
LARGE = 3.0  # times the largest effort of a joint: implausible


@frozen
class EffortState:
    """Usable efforts: those between `lowest` and `highest` (n,), except joints that are `is_dead` (n,); their
    noise (n,) and findings.
    """

    lowest: Floats
    highest: Floats
    is_dead: Floats
    noise: Floats
    findings: list[str]


def effort_state(arm: Arm, table: LogTable, scan: Scan, is_timed: bool) -> EffortState:
    """Check the efforts of a log after the first read; without times noise is not assessed."""
    names, where = table.names[table.effort], table.at(table.effort)
    low, high = scan.low[where], scan.high[where]
    is_dead = (high <= low).astype(np.float64)
    if is_dead.all():
        raise InputError(
            f"all effort columns are constant ({listed(names)}); there is nothing to fit.", table.name
        )
    findings = [
        f"{names[i]!r} is constant, {high[i]:.4g} in every row; is the sensor off? It is not used."
        if np.isfinite(high[i])
        else f"{names[i]!r} has no values. It is not used."
        for i in np.flatnonzero(is_dead)
    ]
    highest, above = _clipped(scan.highest)
    negative, below = _clipped(scan.lowest)
    findings += _clipping_sentences(arm, table, (highest, above), (-negative, below))
    efforts = [rows[:, where] for rows in scan.stretches]
    steps = _steps(efforts, table.n)
    rounding = steps / np.sqrt(12.0)
    noise = np.full(table.n, np.nan)
    if is_timed:
        known = [noise_of(np.where(np.isfinite(e), e, 0.0)) for e in efforts if np.isfinite(e).any()]
        noise = np.maximum(np.sqrt(np.mean(np.square(known), axis=0)), rounding)
    is_coarse = (steps > 0.0) & ~(steps < COARSE * noise)
    findings += [
        f"{names[i]!r} is quantised in steps of {steps[i]:.4g} {_unit(table, i)}, equivalent to noise of "
        f"{rounding[i]:.3g} {_unit(table, i)}."
        for i in np.flatnonzero(is_coarse & (is_dead == 0.0)).tolist()
    ]
    findings += _size_questions(arm, table, low, high)
    return EffortState(-negative, highest, is_dead, noise, findings)


def _clipped(top: TopValues) -> tuple[Floats, Floats]:
    """Clipping levels (n,), inf if there are none, and the fraction of clipped samples."""
    is_clipped = (top.counts[0] >= max(OFTEN, SHARE * top.count)) & (top.counts[0] > PILED * top.counts[1])
    share = top.counts[0] / max(top.count, 1)
    return np.where(is_clipped, top.values[0], np.inf), np.where(is_clipped, share, 0.0)


def _clipping_sentences(
    arm: Arm, table: LogTable, high: tuple[Floats, Floats], low: tuple[Floats, Floats]
) -> list[str]:
    said = []
    for i, joint in enumerate(arm.joints):
        name, unit = table.names[table.effort][i], _unit(table, i)
        ends = [(level[i], share[i]) for level, share in (low, high) if share[i] > 0.0]
        share = f"{100.0 * sum(share for _, share in ends):.3g} % of the moving samples, which are not used"
        if any(level == 0.0 for level, _ in ends):
            said.append(f"{name!r} never changes sign: {share}. Was its sign lost?")
        elif ends:
            limit = joint.max_effort if table.effort == "tau" else None
            is_known = limit is not None and any(abs(abs(level) - limit) < 1e-3 * limit for level, _ in ends)
            values = " and ".join(f"{level:.6g}" for level, _ in ends)
            known = ", the max_effort of the joint" if is_known else ""
            said.append(f"{name!r} is clipped at {values} {unit}{known}: {share}.")
    return said


def _steps(efforts: Sequence[Floats], n: int) -> Floats:
    """The quantisation step of each column, 0 if not quantised (n,)."""
    steps = np.zeros(n)
    for i in range(n if efforts else 0):
        column = np.concatenate([rows[:, i] for rows in efforts])
        column = column[np.isfinite(column)]
        values = np.unique(column)
        if 2 < len(values) < FEW_VALUES * len(column):
            apart = np.diff(values)
            step = float(np.min(apart[apart > 1e-6 * (values[-1] - values[0])]))
            shares = apart / step
            if np.abs(shares - np.round(shares)).max() < 0.05:
                steps[i] = step
    return steps


def _size_questions(arm: Arm, table: LogTable, low: Floats, high: Floats) -> list[str]:
    """Efforts far from what the joints or motors can produce."""
    names = table.names[table.effort]
    largest = np.maximum(np.abs(low), np.abs(high))
    motors = [joint.motor or Motor() for joint in arm.joints]
    limits = {
        "tau": [joint.max_effort for joint in arm.joints],
        "current": [motor.max_current for motor in motors],
        "voltage": [motor.max_voltage for motor in motors],
    }[table.effort]
    gears = [abs(motor.gear_ratio) for motor in motors]
    known = [i for i, limit in enumerate(limits) if limit and np.isfinite(largest[i]) and largest[i] > 0.0]
    if not known:
        return []
    ratios = {i: largest[i] / (limits[i] or 1.0) for i in known}
    large = [i for i in known if ratios[i] > LARGE]
    milli, kilo = {"tau": ("mN m", "kN m"), "current": ("mA", "kA"), "voltage": ("mV", "kV")}[table.effort]
    said = []
    if large:
        worst = max(large, key=lambda i: ratios[i])
        said.append(
            f"{_listed_names(names, large)}: beyond the largest efforts of the joints; {names[worst]!r} "
            f"reaches {largest[worst]:.4g} {_unit(table, worst)}, {ratios[worst]:.3g} times the limit. "
            f"{f'Are they in {milli}? ' if ratios[worst] > MILLI else ''}Check the unit."
        )
    geared = [i for i in known if gears[i] > 5.0]
    if table.effort == "tau" and geared and all(ratios[i] * gears[i] < 1.5 for i in geared):
        said.append(
            f"{_listed_names(names, geared)}: below max_effort divided by the gear ratio. Are these motor "
            "torques? tau is motor torque times gear ratio: multiply them."
        )
    elif all(ratio < 2e-3 for ratio in ratios.values()):
        said.append(
            f"{_listed_names(names, known)}: below 0.2 % of the largest efforts of the joints. Are they in "
            f"{kilo}? Check the unit."
        )
    return said


def _listed_names(names: Sequence[str], which: Sequence[int]) -> str:
    return listed([repr(names[i]) for i in which])


def _unit(table: LogTable, i: int) -> str:
    return "N" if table.effort == "tau" and not table.is_angle[i] else UNITS[table.effort]
