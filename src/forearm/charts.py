"""Charts as data: what is drawn over labelled axes; `plots` draws them into files, `svg` into pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from forearm.palette import COLOURS, DASHES
from forearm.spatial import Floats

ROOM = 0.05  # of the range of values, left free above and below
QUIET = "quiet"  # the ink of what stands back, on pages and in files


@dataclass(frozen=True)
class CurveLook:
    """How a curve is drawn: with a colour of the palette, or an ink of pages; dashes by number; a width
    relative to the usual; and with or without a line, marks of matplotlib's kinds at its points.
    """

    colour: int | str = 0
    dash: int = 0
    width: float = 1.0
    marker: str = ""
    size: float = 5.0
    joined: bool = True


@dataclass(frozen=True, eq=False)
class Curve:
    """Points (m,) joined by lines, or from each step to the next; NaN breaks them. Named in the legend."""

    x: Floats
    y: Floats
    name: str = ""
    look: CurveLook = CurveLook()
    steps: bool = False


@dataclass(frozen=True, eq=False)
class Band:
    """The area between two curves over x (m,)."""

    x: Floats
    low: Floats
    high: Floats
    name: str = ""
    colour: int | str = 0
    opacity: float = 1.0


@dataclass(frozen=True, eq=False)
class Bars:
    """Upright bars between edges (m + 1,), of heights (m,)."""

    edges: Floats
    heights: Floats
    name: str = ""
    colour: int | str = 0


@dataclass(frozen=True)
class Rule:
    """A line across the whole chart at a place along x, or along y."""

    at: float
    along: str = "x"
    look: CurveLook = CurveLook(QUIET)


@dataclass(frozen=True)
class PointLabel:
    """A text beside a point."""

    x: float
    y: float
    text: str


Mark = Curve | Band | Bars | Rule | PointLabel


@dataclass(frozen=True, eq=False)
class Chart:
    """Marks over two axes.

    Attributes:
        x, y: what is along the axes, with the unit.
        marks: from the back to the front.
        title: above it.
        x_range, y_range: ends of the axes; None: from the marks.
        log: the logarithmic axes, "", "x", "y" or "xy".
        x_ticks, y_ticks: texts by place; None: round numbers.
        legend: heading of its names in a legend of several charts; None: they are not in it.
        height: relative to other charts above and below.
    """

    x: str
    y: str
    marks: Sequence[Mark]
    title: str = ""
    x_range: tuple[float, float] | None = None
    y_range: tuple[float, float] | None = None
    log: str = ""
    x_ticks: Mapping[float, str] | None = None
    y_ticks: Mapping[float, str] | None = None
    legend: str | None = None
    height: float = 1.0

    def document(self) -> dict[str, Any]:
        """Its labels and marks as data for JSON."""
        marks = [{name: x for name, x in vars(mark).items() if name != "look"} for mark in self.marks]
        return {"title": self.title, "x": self.x, "y": self.y, "marks": marks}


def look(k: int) -> CurveLook:
    """The look of the k-th of several curves: neighbours differ in colour and dashes, 42 in at least one."""
    return CurveLook(k % len(COLOURS), k % len(DASHES))


def curves(names: Sequence[str], x: Floats, block: Floats, steps: bool = False) -> list[Curve]:
    """A curve for each column of (m, n), by name."""
    return [Curve(x, block[:, k], name, look(k), steps) for k, name in enumerate(names)]


def thinned(x: Floats, y: Floats, most: int) -> tuple[Floats, Floats]:
    """The curve, or of a long one the minimum and maximum of each piece, so that no peak or gap is lost."""
    if len(x) <= most:
        return x, y
    size = -(-len(x) // (most // 2))
    whole = len(x) // size * size
    pieces = np.nan_to_num(y[:whole], nan=0.0).reshape(-1, size)
    first = np.arange(0, whole, size)
    extremes = (first + pieces.argmin(axis=1), first + pieces.argmax(axis=1))
    ends = np.r_[0, whole : len(x), len(x) - 1]
    kept = np.unique(np.concatenate([ends, *extremes, np.flatnonzero(np.isnan(y))]))
    return x[kept], y[kept]


def span(*blocks: Floats) -> tuple[float, float]:
    """Ends of an axis that contains all values and 0, with room beyond."""
    values = np.concatenate([np.ravel(block) for block in blocks])
    values = values[np.isfinite(values)]
    low, high = float(values.min(initial=0.0)), float(values.max(initial=0.0))
    room = ROOM * (high - low) or 1.0
    return low - room, high + room
