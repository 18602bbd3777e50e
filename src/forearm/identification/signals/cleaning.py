"""Rows of a log split into pieces without gaps; missing, repeated and outlying rows are dropped.

Rows arrive in chunks, and every decision looks two rows ahead and back, so the result does not depend on the
chunk boundaries.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from forearm.errors import InputError
from forearm.identification.signals.table import LogTable
from forearm.identification.signals.tally import Tally
from forearm.spatial import Floats
from forearm.values import frozen

Numbers = NDArray[np.int64]
Flags = NDArray[np.bool_]
GAP = 2.5  # times the usual period: a longer step splits the log
RESET = 50.0  # times the usual period: a clock that goes back farther was reset
STANDS_OUT = 4.0  # times the steps around it: a larger jump is not motion
TURN = 2.0 * math.pi


@frozen
class PieceRows:
    """Consecutive rows of one piece (B, m); `starts`: a new piece begins with them."""

    rows: Floats
    starts: bool


class Cleaner:
    """Converts incoming rows to stretches of pieces.

    Args:
        table: source of the rows.
        period: sampling period, s; None: rows are states without time.
        jumps: position steps too large for motion (n,).
        needed: columns required in every row.
        tally: counts dropped rows.
    """

    def __init__(
        self, table: LogTable, period: float | None, jumps: Floats, needed: Flags, tally: Tally
    ) -> None:
        self._table, self._period, self._tally = table, period, tally
        self._jumps, self._needed = jumps, needed
        self._q = slice(1, 1 + table.n)
        self._rows = np.zeros((0, len(table.headings)))  # two rows already emitted, and the waiting ones
        self._numbers: Numbers = np.zeros(0, dtype=np.int64)
        self._parts: Flags = np.zeros(0, dtype=np.bool_)
        self._out = 0  # number of emitted rows among these
        self._begins = False  # whether the next row starts a piece because the previous row was dropped
        self._turns = np.zeros(table.n)

    def stretches(self, rows: Floats, numbers: Numbers) -> list[PieceRows]:
        """Add the next rows of the log with their row numbers; return rows that are ready."""
        rows, numbers = self._complete(rows, numbers)
        if not len(rows):
            return []
        if self._period is None:
            parts = np.zeros(len(rows), dtype=np.bool_)
            parts[0] = not len(self._rows)
            self._rows = rows[-1:]
            return self._split(rows, parts)
        self._append(*self._in_order(rows, numbers))
        return self._decided(len(self._rows) - 2)

    def rest(self) -> list[PieceRows]:
        """Return the waiting rows at the end of the log."""
        return self._decided(len(self._rows)) if self._period is not None else []

    def _complete(self, rows: Floats, numbers: Numbers) -> tuple[Floats, Numbers]:
        """Rows with a complete motion."""
        missing = ~np.isfinite(rows)
        if not missing.any():
            return rows, numbers
        self._tally.missing += missing.sum(axis=0)
        lacks = missing[:, self._needed].any(axis=1)
        self._tally.dropped += int(lacks.sum())
        whole = ~lacks
        return rows[whole], numbers[whole]

    def _in_order(self, rows: Floats, numbers: Numbers) -> tuple[Floats, Numbers, Flags]:
        """Rows with increasing times, and piece starts."""
        assert self._period is not None
        before = self._rows[-1, 0] if len(self._rows) else -np.inf
        steps = np.diff(rows[:, 0], prepend=before)
        if (steps == 0.0).any():
            again = steps == 0.0
            self._tally.note("repeat", int(numbers[again][0]), 0.0, 0.0, count=int(again.sum()))
            rows, numbers, steps = rows[~again], numbers[~again], steps[~again]
        back = steps < 0.0
        if back.any():
            self._check_back(rows, numbers, steps)
        long = steps > GAP * self._period
        if len(steps) and not np.isfinite(steps[0]):
            long[0] = False
        for kind, which, sizes in (("gap", long, steps), ("reset", back, rows[:, 0])):
            for k in np.flatnonzero(which):
                self._tally.note(kind, int(numbers[k]), float(rows[k, 0] - steps[k]), float(sizes[k]))
        parts = long | back
        if not len(self._rows) and len(parts):
            parts[0] = True
        return rows, numbers, parts

    def _check_back(self, rows: Floats, numbers: Numbers, steps: Floats) -> None:
        """Refuse small steps back in time: rows were swapped, and the log is too long to be sorted."""
        assert self._period is not None
        little = np.flatnonzero((steps < 0.0) & (steps >= -RESET * self._period))
        if len(little):
            k = int(little[0])
            raise InputError(
                f"time goes back from {rows[k, 0] - steps[k]:.9g} s to {rows[k, 0]:.9g} s. "
                "The log is too long to sort in memory: sort its rows by time.",
                self._table.name,
                self._table.place(int(numbers[k])),
                f"column {self._table.headings[0]!r}",
            )

    def _append(self, rows: Floats, numbers: Numbers, parts: Flags) -> None:
        """Unwrapped rows, appended to the waiting ones."""
        if not len(rows):
            return
        rows = self._unwrapped(rows, parts)
        self._rows = np.concatenate([self._rows, rows])
        self._numbers = np.concatenate([self._numbers, numbers])
        self._parts = np.concatenate([self._parts, parts])

    def _unwrapped(self, rows: Floats, parts: Flags) -> Floats:
        """Unwrap angles by whole turns."""
        q = rows[:, self._q]
        before = self._rows[-1:, self._q] - self._turns if len(self._rows) else q[:1]
        steps = np.diff(q, axis=0, prepend=before)
        turns = np.round(steps / TURN) * self._table.is_angle
        turns *= (np.abs(steps - TURN * turns) <= self._jumps) & ~parts[:, None]
        if not turns.any() and not self._turns.any():
            return rows
        self._tally.wrapped += (turns != 0.0).sum(axis=0)
        turned = self._turns - TURN * np.cumsum(turns, axis=0)
        self._turns = turned[-1]
        rows = rows.copy()
        rows[:, self._q] = q + turned
        return rows

    def _decided(self, end: int) -> list[PieceRows]:
        """Emit rows up to this one, without position outliers."""
        first = self._out
        if end <= first:
            return []
        outliers, steps = self._jumps_in()
        part = slice(first, end)
        self._note_jumps(outliers[part], steps[part], first)
        parts = self._parts | steps.any(axis=1)
        keep = np.asarray(~outliers[part].any(axis=1))
        out = self._split_kept(self._rows[part], parts[part], keep)
        held = max(0, end - 2)
        self._rows, self._numbers, self._parts = (self._rows[held:], self._numbers[held:], self._parts[held:])
        self._out = end - held
        return out

    def _jumps_in(self) -> tuple[Flags, Flags]:
        """Single-row position outliers, and steps to a new position."""
        q = self._rows[:, self._q]
        d = np.zeros((len(q) + 4, q.shape[1]))  # d[k + 1]: the step to row k; rows outside have zero steps
        d[2 : len(q) + 1] = np.where(self._parts[1:, None], 0.0, np.diff(q, axis=0))
        if not (np.abs(d) > self._jumps).any():
            none = np.zeros(q.shape, dtype=np.bool_)
            return none, none
        size = np.abs(d)
        here, after, later, before = size[1:-3], size[2:-2], size[3:-1], size[:-4]
        is_big = here > self._jumps
        back = d[1:-3] + d[2:-2]
        outliers = (
            is_big
            & (after > self._jumps)
            & (np.abs(back) < 0.25 * here)
            & (np.minimum(here, after) > STANDS_OUT * np.maximum(before, later))
        )
        steps = is_big & (here > STANDS_OUT * np.maximum(before, after))
        return outliers, steps

    def _note_jumps(self, outliers: Flags, steps: Flags, first: int) -> None:
        for flags, kind in ((outliers, "outlier"), (steps, "step")):
            for k, j in np.argwhere(flags) if flags.any() else ():
                row = self._rows[first + k]
                size = row[1 + j] - self._rows[first + k - 1, 1 + j] if first + k else 0.0
                self._tally.note(kind, int(self._numbers[first + k]), float(row[0]), float(size), int(j))

    def _split_kept(self, rows: Floats, parts: Flags, keep: Flags) -> list[PieceRows]:
        parts[0] |= self._begins
        self._begins = False
        if not keep.all():
            for k in np.flatnonzero(~keep):  # a piece that starts with a dropped row starts with the next one
                if parts[k] and k + 1 < len(parts):
                    parts[k + 1] = True
            self._begins = bool(parts[-1] and not keep[-1])
            rows, parts = rows[keep], parts[keep]
        return self._split(rows, parts)

    def _split(self, rows: Floats, parts: Flags) -> list[PieceRows]:
        ends = [0, *(k for k in np.flatnonzero(parts).tolist() if k > 0), len(rows)]
        return [PieceRows(rows[a:b], bool(parts[a])) for a, b in pairwise(ends) if b > a]
