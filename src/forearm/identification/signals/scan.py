"""Statistics of one pass over a log: column extremes, lengths of pieces, stretches for analysis."""

from __future__ import annotations

from collections import Counter

import numpy as np

from forearm.identification.signals.cleaning import PieceRows
from forearm.identification.signals.table import LogTable
from forearm.spatial import Floats

SPAN = 4096  # rows of a stored stretch
MOST = 32_768  # stored rows, spread over the log
SHORT = 9  # rows: shorter pieces are not stored


class Scan:
    """Running statistics of a log, in constant memory.

    Attributes:
        rows: number of rows.
        pieces: number of pieces by length in rows.
        durations: of all pieces of each length together, s.
        stretches: rows stored for analysis, each without a gap.
        low, high: extremes of every column (m,).
        highest, lowest: of the efforts while something moves, the lowest with opposite sign.
    """

    def __init__(self, table: LogTable) -> None:
        self._table = table
        width = len(table.headings)
        self.rows = 0
        self.pieces: Counter[int] = Counter()
        self.durations: dict[int, float] = {}
        self.low, self.high = np.full(width, np.inf), np.full(width, -np.inf)
        self.highest, self.lowest = TopValues(table.n), TopValues(table.n)
        self._kept: list[Floats] = []
        self._every = 1
        self._offered = 0
        self._run: list[Floats] = []
        self._length = 0
        self._begin = self._end = 0.0
        self._last: Floats | None = None

    def add(self, stretch: PieceRows) -> None:
        """Add the next rows."""
        if stretch.starts:
            self.finish()
        rows = stretch.rows
        if not self._length:
            self._begin = float(rows[0, 0])
        self._end = float(rows[-1, 0])
        self._length += len(rows)
        self.rows += len(rows)
        self.low = np.fmin(self.low, np.fmin.reduce(rows, axis=0))
        self.high = np.fmax(self.high, np.fmax.reduce(rows, axis=0))
        self._note_efforts(rows)
        self._keep(rows)

    def finish(self) -> None:
        """End the current piece."""
        if self._length:
            self.pieces[self._length] += 1
            before = self.durations.get(self._length, 0.0)
            self.durations[self._length] = before + self._end - self._begin
        self._length = 0
        self._last = None
        self._offer()

    @property
    def stretches(self) -> list[Floats]:
        """Rows stored for analysis, one gap-free stretch after the other."""
        running = [np.concatenate(self._run)] if self._run else []
        return self._kept or [rows for rows in running if len(rows) >= SHORT]

    def _note_efforts(self, rows: Floats) -> None:
        """Extremes while something moves: at rest efforts may be constant."""
        q = rows[:, 1 : 1 + self._table.n]
        before = q[:1] if self._last is None else self._last
        moves = (np.diff(q, axis=0, prepend=before) != 0.0).any(axis=1)
        self._last = q[-1:].copy()
        efforts = rows[:, self._table.at(self._table.effort)]
        if not moves.all():
            efforts = efforts[moves]
        if len(efforts):
            efforts = np.where(np.isfinite(efforts), efforts, np.nan)
            self.highest.add(efforts)
            self.lowest.add(-efforts)

    def _keep(self, rows: Floats) -> None:
        while len(rows):
            room = SPAN - sum(len(part) for part in self._run)
            self._run.append(rows[:room])
            rows = rows[room:]
            if len(rows) or sum(len(part) for part in self._run) == SPAN:
                self._offer()

    def _offer(self) -> None:
        """Store every k-th whole stretch; k doubles when there are too many."""
        if not self._run:
            return
        rows = np.concatenate(self._run)
        self._run = []
        if len(rows) < SHORT:
            return
        if self._offered % self._every == 0:
            self._kept.append(rows)
            if sum(len(part) for part in self._kept) > MOST:
                self._kept = self._kept[::2]
                self._every *= 2
        self._offered += 1


class TopValues:
    """The largest value of each column (n,) and the next lower one, with their counts."""

    def __init__(self, n: int) -> None:
        self.count = 0
        self.values = np.full((2, n), -np.inf)
        self.counts = np.zeros((2, n))

    def add(self, columns: Floats) -> None:
        """Add the next rows (B, n), ignoring NaN."""
        self.count += len(columns)
        columns = np.where(np.isnan(columns), -np.inf, columns)
        top = columns.max(axis=0)
        is_top = columns == top
        below = np.where(is_top, -np.inf, columns)
        second = below.max(axis=0)
        values = np.vstack([self.values, top, second])
        counts = np.vstack([self.counts, is_top.sum(axis=0), (below == second).sum(axis=0)])
        first = values.max(axis=0)
        rest = np.where(values == first, -np.inf, values)
        next_one = rest.max(axis=0)
        self.values = np.vstack([first, next_one])
        self.counts = np.vstack([(counts * (values == x)).sum(axis=0) for x in (first, next_one)])
