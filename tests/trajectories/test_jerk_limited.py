"""Motions with limits of jerk: closed forms, Ruckig's durations, brute force, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from forearm.errors import InputError
from forearm.trajectories import (
    JerkMotion,
    JerkPlans,
    MotionLimits,
    PlanStatus,
    bang_bang_many,
    jerk_limited,
    jerk_limited_many,
)
from forearm.trajectories.jerk_limited.compiled_joint import duration_function, phases_function
from forearm.trajectories.jerk_limited.duration import velocity_durations
from forearm.trajectories.jerk_limited.extremal import Ends, farthest
from forearm.trajectories.jerk_limited.joint import first_possible, phases
from forearm.trajectories.jerk_limited.lanes import common_durations

Array = NDArray[np.float64]
RECORDED, NEAR = (
    json.loads((Path(__file__).parent / name).read_text(encoding="utf-8"))
    for name in ("ruckig_jerk.json", "ruckig_near.json")
)
STATES = ("q0", "qd0", "qdd0", "q1", "qd1", "qdd1")
AGREEMENT = 1e-9  # s: Ruckig solves some of its profiles to about 1e-10
TRACED = 1e-9  # relative: machine code may fuse products and sums, and Newton's steps end at 1e-11


def plan(states: Iterable[Array], limits: MotionLimits, duration: float | None = None) -> JerkMotion:
    """One motion between q0, qd0, qdd0 and q1, qd1, qdd1."""
    q0, qd0, qdd0, q1, qd1, qdd1 = states
    return jerk_limited(q0, qd0, qdd0, q1, qd1, qdd1, limits, duration)


def plans_of(
    states: Iterable[Array], limits: MotionLimits, duration: Sequence[float] | None = None
) -> JerkPlans:
    """Many of them."""
    q0, qd0, qdd0, q1, qd1, qdd1 = states
    return jerk_limited_many(q0, qd0, qdd0, q1, qd1, qdd1, limits, duration)


def one(way: float, v0: float, a0: float, v1: float, a1: float, limits: MotionLimits) -> float:
    """The shortest duration of one joint."""
    return jerk_limited([0.0], [v0], [a0], [way], [v1], [a1], limits).duration


def random_requests(rng: np.random.Generator, count: int, n: int) -> tuple[list[Array], MotionLimits]:
    """States (B, n) within the limits."""
    v, a, j = rng.uniform(0.5, 2.0, n), rng.uniform(1.0, 5.0, n), rng.uniform(3.0, 40.0, n)
    qd0, qd1 = 0.7 * rng.uniform(-v, v, (2, count, n))
    qdd0, qdd1 = 0.4 * rng.uniform(-1.0, 1.0, (2, count, n)) * np.minimum(a, np.sqrt(0.6 * v * j))
    q0, q1 = rng.uniform(-1.0, 1.0, (2, count, n))
    return [q0, qd0, qdd0, q1, qd1, qdd1], MotionLimits(a, v, jerk=j)


@pytest.mark.parametrize("way", [1e-6, 0.03, 0.7, 4.0, -9.0])
def test_from_rest_to_rest_in_closed_form(way: float) -> None:
    """Four ramps of jerk; with a rest at full acceleration; with one at full speed; going on at speed."""
    v, a, j, d = 1.7, 2.3, 9.1, abs(way)
    jerk_only = MotionLimits(1e9, 1e9, jerk=j)
    assert one(way, 0.0, 0.0, 0.0, 0.0, jerk_only) == pytest.approx(
        4.0 * (d / (2.0 * j)) ** (1 / 3), rel=1e-12
    )
    if 2.0 * a**3 / j**2 <= d:
        expected = a / j + np.sqrt((a / j) ** 2 + 4.0 * d / a)
        assert one(way, 0.0, 0.0, 0.0, 0.0, MotionLimits(a, 1e9, jerk=j)) == pytest.approx(
            expected, rel=1e-12
        )
    limits = MotionLimits(2.0, 1.5, jerk=7.0)
    assert one(0.0, 0.6, 0.4, 0.6, 0.4, limits) == 0.0  # from a state to itself
    assert one(2.0 * d, 1.5, 0.0, 1.5, 0.0, limits) == pytest.approx(2.0 * d / 1.5, rel=1e-14)
    if d >= v * (v / a + a / j):
        expected = d / v + v / a + a / j
        assert one(way, 0.0, 0.0, 0.0, 0.0, MotionLimits(a, v, jerk=j)) == pytest.approx(expected, rel=1e-12)


def test_a_large_jerk_comes_to_the_durations_without_a_limit() -> None:
    rng = np.random.default_rng(3)
    (q0, qd0, _, q1, qd1, _), limits = random_requests(rng, 200, 3)
    rest = np.zeros(q0.shape)
    hard = limits.with_jerk(1e9)
    without = bang_bang_many(q0, qd0, q1, qd1, limits).duration
    assert np.allclose(jerk_limited_many(q0, qd0, rest, q1, qd1, rest, hard).duration, without, atol=1e-6)


@pytest.mark.slow
def test_durations_are_those_of_ruckig() -> None:
    """At rest and moving, accelerating at either end, blocked durations, starts beyond the limits."""
    blocked = braking = 0
    for case in RECORDED["cases"]:
        limits = MotionLimits(case["acceleration"], case["velocity"], jerk=case["jerk"])
        states = [np.array(case[name]) for name in STATES]
        motion = plan(states, limits)
        assert abs(motion.duration - case["duration"]) < AGREEMENT, case
        columns = [x[:, None] for x in states]
        a, v, jerk = (x[:, None] for x in (limits.acceleration, limits.velocity, limits.jerk))
        each = MotionLimits(a, v, jerk=jerk)
        blocked += motion.duration > plans_of(columns, each).duration.max() + AGREEMENT
        braking += bool((motion.phases[..., :2] > 0.0).any())
    assert blocked > 5
    assert braking > 20
    assert len(RECORDED["cases"]) == 400


def test_durations_between_near_states_are_those_of_ruckig() -> None:
    """Requests that turn round within one push, whose feasible durations end soon, and last parts of fastest
    motions; the shortest duration, and the next one from 1.5 times it on.
    """
    blocked = 0
    for case in NEAR["cases"]:
        limits = MotionLimits(case["acceleration"], case["velocity"], jerk=case["jerk"])
        states = [np.array(case[name]) for name in STATES]
        assert abs(plan(states, limits).duration - case["duration"]) < AGREEMENT, case
        if "after" in case:
            later = 1.5 * case["duration"]
            lanes = [*(x[:, None] for x in states), *limits.columns]
            assert abs(common_durations(lanes, 1, np.array([later]))[0] - case["after"]) < AGREEMENT, case
            blocked += case["after"] > later + AGREEMENT
    assert blocked > 30
    quoted = NEAR["cases"][0]
    assert (quoted["qd0"], quoted["qd1"], quoted["q1"]) == ([-0.73], [0.81], [-0.02])
    assert quoted["duration"] == pytest.approx(0.726662, abs=1e-6)


def test_a_phase_of_full_jerk_is_planned_as_it_is() -> None:
    """Nothing else takes acceleration and velocity from one end to the other, as in the last phase of any
    fastest motion: a lost bit must not make the joint reverse.
    """
    rng = np.random.default_rng(17)
    states, limits = random_requests(rng, 5000, 1)
    v0, a0 = states[1:3]
    # the acceleration keeps its sign, so that velocity stays below the limit in between
    jerk = np.sign(a0) * limits.jerk * rng.choice([-1.0, 1.0], a0.shape)
    t = np.abs(a0 / jerk) * 10.0 ** rng.uniform(-3.0, -0.1, a0.shape)
    v1, a1 = v0 + t * (a0 + 0.5 * jerk * t), a0 + jerk * t
    x1 = t * (v0 + t * (0.5 * a0 + t * jerk / 6.0))
    kept = np.abs(np.concatenate([v0 + 0.5 * a0 * np.abs(a0) / limits.jerk, v1], axis=1)) < limits.velocity
    rows = kept.all(axis=1)
    plans = plans_of([x[rows] for x in (0.0 * x1, v0, a0, x1, v1, a1)], limits)
    assert rows.sum() > 4000
    assert np.allclose(plans.duration, t[rows, 0], rtol=1e-9, atol=0.0)


def test_whatever_a_lattice_of_jerks_reaches_can_be_planned_in_that_time() -> None:
    """All motions of eleven steps with jerk -1, 0 or 1: every state that one of them ends in has a plan of
    that duration, and the shortest is no longer.
    """
    a_most, v_most, steps = 2, 5, 11
    start = (0, 1, 1)  # x in sixths, v in halves of the lattice's unit, a
    reached = {start}
    for _ in range(steps):
        following = set()
        for x, v, a in reached:
            for j in (-1, 0, 1):
                # x6' = x6 + 3 v2 + 3 a + j, v2' = v2 + 2 a + j, a' = a + j; v bends only where a passes 0
                state = (x + 3 * v + 3 * a + j, v + 2 * a + j, a + j)
                if abs(state[1]) <= 2 * v_most and abs(state[2]) <= a_most:
                    following.add(state)
        reached = following
    ends = np.array(sorted(reached), dtype=float)
    # the limits can be kept at the end, as they could before
    x1, v1, a1 = (ends[:, [i]] / scale for i, scale in enumerate((6.0, 2.0, 1.0)))
    x0, v0, a0 = (np.full_like(x1, value) for value in (start[0] / 6.0, start[1] / 2.0, start[2]))
    limits = MotionLimits(float(a_most), float(v_most), jerk=1.0)
    plans = jerk_limited_many(x0, v0, a0, x1, v1, a1, limits, np.full(len(ends), float(steps)))
    assert len(ends) > 2000
    assert (plans.status == PlanStatus.PLANNED).all()
    fastest = jerk_limited_many(x0, v0, a0, x1, v1, a1, limits)
    assert (fastest.duration <= steps * (1.0 + 1e-12)).all()
    assert (np.abs(fastest.duration - steps) < 1e-9).any()


def test_the_slope_of_the_farthest_way_is_its_derivative() -> None:
    rng = np.random.default_rng(5)
    V = np.full(2000, 1.3)
    v0, v1 = rng.uniform(-0.8, 0.8, (2, 2000))
    a0, a1 = rng.uniform(-0.9, 0.9, (2, 2000))
    ends, T, h = Ends(v0, a0, v1, a1, V), rng.uniform(5.0, 9.0, 2000), 1e-6
    before, here, after = (farthest(ends, T + s) for s in (-h, 0.0, h))
    off = np.abs((after.way - before.way) / (2.0 * h) - here.slope)
    # but where velocity V is reached, where it jumps
    assert np.sort(off)[-20] < 1e-7
    assert np.ptp(here.slope) > 0.3


def test_the_slope_of_the_farthest_way_falls_first_and_then_rises() -> None:
    """What the search for durations rests on: for all durations that the change of velocity can take, up to
    where velocity V is held.
    """
    rng = np.random.default_rng(6)
    bends = 0
    for _ in range(120):
        V = 10.0 ** rng.uniform(-1.5, 1.5)
        v0, v1 = rng.uniform(-V, V, 2)
        a0, a1 = rng.uniform(-1.0, 1.0, 2) * np.minimum(1.0, np.sqrt(2.0 * (V - np.abs([v0, v1]))))
        ends = Ends(v0, a0, v1, a1, V)
        shortest, start, end = velocity_durations(ends)
        last = end + 4.0 * V + 8.0
        for low, high in [(shortest, start), (end, last)] if end > start else [(shortest, last)]:
            T = low + (high - low) * np.linspace(0.0, 1.0, 600) ** 2
            found = farthest(ends, T)
            change = np.diff(np.where(found.times[3] > 0.0, np.nan, found.slope))
            rises = change[np.abs(change) > 1e-9] > 0.0
            assert (np.diff(rises.astype(int)) >= 0).all(), ends
            bends += bool(rises.any() and not rises.all())
    assert bends > 12


def test_machine_code_is_the_reference() -> None:
    rng = np.random.default_rng(7)
    states, limits = random_requests(rng, 500, 3)
    states[1][:50] *= 2.5  # these brake first
    lanes = [x.reshape(-1, 1) for x in (*states, *(np.tile(x, (500, 1)) for x in (limits.velocity,)))]
    lanes += [np.tile(x, (500, 1)).reshape(-1, 1) for x in (limits.acceleration, limits.jerk)]
    nothing = np.zeros_like(lanes[0])
    found = duration_function()(*lanes, nothing)
    T, again = first_possible(*(x[:, 0] for x in (*lanes, nothing)))
    assert np.allclose(found[:, 0], T, rtol=TRACED, atol=0.0)
    assert (found[:, 1] == again).all()
    later = 1.7 * found[:, :1]
    times, jerks, blocked = phases_function()(*lanes, later)
    reference = phases(*(x[:, 0] for x in (*lanes, later)))
    for i, (t, j) in enumerate(zip(*reference[:2], strict=True)):
        assert np.allclose(times[:, i], t, rtol=0.0, atol=TRACED * later.max())
        same = times[:, i] > 1e-6
        assert np.allclose(jerks[same, i], np.broadcast_to(j, same.shape)[same], rtol=0.0, atol=1e-7)
    assert (blocked[:, 0] == reference[2]).all()
    k = int(rng.integers(len(lanes[0])))
    single = first_possible(*(float(x[k, 0]) for x in (*lanes, nothing)))
    assert single[0] == pytest.approx(float(found[k, 0]), rel=TRACED)


def test_a_duration_that_is_blocked_is_refused_and_skipped() -> None:
    """A joint that goes on at speed over a short way can brake a little, or turn round twice."""
    limits = MotionLimits(2.0, 2.0, jerk=20.0)
    joint = [np.array([x]) for x in (0.0, 1.0, 0.0, 0.2, 1.0, 0.0)]
    shortest = plan(joint, limits).duration
    with pytest.raises(
        InputError,
        match=r"joint 1: the requested duration is not feasible: got 0\.8 s; feasible "
        rf"from {shortest:.6g} s, and after 0\.8 s from 2 s\.$",
    ):
        plan(joint, limits, 0.8)
    with pytest.raises(InputError, match=r"feasible from 0\.\d+ s\.$"):
        plan(joint, limits, 0.5 * shortest)
    # another joint that needs such a time makes both wait until the first can follow
    both = [np.array([x[0], y]) for x, y in zip(joint, (0.0, 0.0, 0.0, 0.25, 0.0, 0.0), strict=True)]
    pair = MotionLimits([2.0, 2.0], [2.0, 2.0], jerk=[20.0, 20.0])
    slow = plan((x[1:] for x in both), MotionLimits(2.0, 2.0, jerk=20.0)).duration
    together = plan(both, pair).duration
    assert shortest < slow < together
    plans = plans_of((np.stack([x, x]) for x in both), pair, [slow, together])
    assert plans.status.tolist() == [PlanStatus.DURATION, PlanStatus.PLANNED]
    assert np.isnan(plans.duration[0])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"qd1": 3.0}, r"joint 2: the end velocity exceeds the joint's limit: 3\.0, allowed 2\.0\."),
        (
            {"qdd1": 9.0},
            r"joint 2: the end accelerates more .*: 9\.0, from velocity .*, allowed 4\.0 and 2\.0",
        ),
        (
            {"q1": 8.0},
            r"joint 2: the start or the end lies outside the joint's range: 0\.1 and 8\.0, allowed",
        ),
        ({"qd0": 1.9, "q0": 1.4}, r"joint 2: the joint would have to reverse outside its range: it goes "),
    ],
)
def test_what_is_refused(change: dict[str, float], said: str) -> None:
    limits = MotionLimits([3.0, 4.0], [2.0, 2.0], -1.5, 1.5, jerk=[30.0, 40.0])
    given = {name: np.array([0.1, 0.1]) * (name in ("q0", "q1")) for name in STATES}
    for name, value in change.items():
        given[name] = np.array([given[name][0], value])
    with pytest.raises(InputError, match=said):
        plan(given.values(), limits)
    plans = plans_of((x[None] for x in given.values()), limits)
    assert plans.status[0] != PlanStatus.PLANNED
    with pytest.raises(InputError, match=r"^plans\[0\]: "):
        plans[0]


def test_rows_are_single_plans_and_a_number_that_is_none_is_told_wherever_it_stands() -> None:
    rng = np.random.default_rng(13)
    states, limits = random_requests(rng, 30, 2)
    a, v, jerk = (np.tile(x, (30, 1)) for x in (limits.acceleration, limits.velocity, limits.jerk))
    plans = plans_of(states, limits)
    assert (plans.duration == plans_of(states, MotionLimits(a, v, jerk=jerk)).duration).all()
    for k in range(len(plans)):
        motion = plans[k]
        alone = plan((x[k] for x in states), limits)
        assert motion.duration == pytest.approx(alone.duration, rel=1e-12)
        t = np.linspace(0.0, min(motion.duration, alone.duration), 20)
        assert np.allclose(motion.at(t)[0], alone.at(t)[0], rtol=0.0, atol=1e-9)
    wrong = rng.permutation(30)[:18]
    for k, row in enumerate(wrong):
        states[k % 6][row, k % 2] = (np.nan, np.inf, -1e31)[k % 3]
    for duration in (None, [9.0] * 30):
        status = plans_of(states, limits, duration).status
        assert (status[wrong] == PlanStatus.NO_NUMBER).all()
        assert np.count_nonzero(status) == len(wrong)
    for k, row in enumerate(wrong):
        with pytest.raises(InputError, match=rf"^jerk_limited, {STATES[k % 6]}: "):
            plan((x[row] for x in states), limits)


def test_limits_without_jerk_and_shapes_are_refused() -> None:
    rest = np.zeros((3, 2))
    limits = MotionLimits([3.0, 4.0], 2.0, jerk=[30.0, np.inf])
    with pytest.raises(InputError, match=r"^jerk_limited, limits, jerk of joint 2: must be finite"):
        plan([rest[0]] * 6, limits)
    good = limits.with_jerk(30.0)
    with pytest.raises(
        InputError, match=r"^jerk_limited_many, qdd0: expected shape \(3, 2\), got \(3, 1\)\."
    ):
        jerk_limited_many(rest, rest, rest[:, :1], rest, rest, rest, good)
    with pytest.raises(InputError, match=r"q1: expected shape \(3, 2\), got \(2, 2\)"):
        jerk_limited_many(rest, rest, rest, rest[:2], rest, rest, good)
