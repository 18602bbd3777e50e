"""Phase plane of a time-optimal motion: ds/dt over s below the maximum-velocity curve, coloured by the
binding limit.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from forearm.plots.figure import (
    BLACK,
    COLOURS,
    GREEN,
    GREY,
    LINE,
    RED,
    THIN,
    WIDTH,
    dash,
    drawn,
    legend_beside,
    new_figure,
    put_title,
    save_figure,
    shown,
)
from forearm.trajectories.shortest_time.phase_plane import phase_plane
from forearm.trajectories.shortest_time.timing import PathTiming

__all__ = ["phase_plane_figure", "save_figure"]

NAMED = len(COLOURS) - 1  # limits with their own colour; black is for all others
ABOVE = "#ececec"  # infeasible region


@drawn
def phase_plane_figure(timing: PathTiming) -> Any:
    """ds/dt over s, its upper bound, and the binding limit by colour."""
    plane = phase_plane(timing)
    figure = new_figure(WIDTH + 2.2, 4.8)
    axis = figure.subplots()
    top = np.where(np.isnan(plane.maximum), plane.height, np.minimum(plane.maximum, plane.height))
    axis.fill_between(plane.s, top, plane.height, color=ABOVE, linewidth=0.0, zorder=1)
    if np.isfinite(plane.maximum).any():
        label = "maximum-velocity curve"
        axis.plot(plane.s, plane.maximum, color=GREY, linewidth=THIN, label=label, zorder=2)
    others = 0.0
    for k, (name, (s, speed)) in enumerate(plane.curves.items()):
        share, is_named = plane.shares[name], bool(name) and k < NAMED
        others += 0.0 if is_named or not name else share
        text = f"{shown(name or 'no limit binds')}: {share:.1%}" if is_named or not name else None
        colour = COLOURS[k] if is_named else GREY if not name else BLACK
        axis.plot(s, speed, color=colour, linewidth=LINE, zorder=3)
        axis.plot(s, speed, color=colour, linewidth=2.4 * LINE, linestyle=dash(k), label=text, zorder=3)
    if others:
        axis.plot([], [], color=BLACK, linewidth=2.4 * LINE, label=f"other limits: {others:.1%}")
    for (s, speed), (marker, colour, text) in zip(
        plane.ends, (("o", GREEN, "start"), ("s", RED, "end")), strict=True
    ):
        axis.plot([s], [speed], marker, color=colour, markersize=8, label=text, clip_on=False, zorder=4)
    if plane.stops.size:
        axis.plot(
            plane.stops,
            np.zeros(len(plane.stops)),
            "D",
            color=BLACK,
            markersize=5,
            label="stop",
            clip_on=False,
            zorder=4,
        )
    axis.set_xlim(0.0, float(timing.s[-1]))
    axis.set_ylim(0.0, plane.height)
    axis.set_xlabel("s, path parameter")
    axis.set_ylabel("ds/dt, 1/s")
    legend_beside(axis)
    path = timing.problem.path.name
    put_title(axis, f"{timing.problem.arm.name}, {path}: {timing.motion.duration:.4g} s")
    return figure
