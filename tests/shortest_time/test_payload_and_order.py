"""What must hold of durations whatever the arm: for every payload of an interval, for tighter limits, for the
way back, for another path parameter, and for motions planned otherwise.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from arms import limits_of, random_arm
from sweeps import long
from timed_paths import check_kept, drive_limits, moments, random_way, timed

import forearm as fa
from forearm.trajectories.paths import JointPath, from_motion, spline
from forearm.trajectories.shortest_time.path_motion import PathMotion

SLOWER = 3e-3  # relative: grids of two plans are not the same
pytestmark = pytest.mark.slow


def driven(seed: int) -> tuple[fa.Arm, JointPath, dict[str, Any]]:
    """Two joints with drives, a path and limits."""
    arm = random_arm(seed, 2)
    path = spline(random_way(arm, seed, 4))
    return arm, path, drive_limits(arm, path, seed)


def without_load_friction(arm: fa.Arm) -> fa.Arm:
    """The arm without gears and bearings that rub by what they carry."""
    return arm.replace(tree=tuple(replace(joint, transmission=None, bearings=()) for joint in arm.tree))


@pytest.mark.parametrize(("seed", "by_load"), [(3, False), *long((seed, True) for seed in range(20, 24))])
def test_every_payload_of_an_interval_obeys(seed: int, by_load: bool) -> None:
    """Between the two masses that are planned for too; the path takes as long as the worse of both."""
    arm, path, given = driven(seed)
    arm = arm if by_load else without_load_friction(arm)
    com, least, most = (0.4, 0.1, -0.2), 0.1, 0.1 + 0.15 * sum(link.mass for link in arm.links)
    given = {kind: 1.3 * value for kind, value in given.items()}
    plan = fa.time_optimal(arm, path, payload=(least, most), payload_com=com, points=250, **given)
    for mass in np.linspace(least, most, 3):
        check_kept(plan, arm=arm.with_payload(mass, com), **given)
    alone = [
        fa.time_optimal(arm.with_payload(mass, com), path, points=250, **given).duration
        for mass in (least, most)
    ]
    assert plan.duration >= max(alone) * (1.0 - 2e-3)
    if not by_load:  # either mass bounds somewhere
        assert plan.duration > 1.003 * max(alone)


@pytest.mark.parametrize("seed", [1, *long(range(20, 32))])
def test_tighter_limits_of_drives_never_save_time(seed: int) -> None:
    arm, path, given = driven(seed)
    given["velocity"] = np.array([joint.max_speed for joint in arm.joints])
    known = fa.time_optimal(arm, path, **given).duration
    changed = {}
    for kind, value in given.items():
        tighter = fa.time_optimal(arm, path, **given | {kind: 0.8 * value}).duration
        changed[kind] = tighter / known
        assert tighter >= known * (1.0 - SLOWER), kind
    assert max(changed.values()) > 1.05  # something binds


FREE = random_arm(3, 2, prismatic=False, fixed=False, drives=False)
WAY = np.array([[0.0, 0.1], [0.9, 0.6], [0.3, 1.2]])


def test_tighter_limits_of_the_hand_and_of_accelerations_never_save_time() -> None:
    given = {"velocity": 1.2, "acceleration": 4.0, "hand_speed": 0.3, "hand_acceleration": 1.5, "points": 150}
    known = timed(FREE, WAY, torque=np.inf, **given).duration
    changed = {}
    for kind in ("velocity", "acceleration", "hand_speed", "hand_acceleration"):
        changed[kind] = timed(FREE, WAY, torque=np.inf, **given | {kind: 0.8 * given[kind]}).duration / known
    assert min(changed.values()) > 1.0 + SLOWER  # each binds somewhere


@pytest.mark.parametrize("seed", [2, *long(range(20, 32))])
def test_the_way_back_takes_as_long_without_friction(seed: int) -> None:
    """Under the same torques a motion runs backwards in time."""
    arm = random_arm(seed, 2).rigid()
    way = random_way(arm, seed, 4)
    q = spline(way).at(np.linspace(0.0, spline(way).length, 300))[0]
    torque = 2.0 * np.abs(fa.dynamics.inverse(arm, q, 0.0 * q, 0.0 * q)).max(axis=0)
    there, back = (timed(arm, points, torque=torque).duration for points in (way, way[::-1]))
    assert back == pytest.approx(there, rel=SLOWER)


@pytest.mark.long
def test_thirty_joints_within_accelerations() -> None:
    arm = fa.load("chain30")
    lower, upper = limits_of(arm)
    way = 0.3 * (lower + (upper - lower) * np.random.default_rng(4).random((5, arm.n)))
    allowed = np.linspace(2.0, 9.0, arm.n)
    plan = timed(arm, way, acceleration=allowed, torque=np.inf, velocity=np.inf)
    assert isinstance(plan.motion, PathMotion)
    t, _ = moments(plan.motion)
    used = np.abs(plan.at(t)[2]) / allowed
    assert used.max() <= 1.001
    assert np.median(used.max(axis=1)) > 0.99  # something binds nearly always


@pytest.mark.parametrize("count", [2, 4])
def test_bang_bang_motions_are_not_faster_than_their_paths(count: int) -> None:
    points = random_way(FREE, count, count)
    limits: dict[str, Any] = {"velocity": [1.1, 1.4], "acceleration": [3.0, 2.0]}
    motion = fa.plan(FREE, points, **limits)
    path = from_motion(motion)
    plan = timed(FREE, path, torque=np.inf, **limits)
    assert plan.duration <= motion.duration * (1.0 + 5e-3)
    if count == 2:  # a straight line has no faster motion
        assert plan.duration == pytest.approx(motion.duration, rel=SLOWER)
