"""Plans in machine code against the same formula on floats and arrays, to the bit, and joints against
themselves alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import pytest
from fuzz_trajectories import make
from numpy.typing import NDArray

from forearm.errors import InputError
from forearm.trajectories import MotionLimits, Plans, PlanStatus, bang_bang, bang_bang_many, compiled_planner
from forearm.trajectories.synchronise import SynchronisedPlan, synchronised

Array = NDArray[np.float64]
Four = tuple[Array, Array, Array, Array]
LIMITS = MotionLimits([2.0, 0.7, 5.0], [1.5, 0.9, 2.0], [-3.0, -2.0, -1.0], [2.5, 2.2, 4.0])


def requests(seed: int, count: int, limits: MotionLimits = LIMITS) -> Four:
    """Some faster than allowed at the start or the end, some out of range."""
    rng = np.random.default_rng(seed)
    shape = (count, limits.n)
    q0, q1 = (rng.uniform(limits.lower - 0.01, limits.upper + 0.01, shape) for _ in range(2))
    qd0, qd1 = (rng.uniform(-limits.velocity, limits.velocity, shape) for _ in range(2))
    return (
        q0,
        qd0 * rng.choice([0.3, 1.0, 1.5], shape),
        q1,
        qd1 * rng.choice([0.3, 1.001], shape, p=[0.9, 0.1]),
    )


def row(asked: Four, i: Any) -> Four:
    return asked[0][i], asked[1][i], asked[2][i], asked[3][i]


def reference(asked: Four, limits: MotionLimits, duration: Array | None = None) -> SynchronisedPlan:
    """The formula on arrays (B,)."""
    rows = [list(np.broadcast_to(x, asked[0].shape).T) for x in limits.arrays]
    with np.errstate(all="ignore"):
        return synchronised([list(np.asarray(x, dtype=np.float64).T) for x in asked], rows, duration)


def check_same(plans: Plans, wanted: SynchronisedPlan) -> None:
    assert np.array_equal(plans.status, wanted.status)
    good = plans.status == PlanStatus.PLANNED
    for got, want in (
        (plans.duration, wanted.duration),
        (plans.held, np.transpose(wanted.held)),
        (plans.phases, np.transpose(wanted.phases, (2, 0, 1))),
    ):
        assert np.array_equal(got[good], np.asarray(want)[good])
        assert np.isnan(got[~good]).all()


@pytest.mark.slow
def test_machine_code_is_the_formula_to_the_bit() -> None:
    asked = requests(1, 3000)
    # at speed before its bound, which it cannot reach as late as the second joint needs
    for x, row in zip(
        asked, ((2.4, -2.0, 0.0), (1.4, 0.0, 0.0), (2.45, 2.0, 0.0), (1.4, 0.0, 0.0)), strict=True
    ):
        x[0] = row
    plans = bang_bang_many(*asked, LIMITS)
    check_same(plans, reference(asked, LIMITS))
    assert plans.status[0] == PlanStatus.NOTHING_COMMON
    longer = np.nan_to_num(plans.duration) * np.random.default_rng(2).choice([0.9, 1.0, 1.2, 3.0], 3000)
    again = bang_bang_many(*asked, LIMITS, longer)
    check_same(again, reference(asked, LIMITS, longer))
    kinds = set(plans.status.tolist()) | set(again.status.tolist())
    assert kinds == set(PlanStatus) - {PlanStatus.NO_NUMBER, PlanStatus.TOO_HARD}


def test_one_plan_is_the_formula_on_floats_to_the_bit() -> None:
    asked = requests(3, 300)
    planned = 0
    for i in range(300):
        q0, qd0, q1, qd1 = states = [x.tolist() for x in row(asked, i)]
        want = synchronised(states, [x.tolist() for x in LIMITS.arrays])
        if want.status != PlanStatus.PLANNED:
            with pytest.raises(InputError, match=r"bang_bang, joint \d: "):
                bang_bang(q0, qd0, q1, qd1, LIMITS)
            continue
        made = bang_bang(*row(asked, i), LIMITS)
        assert made.phases[0].tolist() == [list(x) for x in want.phases]
        assert made.accelerations[0].tolist() == [list(x) for x in want.accelerations]
        assert made.points.tolist() == [states[0], states[2]]
        assert made.velocities.tolist() == [states[1], states[3]]
        planned += 1
    assert planned > 50


def edges() -> Iterator[tuple[Four, MotionLimits]]:
    """Numbers at the ends of what is allowed, one joint, and what the fuzzer thinks of."""
    for a, v in ((1e-30, 1.0), (1.0, 1e30), (1e30, 1e-30)):
        places = (0.0, -0.0, 1e-300, 1e-30, 1.0, np.nextafter(1.0, 2.0), 1e30, -1e30)
        speeds = (0.0, v, -v, v / 3.0, -v * 1e-20, 5e-324, 2.0 * v)
        q0, qd0, q1, qd1 = np.array(list(product(places, speeds, places, speeds))).T[:, :, None]
        yield (q0, qd0, q1, qd1), MotionLimits([a], [v])
    for block in range(3):
        made = make(31, block, 500)
        yield (made.q0, made.qd0, made.q1, made.qd1), made.limits


@pytest.mark.slow
def test_edges_are_the_formula_to_the_bit() -> None:
    refused = 0
    for asked, limits in edges():
        plans = bang_bang_many(*asked, limits)
        check_same(plans, reference(asked, limits))
        refused += int((plans.status != PlanStatus.PLANNED).sum())
    assert refused > 300


def test_numbers_that_are_none_touch_their_own_row_alone() -> None:
    asked = requests(4, 40)
    want = bang_bang_many(*asked, LIMITS)
    for k, bad in product(range(4), (np.nan, np.inf, -np.inf, np.nextafter(1e30, 2e30), 1e300)):
        asked[k][7 * k, k % 3] = bad
        plans = bang_bang_many(*asked, LIMITS)
        assert plans.status[7 * k] == PlanStatus.NO_NUMBER
        with pytest.raises(InputError, match=f"bang_bang, {compiled_planner.STATES[k]}: "):
            bang_bang(*row(asked, 7 * k), LIMITS)
        floats = [x.tolist() for x in row(asked, 7 * k)]
        assert synchronised(floats, [x.tolist() for x in LIMITS.arrays]).status == PlanStatus.NO_NUMBER
        rest = np.arange(40) > 7 * k
        assert np.array_equal(plans.phases[rest], want.phases[rest], equal_nan=True)
    wrong = np.array([np.nan, np.inf, -np.inf, -1.0, 1e100, 1e300])
    still = np.zeros((6, 3))
    assert (bang_bang_many(still, still, still, still, LIMITS, wrong).status == PlanStatus.DURATION).all()


def many_joints(n: int, count: int) -> tuple[Four, MotionLimits]:
    """Also of another type and order in memory."""
    rng = np.random.default_rng(n)
    limits = MotionLimits(rng.uniform(1.0, 5.0, n), rng.uniform(1.0, 2.0, n))
    q0, q1 = rng.uniform(-2.0, 2.0, (2, count, n))
    qd0, qd1 = rng.uniform(-1.0, 1.0, (2, count, n)).astype(np.float32)
    return (np.asfortranarray(q0), qd0, q1[::-1], qd1), limits


@pytest.mark.slow
@pytest.mark.parametrize("n", [20, compiled_planner.MOST_JOINTS + 6])
def test_many_joints_move_as_each_does_alone_in_the_time_of_all(n: int) -> None:
    asked, limits = many_joints(n, 3)
    plans = bang_bang_many(*asked, limits)
    assert not plans.status.any()
    check_same(plans, reference(asked, limits))
    for i in range(3):
        made = bang_bang(*row(asked, i), limits)
        assert np.array_equal(made.phases, plans[i].phases)
        for k in range(0, n, 7):
            own = MotionLimits(limits.acceleration[k], limits.velocity[k])
            alone = bang_bang(*row(asked, (i, [k])), own, duration=float(plans.duration[i]))
            assert np.array_equal(alone.phases[0, 0], made.phases[0, k])
