"""A plan as a self-contained HTML page: binding limits, phase plane, curves against their limits."""

from __future__ import annotations

import os
from collections.abc import Iterable
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from forearm.pages import html_page
from forearm.palette import COLOURS, GREEN, ON_DARK, RED, page_colours
from forearm.reading.textfile import write_text
from forearm.spatial import Floats
from forearm.svg import INKS, INKS_ON_DARK, Drawing, curve_rules, look_of
from forearm.tables import html_table
from forearm.trajectories.limit_curves import limit_curves
from forearm.trajectories.shortest_time.phase_plane import phase_plane
from forearm.values import check_ending

if TYPE_CHECKING:
    from forearm.trajectories.planning import Plan
    from forearm.trajectories.shortest_time.timing import PathTiming

STYLE = Path(__file__).with_name("plan_page.css")
ENDINGS = (".html", ".htm")
POINTS = 400  # per curve
NAMED = len(COLOURS) - 1  # limits with their own colour in the phase plane
FAR = 1.6  # times the largest of all curves: higher limits are not drawn
LIGHT = INKS | {"start": GREEN, "end": RED}
DARK = INKS_ON_DARK | {"start": ON_DARK[2], "end": ON_DARK[1]}


def write_plan_page(plan: Plan, path: str | os.PathLike[str]) -> None:
    """Write the page atomically."""
    check_ending(path, ENDINGS, "a page for a browser")
    write_text(path, plan_page(plan))


def plan_page(plan: Plan) -> str:
    """The text of the page."""
    report = plan.report()
    parts = [f"<header>\n<h1>{escape(report.title)}</h1>"]
    if plan.timing is not None:
        parts.append(f"<p>{escape(plan.timing.summary)}</p>")
    parts += ["</header>", _warnings(plan.warnings), "<main>"]
    if plan.timing is not None:
        parts += _limits(plan.timing)
    parts += ["<h2>Over time</h2>", _joints_key(plan), '<div class="panels">', *_panels(plan), "</div>"]
    parts += ["<h2>Joints</h2>", _wide(html_table(report.header, report.rows))]
    parts += [*(f"<p>{escape(line)}</p>" for line in report.after), "</main>"]
    return html_page(
        report.title, "\n".join(filter(None, parts)), STYLE, page_colours(LIGHT, DARK), curve_rules()
    )


def _warnings(texts: Iterable[str]) -> str:
    lines = "".join(f"<li>{escape(text)}</li>" for text in texts)
    return f'<ul class="warnings">{lines}</ul>' if lines else ""


def _wide(table: str) -> str:
    return f'<div class="wide">{table}</div>'


def _limits(timing: PathTiming) -> list[str]:
    """The phase plane, its legend, and the savings from raising each limit."""
    parts = ["<h2>What limits it</h2>", f"<figure>{_phase_plane(timing)}</figure>", _limits_key(timing)]
    report = timing.report()
    if report.rows:
        parts.append(_wide(html_table(report.header, report.rows)))
    return parts


def _phase_plane(timing: PathTiming) -> str:
    plane = phase_plane(timing)
    drawing = Drawing(
        1000.0, 380.0, (0.0, float(timing.s[-1])), (0.0, plane.height), "s, path parameter", "ds/dt, 1/s"
    )
    top = np.where(np.isnan(plane.maximum), plane.height, np.minimum(plane.maximum, plane.height))
    drawn = [drawing.area(plane.s, top, np.full(len(top), plane.height), "beyond")]
    drawn.append(drawing.curve(plane.s, np.minimum(plane.maximum, plane.height), "most"))
    for k, (name, (s, speed)) in enumerate(plane.curves.items()):
        colour, both = _look(k, name)
        drawn += [drawing.curve(s, speed, colour), drawing.curve(s, speed, f"on {both}")]
    drawn += [drawing.mark(float(s), 0.0, "stop") for s in plane.stops]
    for (s, speed), kind in zip(plane.ends.tolist(), ("start", "end"), strict=True):
        drawn.append(drawing.mark(s, speed, kind))
    return drawing.text(f"Phase plane of {timing.problem.path.name}: ds/dt over s, with its limits", drawn)


