"""Paths of the hand: on their lines and circles between knots, by forward kinematics."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from arms import random_arm
from numpy.typing import NDArray

import forearm as fa
from forearm.arm import from_dh
from forearm.errors import InputError
from forearm.kinematics import forward
from forearm.trajectories import hand_line
from forearm.trajectories.line_joints import joints_along
from forearm.trajectories.paths import JointPath, hand_circle, hand_lines

Array = NDArray[np.float64]
ON_THE_WAY = 1e-9  # m and rad
STEP = 1e-5

UR5 = np.array([0.3, -1.2, 1.4, -1.0, -1.4, 0.2])
TO = np.array([[0.3, 0.3, 0.3], [0.2, 0.5, 0.2]])


def places(path: JointPath, count: int = 151) -> Array:
    """Even places, which fall between knots."""
    return np.linspace(0.0, path.length, count)


def assert_smooth(path: JointPath) -> None:
    """q' and q'' are the derivatives of q and q', and jump at corners alone."""
    s = places(path)[1:-1]
    s = s[np.abs(s[:, None] - path.breaks).min(axis=1) > 2.0 * STEP]
    before, here, after = path.at(s - STEP), path.at(s), path.at(s + STEP)
    for k in (0, 1):
        scale = np.abs(here[k + 1]).max()
        assert here[k + 1] == pytest.approx((after[k] - before[k]) / (2.0 * STEP), abs=1e-5 * scale)
    pieces = np.arange(len(path.breaks) - 2)
    inside = path.breaks[1:-1]
    corner = np.isin(inside, path.corners)
    left, right = path.at(inside, pieces), path.at(inside, pieces + 1)
    assert left[0] == pytest.approx(right[0], abs=1e-11)
    for order in (1, 2):
        scale = np.abs(left[order]).max()
        assert left[order][~corner] == pytest.approx(right[order][~corner], abs=1e-9 * scale)


def distance_from(lines: Array, p: Array) -> Array:
    found = np.full(len(p), np.inf)
    for a, b in pairwise(lines):
        share = np.clip((p - a) @ (b - a) / ((b - a) @ (b - a)), 0.0, 1.0)
        found = np.minimum(found, np.linalg.norm(p - a - share[:, None] * (b - a), axis=1))
    return found


@pytest.mark.slow
def test_straight_lines_with_a_corner() -> None:
    arm = fa.load("ur5")
    path = hand_lines(arm, UR5, TO)
    start = forward(arm, UR5)
    corners = np.concatenate([start[None, :3, 3], TO])
    ways = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(corners, axis=0), axis=1))])
    assert path.length == pytest.approx(ways[-1])
    assert path.corners == pytest.approx((ways[1],))
    s = places(path)
    T = forward(arm, path.at(s)[0])
    wanted = np.stack([np.interp(s, ways, c) for c in corners.T], axis=1)
    assert T[:, :3, 3] == pytest.approx(wanted, abs=ON_THE_WAY)
    assert T[:, :3, :3] == pytest.approx(np.broadcast_to(start[:3, :3], (len(s), 3, 3)), abs=ON_THE_WAY)
    assert_smooth(path)
    line = hand_line(arm, UR5, TO, speed=0.1, acceleration=1.0)
    exact = joints_along(line.task, line.stretches[0], s[:50])
    for found, wanted, near in zip(path.at(s[:50]), exact, (1e-9, 1e-8, 1e-6), strict=True):
        assert found == pytest.approx(wanted, abs=3.0 * near * max(float(np.abs(wanted).max()), 1.0))


@pytest.mark.slow
def test_rounded_lines_pass_the_corner_at_the_distance() -> None:
    arm = fa.load("ur5")
    path = hand_lines(arm, UR5, TO, blend=0.01)
    assert path.corners == ()
    p = forward(arm, path.at(places(path, 3001))[0])[:, :3, 3]
    corners = np.concatenate([p[:1], TO])
    assert np.linalg.norm(p - TO[0], axis=1).min() == pytest.approx(0.01, abs=1e-5)
    assert distance_from(corners, p).max() < 0.01
    assert distance_from(corners, p).max() > 0.005
    assert_smooth(path)


@pytest.mark.slow
def test_circles_of_a_redundant_arm_close() -> None:
    arm = fa.load("panda")
    q0 = np.array([0.0, -0.4, 0.1, -2.0, 0.1, 1.6, 0.5])
    T0 = forward(arm, q0)
    p0, axis = T0[:3, 3], np.array([1.0, 0.0, 0.2])
    path = hand_circle(arm, q0, centre=p0 + [0.0, 0.08, 0.0], axis=axis)
    assert path.length == pytest.approx(2.0 * np.pi * 0.08)
    assert path.at(path.length)[0] == pytest.approx(q0, abs=1e-8)
    T = forward(arm, path.at(places(path))[0])
    p = T[:, :3, 3] - p0 - [0.0, 0.08, 0.0]
    assert np.linalg.norm(p, axis=1) == pytest.approx(0.08, abs=ON_THE_WAY)
    assert p @ axis == pytest.approx(0.0, abs=ON_THE_WAY)
    assert T[:, :3, :3] == pytest.approx(np.broadcast_to(T0[:3, :3], (len(T), 3, 3)), abs=ON_THE_WAY)
    turned = np.cross(p[0], p[10]) @ axis
    assert turned > 0.0, "to the right about the axis"
    back = hand_circle(arm, q0, centre=p0 + [0.0, 0.08, 0.0], axis=axis, angle=-0.5)
    assert np.cross(p[0], forward(arm, back.at(0.01)[0])[:3, 3] - p0 - [0.0, 0.08, 0.0]) @ axis < 0.0
    assert_smooth(path)


@pytest.mark.slow
@pytest.mark.parametrize("long", [False, True])
def test_an_arc_goes_through_its_places(long: bool) -> None:
    """Also where it is more than half of the circle."""
    arm = random_arm(3, n=6, prismatic=False)
    q0 = np.array([0.4, -0.7, 0.9, 0.5, -0.8, 0.3])
    p0 = forward(arm, q0)[:3, 3]
    r, angles = 0.02, np.array([0.7, 4.0 if long else 1.5])
    x, y = np.array([0.6, 0.8, 0.0]), np.array([0.0, 0.0, 1.0])
    centre = p0 - r * x
    through, to = (centre + r * (np.cos(a) * x + np.sin(a) * y) for a in angles)
    path = hand_circle(arm, q0, through, to, attitude="free")
    assert path.length == pytest.approx(r * angles[1], rel=1e-9)
    p = forward(arm, path.at([0.7 * r, path.length])[0])[:, :3, 3]
    assert p == pytest.approx(np.array([through, to]), abs=ON_THE_WAY)
    everywhere = forward(arm, path.at(places(path))[0])[:, :3, 3] - centre
    assert np.linalg.norm(everywhere, axis=1) == pytest.approx(r, abs=ON_THE_WAY)


@pytest.mark.slow
def test_corners_stay_where_joints_cannot_follow_the_rounded_way() -> None:
    """Two links of 0.5 and 0.3 m reach nothing within 0.2 m of the base: the lines pass it at 0.22 m,
    the rounded corner would go nearer.
    """
    arm = from_dh("planar", [(0.5, 0.0, 0.0, 0.0), (0.3, 0.0, 0.0, 0.0)], convention="standard")
    bend = np.arccos((0.7**2 + 0.22**2 - 0.5**2 - 0.3**2) / (2.0 * 0.5 * 0.3))
    out = np.arctan2(0.22, -0.7) - np.arctan2(0.3 * np.sin(bend), 0.5 + 0.3 * np.cos(bend))
    to = [[0.22, 0.22, 0.0], [0.22, -0.7, 0.0]]
    stays = hand_lines(arm, [out, bend], to, attitude="free", blend=0.2)
    assert stays.corners == pytest.approx((0.92,))
    assert hand_lines(arm, [out, bend], to, attitude="free", blend=0.05).corners == ()


@pytest.mark.slow
def test_what_the_hand_cannot_do_is_said_as_by_a_line() -> None:
    arm = fa.load("ur5")
    p0 = forward(arm, UR5)[:3, 3]
    x = np.array([0.1, 0.0, 0.0])
    with pytest.raises(
        InputError, match=r"hand lines: at 0.25\d+ m, hand at .*no configuration reaches farther"
    ):
        hand_lines(arm, UR5, [3.0, 0.0, 0.0])
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"through": p0 + x, "to": p0 + 2.0 * x}, "through: it lies on the straight line"),
        ({"through": p0 + x, "centre": p0}, "expected both through and to, or both centre and axis"),
        ({"centre": p0, "axis": [0.0, 0.0, 1.0]}, "must be off the axis"),
        ({"centre": p0 + x, "axis": [0.0, 0.0, 0.0]}, "axis: its direction must not be 0"),
        ({"through": p0 + x, "to": p0}, "to: the hand is there already"),
    ]
    for given, said in wrong:
        with pytest.raises(InputError, match=said):
            hand_circle(arm, UR5, **given)
