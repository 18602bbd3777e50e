"""The first read of a log: faults are refused as soon as they are seen, or reported."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from forearm.arm.arm import Arm
from forearm.errors import InputError
from forearm.identification.signals.cutoff import SHORTEST
from forearm.identification.signals.effort_doubts import EffortState, effort_state
from forearm.identification.signals.motion_doubts import MotionRange, position_doubts, velocity_doubts
from forearm.identification.signals.reader import LogReader
from forearm.identification.signals.scan import Scan
from forearm.identification.signals.table import LogTable
from forearm.identification.signals.tally import Tally
from forearm.logs.units import ask_about_times
from forearm.values import frozen

LEAST = 2 * SHORTEST + 1  # samples of the shortest window
HELD = 0.2  # fraction of the rows: repeated positions indicate sample-and-hold
ASKED = 50_000  # rows whose times are checked
TYPICAL = 99.0  # percentile of the speeds that is used


@frozen
class FirstRead:
    """A log after the first read: its rows, statistics, efforts, and findings."""

    rows: int
    scan: Scan
    efforts: EffortState
    findings: list[str]


def first_read(arm: Arm, reader: LogReader, units: Mapping[str, float], is_logged: bool) -> FirstRead:
    """Read a log through; `units` are the given units of angles and times."""
    table = reader.table
    _check_times(table, reader, units)
    tally, scan = Tally.of(table), Scan(table)
    seen, is_asked = len(reader.head), reader.is_whole
    for stretch in reader.first(tally):
        scan.add(stretch)
        if not is_asked and tally.rows >= seen:
            is_asked = True  # refuse early, without reading a long log to its end
            _motion_findings(arm, reader, scan, tally, units, is_logged)
    scan.finish()
    if not scan.rows:
        raise InputError(
            f"no row has values in every motion column. {' '.join(tally.findings(table, None))}", table.name
        )
    if reader.period is not None and max(scan.pieces) < LEAST:
        raise InputError(
            f"the longest of {sum(scan.pieces.values())} pieces between gaps has "
            f"{max(scan.pieces)} rows; expected at least {LEAST}. "
            f"{' '.join(tally.findings(table, reader.period))}",
            table.name,
        )
    findings = [*reader.findings, *tally.findings(table, reader.period)]
    findings += _motion_findings(arm, reader, scan, tally, units, is_logged)
    findings += _still(table, scan)
    findings += _repeated(table, scan) if reader.period is not None else []
    efforts = effort_state(arm, table, scan, reader.period is not None)
    return FirstRead(tally.rows, scan, efforts, findings + efforts.findings)


def _check_times(table: LogTable, reader: LogReader, units: Mapping[str, float]) -> None:
    """Refuse times that look like milliseconds, unless units or the column's name say so."""
    rows = reader.head[:ASKED]
    rows = rows[np.isfinite(rows).all(axis=1)]
    if table.time is None or table.is_ours or "times" in units or len(rows) < 3 or reader.period is None:
        return
    qd = rows[:, table.at("qd")] if table.has("qd") else None
    where = f"{table.name}, column {table.time!r}"
    ask_about_times(rows[:, 0], rows[:, table.at(table.position)], qd, where)


def _motion_findings(
    arm: Arm, reader: LogReader, scan: Scan, tally: Tally, units: Mapping[str, float], is_logged: bool
) -> list[str]:
    table = reader.table
    q = table.at(table.position)
    fastest = np.zeros(table.n)
    if reader.period is not None and scan.stretches:
        # speeds that positions seldom exceed, taken over several rows to suppress noise
        speeds = []
        for rows in scan.stretches:
            apart = max(1, min(20, len(rows) // 4))
            speeds.append(np.abs(rows[apart:, q] - rows[:-apart, q]) / (rows[apart:, :1] - rows[:-apart, :1]))
        fastest = np.percentile(np.concatenate(speeds), TYPICAL, axis=0)
    # unwrapped whole turns are those of angles in rad
    is_sure = (tally.wrapped > 0.0) | ("angles" in units) | table.is_ours
    found = position_doubts(arm, table, MotionRange(scan.low[q], scan.high[q], fastest, is_sure))
    if reader.period is not None:
        found += velocity_doubts(arm, table, scan.stretches, is_logged)
    return found


def _still(table: LogTable, scan: Scan) -> list[str]:
    """Constant positions."""
    q = table.at(table.position)
    low, high = scan.low[q], scan.high[q]
    still = np.flatnonzero(low == high)
    names = table.names[table.position]
    if len(still) == table.n:
        return ["All positions are constant: only gravity terms can be identified."]
    return [
        f"{names[i]!r} is constant, {low[i]:.4g} in every row, while others move; was the joint held, or is "
        "the sensor off?"
        for i in still
    ]


def _repeated(table: LogTable, scan: Scan) -> list[str]:
    """Positions that repeat while the arm moves: the log is faster than its sensors."""
    held = total = 0
    for rows in scan.stretches:
        moves = (np.diff(rows[:, table.at(table.position)], axis=0) != 0.0).any(axis=1)
        total += len(moves)
        held += int((~moves[1:-1] & moves[:-2] & moves[2:]).sum())
        held += 2 * int((~moves[1:-2] & ~moves[2:-1] & moves[:-3] & moves[3:]).sum())
    if held <= HELD * total:
        return []
    first, last = table.names[table.position][0], table.names[table.position][-1]
    return [
        f"{first!r} to {last!r} repeat the previous row in {100.0 * held / total:.3g} % of the rows while "
        "the arm moves. Is the log sampled faster than the sensors? Keep only rows with new positions."
    ]
