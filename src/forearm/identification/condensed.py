"""Least-squares rows condensed by blockwise QR, so that memory does not grow with the log.

For each joint only R of the QR factorisation of its rows [columns, y] is stored: |C x - y| is |R (x, -1)| for
every x. Joint weights, payloads, and adding or removing data then need only small matrices.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from forearm.identification.rows import Rows
from forearm.identification.samples import arrays_of, joined
from forearm.spatial import Floats
from forearm.values import frozen

NOTHING = 1e-60  # N m, or of a column: smaller values are treated as 0
BUFFERED = 1024  # rows between two factorisations


@frozen
class Triangles:
    """Condensed data of one fold: for each joint R (k, width + 1) of its rows [columns, y].

    Attributes:
        R: one per joint.
        counts: number of condensed rows per joint (n,).
    """

    R: tuple[Floats, ...]
    counts: Floats


def condense(rows: Iterable[Rows], joints: int, width: int, folds: int, total: int) -> list[Triangles]:
    """Condenses the rows of a log in several folds, consecutive in time.

    Args:
        rows: of the log.
        joints: number of joints.
        width: columns of a row.
        folds: number of folds.
        total: expected number of rows.
    """
    condensers = [[Condenser(width + 1) for _ in range(joints)] for _ in range(folds)]
    seen = 0
    for block in rows:
        fold = fold_of(seen + np.arange(len(block.t)), folds, total)
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


def fold_of(rows: NDArray[np.intp], folds: int, total: int) -> NDArray[np.intp]:
    """The fold of each row, consecutive in time, with this number of rows expected."""
    return np.minimum(rows * folds // max(total, 1), folds - 1)


class Condenser:
    """R of the QR factorisation of the rows added so far, up to the signs of its rows."""

    def __init__(self, width: int) -> None:
        self.count = 0
        self._kept: list[Floats] = []
        self._size = 0
        self._width = width

    def add(self, rows: Floats) -> None:
        """Add rows."""
        self.count += len(rows)
        self._kept.append(rows)
        self._size += len(rows)
        if self._size >= BUFFERED:
            self._condense()

    def triangle(self) -> Floats:
        """R, with at most as many rows as columns."""
        self._condense()
        return self._kept[0]

    def _condense(self) -> None:
        rows = np.concatenate(self._kept) if self._kept else np.zeros((0, self._width))
        # tails of exponentials: products of such values underflow, which is a hundred times slower
        rows[np.abs(rows) < NOTHING] = 0.0
        # zero columns, as of bodies before the joint, need no factorisation
        shown = np.flatnonzero(rows.any(axis=0))
        R = np.zeros((min(len(rows), len(shown)), self._width))
        if len(shown):
            R[:, shown] = np.linalg.qr(rows[:, shown], mode="r")
        self._kept, self._size = [R], len(R)


def whitened(rows: Iterable[Rows], coefficients: Floats) -> Iterator[Rows]:
    """Whiten rows by an autoregression (n, k) of their noise: r_t - sum_j coefficients_j r_(t-j). The first k
    rows of a piece, and k rows after excluded ones, are dropped.
    """
    order = coefficients.shape[1]
    last: Rows | None = None
    for block in rows:
        if not order:
            yield block
            continue
        if last is not None and not block.starts:
            block = replace(joined([last, block]), starts=False)
        last = replace(block, **{name: a[-order:] for name, a in arrays_of(block).items()})
        if len(block.t) > order:
            yield _filtered(block, coefficients)


def _filtered(block: Rows, coefficients: Floats) -> Rows:
    order = coefficients.shape[1]
    made = replace(block, **{name: a[order:].copy() for name, a in arrays_of(block).items()})
    for j in range(1, order + 1):
        before = slice(order - j, len(block.t) - j)
        made.columns[:] -= coefficients[:, j - 1, None] * block.columns[before]
        made.y[:] -= coefficients[:, j - 1] * block.y[before]
        made.usable[:] &= block.usable[before]
    return made
