"""The motion of a piece at other times than those of its rows: between samples by cubics.

Not the efforts: an average of two samples has less noise than either, and a fit would rather shift efforts by
half a sample than not at all. Positions go through a window that is longer than that.
"""

from __future__ import annotations

import numpy as np

from forearm.spatial import Floats

AROUND = 2  # samples on each side of a time that its cubic goes through
NEGLIGIBLE = 1e-9  # weight of a sample that does not count


class Shifter:
    """Takes rows of one piece in, gives those out whose motion at t + shift is known.

    Args:
        shift: s.
        motion: the columns that are shifted.
    """

    def __init__(self, shift: float, motion: slice) -> None:
        self._shift, self._motion = shift, motion
        self._rows: Floats | None = None
        self._next = 0  # of these rows, whose turn it is
        self._begin = 0.0

    def start(self) -> None:
        """Begin a new piece."""
        self._rows = None
        self._next = 0

    def shifted(self, rows: Floats, is_last: bool) -> Floats:
        """The next rows of the piece, which may be none: those that can go out."""
        if self._shift == 0.0:
            return rows
        if self._rows is None:
            self._begin = float(rows[0, 0]) if len(rows) else 0.0
            self._rows = rows
        else:
            self._rows = np.concatenate([self._rows, rows])
        t = self._rows[:, 0]
        if len(t) < 2 * AROUND:
            return rows[:0]
        until = t[-1] if is_last else t[-AROUND - 1]
        # rounding: a sample that is due at the very end of the piece
        slack = 1e-9 * (t[-1] - t[0]) / len(t)
        wanted = t[self._next :] + self._shift
        late = int(np.searchsorted(wanted, until + slack, side="right"))
        early = int(np.searchsorted(wanted, self._begin - slack))
        out = self._interpolated(self._next + min(early, late), self._next + late)
        self._next += late
        self._forget()
        return out

    def _interpolated(self, first: int, end: int) -> Floats:
        assert self._rows is not None
        rows = self._rows[first:end].copy()
        if not len(rows):
            return rows
        t = self._rows[:, 0]
        x = rows[:, 0] + self._shift
        left = np.clip(np.searchsorted(t, x, side="right") - AROUND, 0, len(t) - 2 * AROUND)
        nodes = left[:, None] + np.arange(2 * AROUND)
        weights = _lagrange(t[nodes], x)
        rows[:, self._motion] = np.einsum("kj,kjm->km", weights, self._rows[:, self._motion][nodes])
        return rows

    def _forget(self) -> None:
        """Rows that no later one needs."""
        assert self._rows is not None
        t = self._rows[:, 0]
        k = min(self._next, len(t) - 1)
        needed = int(np.searchsorted(t, t[k] + self._shift)) - AROUND - 1
        drop = max(0, min(needed, self._next, len(t) - 2 * AROUND))
        self._rows = self._rows[drop:]
        self._next -= drop


def _lagrange(nodes: Floats, x: Floats) -> Floats:
    """What each of the times (T, k) weighs in polynomials through them, at x (T,): (T, k)."""
    weights = np.ones_like(nodes)
    for i in range(nodes.shape[1]):
        for j in range(nodes.shape[1]):
            if i != j:
                weights[:, i] *= (x - nodes[:, j]) / (nodes[:, i] - nodes[:, j])
    weights[np.abs(weights) < NEGLIGIBLE] = 0.0
    return weights
