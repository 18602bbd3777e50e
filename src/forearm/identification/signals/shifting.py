"""Efforts of a piece taken at other times than those of its rows: between samples by cubics."""

from __future__ import annotations

import numpy as np

from forearm.spatial import Floats

AROUND = 2  # samples on each side of a time that its cubic goes through
NEGLIGIBLE = 1e-9  # weight of a sample that does not count


class Shifter:
    """Takes rows of one piece in, gives those out whose efforts at t + shift are known.

    Args:
        shift: s.
        efforts: the columns that are shifted.
        usable: columns that are 1 where efforts can be used, one for each of the first efforts.
    """

    def __init__(self, shift: float, efforts: slice, usable: slice) -> None:
        self._shift, self._efforts, self._usable = shift, efforts, usable
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
        counts = np.abs(weights) > NEGLIGIBLE
        rows[:, self._efforts] = np.einsum("kj,kjm->km", weights, self._rows[:, self._efforts][nodes])
        usable = self._rows[:, self._usable][nodes] > 0.0
        rows[:, self._usable] = (usable | ~counts[:, :, None]).all(axis=1)
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
