"""Interpolation of a piece's motion at shifted times by cubics.

Efforts are not interpolated: an average of two samples has less noise than either, so a fit would prefer a
shift by half a sample to none. Positions pass a longer filter window anyway.
"""

from __future__ import annotations

import numpy as np

from forearm.spatial import Floats

AROUND = 2  # samples on each side of a time in its cubic
NEGLIGIBLE = 1e-9  # weight below which a sample does not count


class Shifter:
    """Returns rows of one piece as soon as their motion at t + shift is known.

    Args:
        shift: s.
        motion: columns to be shifted.
    """

    def __init__(self, shift: float, motion: slice) -> None:
        self._shift, self._motion = shift, motion
        self._rows: Floats | None = None
        self._next = 0  # rows not yet emitted
        self._begin = 0.0

    def start(self) -> None:
        """Start a new piece."""
        self._rows = None
        self._next = 0

    def shifted(self, rows: Floats, is_last: bool) -> Floats:
        """Add the next rows of the piece, possibly none; return those that are ready."""
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
        # rounding of a sample at the very end of the piece
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
        """Drop rows that no later one needs."""
        assert self._rows is not None
        t = self._rows[:, 0]
        k = min(self._next, len(t) - 1)
        needed = int(np.searchsorted(t, t[k] + self._shift)) - AROUND - 1
        drop = max(0, min(needed, self._next, len(t) - 2 * AROUND))
        self._rows = self._rows[drop:]
        self._next -= drop


def _lagrange(nodes: Floats, x: Floats) -> Floats:
    """Lagrange weights of the times (T, k) at x (T,): (T, k)."""
    weights = np.ones_like(nodes)
    for i in range(nodes.shape[1]):
        for j in range(nodes.shape[1]):
            if i != j:
                weights[:, i] *= (x - nodes[:, j]) / (nodes[:, i] - nodes[:, j])
    weights[np.abs(weights) < NEGLIGIBLE] = 0.0
    return weights
