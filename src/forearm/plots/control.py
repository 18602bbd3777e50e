"""Controllers compared: what each computes a second against how far the hand is off, with and without an unknown load."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from forearm.control.comparison import Comparison, Row
from forearm.control.registry import OTHERS
from forearm.plots.figure import BLACK, BLUE, GREEN, ORANGE, RED, new_figure, save_figure

MM = 1e3
SIZE = 8.5  # points, of labels
WIDE = 0.56  # of the size: what a letter is wide, about
# Where a label may stand: beside its point, then farther away; shares of its own width and height, and points.
WAYS = ((1, 0), (-1, 0), (1, 1), (1, -1), (-1, 1), (-1, -1), (0, 1), (0, -1))
PLACES = [(x, y, d) for d in (7.0, 16.0, 28.0, 44.0, 64.0) for x, y in WAYS]
KINDS = {
    "the whole model": BLUE,
    "something left out of it": GREEN,
    "errors, joint by joint": ORANGE,
    "forces kept or measured": RED,
}
Box = tuple[float, float, float, float]


def save_comparison_picture(comparison: Comparison, path: str | os.PathLike[str]) -> None:
    """Write the picture as .png, .svg or .pdf."""
    save_figure(comparison_figure(comparison), path)


def comparison_figure(comparison: Comparison) -> Any:
    """The matplotlib figure: a point a controller on logarithmic axes, a line up to where an unknown load puts it."""
    figure = new_figure(11.0, 7.0)
    axes = figure.add_subplot()
    drawn = [row for row in comparison.rows if row.ok and row.operations > 0.0 and row.hand_rms > 0.0]
    for row in drawn:
        colour = KINDS[_kind(row)]
        x, y = row.operations_per_second, MM * row.hand_rms
        axes.plot([x], [y], "o", color=colour, markersize=8, zorder=3)
        if np.isfinite(row.loaded_hand_rms) and row.loaded_hand_rms != row.hand_rms:
            axes.plot([x, x], [y, MM * row.loaded_hand_rms], color=colour, linewidth=0.8, alpha=0.6, zorder=1)
            axes.plot([x], [MM * row.loaded_hand_rms], "o", color=colour, markerfacecolor="white", markersize=5, zorder=2)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("multiplications + additions a second")
    axes.set_ylabel("rms error of the hand, mm")
    axes.grid(color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    arm, T = comparison.arm.name, comparison.period
    lost = [row.name for row in comparison.rows if not row.ok]
    left_out = f"; lost: {', '.join(lost)}" if lost else ""
    axes.set_title(
        f"{arm}: a motion of {comparison.duration:g} s sampled every {1e3 * T:g} ms; "
        f"white: with {comparison.payload:.3g} kg in the hand, not known{left_out}",
        fontsize=10,
    )
    axes.margins(x=0.18, y=0.1)
    _legend(axes, drawn)
    _label(figure, axes, drawn)
    return figure


def _kind(row: Row) -> str:
    if row.name in OTHERS:
        return "forces kept or measured"
    if row.name.startswith(("PD", "PID")):
        return "errors, joint by joint"
    return "something left out of it" if "," in row.name else "the whole model"


def _legend(axes: Any, rows: list[Row]) -> None:
    there = {_kind(row) for row in rows}
    for name, colour in KINDS.items():
        if name in there:
            axes.plot([], [], "o", color=colour, label=name)
    axes.legend(title="computed from", fontsize=8.5, frameon=True, framealpha=0.9, loc="best")


def _label(figure: Any, axes: Any, rows: list[Row]) -> None:
    """Names beside the points, in the first place that is free; a hair line where that is far."""
    figure.draw_without_rendering()  # only now it is known where things are
    pixel = figure.dpi / 72.0
    points = [axes.transData.transform((row.operations_per_second, MM * row.hand_rms)) / pixel for row in rows]
    loads = [axes.transData.transform((row.operations_per_second, MM * row.loaded_hand_rms)) / pixel for row in rows]
    dots = [(x - 5.0, y - 5.0, x + 5.0, y + 5.0) for x, y in (*points, *loads) if np.isfinite([x, y]).all()]
    dots += [(a[0] - 1.0, min(a[1], b[1]), a[0] + 1.0, max(a[1], b[1])) for a, b in zip(points, loads, strict=True)]
    frame = axes.get_window_extent()
    inside = tuple(v / pixel for v in (frame.x0, frame.y0, frame.x1, frame.y1))
    legend = axes.get_legend().get_window_extent()
    taken: list[Box] = [*dots, tuple(v / pixel for v in (legend.x0, legend.y0, legend.x1, legend.y1))]
    for k in sorted(range(len(rows)), key=lambda k: (points[k][0], points[k][1])):
        name = rows[k].name
        dx, dy, box = _place(points[k], WIDE * SIZE * len(name), 1.25 * SIZE, taken, inside)
        taken.append(box)
        far = abs(dx) + abs(dy) > 0.5 * WIDE * SIZE * len(name) + 24.0
        axes.annotate(
            name, (rows[k].operations_per_second, MM * rows[k].hand_rms), (dx, dy), textcoords="offset points", fontsize=SIZE,
            ha="center", va="center", color=BLACK,
            arrowprops={"arrowstyle": "-", "linewidth": 0.5, "color": "#777777", "shrinkA": 0, "shrinkB": 3} if far else None,
        )  # fmt: skip


def _place(point: Any, width: float, height: float, taken: list[Box], inside: Any) -> tuple[float, float, Box]:
    """The offset of a label's middle from its point, and its box; where nothing is free, the place that covers least."""
    best: tuple[float, float, float, Box] | None = None
    for x, y, d in PLACES:
        dx, dy = x * (0.5 * width + d * (0.7 if y else 1.0)), y * (0.5 * height + d)
        left, low = point[0] + dx - 0.5 * width, point[1] + dy - 0.5 * height
        box = (left, low, left + width, low + height)
        covered = sum(_common(box, other) for other in taken)
        covered += width * height - _common(box, inside)
        if best is None or covered < best[0]:
            best = (covered, dx, dy, box)
        if covered == 0.0:
            break
    assert best is not None
    return best[1:]


def _common(a: Box, b: Box) -> float:
    """The area that two boxes share."""
    return max(0.0, min(a[2], b[2]) - max(a[0], b[0])) * max(0.0, min(a[3], b[3]) - max(a[1], b[1]))
