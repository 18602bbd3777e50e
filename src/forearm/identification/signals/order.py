"""Times of a log before it is split: their period, and rows out of order."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from forearm.errors import InputError
from forearm.identification.signals.cleaning import RESET
from forearm.identification.signals.table import LogTable
from forearm.spatial import Floats

OFTEN = 0.001  # fraction of the rows: a clock that is reset more often is invalid, and
LATE = 0.05  # fraction of rows that may arrive late
FEW = 10


def period_of(table: LogTable, t: Floats) -> float:
    """The usual step, s: the mean of those near the median, which rounding of large times distorts."""
    steps = np.diff(t[np.isfinite(t)])
    steps = steps[steps > 0.0]
    if not len(steps):
        raise InputError(
            "times never increase; expected the time of each row, s.",
            table.name,
            f"column {table.headings[0]!r}",
        )
    median = float(np.median(steps))
    near = steps[np.abs(steps - median) <= 0.5 * median]
    return float(np.mean(near)) if len(near) else median


def check_back(table: LogTable, t: Floats, period: float) -> None:
    """Refuse times that go back too often."""
    steps = np.diff(t)
    back = np.flatnonzero(steps < 0.0)
    resets = np.flatnonzero(steps < -RESET * period)
    if len(resets) > max(FEW, OFTEN * len(t)) or len(back) > max(FEW, LATE * len(t)):
        raise InputError(
            f"time goes back {len(back)} times, first at {table.place(int(back[0]) + 1)}. "
            "Sort the rows by time, or give each run as a separate log. If the rows are in "
            "order and only the times are wrong, remove that column and give the period.",
            table.name,
            f"column {table.headings[0]!r}",
        )


def in_order(table: LogTable, rows: Floats, period: float) -> tuple[Floats, NDArray[np.int64], list[str]]:
    """Rows, all in memory, sorted by time between clock resets, their numbers, and findings."""
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
