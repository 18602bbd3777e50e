"""The motion with limits of jerk: its states, its file, plans through points."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from arms import random_arm

import forearm as fa
from forearm.errors import InputError
from forearm.trajectories import JerkMotion, MotionLimits, jerk_limited, load_motion

STEP = 1e-5  # s, of differences
CLOSE = 1e-12  # of a state: sums of phases from either side of the middle


@pytest.fixture(scope="module")
def motion() -> JerkMotion:
    """One that brakes first in one joint, turns round in another and has joints with time to spare."""
    limits = MotionLimits([2.0, 3.0, 4.0], [1.0, 1.2, 1.4], jerk=[11.0, 17.0, 23.0])
    return jerk_limited(
        [0.1, -0.2, 0.3],
        [1.3, -0.7, 0.2],
        [0.4, 1.1, -0.6],
        [1.9, 0.4, 0.35],
        [0.3, 0.2, -0.1],
        [-0.5, 0.2, 0.3],
        limits,
    )


def test_states_are_the_points_and_derivatives_of_each_other(motion: JerkMotion) -> None:
    for end, k in ((0.0, 0), (motion.duration, 1)):
        for state, given in zip(
            motion.at(end), (motion.points, motion.velocities, motion.accelerations), strict=True
        ):
            assert (state == given[k]).all()
    t = np.linspace(STEP, motion.duration - STEP, 301)
    t = t[np.abs(t[:, None] - motion.switches).min(axis=1) > 2.0 * STEP]
    before, here, after = (motion.at(t + s) for s in (-STEP, 0.0, STEP))
    for low, high in ((0, 1), (1, 2)):
        assert np.allclose((after[low] - before[low]) / (2.0 * STEP), here[high], rtol=0.0, atol=1e-8)
    assert np.allclose((after[2] - before[2]) / (2.0 * STEP), motion.jerk_at(t), rtol=0.0, atol=1e-6)
    assert motion.at(0.3)[0].shape == motion.jerk_at(0.3).shape == (3,)


def test_both_halves_meet_and_extremes_bound_the_samples(motion: JerkMotion) -> None:
    half = 0.5 * motion.duration
    for a, b in zip(motion.at(half), motion.at(np.nextafter(half, 9.0)), strict=True):
        assert np.abs(a - b).max() < CLOSE
    q, qd, _ = motion.at(np.linspace(0.0, motion.duration, 20001))
    least, most, fastest = motion.extremes()
    for bound, found in ((least, q.min(axis=0)), (most, q.max(axis=0)), (fastest, np.abs(qd).max(axis=0))):
        assert np.allclose(bound, found, rtol=0.0, atol=1e-7)
    assert (least <= q.min(axis=0)).all()
    assert (most >= q.max(axis=0)).all()
    assert (fastest >= np.abs(qd).max(axis=0)).all()


def test_a_file_gives_the_same_motion_to_the_bit(motion: JerkMotion, tmp_path: Path) -> None:
    arm = random_arm(4, 3)
    motion.save(tmp_path / "motion.json")
    again = load_motion(arm, tmp_path / "motion.json")
    assert isinstance(again, JerkMotion)
    t = np.linspace(0.0, motion.duration, 50)
    assert all((a == b).all() for a, b in zip(motion.at(t), again.at(t), strict=True))
    assert fa.plan(arm, tmp_path / "motion.json").duration == motion.duration
    motion.save(tmp_path / "motion.csv", step=0.01)
    assert (tmp_path / "motion.csv").read_text().startswith("t,q1,q2,q3,qd1")
    assert repr(motion).startswith("<JerkMotion of 3 joints through 2 points in ")


@pytest.mark.parametrize(
    ("key", "change", "said"),
    [
        ("jerks", lambda x: [[[2.0 * y for y in z] for z in w] for w in x], "its phases miss the next"),
        ("points", lambda x: x[:1], r"points: expected 2 x 3 numbers"),
        ("phases", lambda x: [[[-y for y in z] for z in w] for w in x], "phases"),
    ],
)
def test_a_file_that_is_wrong_is_refused(
    motion: JerkMotion, tmp_path: Path, key: str, change: object, said: str
) -> None:
    motion.save(tmp_path / "motion.json")
    document = json.loads((tmp_path / "motion.json").read_text())
    document[key] = change(document[key])  # type: ignore[operator]
    if key == "points":
        document[key] = [row[:1] for row in document[key]]
        said = "points: expected 2 x 1 numbers"
    (tmp_path / "motion.json").write_text(json.dumps(document))
    with pytest.raises(InputError, match=said):
        load_motion(random_arm(4, 3), tmp_path / "motion.json")


@pytest.mark.slow
def test_a_plan_through_points_keeps_its_jerk(tmp_path: Path) -> None:
    arm = fa.load("puma560")
    points = np.array(
        [[0.1, -0.4, 0.2, 0.3, 0.2, 0.1], [0.5, -0.2, 0.1, 0.1, 0.5, 0.4], [0.3, 0.1, 0.4, -0.2, 0.1, 0.6]]
    )
    plan = fa.plan(arm, points, acceleration=4.0, jerk=30.0)
    assert isinstance(plan.motion, JerkMotion)
    assert plan.limits is not None
    assert np.allclose(plan.motion.at(plan.motion.times)[0], points)
    assert not plan.motion.velocities.any()
    assert np.abs(plan.qdd).max() <= 4.0 + 1e-9
    assert np.abs(plan.motion.jerks).max() <= 30.0 * (1.0 + 1e-12)
    assert plan.duration > fa.plan(arm, points, acceleration=4.0).duration
    assert plan.deviation is None
    assert "largest jerks: 30, 30" in "\n".join(plan.report().after)
    request = tmp_path / "request.toml"
    request.write_text(
        'schema = "forearm-request/1"\n[limits]\nacceleration = 4.0\njerk = 30.0\n'
        + "".join(f"[[waypoint]]\nq = {row.tolist()}\n" for row in points)
    )
    assert fa.plan(arm, request).duration == plan.duration
    chosen = fa.plan(arm, points, jerk=300.0)
    assert chosen.duration > fa.plan(arm, points).duration
    assert chosen.limited_by is not None
    # inverse dynamics at every moment looked at is what `uses` says
    t = np.linspace(0.0, chosen.duration, 3001)
    use = chosen.limited_by
    i = [joint.name for joint in arm.joints].index(use.joint)
    assert np.abs(chosen.torque(t)[:, i]).max() <= use.needed * (1.0 + 1e-6) or use.quantity != "torque"
