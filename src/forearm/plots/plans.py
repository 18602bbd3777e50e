"""A plan as a figure: joints and motors over time, and the hand's path in space."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from forearm.kinematics.poses import forward
from forearm.plots.figure import (
    BLACK,
    BLUE,
    GREEN,
    PANEL,
    RED,
    WIDE,
    draw_space,
    draw_stacked,
    drawn,
    new_figure,
    put_title,
    save_figure,
)
from forearm.spatial import Floats
from forearm.trajectories.plan_page import over_time
from forearm.trajectories.planning import Plan
from forearm.trajectories.shortest_time.path_motion import PathMotion

__all__ = ["plan_figure", "save_figure"]

MOST = 4000  # samples of the path
EVEN = 0.25  # of the longest side of the hand's box: minimum length of the others
TICKS = 4  # at most, on the longest side
ZOOM = 0.66  # leaves room for axis labels


@drawn
def plan_figure(plan: Plan) -> Any:
    """Panels of curves on the left, the hand's path on the right."""
    charts = over_time(plan)
    charts[0] = replace(charts[0], title=f"{plan.arm.name}: {plan.duration:.4g} s")
    height = 0.8 + PANEL * len(charts)
    figure = new_figure(WIDE, height)
    left, right = figure.subfigures(1, 2, width_ratios=(1.8, 1.0))
    draw_stacked(left, charts, height)
    _draw_hand(right, plan)
    return figure


def _passed(plan: Plan) -> Floats:
    """Times of the marked points; for a path its ends and stops."""
    times = plan.motion.times
    if not isinstance(plan.motion, PathMotion):
        return times
    knots, corners = plan.motion.knots, np.asarray(plan.motion.path.corners)
    return np.concatenate([times[:1], times[np.searchsorted(knots, corners)], times[-1:]])


def _draw_hand(figure: Any, plan: Plan) -> None:
    """The hand's origin over the whole motion, with its points marked; a box with equal scales."""
    axis = figure.add_subplot(projection="3d")
    path = forward(plan.arm, plan.q[:: max(1, len(plan.t) // MOST)])[:, :3, 3]
    axis.plot(*path.T, color=BLUE)
    passed = forward(plan.arm, plan.motion.at(_passed(plan))[0])[:, :3, 3]
    axis.plot(*passed.T, "o", color=BLACK, markersize=4)
    axis.plot(*passed[:1].T, "o", color=GREEN, markersize=8, label="start")
    axis.plot(*passed[-1:].T, "s", color=RED, markersize=7, label="end")
    draw_space(axis, path, EVEN, TICKS, ZOOM)
    for along in (axis.xaxis, axis.yaxis, axis.zaxis):
        along.labelpad = 8.0  # away from the tick labels
    put_title(axis, "the hand")
    axis.legend(loc="upper right", handlelength=1.0)
