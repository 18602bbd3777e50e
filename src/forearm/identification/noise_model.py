"""Noise model of rows: an autoregression for each joint."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from forearm.spatial import Floats

ORDER = 6  # largest order, rows
LEAST = 60  # rows per coefficient


class Autocovariances:
    """Autocovariance sums of residuals, block by block."""

    def __init__(self, joints: int) -> None:
        self._sums = np.zeros((ORDER + 1, joints))
        self._counts = np.zeros((ORDER + 1, joints))
        self._last: Floats | None = None

    def add(self, residual: Floats, usable: NDArray[np.bool_], starts: bool) -> None:
        """Add the residuals (T, n) of a block."""
        given = np.where(usable, residual, np.nan)
        if self._last is not None and not starts:
            given = np.concatenate([self._last, given])
            fresh = len(self._last)
        else:
            fresh = 0
        for lag in range(ORDER + 1):
            first = max(fresh, lag)  # products whose later factor is new
            product = given[first:] * given[first - lag : max(len(given) - lag, 0)]
            there = np.isfinite(product)
            self._sums[lag] += np.where(there, product, 0.0).sum(axis=0)
            self._counts[lag] += there.sum(axis=0)
        self._last = given[-ORDER:]

    def autoregression(self) -> Floats:
        """Coefficients (n, k) of the order with the best information criterion, per joint; 0 beyond."""
        joints = self._sums.shape[1]
        made = np.zeros((joints, ORDER))
        with np.errstate(divide="ignore", invalid="ignore"):
            covariances = self._sums / self._counts
        for i in range(joints):
            c, count = covariances[:, i], self._counts[0, i]
            if np.isfinite(c).all() and c[0] > 0.0 and count > LEAST * ORDER:
                made[i] = _chosen(c, count)
        used = np.flatnonzero(made.any(axis=0))
        return made[:, : used[-1] + 1] if used.size else made[:, :0]


def _chosen(c: Floats, count: float) -> Floats:
    """The autoregression with the least n log v + k log n, v the innovation variance."""
    best, least = np.zeros(ORDER), count * np.log(c[0])
    for order in range(1, ORDER + 1):
        matrix = c[np.abs(np.subtract.outer(np.arange(order), np.arange(order)))]
        try:
            a = np.linalg.solve(matrix, c[1 : order + 1])
        except np.linalg.LinAlgError:
            break
        fresh = c[0] - a @ c[1 : order + 1]
        if fresh <= 0.0:
            break
        criterion = count * np.log(fresh) + order * np.log(count)
        if criterion < least:
            best, least = np.concatenate([a, np.zeros(ORDER - order)]), criterion
    return best
