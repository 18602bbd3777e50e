"""Rows of any number condensed into triangles: QR block by block, so that memory does not grow with the log.

Of a joint's rows [columns, y] only R of their QR factorisation is kept: |C x - y| is |R (x, -1)| for every x.
Weights of joints, loads in the hand, data left out and data added are then a matter of small matrices.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from forearm.identification.rows import Rows
from forearm.spatial import Floats

NOTHING = 1e-60  # N m, or of a column: less is 0
BUFFERED = 1024  # rows between two factorisations


@dataclass(frozen=True, eq=False)
class Triangles:
    """A part of the data, condensed: for each joint R (k, width + 1) of its rows [columns, y].

    Attributes:
        R: one for each joint.
        counts: rows that went into each (n,).
    """

    R: tuple[Floats, ...]
    counts: Floats


def condense(rows: Iterable[Rows], joints: int, width: int, folds: int, total: int) -> list[Triangles]:
    """The rows of a log in so many parts, one after the other in time.

    Args:
        rows: of the log.
        joints: how many there are.
        width: columns of a row.
        folds: parts.
        total: rows that are expected.
    """
    condensers = [[Condenser(width + 1) for _ in range(joints)] for _ in range(folds)]
    seen = 0
    for block in rows:
        fold = np.minimum((seen + np.arange(len(block.t))) * folds // max(total, 1), folds - 1)
        seen += len(block.t)
        whole = np.concatenate([block.columns, block.y[:, :, None]], axis=2)
        for k in range(int(fold[0]), int(fold[-1]) + 1) if len(fold) else ():
            chosen = block.usable & (fold == k)[:, None]
            for i in range(joints):
                condensers[k][i].add(whole[chosen[:, i], i])
    return [
        Triangles(tuple(c.triangle() for c in part), np.array([float(c.count) for c in part]))
        for part in condensers
    ]


class Condenser:
    """R of the QR factorisation of rows that are added, up to signs of its rows."""

    def __init__(self, width: int) -> None:
        self.count = 0
        self._kept: list[Floats] = []
        self._size = 0
        self._width = width

    def add(self, rows: Floats) -> None:
        """Take some more."""
        self.count += len(rows)
        self._kept.append(rows)
        self._size += len(rows)
        if self._size >= BUFFERED:
            self._condense()

    def triangle(self) -> Floats:
        """R, at most as many rows as columns."""
        self._condense()
        return self._kept[0]

    def _condense(self) -> None:
        rows = np.concatenate(self._kept) if self._kept else np.zeros((0, self._width))
        # what is left of exponentials: products of such numbers underflow, which costs a hundred times more
        rows[np.abs(rows) < NOTHING] = 0.0
        # columns that are 0, as those of bodies before the joint, need no factorising
        shown = np.flatnonzero(rows.any(axis=0))
        R = np.zeros((min(len(rows), len(shown)), self._width))
        if len(shown):
            R[:, shown] = np.linalg.qr(rows[:, shown], mode="r")
        self._kept, self._size = [R], len(R)


def whitened(rows: Iterable[Rows], coefficients: Floats) -> Iterator[Rows]:
    """Rows less what those before them tell of their noise, by an autoregression (n, k):
    r_t - sum_j coefficients_j r_(t-j). The first k of a piece, and of what follows rows left out, go.
    """
    order = coefficients.shape[1]
    last: Rows | None = None
    for block in rows:
        if not order:
            yield block
            continue
        if last is not None and not block.starts:
            block = _joined(last, block)
        last = _tail(block, order)
        if len(block.t) > order:
            yield _filtered(block, coefficients)


def _filtered(block: Rows, coefficients: Floats) -> Rows:
    order = coefficients.shape[1]
    columns, y = block.columns[order:].copy(), block.y[order:].copy()
    usable: NDArray[np.bool_] = block.usable[order:].copy()
    for j in range(1, order + 1):
        before = slice(order - j, len(block.t) - j)
        columns -= coefficients[:, j - 1, None] * block.columns[before]
        y -= coefficients[:, j - 1] * block.y[before]
        usable &= block.usable[before]
    return replace(
        block,
        t=block.t[order:],
        columns=columns,
        y=y,
        effort=block.effort[order:],
        speed=block.speed[order:],
        usable=usable,
    )


def _tail(block: Rows, count: int) -> Rows:
    arrays = {name: getattr(block, name)[-count:] for name in _ARRAYS}
    return Rows(**arrays, starts=block.starts)


def _joined(a: Rows, b: Rows) -> Rows:
    arrays = {name: np.concatenate([getattr(a, name), getattr(b, name)]) for name in _ARRAYS}
    return Rows(**arrays, starts=b.starts)


_ARRAYS = ("t", "columns", "y", "effort", "speed", "usable")
