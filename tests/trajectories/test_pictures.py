"""Pictures of planned motions: drawn from the motion's own numbers, and written as files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import forearm as fa
from forearm.plots.figure import save_figure
from forearm.plots.trajectories import phase_figure, profile_figure, waters_figure
from forearm.trajectories import MotionLimits, bang_bang, deviation, hand_line, through

pytest.importorskip("matplotlib")
LIMITS = MotionLimits([2.0, 3.0], [1.0, 1.5], -2.0, 2.0)
MOTION = through([[0.0, 1.0], [0.6, 0.2], [1.1, -0.7]], None, LIMITS)


@pytest.mark.slow
def test_waters_graph_has_straight_lines_through_his_points(tmp_path: Path) -> None:
    figure = waters_figure()
    (axis,) = figure.axes
    paths = [line.get_xydata() for line in axis.lines if len(line.get_xdata()) > 100]
    assert len(paths) == 2
    for path, slope in zip(paths, (1.0, 0.5), strict=True):
        assert path[0].tolist() == [1.0, 1.0]
        assert path[-1].tolist() == [5.0, -1.0]
        steps = np.diff(path, axis=0)
        steps = steps[np.abs(steps[:, 0]) > 1e-6]
        # Every step but the one over the corner at v = 0.
        assert (np.abs(np.abs(steps[:, 1] / steps[:, 0]) - slope) > 1e-9).sum() <= 1
    texts = {text.get_text(): text.xy for text in axis.texts if text.get_text()}
    assert texts["C"] == pytest.approx((3.0, 3.0))
    assert texts["D"] == pytest.approx((6.0, 0.0))
    assert texts["E"] == pytest.approx((3.0, 2.0))
    assert texts["F"] == pytest.approx((7.0, 0.0))
    save_figure(figure, tmp_path / "waters.png")
    save_figure(waters_figure(), tmp_path / "again.png")
    assert (tmp_path / "waters.png").read_bytes() == (tmp_path / "again.png").read_bytes()


@pytest.mark.slow
def test_profiles_show_every_joint_and_torques_on_request() -> None:
    assert len(profile_figure(MOTION).axes) == 3
    figure = profile_figure(MOTION, names=["left", "$right"], torque=lambda q, qd, qdd: 2.0 * qdd + qd)
    assert [axis.get_ylabel() for axis in figure.axes] == [
        "position\nrad or m",
        "velocity\nrad/s or m/s",
        "acceleration\nrad/s² or m/s²",
        "torque\nN m or N",
    ]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["joints", "left", r"\$right"]
    acceleration = figure.axes[2].lines[1].get_ydata()
    assert set(np.round(np.unique(acceleration), 9)) <= {-3.0, 0.0, 3.0}
    velocity = figure.axes[1].lines[0].get_ydata()
    assert (
        np.abs(
            figure.axes[3].lines[0].get_ydata() - 2.0 * figure.axes[2].lines[0].get_ydata() - velocity
        ).max()
        < 1e-12
    )


@pytest.mark.slow
def test_phase_plane_of_a_joint_with_and_without_bounds(tmp_path: Path) -> None:
    (axis,) = phase_figure([MOTION], LIMITS, joint=1, unit="m").axes
    assert len(axis.patches) > 0
    assert (axis.get_xlabel(), axis.get_ylabel()) == ("position, m", "velocity, m/s (quadratic scale)")
    still = bang_bang([0.0, 0.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0], LIMITS)
    assert len(phase_figure([still], LIMITS).axes) == 1
    free = MotionLimits([2.0, 3.0])
    figure = phase_figure([through(MOTION.points, None, free)], free)
    save_figure(figure, tmp_path / "phase.svg")
    assert max(abs(x) for x in figure.axes[0].get_ylim()) < 100.0


@pytest.mark.slow
def test_lines_of_the_hand_have_profiles_and_mistakes_are_said() -> None:
    arm = fa.load("ur5")
    q0 = np.array([0.1, -1.0, 1.7, 0.3, 0.7, 0.2])
    line: Any = hand_line(arm, q0, fa.kinematics.forward(arm, q0)[:3, 3] + [0.05, 0.02, 0.0], 0.2, 1.0)
    figure = profile_figure(line)
    assert figure.axes[0].get_ylabel() == "position\nrad", "a line knows its arm"
    assert len(figure.axes[0].lines) == 12  # a curve and dots at the corners for each joint
    assert figure.axes[0].lines[0].get_ydata()[0] == pytest.approx(q0[0])
    wrong: list[tuple[Callable[[], object], str]] = [
        (lambda: profile_figure(MOTION, ["a"]), "profile_figure, names: expected 2, one per joint, got 1"),
        (lambda: phase_figure([], LIMITS), "phase_figure, motions: expected at least one"),
        (
            lambda: phase_figure([MOTION], LIMITS, joint=5),
            "phase_figure, joint: expected a whole number from 0 to 1",
        ),
        (lambda: phase_figure([line], LIMITS), "phase_figure, motions"),
        (
            lambda: phase_figure([MOTION], MotionLimits([1.0, 1.0, 1.0])),
            "the limits are those of 3 joints, a motion has 2",
        ),
        (lambda: deviation(line), "a Cartesian line is straight by construction"),
    ]
    for call, said in wrong:
        with pytest.raises(fa.InputError, match=said):
            call()
