"""Times of a log before it is parted: their period, and rows that are not in order."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from forearm.errors import InputError
from forearm.identification.signals.cleaning import RESET
from forearm.identification.signals.table import LogTable
from forearm.spatial import Floats

OFTEN = 0.001  # share of the rows: a clock that is reset more often is none, and
LATE = 0.05  # that rows which come a little late may have
FEW = 10


def period_of(table: LogTable, t: Floats) -> float:
    """The usual step, s: the mean of those near the median, which rounding of large times spoils."""
    steps = np.diff(t[np.isfinite(t)])
    steps = steps[steps > 0.0]
    if not len(steps):
        raise InputError(
            f"{table.name}, column {table.headings[0]!r}: times never rise; expected the time of each row, s."
        )
    median = float(np.median(steps))
    near = steps[np.abs(steps - median) <= 0.5 * median]
    return float(np.mean(near)) if len(near) else median


def check_back(table: LogTable, t: Floats, period: float) -> None:
    """Refuse times that go back so often that they are no clock."""
    steps = np.diff(t)
    back = np.flatnonzero(steps < 0.0)
    resets = np.flatnonzero(steps < -RESET * period)
    if len(resets) > max(FEW, OFTEN * len(t)) or len(back) > max(FEW, LATE * len(t)):
        raise InputError(
            f"{table.name}, column {table.headings[0]!r}: time goes back {len(back)} times, first at "
            f"{table.place(int(back[0]) + 1)}. Sort the rows by time, or give each run as a log of its own. "
            "If the rows are in order and the times are not, leave that column out and give the period."
        )


def in_order(table: LogTable, rows: Floats, period: float) -> tuple[Floats, NDArray[np.int64], list[str]]:
    """Rows that are all in memory sorted by time between resets of the clock, their numbers, and what
    was found.
    """
    numbers = np.arange(len(rows))
    t = rows[:, 0]
    known = np.isfinite(t)
    steps = np.diff(t[known])
    is_late = (steps < 0.0) & (steps >= -RESET * period)
    if not is_late.any():
        return rows, numbers, []
    numbers = numbers[known]
    run = np.concatenate([[0], np.cumsum(steps < -RESET * period)])
    order = np.lexsort((t[known], run))
    first = int(numbers[1:][is_late][0])
    count = int(is_late.sum())
    numbers = np.concatenate([numbers[order], np.flatnonzero(~known)])
    said = (
        f"{table.headings[0]!r}: {count} row{'s' if count > 1 else ''} came late, first "
        f"{table.place(first)}; sorted by time."
    )
    return rows[numbers], numbers, [said]
