"""Counts of dropped rows of a log, reported column by column."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from forearm.identification.signals.table import LogTable
from forearm.logs.columns import listed
from forearm.spatial import Floats

MANY = 0.1  # fraction of the rows
TOO_COARSE = " The time resolution is too coarse for this rate: remove that column, and give the period."


@dataclass
class LogFault:
    """Faults of one kind: their count, and row, time and size of the first, of gaps of the longest. The size
    of a clock reset is the time after it.
    """

    count: int
    row: int
    time: float
    size: float


@dataclass
class Tally:
    """Counts over a whole log; rows are numbered from 0.

    Attributes:
        missing: missing values by column (m,).
        wrapped: number of jumps by whole turns per position (n,).
        rows: rows read.
        dropped: rows with incomplete motion.
        events: by kind and joint: rows that repeat a time ("repeat"), gaps in time that split the log
            ("gap"), clock resets ("reset"), outliers ("outlier") and lasting steps ("step") of positions.
    """

    missing: Floats
    wrapped: Floats
    rows: int = 0
    dropped: int = 0
    events: dict[tuple[str, int], LogFault] = field(default_factory=dict)

    @staticmethod
    def of(table: LogTable) -> Tally:
        """Nothing counted yet."""
        return Tally(np.zeros(len(table.headings)), np.zeros(table.n))

    def note(self, kind: str, row: int, time: float, size: float, joint: int = -1, count: int = 1) -> None:
        """Count a fault."""
        seen = self.events.setdefault((kind, joint), LogFault(0, row, time, size))
        seen.count += count
        if kind == "gap" and size > seen.size:
            seen.time, seen.size = time, size

    def findings(self, table: LogTable, period: float | None) -> list[str]:
        """The findings as sentences."""
        return [*self._missing(table), *self._times(table, period), *self._positions(table)]

    def _missing(self, table: LogTable) -> list[str]:
        efforts = table.places(*(x for x in (table.effort, "current") if table.has(x)))
        lacking = np.flatnonzero(self.missing).tolist()
        of_motion, of_efforts = (
            [f"{table.headings[k]!r} ({self.missing[k]:.0f})" for k in lacking if (k in efforts) == is_effort]
            for is_effort in (False, True)
        )
        found = []
        if self.dropped:
            found.append(f"{_count(self.dropped, 'row')} dropped for missing values: {listed(of_motion)}.")
        if of_efforts:
            found.append(
                f"Values are missing in {listed(of_efforts)}: these samples are not used for the joint."
            )
        return found

    def _times(self, table: LogTable, period: float | None) -> list[str]:
        name = table.headings[0]
        found = []
        repeat, gap, reset = (self.events.get((kind, -1)) for kind in ("repeat", "gap", "reset"))
        if repeat:
            found.append(
                f"{name!r}: {_count(repeat.count, 'row')} dropped that repeat{'s' * (repeat.count == 1)} "
                "the time of the previous row, first "
                f"{table.place(repeat.row)}.{TOO_COARSE if repeat.count > MANY * self.rows else ''}"
            )
        if gap and period is not None:
            found.append(
                f"{name!r}: {_count(gap.count, 'gap')} split{'s' if gap.count == 1 else ''} the log (rows "
                f"are {period:.4g} s apart); the longest, {gap.size:.4g} s, begins at {gap.time:.6g} s."
            )
        if reset:
            found.append(
                f"{name!r}: the clock goes back {_count(reset.count, 'time')}, first at "
                f"{table.place(reset.row)} from {reset.time:.6g} s to {reset.size:.6g} s; the log is split "
                "there."
            )
        return found

    def _positions(self, table: LogTable) -> list[str]:
        names = table.names[table.position]
        found = [
            f"{names[i]!r} jumps by whole turns {_count(int(self.wrapped[i]), 'time')}, as angles wrapped to "
            "one turn do; unwrapped."
            for i in np.flatnonzero(self.wrapped)
        ]
        for (kind, joint), jump in sorted(self.events.items()):
            if joint < 0:
                continue
            at = f"{table.place(jump.row)} (t = {jump.time:.6g} s)"
            by = f"by {jump.size:.4g} {'rad' if table.is_angle[joint] else 'm'}"
            if kind == "outlier":
                said = f": {_count(jump.count, 'row')} dropped as outliers; first {at}, {by}."
            else:
                said = f" jumps {_count(jump.count, 'time')}, first at {at} {by}; the log is split there. "
                said += "Was the sensor re-zeroed?"
            found.append(f"{names[joint]!r}{said}")
        return found


def _count(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
