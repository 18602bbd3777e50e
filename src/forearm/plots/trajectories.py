"""Planned motions: curves over time, and the plane of place and velocity squared, where full acceleration is a line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forearm.errors import InputError, shorten
from forearm.plots.figure import BLACK, BLUE, MAX_LABELS, RED, look, new_figure
from forearm.trajectories import HandLine, MotionLimits, Switching, bang_bang
from forearm.values import LARGEST, check_kind

Array = NDArray[np.float64]
SAMPLES = 400  # between two points of a curve
# Waters Fig. 5: |v| <= 3, |acceleration| <= 1/2, -1 <= x <= 9 and A = (1, 1). B stands only in the drawing; as the motion slows
# down from C "through D" without a switch there, D is where it turns round and B has a negative velocity. This B is ours.
WATERS_LIMITS = (0.5, 3.0, -1.0, 9.0)
WATERS_A, WATERS_B = (1.0, 1.0), (5.0, -1.0)


def profile_figure(
    motion: Switching | HandLine,
    names: Sequence[str] | None = None,
    torque: Callable[[Array, Array, Array], Array] | None = None,
) -> Any:
    """Positions, velocities and accelerations over time, points as dots; torques where a function of q, qd, qdd gives them."""
    check_kind(motion, (Switching, HandLine), "profile_figure, motion")
    n = motion.n if isinstance(motion, Switching) else motion.task.arm.n
    labels = [f"joint {i + 1}" for i in range(n)] if names is None else list(names)
    if len(labels) != n:
        raise InputError(f"profile_figure, names: {n} are needed, one a joint; came {len(labels)}.")
    t, q, qd, qdd = _curves(motion)
    panels = {"position": q, "velocity": qd, "acceleration": qdd}
    if torque is not None:
        panels["torque"] = torque(q, qd, qdd)
    figure = new_figure(9.0, 1.0 + 1.8 * len(panels))
    axes = list(figure.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0])
    for axis, (label, block) in zip(axes, panels.items(), strict=True):
        for i in range(n):
            axis.plot(t, block[:, i], linewidth=1.4, label=labels[i].replace("$", r"\$"), **look(i))
        _grid(axis)
        axis.set_ylabel(label)
    for axis, corners in zip(axes, motion.at(motion.times)[:2], strict=False):
        for i in range(n):
            axis.plot(motion.times, corners[:, i], "o", markersize=3.5, color=look(i)["color"])
    if n <= MAX_LABELS:
        axes[0].legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=8, frameon=False)
    axes[-1].set_xlabel("time, s")
    figure.align_ylabels(axes)
    return figure


def phase_figure(motions: Sequence[Switching], limits: MotionLimits, joint: int = 0) -> Any:
    """One joint's motions in the plane of x and v |v|: lines of slope 2a at full acceleration, level at none. Waters III."""
    for motion in motions:
        check_kind(motion, Switching, "phase_figure, motions")
        if motion.n != limits.n:
            raise InputError(f"phase_figure: the limits are those of {limits.n} joints, a motion has {motion.n}.")
    if not len(motions):
        raise InputError("phase_figure, motions: at least one is needed, such as that of bang_bang.")
    if not isinstance(joint, int) or not 0 <= joint < limits.n:
        raise InputError(f"phase_figure, joint: a whole number from 0 to {limits.n - 1} is needed; came {shorten(joint)}.")
    figure = new_figure(7.0, 6.0)
    axis = figure.subplots()
    _frame(axis, limits, joint, max(float(motion.extremes()[2][joint]) for motion in motions))
    for k, motion in enumerate(motions):
        _draw_path(axis, motion, joint, look(k), f"{motion.duration:.3g} s")
    axis.legend(loc="upper right", bbox_to_anchor=(0.94, 0.93), fontsize=9, frameon=False)
    return figure


