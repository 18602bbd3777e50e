"""Entry point: read a log once, then provide its samples repeatedly."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forearm.arm.arm import Arm
from forearm.errors import InputError
from forearm.identification.log_derivatives import HALVES, best_half_of, noise_at
from forearm.identification.samples import LogSignals, PreparedLog, Samples
from forearm.identification.signals.cutoff import SHORTEST, cutoff_of, half_for
from forearm.identification.signals.derivative_errors import derivative_errors
from forearm.identification.signals.first_read import FirstRead, first_read
from forearm.identification.signals.jumps import jumping_joints
from forearm.identification.signals.reader import LogReader
from forearm.identification.signals.scan import Scan
from forearm.identification.signals.sources import LogRequest, open_log
from forearm.identification.signals.table import LogTable
from forearm.identification.signals.tally import Tally
from forearm.identification.signals.windows import WindowPlan, samples_of
from forearm.logs.units import units_of
from forearm.spatial import Floats
from forearm.values import check_kind, check_number

# The window with the least error of qdd is longer than a fit wants: over a log noise averages out, filter
# bias does not.
SHARPER = 1.7
FEWEST_WINDOWS = 10.0  # in the longest piece
LONGEST_SHIFT = 1000  # periods


def prepare_log(
    arm: Arm,
    log: Any,
    *,
    columns: Mapping[str, str] | None = None,
    units: str | Sequence[str] = (),
    period: float | None = None,
    cutoff: float | None = None,
    derivatives: str | None = None,
    effort: str | None = None,
    name: str | None = None,
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
        columns: mapping of unknown column names, theirs to ours: {"angle": "q", "load": "tau"}.
        units: "deg" or "rad", and "s", "ms", "us" or "ns", in one string or a list (default: rad and s).
        period: sampling period, s, if there are no times.
        cutoff: cut-off frequency of the position filter, Hz; None: chosen from their noise.
        derivatives: "logged": qd and qdd of the log; "position": from q; None: logged if both are present.
        effort: "tau", "current" or "voltage", if several are present.
        name: of the log (default: that of the file).
    """
    check_kind(arm, Arm, "prepare_log, arm")
    request = LogRequest(arm, columns, units, effort, derivatives, name)
    table = open_log(log, request)
    is_logged = derivatives != "position" and table.has("q", "qd", "qdd")
    if cutoff is not None:
        cutoff = check_number(cutoff, f"{table.name}, cutoff", above=0.0)
    reader = LogReader(table, _given_period(table, period, is_logged), is_logged)
    read = first_read(arm, reader, units_of(units), is_logged)
    if reader.period is None:
        return _states(reader, read)
    return _logged(reader, read) if is_logged else _filtered(reader, read, reader.period, cutoff)


class PreparedSignals:
    """A log after the first read, and how its samples are formed."""

    def __init__(self, signals: LogSignals, plan: WindowPlan, reader: LogReader) -> None:
        self._signals, self._plan, self._reader = signals, plan, reader

    @property
    def signals(self) -> LogSignals:
        """Its properties."""
        return self._signals

    def blocks(self, shift: float = 0.0) -> Iterator[Samples]:
        """Its samples; efforts are taken `shift` s later than the corresponding motion."""
        plan = self._plan
        where = f"{plan.table.name}, shift"
        check_number(shift, where)
        if plan.period is None and shift != 0.0:
            raise InputError(f"rows without times cannot be shifted, got {shift:g} s.", where)
        if plan.period is not None and abs(shift) > LONGEST_SHIFT * plan.period:
            raise InputError(
                f"expected at most {LONGEST_SHIFT} periods, {LONGEST_SHIFT * plan.period:.4g} "
                f"s, got {shift:g} s.",
                where,
            )
        return samples_of(plan, self._reader.again(Tally.of(plan.table)), shift)


def _given_period(table: LogTable, period: float | None, is_logged: bool) -> float | None:
    """Sampling period given by the caller, s."""
    if period is not None:
        if table.time is not None:
            raise InputError(f"there is already a time column, {table.time!r}; omit period.", table.name)
        return check_number(period, f"{table.name}, period", above=0.0)
    if table.time is None and not is_logged:
        raise InputError(
            "no time column; give the sampling period, in s, or a log with both qd and qdd.", table.name
        )
    return None


def _filtered(reader: LogReader, read: FirstRead, period: float, cutoff: float | None) -> PreparedLog:
    """Derivatives from positions."""
    table, scan = reader.table, read.scan
    motion = [(rows[:, 0], rows[:, table.at(table.position)]) for rows in scan.stretches]
    noise = _noise(motion)
    if cutoff is None:
        half, _ = best_half_of(motion, noise)
        half = max(round(min(half / SHARPER, max(scan.pieces) / FEWEST_WINDOWS / 2.0)), SHORTEST)
        half = _spared(scan, half)
    else:
        half = half_for(cutoff, period, max(scan.pieces), table.name)
    frequency = cutoff_of(half, period)
    chosen = "as given" if cutoff is not None else "chosen from their noise"
    read.findings.append(
        f"Positions are zero-phase filtered, cut-off {frequency:.4g} Hz, {chosen}: polynomials of degree "
        f"4 over {2 * half + 1} samples, {1e3 * 2 * half * period:.4g} ms."
    )
    if table.has("qd") and not table.has("qdd"):
        read.findings.append(
            f"Velocities are logged ({table.names['qd'][0]!r}, ...), accelerations are not: both are "
            "computed from the positions."
        )
    errors = derivative_errors(motion, half, period, noise)
    jumps = jumping_joints(motion, half, errors[0])
    return _prepared(reader, read, half, False, frequency, (noise, *errors), jumps)


