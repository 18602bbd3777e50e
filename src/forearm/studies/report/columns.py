"""Columns of a study, read on demand: floats, categorical levels, samples of rows, axis ranges."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forearm.spatial import Floats
from forearm.studies.report.source import ReportSource

KEPT_BYTES = 100_000_000  # of cached columns, so that each is read once if there are few
CHUNK = 50_000  # rows of text sorted per batch
DECADES = 2.5  # span of most values that selects a logarithmic axis
GOLDEN = 0.6180339887498949
SAME = 1e-12  # of the values themselves: smaller differences are rounding
LEAST, MOST = 1e-290, 1e300  # limit of values in quantiles and axes
Places = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class LevelCodes:
    """A categorical column: the index of its level in each row, and the levels, most frequent first."""

    codes: NDArray[np.int32]
    names: tuple[str, ...]


@dataclass(frozen=True)
class AxisRange:
    """Ends of an axis that covers most values, and whether it is logarithmic."""

    low: float
    high: float
    is_log: bool = False


class StudyColumns:
    """The columns of a study, with a cache of KEPT_BYTES."""

    def __init__(self, source: ReportSource) -> None:
        self.source = source
        self._kept: dict[str, Floats] = {}
        self._levels: dict[str, LevelCodes] = {}
        self.row = np.asarray(source.column("row")).astype(np.int64)

    @property
    def done(self) -> int:
        """Number of rows."""
        return len(self.row)

    def floats(self, name: str) -> Floats:
        """A numeric column, (done,); values beyond MOST count as infinite, that is as failed."""
        if name in self._kept:
            return self._kept[name]
        values = np.ascontiguousarray(self.source.column(name), dtype=np.float64)
        if (beyond := np.isfinite(values) & (np.abs(values) > MOST)).any():
            values = np.where(beyond, np.inf, values)
        if sum(kept.nbytes for kept in self._kept.values()) + values.nbytes <= KEPT_BYTES:
            self._kept[name] = values
        return values

    def levels(self, name: str) -> LevelCodes:
        """A text column, (done,)."""
        if name not in self._levels:
            self._levels[name] = level_codes(self.source.column(name))
        return self._levels[name]


def level_codes(column: NDArray[Any]) -> LevelCodes:
    """Text as indices of levels; equally frequent ones are in alphabetical order."""
    codes = np.empty(len(column), dtype=np.int32)
    found: dict[str, int] = {}
    counts: Counter[int] = Counter()
    for start in range(0, len(column), CHUNK):
        part = np.asarray(column[start : start + CHUNK]).astype(str)
        names, inverse, here = np.unique(part, return_inverse=True, return_counts=True)
        numbers = np.array([found.setdefault(str(name), len(found)) for name in names], dtype=np.int32)
        codes[start : start + CHUNK] = numbers[inverse]
        counts.update(dict(zip(numbers.tolist(), here.tolist(), strict=True)))
    order = sorted(found, key=lambda name: (-counts[found[name]], name))
    rank = np.empty(len(found), dtype=np.int32)
    rank[[found[name] for name in order]] = np.arange(len(found))
    return LevelCodes(rank[codes] if len(found) else codes, tuple(order))


def spread_sample(count: int, most: int) -> Places:
    """At most so many of `count` indices, reproducibly.

    One in every stretch of equal length, at an offset from a Weyl sequence, to avoid aliasing with the
    strides of a grid.

    Args:
        count: number of indices.
        most: largest number to take.
    """
    if count <= most:
        return np.arange(count)
    k = np.arange(most)
    return np.asarray(((k + (k * GOLDEN) % 1.0) * (count / most)).astype(np.intp))


def finite(values: Floats) -> Floats:
    """Values without failed rows."""
    good = np.isfinite(values)
    return values if good.all() else values[good]


def worst_places(values: Floats, better: str, most: int) -> Places:
    """Indices of the worst finite values, worst first; of equal ones the first row.

    Args:
        values: a figure of merit, (rows,).
        better: "less" or "more".
        most: largest number of indices.
    """
    cost = np.where(np.isfinite(values), values if better == "less" else -values, -np.inf)
    most = min(most, int(np.isfinite(cost).sum()))
    if most < 1:
        return np.zeros(0, dtype=np.intp)
    bound = np.partition(cost, len(cost) - most)[len(cost) - most]
    near = np.flatnonzero(cost >= bound)
    return near[np.argsort(-cost[near], kind="stable")[:most]]


def axis_range(values: Floats) -> AxisRange:
    """An axis for most of these values: from the 5 % to the 95 % quantile, and up to as much again beyond
    both; a constant lies in the middle.
    """
    values = finite(values)
    if not len(values):
        return AxisRange(0.0, 1.0)
    least, low, high, most = _quantiles(values)
    if _is_same(least, most):
        around = 0.1 * abs(low) if abs(low) > LEAST else 1.0
        return AxisRange(low - around, low + around)
    is_log = least > LEAST and high > 10.0**DECADES * low
    if is_log:
        least, low, high, most = (math.log10(x) for x in (least, low, high, most))
    span = most - least if _is_same(low, high) else high - low
    low, high = max(least, low - span), min(most, high + span)
    return AxisRange(10.0**low, 10.0**high, is_log) if is_log else AxisRange(low, high)


def digits_of(values: Floats) -> int:
    """Digits that distinguish most of these values: four, more if they hardly vary."""
    ends = axis_range(values)
    ratio = max(abs(ends.low), abs(ends.high)) / (ends.high - ends.low)
    return min(max(math.ceil(math.log10(ratio)) + 3, 4), 12) if 0.0 < ratio < math.inf else 4


def varies(values: Floats) -> bool:
    """Whether finite values differ by more than rounding."""
    return len(values) > 0 and not _is_same(float(values.min()), float(values.max()))


def _is_same(low: float, high: float) -> bool:
    return high - low <= max(SAME * max(abs(low), abs(high)), LEAST)


def _quantiles(values: Floats) -> Sequence[float]:
    return [float(x) for x in np.quantile(values, [0.0, 0.05, 0.95, 1.0])]