def waters_figure() -> Any:
    """Waters Fig. 5: the fastest motion A-C-D-B, one at half of the acceleration A-E-F-B, and how A is left and B reached."""
    a, v, lower, upper = WATERS_LIMITS
    limits = MotionLimits(a, v, lower, upper)
    ends = ([WATERS_A[0]], [WATERS_A[1]], [WATERS_B[0]], [WATERS_B[1]])
    fast, slow = (bang_bang(*ends, MotionLimits(share * a, v, lower, upper)) for share in (1.0, 0.5))
    figure = new_figure(7.0, 6.6)
    axis = figure.subplots()
    _frame(axis, limits, 0, v)
    (xa, ya), (xb, yb) = ((x, w * abs(w)) for x, w in (WATERS_A, WATERS_B))
    for corner, hatch, text in (((xa, ya), "---", "leaving A"), ((xb, yb), "|||", "reaching B")):
        x, y = corner
        area = {"facecolor": "none", "edgecolor": "#999999", "hatch": hatch, "linewidth": 0.0, "label": text}
        axis.fill([x, x + 1.0, x + 1.0], [y, y + 2.0 * a, y - 2.0 * a], **area)
    _draw_path(axis, fast, 0, {"color": BLUE, "linestyle": "-"}, f"A-C-D-B, fastest: {fast.duration:.3g} s")
    _draw_path(axis, slow, 0, {"color": RED, "linestyle": "--"}, f"A-E-F-B, half the acceleration: {slow.duration:.3g} s")
    for motion, names in ((fast, "CD"), (slow, "EF")):
        peak, turn = motion.at(motion.phases[0, 0, 0]), float(np.nanmax(motion.turning()))
        for name, x, y in ((names[0], peak[0][0], peak[1][0] ** 2), (names[1], turn, 0.0)):
            _mark(axis, name, float(x), float(y))
    _mark(axis, "A", xa, ya)
    _mark(axis, "B", xb, yb)
    axis.legend(loc="upper right", bbox_to_anchor=(0.94, 0.93), fontsize=9, frameon=False)
    return figure


def _curves(motion: Switching | HandLine) -> tuple[Array, Array, Array, Array]:
    """Times and states for drawing: evenly spaced ones, and both sides of every switch, so that accelerations jump."""
    grid = np.linspace(0.0, motion.duration, SAMPLES)
    sides = np.concatenate([np.nextafter(motion.switches, -np.inf), motion.switches])
    t = np.unique(np.clip(np.concatenate([grid, sides]), 0.0, motion.duration))
    return (t, *motion.at(t))


def _draw_path(axis: Any, motion: Switching, joint: int, style: dict[str, str], label: str) -> None:
    t, q, qd, _ = _curves(motion)
    x, y = q[:, joint], qd[:, joint] * np.abs(qd[:, joint])
    axis.plot(x, y, linewidth=1.7, label=label, **style)
    for share in (0.25, 0.6) if motion.duration > 0.0 else ():  # which way it goes
        at = int(np.searchsorted(t, share * motion.duration))
        ends = {"xy": (x[at + 2], y[at + 2]), "xytext": (x[at], y[at])}
        axis.annotate("", arrowprops={"arrowstyle": "-|>", "color": style["color"]}, **ends)


def _frame(axis: Any, limits: MotionLimits, joint: int, fastest: float) -> None:
    """The box of what the joint may do, and an axis of velocity whose distances are those of its square."""
    from matplotlib.ticker import MaxNLocator

    lower, upper, v = (float(x[joint]) for x in (limits.lower, limits.upper, limits.velocity))
    if max(abs(lower), abs(upper), v) < LARGEST:
        axis.add_patch(_rectangle(lower, upper, v * v))
    else:
        v = min(v, fastest)
    axis.axhline(0.0, color="#777777", linewidth=0.8)
    ticks = np.array(
        [tick for tick in MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]).tick_values(-v, v) if abs(tick) <= v * (1.0 + 1e-9)]
    )
    axis.set_yticks(ticks * np.abs(ticks), [f"{tick:g}" for tick in ticks])
    axis.set_ylabel("velocity (distances as its square)")
    axis.set_xlabel("position")
    _grid(axis)
    axis.margins(0.06)


def _rectangle(lower: float, upper: float, height: float) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle((lower, -height), upper - lower, 2.0 * height, fill=False, edgecolor=BLACK, linewidth=1.2)


def _mark(axis: Any, name: str, x: float, y: float) -> None:
    axis.plot([x], [y], "o", color=BLACK, markersize=4.5)
    axis.annotate(name, (x, y), xytext=(-6, 6), textcoords="offset points", ha="right", fontsize=11, fontweight="bold")


def _grid(axis: Any) -> None:
    axis.grid(color="#dddddd", linewidth=0.6)
    axis.set_axisbelow(True)
