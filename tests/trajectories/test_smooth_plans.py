"""Plans of continuous snap: within what drives have, from requests and files, followed in simulation; and
motions that have no four derivatives.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from arms import random_arm

import forearm as fa
from forearm.errors import InputError
from forearm.reading.textfile import parse_toml
from forearm.trajectories import (
    PathOptions,
    Request,
    SeriesMotion,
    SmoothMotion,
    arm_limits,
    derivatives_of,
    smooth,
)
from forearm.trajectories.requestfile import request_from_document, request_schema

POINTS = np.array(
    [[0.0, 0.8, -1.6, 0.0, 0.5, 0.0], [0.4, 0.6, -1.2, 0.3, 0.7, 0.2], [0.1, 0.9, -1.5, -0.2, 0.3, -0.3]]
)
TEXT = """
schema = "forearm-request/1"
{top}
[limits]
{limits}
[[waypoint]]
q = [0.0, 0.8, -1.6, 0.0, 0.5, 0.0]
[[waypoint]]
q = [0.4, 0.6, -1.2, 0.3, 0.7, 0.2]
"""


@pytest.fixture(scope="module")
def puma() -> fa.Arm:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fa.ForearmWarning)
        return fa.load("puma560")


@pytest.fixture(scope="module")
def fastest(puma: fa.Arm) -> fa.Plan:
    return fa.plan(puma, POINTS, snap=True)


def read(limits: str, top: str = "") -> Request:
    return request_from_document(parse_toml(TEXT.format(limits=limits, top=top).encode(), "a.toml"), "a.toml")


@pytest.mark.slow
def test_drives_bound_what_a_request_leaves_open(puma: fa.Arm, fastest: fa.Plan) -> None:
    plan = fastest
    assert isinstance(plan.motion, SmoothMotion)
    assert plan.limited_by is not None
    assert 0.99 < plan.limited_by.share <= 1.0
    assert not plan.warnings
    effort = np.array([joint.max_effort for joint in puma.joints])
    t = np.linspace(0.0, plan.duration, 1001)
    share = np.abs(fa.dynamics.inverse(puma, *plan.at(t))) / effort
    assert 0.98 < share.max() <= 1.0
    assert plan.deviation is None
    assert "3 points, snap continuous" in plan.report().title
    assert not any("largest accelerations" in line for line in plan.report().after)
    # no one drive could do with much less time
    faster = fa.plan(puma, plan.motion.slowed(0.97))
    assert faster.limited_by is not None
    assert faster.limited_by.share > 1.02
    assert any("needs" in text for text in faster.warnings)


@pytest.mark.slow
def test_velocities_currents_and_a_converter_bound_it_too() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fa.ForearmWarning)
        arm = fa.load("cmu-dd")
    points = np.array([[0.1] * 6, [0.9, 0.5, 0.7, 0.2, 0.6, 0.8]])
    free = fa.plan(arm, points, snap=True)
    behind = fa.plan(arm, points, snap=True, dac=fa.DAC(bits=12, span=9.0, gain=2.0))
    assert behind.limited_by is not None
    assert behind.limited_by.quantity == "DAC"
    assert 0.99 < behind.limited_by.share <= 1.0
    assert behind.duration > free.duration
    slow = fa.plan(arm, points, snap=True, velocity=1.0)
    assert isinstance(slow.motion, SmoothMotion)
    assert abs(slow.motion.peaks[0].max() - 1.0) < 1e-9
    assert len(slow.motion.segments) == 3  # under a tension
    limited = fa.plan(arm, points, snap=800.0, jerk=60.0)
    assert isinstance(limited.motion, SmoothMotion)
    assert abs(max(limited.motion.peaks[3].max() / 800.0, limited.motion.peaks[2].max() / 60.0) - 1.0) < 1e-9
    assert any(line.startswith("largest snaps: 800, 800") for line in limited.report().after)


@pytest.mark.slow
def test_durations_given_and_too_short(puma: fa.Arm, fastest: fa.Plan) -> None:
    least = fastest.duration
    plan = fa.plan(puma, POINTS, snap=True, duration=2.0)
    assert np.isclose(plan.duration, 2.0, rtol=1e-12)
    assert plan.limited_by is not None
    assert plan.limited_by.share < 0.9
    with pytest.raises(InputError, match=rf"^smooth, duration: .* feasible from {least:.6g} s"):
        fa.plan(puma, POINTS, snap=True, duration=0.9 * least)
    bare = fa.load("chain3")
    with pytest.raises(InputError, match=r"there is no default because .* at joint1, joint2, joint3"):
        fa.plan(bare, POINTS[:, :3], snap=True)
    assert np.isclose(fa.plan(bare, POINTS[:, :3], snap=True, duration=1.5).duration, 1.5)


@pytest.mark.slow
def test_velocities_at_waypoints(puma: fa.Arm) -> None:
    moving = [fa.Waypoint(q=POINTS[0], qd=[0.2, 0, 0, 0, 0.1, 0]), fa.Waypoint(q=POINTS[1], qd=0.0)]
    for acceleration in (None, 4.0):
        plan = fa.plan(puma, moving, snap=True, acceleration=acceleration)
        assert plan.qd[0].tolist() == [0.2, 0.0, 0.0, 0.0, 0.1, 0.0]
        assert not plan.qd[-1].any()
        assert not plan.warnings
        assert plan.limited_by is not None
    too_fast = [fa.Waypoint(q=POINTS[0], qd=[9.0, 0, 0, 0, 0, 0]), fa.Waypoint(q=POINTS[1])]
    with pytest.raises(InputError, match=r"^plan: the velocities of the request are too high.* joint1 needs"):
        fa.plan(puma, too_fast, snap=True)
    with pytest.raises(
        InputError, match=r"^smooth, duration: in 0\.5 s joint1 needs .* Use another duration"
    ):
        fa.plan(puma, too_fast, snap=True, duration=0.5)
    too_fast = [fa.Waypoint(q=POINTS[0], qd=[40.0, 0, 0, 0, 0, 0]), fa.Waypoint(q=POINTS[1])]
    with pytest.raises(InputError, match=r"^smooth, joint 1: the joint would have to reverse outside"):
        fa.plan(puma, too_fast, snap=True)


def test_requests_and_files(puma: fa.Arm, tmp_path: Path) -> None:
    validator: Any = jsonschema.Draft202012Validator(request_schema())
    document = parse_toml(TEXT.format(limits="snap = true", top="duration = 1.0").encode(), "a.toml")
    for snap, good in ((True, True), ([1.0, 2.0], True), (-1.0, False), ("yes", False), ([True], False)):
        assert validator.is_valid(document | {"limits": {"snap": snap}}) is good
    limited = read("acceleration = 4.0\nsnap = [900.0, 800.0, 700.0, 600.0, 500.0, 400.0]")
    plan = fa.plan(puma, limited)
    assert isinstance(plan.motion, SmoothMotion)
    assert plan.limits is not None
    assert plan.limits.snap.tolist() == [900.0, 800.0, 700.0, 600.0, 500.0, 400.0]
    same = smooth(POINTS[:2], arm_limits(puma, 4.0, snap=plan.limits.snap))
    assert plan.duration == same.duration
    for text in ("snap = true", "snap = inf"):
        again = fa.plan(puma, read(f"acceleration = 4.0\n{text}", "duration = 2.5\n"))
        assert np.isclose(again.duration, 2.5)
    assert read("acceleration = 4.0\nsnap = false").snap is None
    plan.save(tmp_path / "plan.json")
    loaded = fa.plan(puma, tmp_path / "plan.json")
    assert isinstance(loaded.motion, SmoothMotion)
    assert (loaded.q == plan.q).all()
    assert (derivatives_of(loaded, plan.t)[4] == derivatives_of(plan, plan.t)[4]).all()


@pytest.mark.parametrize(
    ("limits", "top", "said"),
    [
        ("snap = -2.0", "", r"^a\.toml, limits, snap: must be above 0"),
        ("acceleration = 1.0", "duration = 2.0", r"duration: only for motions of continuous snap; set snap"),
        ("snap = true", "time_optimal = true", r"snap: a time-optimal motion has no continuous snap"),
        ("velocity = 1.0", "time_optimal = true\nduration = 2.0", r"set PathOptions\(duration=\.\.\.\)"),
    ],
)
def test_what_is_wrong_in_a_request_is_said(limits: str, top: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        read(limits, top)


def test_what_a_plan_refuses(puma: fa.Arm) -> None:
    with pytest.raises(InputError, match=r"^plan: gravity alone takes"):
        fa.plan(puma.with_payload(mass=300.0, com=[0.0, 0.0, 0.1]), POINTS, snap=True)
    motion = smooth(POINTS, duration=2.0)
    with pytest.raises(InputError, match=r"^plan, snap: not allowed for a motion that is already planned"):
        fa.plan(puma, motion, snap=True)
    with pytest.raises(
        InputError, match=r"^plan, duration: not allowed for a motion that is already planned"
    ):
        fa.plan(puma, motion, duration=2.0)
    limits: list[dict[str, Any]] = [{"snap": [1.0, 2.0]}, {"jerk": [1.0, 2.0]}]
    for given in limits:
        with pytest.raises(InputError, match=r"expected one number or 6 .* got 2"):
            fa.plan(puma, POINTS, acceleration=1.0, **given)
    with pytest.raises(InputError, match=r"^plan, jerk: not allowed for a motion that is already planned"):
        fa.plan(puma, motion, jerk=3.0)
    with pytest.raises(InputError, match=r"snap: a time-optimal motion has no continuous snap"):
        fa.plan(puma, Request(POINTS, time_optimal=PathOptions()), snap=True)
    with pytest.raises(InputError, match=r"duration: only for motions of continuous snap"):
        fa.plan(puma, POINTS, duration=2.0)


@pytest.mark.slow
def test_torques_alone_bring_a_rigid_arm_there() -> None:
    arm = random_arm(6, 3).rigid()
    plan = fa.plan(arm, [[0.1, -0.1, 0.1], [0.3, 0.3, 0.2], [0.2, 0.1, 0.0]], snap=True, acceleration=3.0)
    missed = []
    for step in (2e-3, 1e-3):  # between which torques go straight: the error falls with their square
        run = fa.simulate(
            arm, plan.q[0], plan.qd[0], plan.duration, torque=plan.torque, method="rk4", step=step
        )
        missed.append(np.abs(run.q[-1] - plan.q[-1]).max())
    assert missed[0] < 4e-4
    assert 3.5 < missed[0] / missed[1] < 4.5


def test_derivatives_of_series_are_those_of_each_other() -> None:
    rng, h = np.random.default_rng(5), 1e-4
    for basis, rows in (("fourier", 6), ("spline", 7)):
        motion = SeriesMotion(basis, 2.3, rng.normal(size=2), rng.normal(size=(rows, 2)))
        t = np.linspace(0.1, 2.2, 40)
        before, here, after = (derivatives_of(motion, t + s) for s in (-h, 0.0, h))
        for order in range(4):
            slope = (after[order] - before[order]) / (2.0 * h)
            assert np.abs(slope - here[order + 1]).max() < 1e-5 * np.abs(here[order + 1]).max()
        assert all((a == b).all() for a, b in zip(motion.at(t), here, strict=False))
        jumps = [np.abs(a - b).max() for a, b in _sides(motion, motion.switches[1:-1])]
        assert max(jumps, default=0.0) < 1e-6  # of a quintic spline snap is continuous, its slope is not
        assert derivatives_of(motion, 0.3)[4].shape == (2,)


def _sides(motion: SeriesMotion, places: np.ndarray) -> Any:
    sides = [motion.derivatives(places + s) for s in (-1e-12, 1e-12)]
    return zip(*sides, strict=True) if len(places) else ()


@pytest.mark.slow
def test_motions_without_four_derivatives_are_refused_with_the_remedy(puma: fa.Arm) -> None:
    plans = {
        "Switching has .* its accelerations jump": fa.plan(puma, POINTS, acceleration=3.0),
        "JerkMotion has .* its jerks jump": fa.plan(puma, POINTS, acceleration=3.0, jerk=20.0),
        "PathMotion has .* its accelerations or jerks jump": fa.time_optimal(puma, POINTS, points=20),
        "RecordedMotion has .* between samples": fa.plan(puma, fa.plan(puma, POINTS, acceleration=3.0).log),
        "HandLine has .* its jerks jump": fa.plan(
            puma, fa.trajectories.hand_line(puma, POINTS[0], [0.55, -0.1, 1.2], 0.1, profile="quintic")
        ),
    }
    for said, plan in plans.items():
        with pytest.raises(InputError, match=rf"^derivatives_of: a {said}.*snap=True"):
            derivatives_of(plan, 0.0)
    with pytest.raises(InputError, match=r"^derivatives_of: expected a motion with derivatives\(t\)"):
        derivatives_of(puma, 0.0)

    class Short:
        def derivatives(self, t: Any) -> Any:
            return (np.zeros(2),) * 3

    with pytest.raises(InputError, match=r"expected q, qd, qdd, qddd, qdddd of derivatives\(t\), got 3"):
        derivatives_of(Short(), 0.0)
