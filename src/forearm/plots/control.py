"""Comparison of controllers: operations per second against hand error, with and without an unknown
payload.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from forearm.control.comparison import Comparison, Row
from forearm.control.registry import IN_HAND_SPACE, OTHERS
from forearm.plots.figure import (
    BLACK,
    BLUE,
    GREEN,
    LETTER,
    ORANGE,
    PURPLE,
    RED,
    SMALL,
    WIDE,
    drawn,
    new_figure,
    put_title,
    save_figure,
)

__all__ = ["comparison_figure", "save_figure"]
MM = 1e3
# Label positions: next to the point, then farther away; shares of the label's width and height, and points.
WAYS = (
    (1, 0),
    (-1, 0),
    (1, 1),
    (1, -1),
    (-1, 1),
    (-1, -1),
    (0, 1),
    (0, -1),
    (0.5, 1),
    (-0.5, 1),
    (0.5, -1),
    (-0.5, -1),
)
PLACES = [(x, y, d) for d in (7.0, 12.0, 18.0, 28.0, 40.0, 54.0, 70.0, 90.0) for x, y in WAYS]
SAME = 4.0  # points apart: half a dot
NEAR = 16.0  # points between a dot and its label that need no leader line
CLEARLY = 0.7  # of the distance to any other dot: then the label is unambiguous
NOTHING = 1e-6  # square points: rounding of areas
CROSSING = 10.0  # times its area: penalty of a leader line through another dot
HAIR = {"arrowstyle": "-", "linewidth": 0.6, "color": "#777777", "shrinkA": 0, "shrinkB": 3}
KINDS = {  # model used by a controller: colour and marker
    "full model": (BLUE, "o"),
    "reduced model": (GREEN, "s"),
    "joint errors": (ORANGE, "D"),
    "hand errors": (PURPLE, "v"),
    "stored or measured torques": (RED, "^"),
}
Box = tuple[float, float, float, float]


@drawn
def comparison_figure(comparison: Comparison) -> Any:
    """The matplotlib figure: one point per controller on logarithmic axes, with a line to its error under an
    unknown payload.
    """
    figure = new_figure(WIDE, 7.0)
    axes = figure.add_subplot()
    drawn = [row for row in comparison.rows if row.ok and row.operations > 0.0 and row.hand_rms > 0.0]
    for row in drawn:
        colour, mark = KINDS[_kind(row)]
        x, y = row.operations_per_second, MM * row.hand_rms
        axes.plot([x], [y], mark, color=colour, markersize=8, zorder=3)
        if np.isfinite(row.loaded_hand_rms) and row.loaded_hand_rms != row.hand_rms:
            axes.plot([x, x], [y, MM * row.loaded_hand_rms], color=colour, linewidth=0.8, alpha=0.6, zorder=1)
            axes.plot(
                [x],
                [MM * row.loaded_hand_rms],
                mark,
                color=colour,
                markerfacecolor="white",
                markersize=5,
                zorder=2,
            )
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("multiplications + additions, 1/s")
    axes.set_ylabel("rms error of the hand, mm")
    arm, T = comparison.arm.name, comparison.period
    lost = [row.name for row in comparison.rows if not row.ok]
    left_out = f"; diverged: {', '.join(lost)}" if lost else ""
    put_title(
        axes,
        f"{arm}: motion of {comparison.duration:g} s, sampling period {1e3 * T:g} ms; "
        f"white: with an unknown payload of {comparison.payload:.3g} kg{left_out}",
    )
    axes.margins(x=0.18, y=0.1)
    _legend(axes, drawn)
    _label(figure, axes, drawn)
    return figure


def _kind(row: Row) -> str:
    if row.name in OTHERS:
        return "stored or measured torques"
    if row.name in IN_HAND_SPACE or row.name == "admittance":
        return "hand errors"
    if row.name.startswith(("PD", "PID")):
        return "joint errors"
    return "reduced model" if "," in row.name else "full model"


def _legend(axes: Any, rows: list[Row]) -> None:
    there = {_kind(row) for row in rows}
    for name, (colour, mark) in KINDS.items():
        if name in there:
            axes.plot([], [], mark, color=colour, label=name)
    axes.legend(title="computed from", frameon=True, framealpha=0.9, loc="best", handlelength=1.5)


def _label(figure: Any, axes: Any, rows: list[Row]) -> None:
    """Names next to the points, at the first free position; coincident points share a label."""
    figure.draw_without_rendering()  # positions are known only after drawing
    pixel = figure.dpi / 72.0
    points = [
        axes.transData.transform((row.operations_per_second, MM * row.hand_rms)) / pixel for row in rows
    ]
    loads = [
        axes.transData.transform((row.operations_per_second, MM * row.loaded_hand_rms)) / pixel
        for row in rows
    ]
    pairs = [(a, b) for a, b in zip(points, loads, strict=True) if np.isfinite(b).all()]
    page = _Page(_points_of(axes.get_window_extent(), pixel), [*points, *(b for _, b in pairs)])
    page.taken += [(a[0] - 1.0, min(a[1], b[1]), a[0] + 1.0, max(a[1], b[1])) for a, b in pairs]
    page.taken.append(_points_of(axes.get_legend().get_window_extent(), pixel))
    for group in _together(points):
        text, k = "\n".join(rows[k].name for k in group), group[0]
        own = [place for i in group for place in (points[i], loads[i])]
        dx, dy, has_line = page.place(points[k], text, own)
        axes.annotate(
            text,
            (rows[k].operations_per_second, MM * rows[k].hand_rms),
            (dx, dy),
            textcoords="offset points",
            fontsize=SMALL,
            ha="center",
            va="center",
            color=BLACK,
            linespacing=1.1,
            arrowprops=HAIR if has_line else None,
        )


def _points_of(extent: Any, pixel: float) -> Box:
    return extent.x0 / pixel, extent.y0 / pixel, extent.x1 / pixel, extent.y1 / pixel


def _together(points: list[Any]) -> list[list[int]]:
    """Groups of points (in order from the left) that overlap, so that labels could not distinguish them."""
    groups: list[list[int]] = []
    for k in sorted(range(len(points)), key=lambda k: (points[k][0], points[k][1])):
        near = next((g for g in groups if np.hypot(*(points[g[0]] - points[k])) < SAME), None)
        if near is None:
            groups.append([k])
        else:
            near.append(k)
    return groups


class _Page:
    """Occupied areas of a page, in points: dots, leader lines, and labels placed so far."""

    def __init__(self, inside: Box, dots: list[Any]) -> None:
        self.inside, self.dots = inside, dots
        self.taken: list[Box] = [_around(dot, 5.0) for dot in dots]

    def place(self, point: Any, text: str, own: list[Any]) -> tuple[float, float, bool]:
        """Offset of a label's centre from its point, and whether it needs a leader line.

        If no position is free, the one with the smallest overlap.
        """
        lines = text.split("\n")
        width, height = LETTER * SMALL * max(map(len, lines)), 1.25 * SMALL * len(lines)
        best: tuple[float, float, float, Box, list[Box]] | None = None
        for x, y, d in PLACES:
            dx, dy = x * (0.5 * width + d * (0.7 if y else 1.0)), y * (0.5 * height + d)
            middle = point + np.array([dx, dy])
            box = (
                middle[0] - 0.5 * width,
                middle[1] - 0.5 * height,
                middle[0] + 0.5 * width,
                middle[1] + 0.5 * height,
            )
            line = self._line(point, middle, box, own)
            covered = sum(_common(box, other) for other in self.taken)
            covered += CROSSING * sum(_common(part, other) for part in line for other in self.taken)
            covered += width * height - _common(box, self.inside)
            if best is None or covered < best[0]:
                best = (covered, dx, dy, box, line)
            if covered < NOTHING:
                break
        assert best is not None
        self.taken += [best[3], *best[4]]
        return best[1], best[2], bool(best[4])

    def _line(self, point: Any, middle: Any, box: Box, own: list[Any]) -> list[Box]:
        """Small boxes along the leader line to a label that is far away, or nearer to another dot; none if it
        needs no line.
        """
        away = _distance(point, box)
        others = [
            _distance(dot, box) for dot in self.dots if min(np.hypot(*(dot - mine)) for mine in own) > 0.0
        ]
        if away <= NEAR and away < CLEARLY * min(others, default=np.inf):
            return []
        length = float(np.hypot(*(middle - point)))
        places = [point + (middle - point) * (r / length) for r in np.arange(8.0, length, 3.0)]
        return [_around(place, 1.5) for place in places if _distance(place, box) > 2.0]


def _around(place: Any, half: float) -> Box:
    return place[0] - half, place[1] - half, place[0] + half, place[1] + half


def _distance(place: Any, box: Box) -> float:
    """Distance of a point from a box, 0 inside it."""
    return float(
        np.hypot(
            max(box[0] - place[0], 0.0, place[0] - box[2]), max(box[1] - place[1], 0.0, place[1] - box[3])
        )
    )


def _common(a: Box, b: Box) -> float:
    """Area of overlap of two boxes."""
    return max(0.0, min(a[2], b[2]) - max(a[0], b[0])) * max(0.0, min(a[3], b[3]) - max(a[1], b[1]))
