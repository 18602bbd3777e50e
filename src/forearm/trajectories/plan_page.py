"""A plan as a self-contained HTML page: binding limits, phase plane, curves against their limits."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import partial
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from forearm.arm.text import of_joints
from forearm.charts import QUIET, Chart, Curve, CurveLook, curves, look
from forearm.pages import html_page
from forearm.palette import page_colours
from forearm.reading.textfile import write_text
from forearm.spatial import Floats
from forearm.svg import INKS, INKS_ON_DARK, chart_svg, key
from forearm.tables import Report, html_lines, html_table
from forearm.trajectories.limit_curves import limit_curves
from forearm.trajectories.shortest_time.phase_plane import phase_plane_chart
from forearm.trajectories.switching import Switching
from forearm.values import check_ending

if TYPE_CHECKING:
    from forearm.trajectories.planning import Plan
    from forearm.trajectories.shortest_time.timing import PathTiming

STYLE = Path(__file__).with_name("plan_page.css")
ENDINGS = (".html", ".htm")
PHASE_PLANE = (1000.0, 380.0)  # size of the drawing
FAR = 1.6  # times the largest of all curves: higher limits are not drawn
LIMIT = CurveLook(dash=4, width=0.5)


def write_plan_page(plan: Plan, path: str | os.PathLike[str]) -> None:
    """Write the page atomically."""
    check_ending(path, ENDINGS, "a page for a browser")
    write_text(path, plan_page(plan))


def plan_page(plan: Plan) -> str:
    """The text of the page."""
    report, timing = plan.report(), plan.timing
    charts = [chart for chart in over_time(plan) if not chart.y.startswith("acceleration")]
    parts = [f"<header>\n<h1>{escape(report.title)}</h1>"]
    parts += [f"<p>{escape(timing.summary)}</p>"] if timing is not None else []
    warnings = "".join(f"<li>{escape(text)}</li>" for text in plan.warnings)
    parts += ["</header>", f'<ul class="warnings">{warnings}</ul>' if warnings else "", "<main>"]
    parts += _limits(timing) if timing is not None else []
    parts += ["<h2>Over time</h2>", key(charts[0]), '<div class="panels">']
    parts += [
        f"<figure>{chart_svg(chart, f'{chart.y}, of the joints over time')}</figure>" for chart in charts
    ]
    parts += ["</div>", "<h2>Joints</h2>", _wide(report), html_lines(report.after), "</main>"]
    colours = page_colours(INKS, INKS_ON_DARK)
    return html_page(report.title, "\n".join(filter(None, parts)), STYLE, colours)


def _wide(report: Report) -> str:
    return f'<div class="wide">{html_table(report.header, report.rows)}</div>'


def _limits(timing: PathTiming) -> list[str]:
    """The phase plane, its legend, and the savings from raising each limit."""
    chart, report = phase_plane_chart(timing), timing.report()
    said = f"Phase plane of {timing.problem.path.name}: ds/dt over s, with its limits"
    drawing = chart_svg(chart, said, PHASE_PLANE, points=20_000)
    table = [_wide(report)] if report.rows else []
    return ["<h2>What limits it</h2>", f"<figure>{drawing}</figure>", key(chart), *table]


def over_time(plan: Plan) -> list[Chart]:
    """Positions, velocities, accelerations, torques and voltages of the joints, with their limits."""
    unit, limits = partial(of_joints, plan.arm), limit_curves(plan)
    names = [joint.name for joint in plan.arm.joints]
    panels = {
        f"position, {unit('rad', 'm')}": (plan.q, None),
        f"velocity, {unit('rad/s', 'm/s')}": (plan.qd, limits["velocity"]),
        f"acceleration, {unit('rad/s²', 'm/s²')}": (plan.qdd, None),
        f"{unit('torque', 'force')}, {unit('N m', 'N')}": (plan.tau, limits["torque"]),
    }
    if plan.voltage is not None:
        panels["voltage, V"] = (plan.voltage, limits["voltage"])
    switches = isinstance(plan.motion, Switching)
    charts, bounded = [], list[Curve]()
    for axis, (block, allowed) in panels.items():
        bounds = [] if allowed is None else _near(plan.t, block, allowed)
        bounded += bounds
        marks = [*bounds, *curves(names, plan.t, block, switches and axis.startswith("acceleration"))]
        charts.append(Chart("time, s", axis, marks, x_range=(0.0, plan.duration or 1.0)))
    none = np.zeros(0)
    limit = [Curve(none, none, "limit", replace(LIMIT, colour=QUIET))] if bounded else []
    return [replace(charts[0], marks=[*charts[0].marks, *limit], legend="joints"), *charts[1:]]


def _near(t: Floats, block: Floats, allowed: Floats) -> list[Curve]:
    """Limits (m, n) of both signs, except where they are far above all curves."""
    near = np.where(allowed <= FAR * float(np.nan_to_num(np.abs(block)).max()), allowed, np.nan)
    bounded = np.flatnonzero(np.isfinite(near).any(axis=0)).tolist()
    return [
        Curve(t, sign * near[:, i], look=replace(LIMIT, colour=look(i).colour))
        for i in bounded
        for sign in (1.0, -1.0)
    ]