def _logged(reader: LogReader, read: FirstRead) -> PreparedLog:
    """Logged derivatives."""
    table = reader.table
    noise = _noise([(rows[:, 0], rows[:, table.at(table.position)]) for rows in read.scan.stretches])
    read.findings.append(
        f"qd and qdd are used as logged ({table.names['qd'][0]!r}, {table.names['qdd'][0]!r}, "
        "...); derivatives='position' computes them from the positions."
    )
    unknown = np.full(table.n, math.nan)
    return _prepared(reader, read, 0, True, math.nan, (noise, unknown, unknown))


def _states(reader: LogReader, read: FirstRead) -> PreparedLog:
    """Rows without times: noise cannot be assessed."""
    read.findings.append("There are no times: each row is an independent state, with qd and qdd as logged.")
    unknown = np.full(reader.table.n, math.nan)
    return _prepared(reader, read, 0, True, math.nan, (unknown, unknown, unknown))


def _prepared(
    reader: LogReader,
    read: FirstRead,
    half: int,
    is_logged: bool,
    frequency: float,
    errors: tuple[Floats, Floats, Floats],
    jumps: NDArray[np.bool_] | None = None,
) -> PreparedLog:
    """Properties of the log, with errors of q, qd and qdd."""
    table, period, efforts, scan = reader.table, reader.period, read.efforts, read.scan
    plan = WindowPlan(table, period, half, is_logged, efforts.lowest, efforts.highest, efforts.is_dead)
    long = [size for size in scan.pieces if size > 2 * half]
    pieces = sum(scan.pieces[size] for size in long)
    used = sum(scan.pieces[size] * (size - 2 * half) for size in long)
    if short := sum(scan.pieces.values()) - pieces:
        rows = sum(size * count for size, count in scan.pieces.items() if size <= 2 * half)
        read.findings.append(
            f"{short} of {short + pieces} pieces {'is' if short == 1 else 'are'} shorter than the window of "
            f"{2 * half + 1} samples: {rows} rows dropped."
        )
    if not used:
        raise InputError(
            f"no piece between gaps is long enough for the window of {2 * half + 1} samples; "
            f"give a higher cutoff. {' '.join(read.findings)}",
            table.name,
        )
    signals = LogSignals(
        name=table.name,
        rows=read.rows,
        used=used,
        pieces=pieces,
        duration=float(sum(scan.durations[size] for size in long)),
        period=1.0 if period is None else period,
        effort=table.effort,
        cutoff=frequency,
        window=0.0 if is_logged or period is None else 2 * half * period,
        q_noise=errors[0],
        qd_error=errors[1],
        qdd_error=errors[2],
        effort_noise=efforts.noise,
        fastest=_fastest(table, scan, half, is_logged, period),
        q_low=scan.low[table.at(table.position)],
        q_high=scan.high[table.at(table.position)],
        has_current=table.effort == "voltage" and table.has("current"),
        effort_columns=table.names[table.effort],
        q_columns=table.names[table.position],
        findings=tuple(read.findings),
        jumps=jumps,
    )
    return PreparedSignals(signals, plan, reader)


def _spared(scan: Scan, half: int) -> int:
    """The longest half window up to this one that keeps more than a third of the rows."""
    for shorter in (half, *(h for h in reversed(HALVES) if h < half)):
        left = sum(count * max(0, size - 2 * shorter) for size, count in scan.pieces.items())
        if 3 * left >= scan.rows:
            return shorter
    return half


def _fastest(table: LogTable, scan: Scan, half: int, is_logged: bool, period: float | None) -> Floats:
    """The largest speeds (n,), as logged, or over half a window."""
    if is_logged or period is None:
        at = table.at("qd")
        return np.asarray(np.maximum(np.abs(scan.low[at]), np.abs(scan.high[at])))
    moved = [
        np.abs(q[half:] - q[:-half]).max(axis=0) / (half * period)
        for q in (rows[:, table.at(table.position)] for rows in scan.stretches)
        if len(q) > half
    ]
    return np.asarray(np.max(moved, axis=0)) if moved else np.zeros(table.n)


def _noise(motion: Sequence[tuple[Floats, Floats]]) -> Floats:
    return np.asarray(np.sqrt(np.mean([noise_at(t, q) ** 2 for t, q in motion], axis=0)))
