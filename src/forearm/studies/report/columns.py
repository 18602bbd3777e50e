"""Columns of a study, read as they are needed: floats, levels of words, samples of rows, ranges of axes."""

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

KEPT_BYTES = 100_000_000  # of columns that are kept, so that each is read once where they are few
CHUNK = 50_000  # rows of words that are sorted at a time
DECADES = 2.5  # that most values must span for a logarithmic axis
GOLDEN = 0.6180339887498949
SAME = 1e-12  # of the values themselves: what differs by less is rounded otherwise, no more
LEAST, MOST = 1e-290, 1e300  # sizes that quantiles and axes can be computed with
Places = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class LevelCodes:
    """A column of words: the number of its level in each row, and the levels, most frequent first."""

    codes: NDArray[np.int32]
    names: tuple[str, ...]


@dataclass(frozen=True)
class AxisRange:
    """Ends of an axis that holds most values, and whether it is logarithmic."""

    low: float
    high: float
    is_log: bool = False


class StudyColumns:
    """The columns of a study, as many kept as fit KEPT_BYTES."""

    def __init__(self, source: ReportSource) -> None:
        self.source = source
        self._kept: dict[str, Floats] = {}
        self._levels: dict[str, LevelCodes] = {}
        self.row = np.asarray(source.column("row")).astype(np.int64)

    @property
    def done(self) -> int:
        """How many rows there are."""
        return len(self.row)

    def floats(self, name: str) -> Floats:
        """A numeric column, (done,); what is beyond MOST counts as infinite, and so as failed."""
        if name in self._kept:
            return self._kept[name]
        values = np.ascontiguousarray(self.source.column(name), dtype=np.float64)
        if (beyond := np.isfinite(values) & (np.abs(values) > MOST)).any():
            values = np.where(beyond, np.inf, values)
        if sum(kept.nbytes for kept in self._kept.values()) + values.nbytes <= KEPT_BYTES:
            self._kept[name] = values
        return values

    def levels(self, name: str) -> LevelCodes:
        """A column of words, (done,)."""
        if name not in self._levels:
            self._levels[name] = level_codes(self.source.column(name))
        return self._levels[name]


def level_codes(column: NDArray[Any]) -> LevelCodes:
    """Words as numbers of their levels; equally frequent ones are in alphabetical order."""
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
    """At most so many of `count` places, the same at every call.

    One in every stretch of equal length, at a place in it that follows a Weyl sequence, so that the strides
    of a grid are not sampled in step.

    Args:
        count: how many places there are.
        most: how many to take at most.
    """
    if count <= most:
        return np.arange(count)
    k = np.arange(most)
    return np.asarray(((k + (k * GOLDEN) % 1.0) * (count / most)).astype(np.intp))


def finite(values: Floats) -> Floats:
    """Values without those of failed rows."""
    good = np.isfinite(values)
    return values if good.all() else values[good]


def worst_places(values: Floats, better: str, most: int) -> Places:
    """Where the worst finite values are, the worst first; of equal ones the first row.

    Args:
        values: a figure of merit, (rows,).
        better: "less" or "more".
        most: how many places at most.
    """
    cost = np.where(np.isfinite(values), values if better == "less" else -values, -np.inf)
    most = min(most, int(np.isfinite(cost).sum()))
    if most < 1:
        return np.zeros(0, dtype=np.intp)
    bound = np.partition(cost, len(cost) - most)[len(cost) - most]
    near = np.flatnonzero(cost >= bound)
    return near[np.argsort(-cost[near], kind="stable")[:most]]


def axis_range(values: Floats) -> AxisRange:
    """An axis for most of these values: from the 5 % to the 95 % quantile and as much again beyond both,
    if values are there; a constant lies in the middle.
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
    """Digits that tell most of these values apart: four, more where they hardly vary."""
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
