"""Entry point: read a log once, then provide its samples repeatedly."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forearm.arm.arm import Arm
from forearm.errors import InputError, Keyword, Sentence
from forearm.identification.log_derivatives import HALVES, best_half_of, noise_at
from forearm.identification.requests import LogReading
from forearm.identification.samples import LogSignals, PreparedLog, Samples
from forearm.identification.signals.cutoff import SHORTEST, cutoff_of, half_for
from forearm.identification.signals.derivative_errors import derivative_errors
from forearm.identification.signals.first_read import FirstRead, first_read
from forearm.identification.signals.jumps import jumping_joints
from forearm.identification.signals.reader import LogReader
from forearm.identification.signals.scan import Scan
from forearm.identification.signals.sources import open_log
from forearm.identification.signals.table import LogTable
from forearm.identification.signals.tally import Tally
from forearm.identification.signals.windows import WindowPlan, samples_of
from forearm.logs.units import units_of
from forearm.records import flat
from forearm.spatial import Floats
from forearm.values import check_kind, frozen

# The window with the least error of qdd is longer than a fit wants: over a log noise averages out, filter
# bias does not.
SHARPER = 1.7
FEWEST_WINDOWS = 10.0  # in the longest piece
LONGEST_SHIFT = 1000  # periods


@flat(reading=LogReading)
def prepare_log(
    arm: Arm, log: Any, *, reading: LogReading | None = None, name: str | None = None
) -> PreparedLog:
    """Prepare a log of an arm for a fit: read once, with samples available repeatedly.

    Positions are zero-phase filtered and differentiated by polynomials over a window chosen from their noise,
    unless qd and qdd are both logged. Faults are reported by column name: refused if no fit could be right,
    otherwise listed among the findings.

    Args:
        arm: the arm.
        log: the path of a .csv, .tsv, .txt or .parquet file, which is read in blocks, or of an .npz or .json
            file; arrays by name, t (T,), q and tau, current or voltage (T, n), or a column (T,) per joint, as
            in data frames; or a plan or simulation result.
        reading: how it is read.
        name: of the log (default: that of the file).
    """
    check_kind(arm, Arm, "prepare_log, arm")
    asked = reading or LogReading()
    table = open_log(log, arm, asked, name)
    is_logged = asked.derivatives != "position" and table.has("q", "qd", "qdd")
    if asked.period is not None and table.time is not None:
        raise InputError(f"there is already a time column, {table.time!r}; omit period.", table.name)
    if asked.period is None and table.time is None and not is_logged:
        raise InputError(
            "no time column; give the sampling period, in s, or a log with both qd and qdd.", table.name
        )
    reader = LogReader(table, asked.period, is_logged)
    read = first_read(arm, reader, units_of(asked.units), is_logged)
    return _prepared(reader, read, _filter(reader, read, is_logged, asked.cutoff))


@frozen
class PreparedSignals:
    """A log after the first read, and how its samples are formed."""

    signals: LogSignals
    plan: WindowPlan
    reader: LogReader

    def blocks(self, shift: float = 0.0) -> Iterator[Samples]:
        """Its samples; efforts are taken `shift` s later than the corresponding motion."""
        table, period = self.plan.table, self.plan.period
        if period is None and shift != 0.0:
            raise InputError(f"rows without times cannot be shifted, got {shift:g} s.", table.name, "shift")
        if period is not None and abs(shift) > LONGEST_SHIFT * period:
            most = f"{LONGEST_SHIFT} periods, {LONGEST_SHIFT * period:.4g} s"
            raise InputError(f"expected at most {most}, got {shift:g} s.", table.name, "shift")
        return samples_of(self.plan, self.reader.again(Tally.of(table)), shift)


@frozen
class PositionFilter:
    """The filter of positions: its half window, 0 where derivatives are used as logged, its cut-off
    frequency, the errors of q, qd and qdd behind it (n,), and which joints' accelerations jump.
    """

    half: int
    cutoff: float
    errors: tuple[Floats, Floats, Floats]
    jumps: NDArray[np.bool_] | None = None


def _filter(reader: LogReader, read: FirstRead, is_logged: bool, cutoff: float | None) -> PositionFilter:
    """The filter for a log, with findings about it."""
    table, period, scan, say = reader.table, reader.period, read.scan, read.findings.append
    unknown = np.full(table.n, math.nan)
    if period is None:  # noise cannot be assessed
        say("There are no times: each row is an independent state, with qd and qdd as logged.")
        return PositionFilter(0, math.nan, (unknown, unknown, unknown))
    motion = [(rows[:, 0], rows[:, table.at(table.position)]) for rows in scan.stretches]
    noise = np.sqrt(np.mean([noise_at(t, q) ** 2 for t, q in motion], axis=0))
    first = {x: repr(table.names[x][0]) for x in ("qd", "qdd") if table.has(x)}
    if is_logged:
        said = f"qd and qdd are used as logged ({first['qd']}, {first['qdd']}, ...); "
        say(Sentence(said, Keyword("derivatives", "position"), " computes them from the positions."))
        return PositionFilter(0, math.nan, (noise, unknown, unknown))
    if cutoff is None:
        half, _ = best_half_of(motion, noise)
        half = max(round(min(half / SHARPER, max(scan.pieces) / FEWEST_WINDOWS / 2.0)), SHORTEST)
        half = _spared(scan, half)
    else:
        half = half_for(cutoff, period, max(scan.pieces), table.name)
    frequency = cutoff_of(half, period)
    chosen = "as given" if cutoff is not None else "chosen from their noise"
    say(
        f"Positions are zero-phase filtered, cut-off {frequency:.4g} Hz, {chosen}: polynomials of degree "
        f"4 over {2 * half + 1} samples, {1e3 * 2 * half * period:.4g} ms."
    )
    if list(first) == ["qd"]:
        say(
            f"Velocities are logged ({first['qd']}, ...), accelerations are not: both are computed from the "
            "positions."
        )
    errors = derivative_errors(motion, half, period, noise)
    jumps = jumping_joints(motion, half, errors[0])
    return PositionFilter(half, frequency, (noise, *errors), jumps)


def _prepared(reader: LogReader, read: FirstRead, used: PositionFilter) -> PreparedLog:
    """The log with its properties."""
    table, period, efforts, scan, half = reader.table, reader.period, read.efforts, read.scan, used.half
    plan = WindowPlan(table, period, half, efforts.lowest, efforts.highest, efforts.is_dead)
    long = [size for size in scan.pieces if size > 2 * half]
    pieces = sum(scan.pieces[size] for size in long)
    rows = sum(scan.pieces[size] * (size - 2 * half) for size in long)
    if short := sum(scan.pieces.values()) - pieces:
        lost = sum(size * count for size, count in scan.pieces.items() if size <= 2 * half)
        read.findings.append(
            f"{short} of {short + pieces} pieces {'is' if short == 1 else 'are'} shorter than the window of "
            f"{2 * half + 1} samples: {lost} rows dropped."
        )
    if not rows:
        raise InputError(
            f"no piece between gaps is long enough for the window of {2 * half + 1} samples; "
            f"give a higher cutoff. {' '.join(read.findings)}",
            table.name,
        )
    q_noise, qd_error, qdd_error = used.errors
    signals = LogSignals(
        name=table.name,
        rows=read.rows,
        used=rows,
        pieces=pieces,
        duration=float(sum(scan.durations[size] for size in long)),
        period=period or 1.0,
        effort=table.effort,
        cutoff=used.cutoff,
        window=2 * half * (period or 0.0),
        q_noise=q_noise,
        qd_error=qd_error,
        qdd_error=qdd_error,
        effort_noise=efforts.noise,
        fastest=_fastest(table, scan, half, period),
        q_low=scan.low[table.at(table.position)],
        q_high=scan.high[table.at(table.position)],
        has_current=table.has_current,
        effort_columns=table.names[table.effort],
        q_columns=table.names[table.position],
        findings=tuple(read.findings),
        jumps=used.jumps,
    )
    return PreparedSignals(signals, plan, reader)


def _spared(scan: Scan, half: int) -> int:
    """The longest half window up to this one that keeps more than a third of the rows."""
    for shorter in (half, *(h for h in reversed(HALVES) if h < half)):
        left = sum(count * max(0, size - 2 * shorter) for size, count in scan.pieces.items())
        if 3 * left >= scan.rows:
            return shorter
    return half


def _fastest(table: LogTable, scan: Scan, half: int, period: float | None) -> Floats:
    """The largest speeds (n,), as logged, or over half a window."""
    if not half or period is None:
        at = table.at("qd")
        return np.asarray(np.maximum(np.abs(scan.low[at]), np.abs(scan.high[at])))
    moved = [
        np.abs(q[half:] - q[:-half]).max(axis=0) / (half * period)
        for q in (rows[:, table.at(table.position)] for rows in scan.stretches)
        if len(q) > half
    ]
    return np.asarray(np.max(moved, axis=0)) if moved else np.zeros(table.n)
