"""A plan as a figure: joints and motors over time, and the hand's path in space."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from forearm.kinematics.poses import forward
from forearm.plots.figure import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    RED,
    SMALL,
    THIN,
    WIDE,
    drawn,
    legend_of_figure,
    look,
    new_figure,
    of_joints,
    put_title,
    save_figure,
    shown,
)
from forearm.spatial import Floats
from forearm.trajectories.limit_curves import limit_curves
from forearm.trajectories.planning import Plan
from forearm.trajectories.shortest_time.path_motion import PathMotion
from forearm.trajectories.switching import Switching

__all__ = ["plan_figure", "save_figure"]

MOST = 4000  # samples per curve
EVEN = 0.25  # of the longest side of the hand's box: minimum length of the others
TICKS = 4  # at most, on the longest side
FAR = 1.6  # times the largest of all curves: higher limits are not drawn
LIMITED = (0, (4.0, 3.0))  # dash pattern of limits
ZOOM = 0.66  # leaves room for axis labels


@drawn
def plan_figure(plan: Plan) -> Any:
    """Panels of curves on the left, the hand's path on the right."""
    panels = _panels(plan)
    height = 0.8 + 1.7 * len(panels)
    figure = new_figure(WIDE, height)
    left, right = figure.subfigures(1, 2, width_ratios=(1.8, 1.0))
    axes = list(left.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0])
    thin = slice(None, None, max(1, len(plan.t) // MOST))
    limited = False
    for axis, (label, block) in zip(axes, panels.items(), strict=True):
        for i, joint in enumerate(plan.arm.joints):
            steps = (
                "steps-post"
                if label.startswith("acceleration") and isinstance(plan.motion, Switching)
                else "default"
            )
            axis.plot(plan.t[thin], block[thin, i], label=shown(joint.name), drawstyle=steps, **look(i))
        if _draw_limits(axis, plan, label.split("\n")[0], block[thin], thin) and not limited:
            limited = True
            axes[0].plot([], [], color=GREY, linewidth=THIN, linestyle=LIMITED, label="limit")
        axis.set_ylabel(label)
        axis.margins(x=0.01)
    legend_of_figure(left, height, [("joints", axes[0])])
    put_title(axes[0], f"{plan.arm.name}: {plan.duration:.4g} s")
    axes[-1].set_xlabel("time, s")
    left.align_ylabels(axes)
    _draw_hand(right, plan, thin)
    return figure


def _panels(plan: Plan) -> dict[str, Floats]:
    unit = partial(of_joints, plan.arm)
    panels = {
        f"position\n{unit('rad', 'm')}": plan.q,
        f"velocity\n{unit('rad/s', 'm/s')}": plan.qd,
        f"acceleration\n{unit('rad/s²', 'm/s²')}": plan.qdd,
        f"{unit('torque', 'force')}\n{unit('N m', 'N')}": plan.tau,
    }
    return panels | ({} if plan.voltage is None else {"voltage\nV": plan.voltage})


def _draw_limits(axis: Any, plan: Plan, quantity: str, block: Floats, thin: slice) -> bool:
    """Draw the limits of torques and voltages of a time-optimal plan, except those far above all curves;
    return whether there are any.
    """
    name = "torque" if "force" in quantity else quantity
    if plan.timing is None or name not in ("torque", "voltage"):
        return False
    allowed = limit_curves(plan)[name][thin]
    near = np.where(allowed <= FAR * float(np.abs(block).max()), allowed, np.nan)
    bounded = np.flatnonzero(np.isfinite(near).any(axis=0))
    for i in bounded:
        style = {"color": look(int(i))["color"], "linewidth": 0.7 * THIN, "linestyle": LIMITED}
        axis.plot(plan.t[thin], near[:, i], **style)
        axis.plot(plan.t[thin], -near[:, i], **style)
    return bool(bounded.size)


def _passed(plan: Plan) -> Floats:
    """Times of the marked points; for a path its ends and stops."""
    times = plan.motion.times
    if not isinstance(plan.motion, PathMotion):
        return times
    knots, corners = plan.motion.knots, np.asarray(plan.motion.path.corners)
    return np.concatenate([times[:1], times[np.searchsorted(knots, corners)], times[-1:]])


def _draw_hand(figure: Any, plan: Plan, thin: slice) -> None:
    """The hand's origin over the whole motion, with its points marked; a box with equal scales."""
    from matplotlib.ticker import MaxNLocator

    axis = figure.add_subplot(projection="3d")
    path = forward(plan.arm, plan.q[thin])[:, :3, 3]
    axis.plot(*path.T, color=BLUE)
    passed = forward(plan.arm, plan.motion.at(_passed(plan))[0])[:, :3, 3]
    axis.plot(*passed.T, "o", color=BLACK, markersize=4)
    axis.plot(*passed[:1].T, "o", color=GREEN, markersize=8, label="start")
    axis.plot(*passed[-1:].T, "s", color=RED, markersize=7, label="end")
    size = np.nanmax(path, axis=0) - np.nanmin(path, axis=0)
    sides = np.maximum(size, EVEN * max(float(np.nanmax(size)), 1e-9))
    axis.set_box_aspect(sides, zoom=ZOOM)
    for name, along, side in zip(
        "xyz", (axis.xaxis, axis.yaxis, axis.zaxis), sides / sides.max(), strict=True
    ):
        along.set_label_text(f"{name}, m", fontsize=SMALL)
        along.set_major_locator(MaxNLocator(max(2, round(TICKS * side))))
        along.labelpad = 8.0  # away from the tick labels
    put_title(axis, "the hand")
    axis.legend(loc="upper right", handlelength=1.0)
