"""Long curves reduced to few points for drawing, with their extremes preserved."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from forearm.spatial import Floats

JUMP = 3.0  # times the usual step: a longer one interrupts a curve


def running_time(t: Floats, log_of: NDArray[np.floating | np.integer]) -> Floats:
    """Times of several logs, one after the other from 0 on, (T,)."""
    made = np.array(t, dtype=np.float64)
    start = 0.0
    for log in np.unique(log_of):
        mine = log_of == log
        made[mine] += start - made[mine].min()
        usual = float(np.median(np.diff(made[mine]))) if mine.sum() > 1 else 0.0
        start = float(made[mine].max()) + JUMP * usual
    return made


def breaks(t: Floats, log_of: NDArray[np.floating | np.integer]) -> NDArray[np.intp]:
    """Starts of new pieces: another log, or a gap in time."""
    steps = np.diff(t)
    usual = np.median(steps[steps > 0.0]) if (steps > 0.0).any() else 0.0
    parted = (np.diff(log_of) != 0) | (steps > JUMP * usual) | (steps <= 0.0)
    return np.concatenate([[0], np.flatnonzero(parted) + 1, [len(t)]]).astype(np.intp)


def thinned(x: Floats, y: Floats, ends: NDArray[np.intp], most: int) -> tuple[Floats, Floats]:
    """The curve (T,) reduced to about 4 `most` points: of each of `most` stretches the first, least, largest
    and last, in order; NaN between pieces.
    """
    size = max(1, -(-len(x) // most))
    places: list[NDArray[np.intp]] = []
    gaps: list[int] = []
    for start, end in pairwise(ends.tolist()):
        for first in range(start, end, size):
            last = min(first + size, end)
            part = y[first:last]
            if np.isnan(part).all():
                continue
            kept = np.unique([0, np.nanargmin(part), np.nanargmax(part), last - first - 1])
            places.append(first + kept)
        gaps.append(sum(map(len, places)))
    at = np.concatenate(places) if places else np.zeros(0, dtype=np.intp)
    return np.insert(x[at], gaps[:-1], np.nan), np.insert(y[at], gaps[:-1], np.nan)
