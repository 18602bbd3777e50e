"""What was left out of a log while it was read, counted, and said column by column."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from forearm.identification.signals.table import LogTable
from forearm.logs.columns import listed
from forearm.spatial import Floats


@dataclass
class Jump:
    """Jumps of one joint's position: how many, and the first: row, time, size."""

    count: int
    row: int
    time: float
    size: float


@dataclass
class Tally:
    """Counts over a whole log, of rows by their number from 0 on.

    Attributes:
        rows: that were read.
        missing: numbers that are missing, by column (m,).
        dropped: rows without a whole motion.
        wrapped: times that a position went on whole turns away (n,).
        repeated, first_repeated: rows whose time was there already, and the first.
        gaps, longest, longest_at: steps in time that part the log; the longest and when it began, s.
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
        """Rows whose time was there already."""
        if not self.repeated:
            self.first_repeated = row
        self.repeated += count

    def note_gap(self, length: float, begin: float) -> None:
        """A step in time that is too long, s."""
        self.gaps += 1
        if length > self.longest:
            self.longest, self.longest_at = length, begin

    def note_reset(self, row: int, before: float, after: float) -> None:
        """The clock went back."""
        if not self.resets:
            self.first_reset = (row, before, after)
        self.resets += 1

    def note_jump(self, kind: str, joint: int, row: int, time: float, size: float) -> None:
        """A position out of line."""
        seen = self.jumps.setdefault((kind, joint), Jump(0, row, time, size))
        seen.count += 1

    def findings(self, table: LogTable, period: float | None) -> list[str]:
        """What was found, in sentences."""
        heads = table.headings
        q = slice(1, 1 + table.n)
        found = []
        if self.dropped:
            where = [f"{heads[k]!r} ({int(c)})" for k, c in enumerate(self.missing) if c]
            found.append(
                f"{_count(self.dropped, 'row')} without a number left out as gaps; missing in {listed(where)}."
            )
        elif self.missing.any():
            where = [f"{heads[k]!r} ({int(c)})" for k, c in enumerate(self.missing) if c]
            found.append(f"Numbers missing in {listed(where)}: these samples of the effort are not used.")
        if self.repeated:
            found.append(
                f"{heads[0]!r}: {_count(self.repeated, 'row')} with the time of the row before left out, first "
                f"{table.place(self.first_repeated)}."
            )
        if self.gaps and period is not None:
            found.append(
                f"{heads[0]!r}: {_count(self.gaps, 'gap')} part{'s' if self.gaps == 1 else ''} the log, where "
                f"rows are more than 2.5 periods of {period:.4g} s apart; the longest, {self.longest:.4g} s, "
                f"begins at {self.longest_at:.6g} s."
            )
        if self.resets:
            row, before, after = self.first_reset
            found.append(
                f"{heads[0]!r}: the clock goes back {_count(self.resets, 'time')}, first at {table.place(row)} "
                f"from {before:.6g} s to {after:.6g} s; the log is parted there."
            )
        for joint in np.flatnonzero(self.wrapped):
            found.append(
                f"{heads[q][joint]!r} goes on whole turns away {_count(int(self.wrapped[joint]), 'time')}, as "
                "angles do that are kept within one turn; made continuous."
            )
        for (kind, joint), jump in sorted(self.jumps.items()):
            name, unit = heads[q][joint], "rad" if table.is_angle[joint] else "m"
            at = f"{table.place(jump.row)} (t = {jump.time:.6g} s)"
            if kind == "outlier":
                found.append(
                    f"{name!r}: {_count(jump.count, 'row')} out of line by a jump there and back left out, "
                    f"first {at}: {jump.size:.4g} {unit}."
                )
            else:
                found.append(
                    f"{name!r} jumps {_count(jump.count, 'time')}, first at {at} by {jump.size:.4g} {unit}; the "
                    "log is parted there. Was the sensor set to a new zero?"
                )
        return found


def _count(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
