"""Planned motions: curves over time, and the phase plane of position and squared velocity, in which full
acceleration is a straight line.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from forearm.arm.text import of_joints
from forearm.charts import Chart, curves
from forearm.errors import InputError
from forearm.plots.figure import BLACK, GREY, WIDTH, drawn, legend_beside, look, new_figure, stacked
from forearm.spatial import Floats
from forearm.trajectories import HandLine, MotionLimits, Switching, bang_bang
from forearm.values import LARGEST, check_kind, check_whole

SAMPLES = 400  # per curve, between two points
UNITS = {
    "position": ("rad", "m"),
    "velocity": ("rad/s", "m/s"),
    "acceleration": ("rad/s²", "m/s²"),
    "torque": ("N m", "N"),
}
# Waters Fig. 5: |v| <= 3, |acceleration| <= 1/2, -1 <= x <= 9 and A = (1, 1). B is given only in the drawing;
# as the motion slows down from C "through D" without a switch there, D is where it reverses and B has a
# negative velocity. This B is our choice.
WATERS_LIMITS = (0.5, 3.0, -1.0, 9.0)
WATERS_A, WATERS_B = (1.0, 1.0), (5.0, -1.0)


def profile_figure(
    motion: Switching | HandLine,
    names: Sequence[str] | None = None,
    torque: Callable[[Floats, Floats, Floats], Floats] | None = None,
) -> Any:
    """Positions, velocities and accelerations over time, points as dots; torques from a function of q, qd,
    qdd, if given.
    """
    check_kind(motion, (Switching, HandLine), "profile_figure, motion")
    n = motion.n if isinstance(motion, Switching) else motion.task.arm.n
    labels = [f"joint {i + 1}" for i in range(n)] if names is None else list(names)
    if len(labels) != n:
        raise InputError(f"expected {n}, one per joint, got {len(labels)}.", "profile_figure", "names")
    t, q, qd, qdd = _curves(motion)
    panels = {"position": q, "velocity": qd, "acceleration": qdd}
    if torque is not None:
        panels["torque"] = torque(q, qd, qdd)
    passed = dict(zip(panels, motion.at(motion.times)[:2], strict=False))
    charts: list[Chart] = []
    for name, block in panels.items():
        dots = [
            replace(dot, name="", look=replace(dot.look, marker="o", size=3.5, joined=False))
            for dot in (curves(labels, motion.times, passed[name]) if name in passed else [])
        ]
        axis = f"{name}, {_unit(motion, name)}"
        legend = None if charts else "joints"
        charts.append(Chart("time, s", axis, [*curves(labels, t, block), *dots], legend=legend))
    return stacked(charts)


@drawn
def phase_figure(
    motions: Sequence[Switching], limits: MotionLimits, joint: int = 0, unit: str = "rad or m"
) -> Any:
    """One joint's motions in the plane of x and v |v|: lines of slope 2a at full acceleration, level at zero.
    Waters III.

    `unit` is that of the joint's position; a motion does not know its joint types.
    """
    for motion in motions:
        check_kind(motion, Switching, "phase_figure, motions")
        if motion.n != limits.n:
            raise InputError(
                f"the limits are those of {limits.n} joints, a motion has {motion.n}.", "phase_figure"
            )
    if not len(motions):
        raise InputError("expected at least one, such as that of bang_bang.", "phase_figure", "motions")
    check_whole(joint, "phase_figure, joint", 0, limits.n - 1)
    figure = new_figure(WIDTH, 5.4)
    axis = figure.subplots()
    _frame(axis, limits, joint, max(float(motion.extremes()[2][joint]) for motion in motions), unit)
    for k, motion in enumerate(motions):
        _draw_path(axis, motion, joint, look(k), f"{motion.duration:.3g} s")
    legend_beside(axis)
    return figure


@drawn
def waters_figure() -> Any:
    """Waters Fig. 5: the fastest motion A-C-D-B, one at half the acceleration A-E-F-B, and the curves that
    leave A and reach B.
    """
    a, v, lower, upper = WATERS_LIMITS
    limits = MotionLimits(a, v, lower, upper)
    ends = ([WATERS_A[0]], [WATERS_A[1]], [WATERS_B[0]], [WATERS_B[1]])
    fast, slow = (bang_bang(*ends, MotionLimits(share * a, v, lower, upper)) for share in (1.0, 0.5))
    figure = new_figure(WIDTH, 5.4)
    axis = figure.subplots()
    _frame(axis, limits, 0, v, "")
    (xa, ya), (xb, yb) = ((x, w * abs(w)) for x, w in (WATERS_A, WATERS_B))
    for corner, hatch, text in (((xa, ya), "---", "leaving A"), ((xb, yb), "|||", "reaching B")):
        x, y = corner
        area = {"facecolor": "none", "edgecolor": "#999999", "hatch": hatch, "linewidth": 0.0, "label": text}
        axis.fill([x, x + 1.0, x + 1.0], [y, y + 2.0 * a, y - 2.0 * a], **area)
    _draw_path(axis, fast, 0, look(0), f"A-C-D-B, fastest:\n{fast.duration:.3g}")
    _draw_path(axis, slow, 0, look(1), f"A-E-F-B, half the\nacceleration: {slow.duration:.3g}")
    for motion, names in ((fast, "CD"), (slow, "EF")):
        peak, turn = motion.at(motion.phases[0, 0, 0]), float(np.nanmax(motion.turning()))
        for name, x, y in ((names[0], peak[0][0], peak[1][0] ** 2), (names[1], turn, 0.0)):
            _mark(axis, name, float(x), float(y))
    _mark(axis, "A", xa, ya)
    _mark(axis, "B", xb, yb)
    legend_beside(axis)
    return figure


def _curves(motion: Switching | HandLine) -> tuple[Floats, Floats, Floats, Floats]:
    """Times and states for drawing: evenly spaced, and both sides of every switch, so that accelerations
    jump.
    """
    grid = np.linspace(0.0, motion.duration, SAMPLES)
    sides = np.concatenate([np.nextafter(motion.switches, -np.inf), motion.switches])
    t = np.unique(np.clip(np.concatenate([grid, sides]), 0.0, motion.duration))
    return (t, *motion.at(t))


def _unit(motion: Switching | HandLine, name: str) -> str:
    """Unit of a quantity: both possibilities if the motion does not know its arm."""
    turning, sliding = UNITS[name]
    return (
        of_joints(motion.task.arm, turning, sliding)
        if isinstance(motion, HandLine)
        else f"{turning} or {sliding}"
    )


def _draw_path(axis: Any, motion: Switching, joint: int, style: dict[str, Any], label: str) -> None:
    t, q, qd, _ = _curves(motion)
    x, y = q[:, joint], qd[:, joint] * np.abs(qd[:, joint])
    axis.plot(x, y, label=label, **style)
    for share in (0.25, 0.6) if motion.duration > 0.0 else ():  # direction arrows
        at = int(np.searchsorted(t, share * motion.duration))
        ends = {"xy": (x[at + 2], y[at + 2]), "xytext": (x[at], y[at])}
        axis.annotate("", arrowprops={"arrowstyle": "-|>", "color": style["color"]}, **ends)


def _frame(axis: Any, limits: MotionLimits, joint: int, fastest: float, unit: str) -> None:
    """The box of the joint's limits, and a velocity axis scaled by the square."""
    from matplotlib.ticker import MaxNLocator

    lower, upper, v = (float(x[joint]) for x in (limits.lower, limits.upper, limits.velocity))
    if max(abs(lower), abs(upper), v) < LARGEST:
        axis.add_patch(_rectangle(lower, upper, v * v))
    else:
        v = min(v, fastest)
    axis.axhline(0.0, color=GREY, linewidth=0.8)
    ticks = np.array(
        [
            tick
            for tick in MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]).tick_values(-v, v)
            if abs(tick) <= v * (1.0 + 1e-9)
        ]
    )
    axis.set_yticks(ticks * np.abs(ticks), [f"{tick:g}" for tick in ticks])
    speed = " or ".join(f"{name}/s" for name in unit.split(" or "))
    axis.set_ylabel(
        f"velocity, {speed} (quadratic scale)" if unit else "velocity (quadratic scale; unit unknown)"
    )
    axis.set_xlabel(f"position, {unit}" if unit else "position (unit unknown)")
    axis.margins(0.06)


def _rectangle(lower: float, upper: float, height: float) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle(
        (lower, -height), upper - lower, 2.0 * height, fill=False, edgecolor=BLACK, linewidth=1.2
    )


def _mark(axis: Any, name: str, x: float, y: float) -> None:
    axis.plot([x], [y], "o", color=BLACK, markersize=4.5)
    axis.annotate(
        name, (x, y), xytext=(-6, 6), textcoords="offset points", ha="right", fontsize=10, fontweight="bold"
    )
