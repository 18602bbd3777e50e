"""Forces carried on along the path, between evaluations of the equations."""

from __future__ import annotations

import numpy as np
import pytest
from control.samples import asked, moving_arm, order, samples, truth, worst
from numpy.polynomial import Polynomial
from numpy.typing import ArrayLike, NDArray
from sweeps import long

import forearm as fa
from forearm.control.extrapolation import FirstOrder
from forearm.control.path_length import PathLength, extrapolated
from forearm.control.reference import default_motion
from forearm.kernels import compile
from forearm.trajectories import MotionLimits, bang_bang

Array = NDArray[np.float64]
ROUNDING = 1e-12  # relative: the same numbers in another order
PERIOD = 1e-3


@pytest.mark.parametrize("degree", [0, 1, 2, 3])
def test_polynomials_are_carried_on_exactly(degree: int) -> None:
    rng = np.random.default_rng(degree)
    curves = [Polynomial(c) for c in rng.standard_normal((4, degree + 1))]
    ways = np.sort(rng.uniform(0.0, 1.0, degree + 1))
    knots = [(float(s), np.array([c(s) for c in curves])) for s in ways]
    for s in (ways[0], ways[-1], 1.7, -0.3):
        assert extrapolated(knots, float(s)) == pytest.approx([c(s) for c in curves], abs=1e-9)


def test_evaluated_always_it_is_inverse_dynamics() -> None:
    arm, motion = moving_arm()
    assert worst(arm, PathLength(arm, motion, every=1, bandwidth=None), motion, PERIOD) < ROUNDING


@pytest.mark.slow
@pytest.mark.parametrize("degree", [1, *long([0, 2])])
def test_errors_fall_with_the_order_and_one_more(degree: int) -> None:
    """Halving the way between evaluations: the errors of an order p fall by 2^(p + 1)."""
    arm, motion = moving_arm()
    errors = [
        worst(arm, PathLength(arm, motion, every=every, order=degree, bandwidth=None), motion, 5e-4)
        for every in (20, 10, 5)
    ]
    assert order(errors) == pytest.approx(degree + 1, abs=0.35)


class WithoutSwitches:
    """The same motion, which does not tell where its accelerations jump."""

    def __init__(self, motion: fa.trajectories.Switching) -> None:
        self.motion, self.duration, self.at = motion, motion.duration, motion.at


def test_switches_break_it() -> None:
    """Told of the switches it is right; not told, it carries on forces of accelerations that are over."""
    arm, motion = moving_arm()
    told = worst(arm, PathLength(arm, motion, bandwidth=None), motion, PERIOD)
    untold = worst(arm, PathLength(arm, WithoutSwitches(motion), bandwidth=None), motion, PERIOD)
    assert told < 1e-3
    assert untold > 0.1


@pytest.mark.slow
def test_a_switch_on_a_sample_does_no_harm() -> None:
    """Whether rounding puts the sample before or behind it:
    periods that divide the time of a switch, and the next floats.
    """
    arm, motion = moving_arm()
    for count in (40, 79, 158):
        for period in (x := float(motion.switches[2]) / count, np.nextafter(x, 1.0), np.nextafter(x, 0.0)):
            assert worst(arm, PathLength(arm, motion, every=10, bandwidth=None), motion, float(period)) < 0.01


@pytest.mark.slow
@pytest.mark.parametrize("kind", [PathLength, FirstOrder])
def test_dry_joints_that_reverse_break_it(kind: type[PathLength] | type[FirstOrder]) -> None:
    """The PUMA's friction jumps where a joint turns round, in the middle of a stretch of
    constant acceleration.
    """
    arm = fa.load("puma560")
    speeds = np.array([0.3, -0.4, 0.5, 0.2, -0.3, 0.6])
    there = bang_bang(np.zeros(6), speeds, 0.01 * speeds, -speeds, MotionLimits(np.ones(6)))
    controller = kind(arm, there, every=50, bandwidth=None)
    assert (np.abs(there.at(np.array([0.0, there.duration]))[1]) > 0.1).all()
    # Between a sample and the next that reverse, what is asked for is the friction of the next.
    rows = [s for s in samples(there, PERIOD) if (s.wanted[1] * s.ahead[1] > 0.0).all()]
    kernel, errors = compile(arm), []
    for sample in samples(there, PERIOD):
        force = controller.command(sample)
        if any(sample.k == row.k for row in rows):
            errors.append(np.abs(force - kernel.inverse_dynamics(*sample.wanted)).max())
    assert len(errors) > 1000
    assert max(errors) < 0.5  # N m, where friction jumps by up to 50


def test_a_standing_arm_is_held() -> None:
    arm, _ = moving_arm()

    class Standing:
        duration = 0.1

        def at(self, t: ArrayLike, /) -> tuple[Array, Array, Array]:
            shape = (*np.shape(t), 3)
            return np.full(shape, 0.2), np.zeros(shape), np.zeros(shape)

    controller = PathLength(arm, Standing(), bandwidth=None)
    rows = asked(controller, Standing(), PERIOD)
    assert np.array_equal(rows, truth(arm, Standing(), PERIOD))
    assert controller.operations < compile(arm).counts["inverse_dynamics"].mul  # solved once, never again


def test_operations_are_what_was_done() -> None:
    """One phase of constant acceleration: two evaluations one after the other, then one every ten samples."""
    arm = fa.load("puma560").rigid()
    motion = default_motion(arm)
    controller = PathLength(arm, motion, every=10, bandwidth=None)
    for sample in samples(motion, PERIOD)[:51]:
        controller.command(sample)
    counts = compile(arm).counts["inverse_dynamics"]
    solved = 2 + 4  # samples 0, 1, then 11, 21, 31, 41
    by_hand = solved * (counts.mul + counts.add + 13) + (51 - solved) * 13 + 51 * 18
    assert controller.operations == pytest.approx(by_hand / 51)
    controller.reset()
    assert controller.operations == 0.0


def test_feedback_is_added() -> None:
    arm, motion = moving_arm()
    plain, corrected = (PathLength(arm, motion, bandwidth=w) for w in (None, 20.0))
    sample = samples(motion, PERIOD)[0]
    aside = type(sample)(0, 0.0, sample.q + 0.01, sample.qd, None, sample.wanted, sample.ahead)
    assert (corrected.command(aside) < plain.command(aside)).all()
