"""Time-optimal plans in pictures and pages: the phase plane, limits beside curves, nothing fetched."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import forearm as fa
from forearm.plots.phase_plane import phase_plane_figure
from forearm.trajectories.limit_curves import limit_curves
from forearm.trajectories.plan_page import plan_page
from forearm.trajectories.shortest_time.phase_plane import phase_plane
from forearm.trajectories.shortest_time.timing import PathTiming

TORQUE = 180.0  # N m: little more than the motion takes without it
POINTS = [[0.0, 0.1], [0.6, -0.4], [0.2, 0.5]]


@pytest.fixture(scope="module")
def plan() -> fa.Plan:
    torque = ([0.0, 1.5], [[TORQUE, TORQUE], [0.8 * TORQUE, 0.8 * TORQUE]])
    return fa.time_optimal(
        fa.load("ascher2"), POINTS, acceleration=9.0, velocity=2.0, torque=torque, continuity=0, points=60
    )


def timing_of(plan: fa.Plan) -> PathTiming:
    assert plan.timing is not None
    return plan.timing


@pytest.mark.slow
def test_curves_of_the_phase_plane_are_those_of_the_motion(plan: fa.Plan) -> None:
    timing = timing_of(plan)
    plane = phase_plane(timing)
    assert sum(plane.shares.values()) == pytest.approx(1.0)
    assert plane.stops.tolist() == [pytest.approx(float(np.hypot(0.6, 0.5)))]
    s, speed = (np.concatenate([curve[i] for curve in plane.curves.values()]) for i in (0, 1))
    s, speed = s[np.isfinite(s)], speed[np.isfinite(s)]
    x = np.interp(s, timing.s, timing.speed**2)  # (ds/dt)^2 is a line between nodes
    assert np.abs(speed**2 - x).max() <= 1e-9 * x.max()
    assert plane.height > speed.max()


@pytest.mark.slow
def test_pictures(plan: fa.Plan, tmp_path: Path) -> None:
    figure = phase_plane_figure(timing_of(plan))
    texts = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert texts[0] == "maximum-velocity curve"
    assert {"start", "end", "stop"} <= set(texts)
    assert any("acceleration: " in text for text in texts)
    timing_of(plan).plot(tmp_path / "phase.svg")
    assert b"<svg" in (tmp_path / "phase.svg").read_bytes()
    torque = plan.plot().axes[3]
    limits = limit_curves(plan)["torque"]
    drawn = [line.get_ydata() for line in torque.lines]
    assert any(np.array_equal(y, -limits[:, 1]) for y in drawn)


@pytest.mark.slow
def test_the_page_fetches_nothing_and_has_every_colour(plan: fa.Plan, tmp_path: Path) -> None:
    plan.to_html(tmp_path / "plan.html")
    text = (tmp_path / "plan.html").read_text(encoding="utf-8")
    assert not re.search(r"(?:src|href|url)\s*[=(]", text)
    css, body = text.split("</style>")
    light, dark = (set(re.findall(r"--(\w+):", part)) for part in css.split("@media screen")[:2])
    assert set(re.findall(r"var\(--(\w+)\)", css)) <= light & dark
    assert timing_of(plan).summary in body
    assert body.count('role="img"') == 4  # the phase plane, positions, velocities, torques
    assert all(saving.limit in body for saving in timing_of(plan).savings)


@pytest.mark.slow
def test_any_plan_has_a_page() -> None:
    text = plan_page(fa.plan(fa.load("ascher2"), POINTS, acceleration=9.0))
    assert "Phase plane" not in text
    assert text.count('role="img"') == 3
