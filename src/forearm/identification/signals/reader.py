"""Repeated access to the rows of a log: from memory if short, otherwise re-read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from forearm.errors import InputError
from forearm.identification.signals import table as tables
from forearm.identification.signals.cleaning import TURN, Cleaner, PieceRows
from forearm.identification.signals.order import check_back, in_order, period_of
from forearm.identification.signals.table import LogTable, in_chunks
from forearm.identification.signals.tally import Tally
from forearm.spatial import Floats

HUGE = 1e30  # larger values mark missing measurements
JUMPS = 4.0  # times the steps of a position: a jump
# The largest steps may be jumps themselves, so speed is judged without them:
LARGEST = 20  # of the steps, and
ONE_IN = 500  # fraction of all.


class LogReader:
    """A log with its head in memory: all of it, if short enough.

    Args:
        table: source of its rows.
        period: sampling period, s, if there are no times.
        is_logged: whether derivatives are read and required in every row.

    Attributes:
        table: as given.
        period: sampling period, s; None: rows are states without time.
        head: the rows read so far.
        is_whole: whether that is the whole log.
        findings: findings about their order.
    """

    def __init__(self, table: LogTable, period: float | None, is_logged: bool) -> None:
        self.table = table
        self._given = period
        self._needed = np.zeros(len(table.headings), dtype=np.bool_)
        self._needed[0] = True
        for x in (table.position, *(("qd", "qdd") if is_logged else ())):
            self._needed[table.at(x)] = True
        self._chunks = self._timed(table.chunks())
        self.head, self.is_whole = self._read_head()
        self._numbers: NDArray[np.int64] = np.arange(len(self.head))
        self._jumps = np.full(table.n, np.inf)
        self.period: float | None = None
        self.findings: list[str] = []
        if table.time is not None or period is not None:
            self.period = period_of(table, self.head[:, 0])
            check_back(table, self.head[:, 0], self.period)
            if self.is_whole:
                self.head, self._numbers, self.findings = in_order(table, self.head, self.period)
            self._jumps = _jumps(table, self.head)

    def first(self, tally: Tally) -> Iterator[PieceRows]:
        """The pieces of the log on the first pass, without re-reading the head, which is released if the log
        continues.
        """
        if self.is_whole:
            return self.again(tally)
        rows, self.head = self.head, self.head[:0]
        return self._cleaned(_numbered(chain(in_chunks(rows), self._chunks)), tally)

    def again(self, tally: Tally) -> Iterator[PieceRows]:
        """The pieces of the log, from its beginning."""
        if self.is_whole:
            parts = in_chunks(self._numbers)
            return self._cleaned(zip(in_chunks(self.head), parts, strict=True), tally)
        return self._cleaned(_numbered(self._timed(self.table.chunks())), tally)

    def _cleaned(
        self, chunks: Iterable[tuple[Floats, NDArray[np.int64]]], tally: Tally
    ) -> Iterator[PieceRows]:
        cleaner = Cleaner(self.table, self.period, self._jumps, self._needed, tally)
        for rows, numbers in chunks:
            tally.rows += len(rows)
            yield from cleaner.stretches(rows, numbers)
        yield from cleaner.rest()

    def _read_head(self) -> tuple[Floats, bool]:
        chunks: list[Floats] = []
        count = 0
        is_whole = True
        for chunk in self._chunks:
            chunks.append(chunk)
            count += chunk.size
            if count > tables.KEPT:
                is_whole = False
                break
        if not count:
            raise InputError("no usable row.", self.table.name)
        return np.concatenate(chunks), is_whole

    def _timed(self, chunks: Iterator[Floats]) -> Iterator[Floats]:
        """Rows with times computed from a given period; sentinel values become missing."""
        for rows in chunks:
            if self._given is not None:
                rows[:, 0] *= self._given
            is_number = np.abs(rows) < HUGE
            if not is_number.all():
                rows[~is_number] = np.nan
            yield rows


def _numbered(chunks: Iterable[Floats]) -> Iterator[tuple[Floats, NDArray[np.int64]]]:
    first = 0
    for rows in chunks:
        yield rows, np.arange(first, first + len(rows))
        first += len(rows)


def _jumps(table: LogTable, rows: Floats) -> Floats:
    """Thresholds (n,) for jumps, far beyond all but a few steps of these rows; whole turns do not count."""
    jumps = np.full(table.n, np.inf)
    q = table.at(table.position)
    for i in range(table.n):  # column by column: the head of a log may be long
        steps = np.diff(rows[:, q.start + i])
        if table.is_angle[i]:
            steps -= TURN * np.round(steps / TURN)
        sizes = np.abs(steps[np.isfinite(steps)])
        if len(sizes):
            rank = max(0, len(sizes) - 1 - LARGEST - len(sizes) // ONE_IN)
            usual = np.partition(sizes, rank)[rank]
            jumps[i] = JUMPS * usual if usual > 0.0 else np.inf
    return jumps
