"""Summary of a long computation per joint: smallest, largest, root mean square."""

from __future__ import annotations

import numpy as np

from forearm.spatial import Floats


class RowSummary:
    """Statistics of results (B, n) over blocks; rows count from 1. Non-finite values are only counted."""

    def __init__(self, n: int) -> None:
        self.rows = 0
        self.not_finite = 0
        self.smallest = np.full(n, np.inf)
        self.largest = np.full(n, -np.inf)
        self.max_abs = np.full(n, -np.inf)
        self.max_abs_row = np.zeros(n, dtype=np.int64)
        self._squares = np.zeros(n)

    def add(self, results: Floats) -> None:
        """Add the next rows."""
        good = np.isfinite(results).all(axis=1)
        numbers = np.flatnonzero(good) + self.rows + 1
        self.rows += len(results)
        self.not_finite += int(len(results) - len(numbers))
        if not len(numbers):
            return
        results = results[good]
        sizes = np.abs(results)
        peaks = sizes.max(axis=0)
        self.max_abs_row = np.where(peaks > self.max_abs, numbers[sizes.argmax(axis=0)], self.max_abs_row)
        self.max_abs = np.maximum(self.max_abs, peaks)
        self.smallest = np.minimum(self.smallest, results.min(axis=0))
        self.largest = np.maximum(self.largest, results.max(axis=0))
        with np.errstate(over="ignore"):
            self._squares = self._squares + (results**2).sum(axis=0)

    @property
    def rms(self) -> Floats:
        """Root mean square of the finite rows."""
        count = self.rows - self.not_finite
        return np.sqrt(self._squares / count) if count else np.full_like(self._squares, np.nan)
