"""Motions of continuous snap: their derivatives against polynomials in fractions and closed forms, no jumps,
exact extremes, files.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from math import factorial, perm
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from arms import Array, random_arm

import forearm as fa
from forearm.errors import InputError
from forearm.trajectories import MotionLimits, SmoothMotion, load_motion, smooth

CLOSE = 1e-11  # of the largest value: polynomials of ninth degree by powers of shares


@pytest.fixture(scope="module")
def motion() -> SmoothMotion:
    """Four points with generic states, a joint that hardly moves, segments of different lengths."""
    rng = np.random.default_rng(8)
    sizes = np.array([1.0, 2.0, 5.0, 30.0, 200.0])[:, None]
    states = rng.normal(size=(4, 5, 3)) * sizes * [1.0, 0.3, 0.01]
    return SmoothMotion(states, np.array([0.7, 1.3, 0.31]), np.array([0, 2, 3]))


def exact_piece(begin: Array, end: Array, length: float) -> list[Fraction]:
    """Rising coefficients of the polynomial with these states at both ends, solved for in fractions."""
    h = Fraction(length)
    rows = [[Fraction(factorial(k) if i == k else 0) for i in range(10)] for k in range(5)]
    rows += [[perm(i, k) * h ** (i - k) if i >= k else Fraction(0) for i in range(10)] for k in range(5)]
    table = [row + [Fraction(float(x))] for row, x in zip(rows, [*begin, *end], strict=True)]
    for i in range(10):
        pivot = next(r for r in range(i, 10) if table[r][i] != 0)
        table[i], table[pivot] = table[pivot], table[i]
        table[i] = [x / table[i][i] for x in table[i]]
        for r in range(10):
            if r != i and table[r][i] != 0:
                table[r] = [x - table[r][i] * y for x, y in zip(table[r], table[i], strict=True)]
    return [row[10] for row in table]


def exact_value(c: list[Fraction], order: int, x: Fraction) -> float:
    return float(sum(perm(i, order) * c[i] * x ** (i - order) for i in range(order, 10)))


def test_derivatives_are_those_of_the_polynomials_in_fractions(motion: SmoothMotion) -> None:
    for k in range(3):
        shares = [Fraction(1, 9), Fraction(2, 5), Fraction(5, 8), Fraction(31, 32)]
        begun, length = motion.switches[k], motion.segments[k]
        found = motion.derivatives(begun + np.array([float(x) for x in shares]) * length)
        for joint in range(3):
            c = exact_piece(motion.states[k, :, joint], motion.states[k + 1, :, joint], length)
            for order in range(5):
                exact = [exact_value(c, order, x * Fraction(length)) for x in shares]
                largest = np.abs(motion._bounds(order)).max()
                assert np.abs(found[order][:, joint] - exact).max() <= CLOSE * largest, (k, joint, order)


def test_no_derivative_jumps_where_polynomials_meet_and_in_their_middles(motion: SmoothMotion) -> None:
    for order, states in enumerate(np.moveaxis(motion.states, 1, 0)):
        assert (motion.derivatives(motion.switches)[order] == states).all()  # to the bit, the ends included
    middles = motion.switches[:-1] + 0.5 * motion.segments
    for places in (motion.switches[1:-1], middles):
        sides = [motion.derivatives(np.nextafter(places, side)) for side in (-np.inf, np.inf)]
        for order, (left, right) in enumerate(zip(*sides, strict=True)):
            jump = np.abs(left - right).max()
            assert jump <= CLOSE * np.abs(motion._bounds(order)).max(), (order, jump)


def test_extremes_are_exact(motion: SmoothMotion) -> None:
    t = np.unique(np.concatenate([np.linspace(0.0, motion.duration, 40001), motion.switches]))
    found = motion.derivatives(t)
    least, most, fastest = motion.extremes()
    pairs = [(-least, (-found[0]).max(axis=0)), (most, found[0].max(axis=0)), (fastest, motion.peaks[0])]
    pairs += [(motion.peaks[k - 1], np.abs(found[k]).max(axis=0)) for k in range(1, 5)]
    for bound, sampled in pairs:
        assert (bound >= sampled * (1.0 - 1e-12)).all()
        assert np.allclose(bound, sampled, rtol=1e-5)


def test_times_at_which_joints_have_a_velocity(motion: SmoothMotion) -> None:
    wanted = np.array([[0.0, 0.1, np.nan], [0.7, np.nan, -0.004]])
    found = np.sort(motion.passages(wanted))
    t = np.linspace(0.0, motion.duration, 200001)
    qd = motion.at(t)[1]
    crossed = [
        t[:-1][(qd[:-1, i] - v) * (qd[1:, i] - v) < 0.0] for (_, i), v in np.ndenumerate(wanted) if v == v
    ]
    expected = np.sort(np.concatenate(crossed))
    assert len(expected) == len(found) > 5
    assert np.abs(found - expected).max() < 2.0 * t[1]


def test_the_same_in_more_time(motion: SmoothMotion) -> None:
    slow, t = motion.slowed(1.7), np.linspace(0.0, motion.duration, 31)
    for order, (a, b) in enumerate(zip(motion.derivatives(t), slow.derivatives(1.7 * t), strict=True)):
        assert np.allclose(a, b * 1.7**order, rtol=0.0, atol=1e-11 * np.abs(a).max())
    assert np.allclose(slow.times, 1.7 * motion.times)


def test_a_file_gives_the_same_motion_to_the_bit(motion: SmoothMotion, tmp_path: Path) -> None:
    arm = random_arm(4, 3)
    motion.save(tmp_path / "motion.json")
    again = load_motion(arm, tmp_path / "motion.json")
    assert isinstance(again, SmoothMotion)
    for name in ("states", "segments", "passed", "points", "times"):
        assert (getattr(again, name) == getattr(motion, name)).all(), name
    assert not again.states.flags.writeable
    t = np.linspace(0.0, motion.duration, 50)
    assert all((a == b).all() for a, b in zip(motion.derivatives(t), again.derivatives(t), strict=True))
    assert fa.plan(arm, tmp_path / "motion.json").duration == motion.duration
    motion.save(tmp_path / "motion.csv", step=0.01)
    assert (tmp_path / "motion.csv").read_text().startswith("t,q1,q2,q3,qd1")
    assert repr(motion).startswith("<SmoothMotion of 3 joints through 3 points in 2.31")


@pytest.mark.parametrize(
    ("key", "change", "said"),
    [
        ("snaps", lambda x: x[:-1], r"snaps: expected 4 x 3 numbers"),
        ("segments", lambda x: [0.0, *x[1:]], r"polynomial 1: its duration is 0, but the state changes"),
        (
            "passed",
            lambda x: [0, 3, 2],
            r"passed: expected at least two whole numbers, increasing from 0 to 3",
        ),
        ("jerks", None, r"missing key 'jerks'"),
    ],
)
def test_a_file_that_is_wrong_is_refused(
    motion: SmoothMotion, tmp_path: Path, key: str, change: Callable[[Any], Any] | None, said: str
) -> None:
    motion.save(tmp_path / "motion.json")
    document = json.loads((tmp_path / "motion.json").read_text())
    if change is None:
        del document[key]
    else:
        document[key] = change(document[key])
    (tmp_path / "motion.json").write_text(json.dumps(document))
    with pytest.raises(InputError, match=said):
        load_motion(random_arm(4, 3), tmp_path / "motion.json")


def test_segments_without_time_stand_between_the_same_states() -> None:
    points, limits = [[0.1, 0.2], [0.1, 0.2], [0.5, -0.3], [0.5, -0.3]], MotionLimits([2.0, 3.0])
    motion = smooth(points, limits)
    assert (motion.points == points).all()
    assert motion.times[0] == motion.times[1] == 0.0
    assert motion.times[2] == motion.times[3] == motion.duration
    assert (motion.at([0.0, motion.duration])[0] == points[::3]).all()
    still = smooth(points[:2], limits)
    assert still.duration == 0.0
    assert [x.tolist() for x in still.derivatives(0.0)] == [[0.1, 0.2], *[[0.0, 0.0]] * 4]
    assert smooth(points[:2], limits, duration=1.5).peaks.max() == 0.0
