"""The paths of motions and logs, and the door for whatever says where joints go."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import forearm as fa
from forearm.errors import InputError
from forearm.trajectories import MotionLimits, as_path, bang_bang, hand_line, through
from forearm.trajectories.paths import JointPath, from_motion, hand_lines, spline

Array = NDArray[np.float64]
LIMITS = MotionLimits([2.0, 3.5, 5.0], [1.1, 2.0, 2.6], -3.0, 3.0)


def distance(path: JointPath, q: Array) -> float:
    """How far the farthest of q (m, n) is from the path, by the polygon of a fine sample of it."""
    p = path.at(np.linspace(0.0, path.length, 2001))[0]
    a, u = p[:-1], np.diff(p, axis=0)
    square = (u * u).sum(axis=1)
    share = np.clip(((q[:, None] - a) * u).sum(axis=2) / square, 0.0, 1.0)
    return float(np.linalg.norm(q[:, None] - a - share[..., None] * u, axis=2).min(axis=1).max())


@pytest.mark.slow
def test_a_planned_motion_by_the_length_of_its_way() -> None:
    motion = through([[0.0, 0.0, 0.0], [0.5, -0.6, 0.4], [0.2, 0.5, 1.0]], None, LIMITS)
    path = from_motion(motion)
    t = np.linspace(0.0, motion.duration, 20_001)
    q = motion.at(t)[0]
    assert path.length == pytest.approx(np.linalg.norm(np.diff(q, axis=0), axis=1).sum(), rel=1e-7)
    assert distance(path, q[::200]) < 1e-5  # what the polygon cuts off
    s = np.linspace(0.0, path.length, 500)
    assert np.linalg.norm(path.at(s)[1], axis=1) == pytest.approx(1.0, abs=1e-6)
    assert path.at([0.0, path.length])[0] == pytest.approx(motion.points[[0, -1]], abs=1e-12)
    half = t[:10_001]  # s(t) by Simpson's rule: the same place at the same time
    speed = np.linalg.norm(motion.at(half)[1], axis=1)
    weights = np.tile([2.0, 4.0], 5_001)[:-1]
    weights[[0, -1]] = 1.0
    assert path.at((half[1] / 3.0) * (weights @ speed))[0] == pytest.approx(motion.at(half[-1])[0], abs=1e-6)


def test_a_joint_that_turns_back_makes_a_corner_where_it_rests() -> None:
    """One joint goes to 1, past it and back: braking from 1 at speed 1 with a = 2, it turns at 1.25."""
    limits = MotionLimits(2.0, 1.5)
    motion = bang_bang([0.0], [0.0], [1.0], [-1.0], limits)
    path = from_motion(motion)
    assert path.corners == pytest.approx((1.25,), abs=1e-9)
    assert path.reversals() == pytest.approx([1.25], abs=1e-9)
    assert path.length == pytest.approx(1.5)
    assert path.extremes()[1] == pytest.approx([1.25], abs=1e-9)


class Waiting:
    """To 1, a second of rest, and on to 2, by parabolas; the second joint turns back."""

    duration = 5.0
    switches = np.array([0.0, 1.0, 2.0, 3.0, 4.0, 5.0])

    def at(self, t: Array) -> tuple[Array, Array, Array]:
        def go(x: Array) -> tuple[Array, Array, Array]:
            x = np.clip(x, 0.0, 2.0)
            first = x < 1.0
            q = np.where(first, 0.5 * x * x, 1.0 - 0.5 * (2.0 - x) ** 2)
            moves = (x > 0.0) & (x < 2.0)
            return q, np.where(first, x, 2.0 - x), np.where(moves, np.where(first, 1.0, -1.0), 0.0)

        a, b = go(np.asarray(t)), go(np.asarray(t) - 3.0)
        made = [np.stack([x + y, x - 0.5 * y], axis=-1) for x, y in zip(a, b, strict=True)]
        return made[0], made[1], made[2]


def test_standing_still_is_left_out() -> None:
    path = from_motion(Waiting())
    first = np.sqrt(2.0)
    assert path.corners == pytest.approx((first,))
    assert path.length == pytest.approx(first + np.sqrt(1.25))
    assert path.at(first)[0] == pytest.approx([1.0, 1.0])
    assert path.at(path.length)[0] == pytest.approx([2.0, 0.5])


@pytest.mark.slow
def test_a_motion_that_does_not_tell_its_switches_is_sampled() -> None:
    class Silent:
        """A second later, so that switches are where nobody would guess; to the end of the first move."""

        duration = 2.3

        def at(self, t: Array) -> tuple[Array, Array, Array]:
            return Waiting().at(np.maximum(np.asarray(t) - 0.2931, 0.0))

    path = from_motion(Silent())
    assert path.name == "motion, to 1e-06"
    assert path.length == pytest.approx(np.sqrt(2.0), abs=1e-4)
    assert path.at(path.length)[0] == pytest.approx([1.0, 1.0], abs=1e-4)


@pytest.mark.slow
def test_a_line_of_the_hand_goes_by_the_hands_way() -> None:
    arm = fa.load("ur5")
    q0, to = [0.3, -1.2, 1.4, -1.0, -1.4, 0.2], [0.3, 0.3, 0.3]
    line = hand_line(arm, q0, to, speed=0.2, acceleration=1.0)
    path, direct = from_motion(fa.plan(arm, line)), hand_lines(arm, q0, to)
    assert path.breaks == pytest.approx(direct.breaks)
    assert path.coefficients == pytest.approx(direct.coefficients)


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.0, 2e-3])
def test_a_noisy_log_is_smoothed_to_its_noise(noise: float) -> None:
    t = np.arange(0.0, 5.0, 0.008)
    x = np.clip((t - 1.0) / 3.0, 0.0, 1.0)
    x = x**3 * (10.0 - 15.0 * x + 6.0 * x * x)  # at rest for a second at both ends
    q = np.stack([np.sin(3.0 * x), x, np.cos(5.0 * x)], axis=1)
    noisy = q + noise * np.random.default_rng(1).normal(size=q.shape)
    log = fa.trajectories.MotionLog(("a", "b", "c"), t, q=noisy, name="walk")
    path = from_motion(log)
    told = float(path.name.removeprefix("walk, to "))
    assert told == pytest.approx(max(8.0 * noise, 1e-6 * 1.96), rel=0.25)
    assert distance(path, noisy[::4]) < max(told, 1e-5)  # what the polygon cuts off
    assert distance(path, q[::4]) < max(2.5 * noise, 1e-5)
    assert path.length == pytest.approx(np.linalg.norm(np.diff(q, axis=0), axis=1).sum(), rel=0.01)
    s = np.linspace(0.0, path.length, 1000)
    bends = np.linalg.norm(np.gradient(np.gradient(path.at(s)[0], s, axis=0), s, axis=0), axis=1)
    assert bends.max() < 30.0, "noise would bend it by thousands"
    assert path.corners == ()
    rough = from_motion(log, tolerance=0.05)
    assert len(rough.breaks) < len(path.breaks)
    assert distance(rough, noisy[::4]) < 0.05


@pytest.mark.parametrize("noise", [1e-5])
def test_samples_that_turn_back_have_a_corner_at_the_tip(noise: float) -> None:
    """One joint, or several on one line: a smooth curve would go beyond the last sample."""
    t = np.arange(0.0, 8.0, 0.01)
    q = np.sin(t)[:, None] * [0.8, -0.6] + noise * np.random.default_rng(0).normal(size=(len(t), 2))
    path = from_motion(fa.trajectories.MotionLog(("a", "b"), t, q=q))
    assert path.corners == pytest.approx((1.0, 3.0, 5.0), abs=1e-3)
    least, most = path.extremes()
    assert most == pytest.approx([0.8, 0.6], abs=1e-4)
    assert least == pytest.approx([-0.8, -0.6], abs=1e-4)
    assert path.at([0.0, path.length])[0] == pytest.approx(q[[0, -1]], abs=1e-4)


@pytest.mark.slow
def test_whatever_says_where_joints_go(tmp_path: Path) -> None:
    arm = fa.load("cmu-dd")
    n = arm.n
    p = 0.3 * np.random.default_rng(0).normal(size=(5, n))
    path = as_path(arm, p)
    assert path.coefficients == pytest.approx(spline(p).coefficients)
    assert as_path(arm, p.tolist(), continuity=4).coefficients.shape[1] == 6
    assert as_path(arm, path) is path
    path.save(tmp_path / "path.json")
    assert (as_path(arm, tmp_path / "path.json").coefficients == path.coefficients).all()
    motion = through(p[:2], None, MotionLimits(np.full(n, 5.0), 2.0))
    motion.save(tmp_path / "motion.json")
    direct = from_motion(motion)
    assert as_path(arm, str(tmp_path / "motion.json")).coefficients == pytest.approx(direct.coefficients)
    motion.save(tmp_path / "motion.csv", step=0.01)
    logged = as_path(arm, tmp_path / "motion.csv")
    assert distance(logged, direct.at(np.linspace(0.0, direct.length, 50))[0]) < 1e-4

    with pytest.raises(InputError, match=f"path: its points have 2 joints, 'cmu-dd' has {n}"):
        as_path(arm, [[0.0, 1.0], [1.0, 1.0]])
    with pytest.raises(InputError, match=f"spline: it is for 2 joints, 'cmu-dd' has {n}"):
        as_path(arm, spline([[0.0, 1.0], [1.0, 1.0]]))
    with pytest.raises(InputError, match=r"is unknown.*with from_function\(f, length\)"):
        as_path(arm, np.sin)


def test_what_has_no_path_is_refused() -> None:
    log = fa.trajectories.MotionLog(("a",), np.arange(9.0), q=np.zeros((9, 1)), name="still")
    with pytest.raises(InputError, match="still: nothing moves"):
        from_motion(log)
    with pytest.raises(InputError, match="expected a motion, a plan or a log, got 3"):
        from_motion(3)
    motion = bang_bang([0.0], [0.0], [1.0], [0.0], MotionLimits(1.0, 1.0))
    with pytest.raises(InputError, match="tolerance: for samples only"):
        from_motion(motion, tolerance=0.1)
    moving = fa.trajectories.MotionLog(
        ("a",), np.arange(9.0), q=np.linspace(0.0, 1e-3, 9)[:, None], name="slow"
    )
    with pytest.raises(InputError, match=r"slow, to 0.1: no spline|slow: nothing moves by more"):
        from_motion(moving, tolerance=0.1)
