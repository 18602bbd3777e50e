"""Plans of several joints: synchronised, within limits, asked at any time, refused with a reason."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from forearm import trajectories
from forearm.arm import Arm
from forearm.errors import InputError
from forearm.files.load import load
from forearm.trajectories import MotionLimits, PlanStatus, Switching, arm_limits, bang_bang, bang_bang_many
from forearm.trajectories.joint import durations

Array = NDArray[np.float64]
ROUNDING = 1e-13  # relative: a few dozen operations
LIMITS = MotionLimits([2.0, 0.7, 5.0], [1.5, 0.9, 2.0], [-3.0, -2.0, -1.0], [2.5, 2.2, 4.0])


def requests(seed: int, count: int, limits: MotionLimits = LIMITS) -> tuple[Array, Array, Array, Array]:
    rng = np.random.default_rng(seed)
    shape = (count, limits.n)
    q0, q1 = (rng.uniform(limits.lower, limits.upper, shape) for _ in range(2))
    qd0, qd1 = (0.8 * rng.uniform(-limits.velocity, limits.velocity, shape) for _ in range(2))
    return q0, qd0, q1, qd1


def rows(asked: tuple[Array, Array, Array, Array], i: int | slice) -> tuple[Array, Array, Array, Array]:
    return asked[0][i], asked[1][i], asked[2][i], asked[3][i]


def motions(seed: int, count: int) -> list[Switching]:
    plans = bang_bang_many(*requests(seed, count), LIMITS)
    return [plans[int(i)] for i in np.flatnonzero(plans.status == PlanStatus.PLANNED)]


def test_common_duration_is_the_smallest_one() -> None:
    """Against a search over a fine grid of durations, gaps of all joints included."""
    q0, qd0, q1, qd1 = requests(2, 100)
    # short ways at speed: many gaps
    q1, qd1 = q0 + 0.15 * np.abs(q1 - q0) * np.sign(qd0), np.abs(qd1) * np.sign(qd0)
    wide = MotionLimits(LIMITS.acceleration, LIMITS.velocity)
    plans, gaps = bang_bang_many(q0, qd0, q1, qd1, wide), 0
    assert (plans.status == PlanStatus.PLANNED).all()
    for i in range(100):
        shortest, start, end = durations(
            q0[i], qd0[i], q1[i], qd1[i], wide.acceleration, wide.velocity, -np.inf, np.inf
        )
        grid = np.linspace(0.0, 1.2 * plans.duration[i], 5001)[:, None]
        possible = ((grid >= shortest) & ~((grid > start) & (grid < end))).all(axis=1)
        first = float(grid[possible.argmax(), 0])
        assert 0.0 <= first - plans.duration[i] <= 1.2 * plans.duration[i] / 5000 * (1.0 + 1e-9)
        gaps += plans.duration[i] > shortest.max()
    assert gaps > 5


def test_states_meet_at_switches_and_are_derivatives_of_each_other() -> None:
    """The ends are the points to the bit."""
    h = 1e-6
    for motion in motions(3, 60):
        T = motion.duration
        q, qd, _ = motion.at([0.0, T])
        assert np.array_equal(q, motion.points)
        assert np.array_equal(qd, motion.velocities)
        t = motion.switches[1:-1]
        around = np.concatenate([t * (1.0 - 1e-12), t * (1.0 + 1e-12)]).clip(0.0, T)
        q, qd, _ = (x.reshape(2, len(t), -1) for x in motion.at(around))
        assert np.abs(np.diff(q, axis=0)).max() < 1e-10  # 1e-12 of the time at some 10 per second
        assert np.abs(np.diff(qd, axis=0)).max() < 1e-10
        assert np.array_equal(motion.at(t[0])[0], motion.at(t)[0][0])
        t = np.random.default_rng(0).uniform(2 * h, T - 2 * h, 200)
        t = t[np.abs(t[:, None] - motion.switches).min(axis=1) > 2 * h]
        before, now, after = motion.at(t - h), motion.at(t), motion.at(t + h)
        # Of a quadratic the central difference is the derivative; what is left is rounding over h.
        assert np.abs((after[0] - before[0]) / (2 * h) - now[1]).max() < 1e-9
        assert np.abs((after[1] - before[1]) / (2 * h) - now[2]).max() < 1e-9
        assert set(np.unique(np.abs(motion.accelerations[0]) / LIMITS.acceleration[:, None])) <= {0.0, 1.0}


def test_extremes_are_those_of_a_fine_sample_and_within_the_limits() -> None:
    turned = 0
    for motion in motions(5, 100):
        least, most, fastest = motion.extremes()
        q, qd, _ = motion.at(np.linspace(0.0, motion.duration, 2001))
        # the sample misses a turning point by half of 5 / 8 (T / 2000)^2
        assert np.abs(q.min(axis=0) - least).max() < 1e-5
        assert np.abs(q.max(axis=0) - most).max() < 1e-5
        assert (np.abs(qd).max(axis=0) <= fastest * (1.0 + ROUNDING)).all()
        assert (least >= LIMITS.lower - ROUNDING).all()
        assert (most <= LIMITS.upper + ROUNDING).all()
        assert (fastest <= LIMITS.velocity * (1.0 + ROUNDING)).all()
        turned += int(np.isfinite(motion.turning()).sum())
    assert turned > 50


def test_a_given_duration_is_kept_or_refused_with_what_is_possible() -> None:
    limits = MotionLimits(1.0, 2.0)
    for T in (0.65, 0.9, 1.0, 3.0, 3.1, 50.0):
        motion = bang_bang([0.0], [1.0], [0.75], [1.0], limits, duration=T)
        assert motion.duration == pytest.approx(T, rel=ROUNDING)
    assert bang_bang([0.0], [1.0], [0.75], [1.0], limits).duration == pytest.approx(
        2.0 * (np.sqrt(1.75) - 1.0)
    )
    with pytest.raises(
        InputError,
        match=(
            r"joint 1: the requested duration is not feasible: got 2\.0 s; feasible from "
            r"0\.645751 s except"
        ),
    ):
        bang_bang([0.0], [1.0], [0.75], [1.0], limits, duration=2.0)
    with pytest.raises(InputError, match=r"got 0\.5 s; feasible from 0\.645751 s except 1 to 3 s"):
        bang_bang([0.0], [1.0], [0.75], [1.0], limits, duration=0.5)
    many = bang_bang_many([[0.0]] * 3, [[1.0]] * 3, [[0.75]] * 3, [[1.0]] * 3, limits, [0.9, 2.0, 4.0])
    assert many.status.tolist() == [PlanStatus.PLANNED, PlanStatus.DURATION, PlanStatus.PLANNED]
    again = bang_bang([0.0], [1.0], [0.75], [1.0], limits)
    # its own duration, rounded, is possible
    bang_bang([0.0], [1.0], [0.75], [1.0], limits, duration=again.duration)


REFUSED = {
    PlanStatus.TOO_FAST: (
        ([0.0, 0.0], [0.0, 0.0], [0.0, 0.0], [2.0, 0.0]),
        r"joint 1: the end velocity .*: 2\.0, allowed 1\.0",
    ),
    PlanStatus.OUT_OF_RANGE: (
        ([0.0, 0.0], [0.0, 0.0], [0.0, 2.0], [0.0, 0.0]),
        r"joint 2: .* outside .*: 0\.0 and 2\.0, allowed -1\.0",
    ),
    PlanStatus.NO_ROOM: (
        ([0.9, 0.0], [0.9, 0.0], [0.0, 0.0], [0.0, 0.0]),
        r"joint 1: .* reverse .*: it stops at 1\.305",
    ),
    PlanStatus.NOTHING_COMMON: (
        ([0.9, -1.0], [0.9, 0.0], [0.95, 1.0], [0.9, 0.0]),
        r"joint 1: no common duration.*: at most 0\.0564404 s, another needs 2\.5 s",
    ),
}


@pytest.mark.parametrize("status", REFUSED)
def test_what_cannot_be_planned_is_refused_with_the_reason(status: PlanStatus) -> None:
    limits = MotionLimits([1.0, 2.0], 1.0, -1.0, 1.0)
    asked, message = REFUSED[status]
    with pytest.raises(InputError, match=message):
        bang_bang(*asked, limits)
    q0, qd0, q1, qd1 = ([x, [0.0, 0.0]] for x in asked)
    plans = bang_bang_many(q0, qd0, q1, qd1, limits)
    assert plans.status.tolist() == [status, PlanStatus.PLANNED]
    assert np.isnan(plans.held[0]).all()
    with pytest.raises(InputError, match=r"plans\[0\]: "):
        plans[0]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ((1.0, 1.0, [0.0, 3.0], 1.0), r"joint 2: lower 3\.0 lies above upper 1\.0"),
        (([0.0, 1.0],), "acceleration of joint 1: must be above 0"),
        ((np.inf,), "must be finite"),
        ((1.0, np.nan), "expected numbers, got NaN"),
        (([1.0, 2.0, 3.0], [1.0, 2.0]), r"velocity: expected one number or 3, got shape \(2,\)"),
        (
            (np.ones((5, 3)), 1.0, np.zeros((4, 3))),
            r"lower: expected one number or 3, or shape \(5, 3\), got shape \(4, 3\)",
        ),
        (
            (1.0, np.where(np.arange(15).reshape(5, 3) == 10, 0.0, 1.0)),
            r"velocity of joint 2 in row 3: must be above 0, got 0\.0",
        ),
    ],
)
def test_limits_are_checked(given: tuple[Any, ...], said: str) -> None:
    with pytest.raises(InputError, match=said):
        MotionLimits(*given)


def test_limits_come_from_the_arm_and_times_lie_inside() -> None:
    panda: Arm = load("panda")
    limits = arm_limits(panda, 5.0)
    assert limits.lower.tolist() == [joint.limits.lower for joint in panda.joints]
    assert arm_limits(panda, 5.0, 0.5).velocity.tolist() == [0.5] * panda.n
    with pytest.raises(InputError, match=r"q0: expected shape \(B, 1\)"):
        bang_bang_many([0.0], [0.0], [0.0], [0.0], MotionLimits(1.0, 1.0))
    motion = bang_bang([0.0], [0.0], [1.0], [0.0], MotionLimits(1.0, 1.0))
    for t in (3.0, [np.nan]):
        with pytest.raises(InputError, match="outside"):
            motion.at(t)


def test_a_start_above_the_velocity_limit_brakes_first() -> None:
    """From 3 to a limit of 1 with a = 2: in 1 s, over 2, and then as a joint that starts at its limit."""
    limits, tail = MotionLimits(2.0, 1.0), bang_bang([2.0], [1.0], [5.0], [0.5], MotionLimits(2.0, 1.0))
    motion = bang_bang([0.0], [3.0], [5.0], [0.5], limits)
    assert motion.duration == pytest.approx(1.0 + tail.duration, rel=ROUNDING)
    t = np.linspace(0.0, tail.duration, 50)
    for whole, part in zip(motion.at(np.minimum(1.0 + t, motion.duration)), tail.at(t), strict=True):
        assert np.abs(whole - part)[:-1].max() < 1e-12
    assert (np.abs(motion.at(1.0 + t[:-1])[1]) <= 1.0 + 1e-12).all()
    back = bang_bang([0.0], [3.0], [-1.0], [0.0], limits)  # it turns round where it must: at 9 / 4
    assert back.extremes()[1][0] == pytest.approx(2.25, rel=ROUNDING)
    with pytest.raises(InputError, match=r"joint 1: .*reverse.*: it stops at 2\.25 .*allowed -1\.0 to 2\.0"):
        bang_bang([0.0], [3.0], [1.0], [0.0], MotionLimits(2.0, 1.0, -1.0, 2.0))
    with pytest.raises(InputError, match=r"joint 1: .* outside .*: -1\.5 and 1\.0"):
        bang_bang([-1.5], [3.0], [1.0], [0.0], MotionLimits(2.0, 1.0, -1.0, 2.0))


def test_limits_may_have_a_row_for_each_plan() -> None:
    """Each row is what one plan within its limits gives, to the bit, in blocks and beyond."""
    asked, rng = requests(8, 300), np.random.default_rng(8)
    shares = rng.uniform(0.5, 2.0, (2, 300, 3))
    limits = MotionLimits(
        LIMITS.acceleration * shares[0],
        LIMITS.velocity * shares[1],
        LIMITS.lower,
        LIMITS.upper + rng.uniform(0.0, 1.0, (300, 1)),
    )
    plans = bang_bang_many(*asked, limits)
    assert limits.count == 300
    assert {PlanStatus.PLANNED, PlanStatus.TOO_FAST, PlanStatus.NO_ROOM} <= set(plans.status.tolist())
    for i in range(0, 300, 7):
        own = MotionLimits(limits.acceleration[i], limits.velocity[i], limits.lower[i], limits.upper[i])
        alone = bang_bang_many(*rows(asked, slice(i, i + 1)), own)
        assert alone.status[0] == plans.status[i]
        assert np.array_equal(alone.phases[0], plans.phases[i], equal_nan=True)
        if alone.status[0] == PlanStatus.PLANNED:
            assert np.array_equal(plans[i].accelerations, alone[0].accelerations)
    with pytest.raises(InputError, match=r"through, limits: expected those of one plan"):
        trajectories.through(asked[0][:3], None, limits)
