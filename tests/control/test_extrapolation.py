"""First order in all parameters: slopes exact, from pairs, from any points, and what the points can tell."""

from __future__ import annotations

import numpy as np
import pytest
from arms import posture
from control.samples import moving_arm, order, samples, worst
from numpy.typing import NDArray

from forearm.control.bookkeeping import parts
from forearm.control.extrapolation import (
    FirstOrder,
    elimination_operations,
    exact_slopes,
    fitted_slopes,
    points_for_pairs,
    points_for_slopes,
    slopes_by_pairs,
)
from forearm.kernels import Kernel, compile
from forearm.symbols.recorder import Recorder

Array = NDArray[np.float64]
ROUNDING = 1e-12
PERIOD = 1e-3


def kernel_and_state(seed: int = 1) -> tuple[Kernel, Array]:
    arm, _ = moving_arm()
    rates = np.random.default_rng(seed).standard_normal(2 * arm.n)
    return compile(arm), np.concatenate([posture(arm, seed), rates])


@pytest.mark.slow
def test_pairs_come_to_the_exact_slopes_in_first_order() -> None:
    kernel, state = kernel_and_state()
    exact = exact_slopes(kernel, state)
    errors = []
    for step in (1e-2, 5e-3, 2.5e-3):
        force, slopes = slopes_by_pairs(kernel, state, step)
        assert np.array_equal(force, kernel.inverse_dynamics(*parts(state)))
        errors.append(float(np.abs(slopes - exact).max()))
    assert order(errors) == pytest.approx(1.0, abs=0.1)
    assert np.abs(slopes[:, 6:] - exact[:, 6:]).max() < 1e-9  # forces are linear in accelerations


def test_points_determine_slopes_only_with_one_more_than_there_are() -> None:
    """Waters' 7 points make 21 pairs and 6 directions; 19 make all 18."""
    rng = np.random.default_rng(3)
    slopes = rng.standard_normal((6, 18))
    assert points_for_pairs(18) == 7
    for m in (7, 18, 19, 25):
        states = rng.standard_normal((m, 18))
        found = fitted_slopes(states, states @ slopes.T + 5.0)
        assert found.rank == min(m - 1, 18)
        assert found.determined == (m >= 19)
        right = np.abs(found.slopes - slopes).max() < 1e-9
        assert right == (m >= 19)
    assert points_for_slopes(18) == 19
    # All 21 pairs of 7 points at once: no direction more.
    states = rng.standard_normal((7, 18))
    pairs = [states[i] - states[j] for i in range(7) for j in range(i)]
    assert np.linalg.matrix_rank(np.array(pairs)) == 6


def test_points_on_a_motion_say_little() -> None:
    """Waters: recent behaviour has no such pairs. However many samples of one stretch,
    18 slopes are not among them.
    """
    arm, motion = moving_arm()
    stretch = [s for s in samples(motion, PERIOD) if 0.26 < s.t < 0.49]
    states = np.array([np.concatenate(s.wanted) for s in stretch])
    forces = compile(arm).inverse_dynamics(*parts(states))
    found = fitted_slopes(states, forces)
    assert len(stretch) > 200
    assert found.rank <= 2  # q is quadratic and qd linear in time, accelerations are constant
    assert not found.determined


def test_the_least_slopes_agree_with_the_points() -> None:
    kernel, state = kernel_and_state(2)
    states = state + 1e-5 * np.random.default_rng(4).standard_normal((5, 9))
    forces = kernel.inverse_dynamics(*parts(states))
    found = fitted_slopes(states, forces)
    assert found.rank == 4
    there = forces[0] + (states - states[0]) @ found.slopes.T
    assert np.abs(there - forces).max() < 1e-9
    assert np.linalg.norm(found.slopes) < np.linalg.norm(exact_slopes(kernel, state))


@pytest.mark.parametrize(("size", "sides"), [(2, 1), (5, 3), (18, 6)])
def test_elimination_counts(size: int, sides: int) -> None:
    """By eliminating with recorded scalars."""
    graph = Recorder()
    A = graph.inputs("A", size, size + sides).tolist()
    for k in range(size):
        for i in range(k + 1, size):
            factor = A[i][k] / A[k][k]
            A[i] = [x if j <= k else x - factor * y for j, (x, y) in enumerate(zip(A[i], A[k], strict=True))]
    for k in reversed(range(size)):
        for j in range(size, size + sides):
            value = A[k][j]
            for i in range(k + 1, size):
                value = value - A[k][i] * A[i][j]
            A[k][j] = value / A[k][k]
    counts = graph.counts([row[size:] for row in A])
    assert counts.mul + counts.add == elimination_operations(size, sides)


@pytest.mark.slow
@pytest.mark.parametrize("slopes", ["exact", "pairs"])
@pytest.mark.sweep(first=1)
def test_errors_fall_with_the_square_of_the_distance(slopes: str) -> None:
    arm, motion = moving_arm()
    errors = [
        worst(
            arm, FirstOrder(arm, motion, every=every, slopes=slopes, step=1e-6, bandwidth=None), motion, 5e-4
        )
        for every in (80, 40, 20)
    ]
    assert order(errors) == pytest.approx(2.0, abs=0.35)


def test_evaluated_always_it_is_inverse_dynamics() -> None:
    arm, motion = moving_arm()
    assert worst(arm, FirstOrder(arm, motion, every=1, bandwidth=None), motion, PERIOD) < ROUNDING


def test_operations_are_what_was_done() -> None:
    arm, motion = moving_arm()
    counts = compile(arm).counts
    one, slopes = (
        counts[f].mul + counts[f].add for f in ("inverse_dynamics", "inverse_dynamics_derivatives")
    )
    for kind, full in (("exact", one + slopes), ("pairs", 10 * one + 9 + 2 * 27)):
        controller = FirstOrder(arm, motion, every=5, slopes=kind, bandwidth=None)
        for sample in samples(motion, PERIOD)[:10]:
            controller.command(sample)
        assert controller.operations == pytest.approx((2 * full + 8 * (9 + 2 * 27)) / 10)