def _look(k: int, name: str) -> tuple[str, str]:
    """Colour of the k-th limit in the phase plane, and its colour with dashes."""
    if not name:
        return "none", "none"
    return (f"c{k}", look_of(k)) if k < NAMED else ("rest", "rest")


def _limits_key(timing: PathTiming) -> str:
    plane = phase_plane(timing)
    entries, others = [], 0.0
    for k, (name, share) in enumerate(plane.shares.items()):
        if name and k >= NAMED:  # limits without a colour of their own
            others += share
        else:
            entries.append((_look(k, name)[1], name or "no limit binds", share))
    entries += [("rest", "other limits", others)] if others else []
    lines = [_entry(kind, f"{name}: {share:.1%} of the time") for kind, name, share in entries]
    marks = [("start", "start"), ("end", "end"), *([("stop", "stop")] if plane.stops.size else [])]
    lines += [
        f'<li><svg viewBox="0 0 34 10"><circle class="{kind}" cx="17" cy="5" r="4.5"/></svg>{text}</li>'
        for kind, text in marks
    ]
    return f'<ul class="key">{_entry("most", "maximum-velocity curve")}{"".join(lines)}</ul>'


def _entry(kind: str, text: str) -> str:
    return f'<li><svg viewBox="0 0 34 10"><path class="{kind}" d="M0,5 L34,5"/></svg>{escape(text)}</li>'


def _joints_key(plan: Plan) -> str:
    lines = [_entry(look_of(i), joint.name) for i, joint in enumerate(plan.arm.joints)]
    return f'<ul class="key">{"".join(lines)}{_entry("limit rest", "limit")}</ul>'


def _panels(plan: Plan) -> list[str]:
    """Positions, velocities, torques and voltages over time, with their limits."""
    kinds = {joint.kind for joint in plan.arm.joints}

    def words(turning: str, sliding: str) -> str:
        return " or ".join(
            word for kind, word in (("revolute", turning), ("prismatic", sliding)) if kind in kinds
        )

    limits = limit_curves(plan)
    blocks: list[tuple[str, str, Floats, Floats | None]] = [
        ("position", words("rad", "m"), plan.q, None),
        ("velocity", words("rad/s", "m/s"), plan.qd, limits["velocity"]),
        (words("torque", "force"), words("N m", "N"), plan.tau, limits["torque"]),
    ]
    if plan.voltage is not None:
        blocks.append(("voltage", "V", plan.voltage, limits["voltage"]))
    return [f"<figure>{_panel(plan, *block)}</figure>" for block in blocks]


def _panel(plan: Plan, name: str, unit: str, block: Floats, allowed: Floats | None) -> str:
    shown = np.unique(np.linspace(0, len(plan.t) - 1, min(POINTS, len(plan.t))).round().astype(int))
    t, block = plan.t[shown], block[shown]
    largest = float(np.nan_to_num(np.abs(block)).max())
    near = np.full(block.shape, np.nan)
    if allowed is not None:
        near = np.where(allowed[shown] <= FAR * largest, allowed[shown], np.nan)
    values = np.concatenate([block, near, -near])
    low, high = (
        (float(np.nanmin(values)), float(np.nanmax(values))) if np.isfinite(values).any() else (-1.0, 1.0)
    )
    low, high = min(low, 0.0), max(high, 0.0)
    room = 0.05 * (high - low) or 1.0
    until = plan.duration if plan.duration > 0.0 else 1.0
    drawing = Drawing(560.0, 240.0, (0.0, until), (low - room, high + room), "time, s", f"{name}, {unit}")
    drawn = []
    for i in range(plan.arm.n):
        if np.isfinite(near[:, i]).any():
            colour = look_of(i).split()[0]
            drawn += [drawing.curve(t, sign * near[:, i], f"{colour} limit") for sign in (1.0, -1.0)]
    drawn += [drawing.curve(t, block[:, i], look_of(i)) for i in range(plan.arm.n)]
    return drawing.text(f"{name} of the joints over time, {unit}", drawn)
