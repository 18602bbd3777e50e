"""One joint: closed forms, the set of possible durations found in two other ways, floats and arrays."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from forearm.trajectories.joint import NEVER, durations, phases
from forearm.trajectories.synchronise import common_duration, is_possible

Array = NDArray[np.float64]
ROUNDING = 1e-13  # relative: a few dozen operations
FREE = (-math.inf, math.inf)


def states(rng: np.random.Generator, count: int) -> tuple[Array, Array, Array, Array, Array, Array]:
    a, v = 10.0 ** rng.uniform(-1.0, 1.0, (2, count))
    x0, x1 = rng.uniform(-2.0, 2.0, (2, count)) * v * v / a
    v0, v1 = rng.uniform(-1.0, 1.0, (2, count)) * v
    return x0, v0, x1, v1, a, v


def test_rest_to_rest_has_one_switch_or_coasts() -> None:
    assert durations(0.3, 0.0, 2.3, 0.0, 0.5, 3.0, *FREE)[0] == pytest.approx(
        2.0 * math.sqrt(2.0 / 0.5), rel=ROUNDING
    )
    assert durations(0.3, 0.0, -7.7, 0.0, 0.5, 1.0, *FREE)[0] == pytest.approx(
        8.0 / 1.0 + 1.0 / 0.5, rel=ROUNDING
    )
    t1, t2, t3, c = phases(0.3, 0.0, 2.3, 0.0, 0.5, 3.0, 4.0)
    assert (t1, t3, c) == (pytest.approx(2.0), pytest.approx(2.0), pytest.approx(1.0))
    assert t2 == pytest.approx(0.0, abs=1e-14)
    assert phases(0.3, 0.0, -7.7, 0.0, 0.5, 1.0, 10.0) == pytest.approx((2.0, 6.0, 2.0, -1.0))


def test_waters_points_turn_at_v_squared_three() -> None:
    # From (1, 1) to (5, -1) with |x''| <= 1/2: the lines of slope 1 and -1 in x and v^2 meet at
    # (3, 3), v = 0 at x = 6.
    shortest, start, end = durations(1.0, 1.0, 5.0, -1.0, 0.5, 3.0, -1.0, 9.0)
    assert start == end
    t1, _, t3, c = phases(1.0, 1.0, 5.0, -1.0, 0.5, 3.0, shortest)
    assert c * c == pytest.approx(3.0, rel=ROUNDING)
    assert shortest == pytest.approx(
        2.0 * (math.sqrt(3.0) - 1.0) + 2.0 * (math.sqrt(3.0) + 1.0), rel=ROUNDING
    )
    assert (t1, t3) == (
        pytest.approx(2.0 * (math.sqrt(3.0) - 1.0)),
        pytest.approx(2.0 * (math.sqrt(3.0) + 1.0)),
    )


def test_gap_of_durations_in_closed_form() -> None:
    # At 1 at both ends, a = 1, way 3/4: slowest without turning brakes to sqrt(1/4),
    # fastest with turning goes to -sqrt(1/4).
    shortest, start, end = durations(0.0, 1.0, 0.75, 1.0, 1.0, 2.0, *FREE)
    assert shortest == pytest.approx(2.0 * (math.sqrt(1.75) - 1.0), rel=ROUNDING)
    assert start == pytest.approx(1.0, rel=ROUNDING)
    assert end == pytest.approx(3.0, rel=ROUNDING)
    # Turning needs the places 1/2 and 1/4; a range that ends before takes the slow motions away
    # and leaves the fast ones.
    assert durations(0.0, 1.0, 0.75, 1.0, 1.0, 2.0, 0.0, 0.75) == pytest.approx(
        (shortest, start, end), rel=ROUNDING
    )
    near = durations(0.0, 1.0, 0.25, 1.0, 1.0, 2.0, -0.2, 0.4)
    assert near[2] == NEVER
    assert near[0] < near[1] < 1.0


def test_nothing_that_a_lattice_of_states_reaches_is_called_impossible() -> None:
    """Steps of 1 s with x'' = -1, 0, 1 between whole velocities and half places, all ways of taking
    them, ranges included.

    What is reached so is a motion within the limits, so a plan must exist for the same time: no shortest too
    long, no gap too wide, no refusal without need. That plans keep the limits is for the fuzzer.
    """
    top, places = 3, 13
    X, V = (g.ravel() for g in np.meshgrid(np.arange(places), np.arange(-top, top + 1), indexing="ij"))
    step = np.zeros((X.size, X.size), dtype=np.int64)
    for turn in (-1, 0, 1):
        step |= (X[None] == X[:, None] + 2 * V[:, None] + turn) & (V[None] == V[:, None] + turn)
    i, k = (g.ravel() for g in np.meshgrid(np.arange(X.size), np.arange(X.size), indexing="ij"))
    spans = durations(
        0.5 * X[i], 1.0 * V[i], 0.5 * X[k], 1.0 * V[k], 1.0, float(top), 0.0, 0.5 * (places - 1)
    )
    reached, ever, met = np.eye(X.size, dtype=np.int64), np.zeros(i.size, dtype=bool), 0
    for T in range(31):
        there = reached[i, k] > 0
        assert is_possible(np.full(i.size, float(T)), *spans)[there].all()
        met += int((there & (np.abs(spans[0] - T) < 1e-12)).sum())
        ever |= there
        reached = np.minimum(reached @ step, 1)
    assert met > 500  # for so many pairs the lattice's time is the shortest one
    # The other way round, where a lattice can: every step leaves X + V odd or even,
    # and only whole seconds count.
    same = (X[i] + V[i] - X[k] - V[k]) % 2 == 0
    whole = (spans[2] < NEVER) | (spans[0] >= NEVER) | (np.floor(spans[1]) >= spans[0])
    assert (same & whole).mean() > 0.45
    assert np.array_equal(ever[same & whole], (spans[0] < NEVER)[same & whole])
    assert (spans[0] >= NEVER).sum() > 1000
    assert ((spans[2] >= NEVER) & (spans[0] < NEVER)).sum() > 100


def test_phases_lead_to_the_target_at_every_possible_duration() -> None:
    rng = np.random.default_rng(4)
    x0, v0, x1, v1, a, v = states(rng, 5000)
    spans = durations(x0, v0, x1, v1, a, v, *FREE)
    for T in (*spans, 1.01 * spans[2], 3.0 * spans[2], 1e4 * spans[2]):
        t1, t2, t3, c = phases(x0, v0, x1, v1, a, v, T)
        reached = x0 + 0.5 * (v0 + c) * t1 + c * t2 + 0.5 * (c + v1) * t3
        assert np.abs((reached - x1) / (np.abs(x0) + np.abs(x1) + v * T)).max() < 1e-14
        assert (np.abs(c) <= v).all()
        assert (np.minimum(np.minimum(t1, t2), t3) >= 0.0).all()
    # One switch where no limit binds, at the shortest duration and at both ends of a gap.
    for T in spans:
        t2, c = phases(x0, v0, x1, v1, a, v, T)[1::2]
        assert (t2 / (T + v / a))[np.abs(c) < v * (1.0 - 1e-9)].max() < 1e-6


def test_braking_as_hard_as_possible_is_not_lost_to_rounding() -> None:
    """The end of a full brake computed in floats may lie a bit too near;
    the motion must not go back for it.
    """
    rng = np.random.default_rng(5)
    v0 = rng.uniform(0.1, 1.0, 10_000)
    v1 = rng.uniform(0.0, 1.0, 10_000) * v0
    x0, a = rng.uniform(-3.0, 3.0, 10_000), rng.uniform(0.5, 2.0, 10_000)
    x1 = x0 + (v0 * v0 - v1 * v1) / (2.0 * a)
    shortest, start, end = durations(x0, v0, x1, v1, a, 1.0, *FREE)
    assert np.abs(shortest - (v0 - v1) / a).max() < 1e-6  # and not 2 v1 / a more
    assert (end >= start).all()
    assert durations(0.0, 1.0, 0.5, 0.0, 1.0, 1.0, 0.0, 0.5)[0] == 1.0  # stops at the end of the range


def test_common_duration_passes_gaps_that_follow_each_other() -> None:
    spans = [(1.0, 1.5, 4.0), (2.0, 2.0, 2.0), (0.5, 3.9, 6.0), (0.1, 5.0, 7.5), (0.0, 7.6, 9.0)]
    assert common_duration(spans) == 7.5
    assert common_duration([tuple(map(np.atleast_1d, span)) for span in spans]).tolist() == [7.5]
    spans[3] = (0.1, 5.0, NEVER)
    assert common_duration(spans) == NEVER
