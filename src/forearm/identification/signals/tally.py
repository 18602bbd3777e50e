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
class Jump:
    """Jumps of one joint's position: count, and the first: row, time, size."""

    count: int
    row: int
    time: float
    size: float


@dataclass
class Tally:
    """Counts over a whole log; rows are numbered from 0.

    Attributes:
        rows: rows read.
        missing: missing values by column (m,).
        dropped: rows with incomplete motion.
        wrapped: number of jumps by whole turns per position (n,).
        repeated, first_repeated: rows that repeat a time, and the first of them.
        gaps, longest, longest_at: time gaps that split the log; the longest and its start, s.
        resets, first_reset: how often the clock went back; the first: row, time before and after, s.
        jumps: of positions, by kind, "outlier" or "step", and joint.
    """

    missing: Floats
    wrapped: Floats
    rows: int = 0
    dropped: int = 0
    repeated: int = 0
    first_repeated: int = 0
    gaps: int = 0
    longest: float = 0.0
    longest_at: float = 0.0
    resets: int = 0
    first_reset: tuple[int, float, float] = (0, 0.0, 0.0)
    jumps: dict[tuple[str, int], Jump] = field(default_factory=dict)

    @staticmethod
    def of(table: LogTable) -> Tally:
        """Nothing counted yet."""
        return Tally(np.zeros(len(table.headings)), np.zeros(table.n))

    def note_repeated(self, count: int, row: int) -> None:
        """Count rows that repeat a time."""
        if not self.repeated:
            self.first_repeated = row
        self.repeated += count

    def note_gap(self, length: float, begin: float) -> None:
        """Count a gap in time, s."""
        self.gaps += 1
        if length > self.longest:
            self.longest, self.longest_at = length, begin

    def note_reset(self, row: int, before: float, after: float) -> None:
        """Count a clock reset."""
        if not self.resets:
            self.first_reset = (row, before, after)
        self.resets += 1

    def note_jump(self, kind: str, joint: int, row: int, time: float, size: float) -> None:
        """Count a position outlier."""
        seen = self.jumps.setdefault((kind, joint), Jump(0, row, time, size))
        seen.count += 1

    def findings(self, table: LogTable, period: float | None) -> list[str]:
        """The findings as sentences."""
        return [*self._missing(table), *self._times(table, period), *self._positions(table)]

    def _missing(self, table: LogTable) -> list[str]:
        efforts = {k for x in (table.effort, "current") if table.has(x) for k in _places(table, x)}
        lacking = np.flatnonzero(self.missing).tolist()
        found = []
        if self.dropped:
            where = [f"{table.headings[k]!r} ({self.missing[k]:.0f})" for k in lacking if k not in efforts]
            found.append(f"{_count(self.dropped, 'row')} dropped for missing values: {listed(where)}.")
        if where := [f"{table.headings[k]!r} ({self.missing[k]:.0f})" for k in lacking if k in efforts]:
            found.append(f"Values are missing in {listed(where)}: these samples are not used for the joint.")
        return found

    def _times(self, table: LogTable, period: float | None) -> list[str]:
        name = table.headings[0]
        found = []
        if self.repeated:
            found.append(
                f"{name!r}: {_count(self.repeated, 'row')} dropped that repeat{'s' * (self.repeated == 1)} "
                "the time of the previous row, first "
                f"{table.place(self.first_repeated)}.{TOO_COARSE if self.repeated > MANY * self.rows else ''}"
            )
        if self.gaps and period is not None:
            found.append(
                f"{name!r}: {_count(self.gaps, 'gap')} split{'s' if self.gaps == 1 else ''} the log (rows "
                f"are {period:.4g} s apart); the longest, {self.longest:.4g} s, begins at "
                f"{self.longest_at:.6g} s."
            )
        if self.resets:
            row, before, after = self.first_reset
            found.append(
                f"{name!r}: the clock goes back {_count(self.resets, 'time')}, first at {table.place(row)} "
                f"from {before:.6g} s to {after:.6g} s; the log is split there."
            )
        return found

    def _positions(self, table: LogTable) -> list[str]:
        names = table.names[table.position]
        found = [
            f"{names[i]!r} jumps by whole turns {_count(int(self.wrapped[i]), 'time')}, as angles wrapped to "
            "one turn do; unwrapped."
            for i in np.flatnonzero(self.wrapped)
        ]
        for (kind, joint), jump in sorted(self.jumps.items()):
            name, unit = names[joint], "rad" if table.is_angle[joint] else "m"
            at = f"{table.place(jump.row)} (t = {jump.time:.6g} s)"
            if kind == "outlier":
                found.append(
                    f"{name!r}: {_count(jump.count, 'row')} dropped as outliers; first "
                    f"{at}, by {jump.size:.4g} {unit}."
                )
            else:
                found.append(
                    f"{name!r} jumps {_count(jump.count, 'time')}, first at {at} by {jump.size:.4g} {unit}; "
                    "the log is split there. Was the sensor re-zeroed?"
                )
        return found


def _places(table: LogTable, quantity: str) -> range:
    where = table.at(quantity)
    return range(where.start, where.stop)


def _count(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
