"""Augmented bodies: the torques of Newton and Euler, and what one more link takes."""

from __future__ import annotations

import numpy as np
import pytest

from forearm.counting.augmented import augmented_newton_euler, count_augmented
from forearm.counting.counts import count
from forearm.counting.models import chain
from forearm.dynamics.reference import INVERSE
from forearm.model import Base

ROUNDING = 1e-12  # of torques of about 1 to 100


@pytest.mark.parametrize("n", [1, 2, 6])
def test_torques_are_those_of_newton_and_euler(n: int) -> None:
    model = chain(n).model()
    rng = np.random.default_rng(n)
    q, qd, qdd = rng.uniform(-2.0, 2.0, (3, n)).tolist()
    for base in (Base(np.zeros(3), np.zeros(3), np.zeros(3)), Base(*rng.standard_normal((3, 3)))):
        tau = augmented_newton_euler(model, q, qd, qdd, base)
        wanted = np.array(INVERSE["newton-euler"](model, q, qd, qdd, base))
        np.testing.assert_allclose(np.array(tau, dtype=float), wanted, rtol=ROUNDING, atol=ROUNDING)


@pytest.mark.parametrize("n", [3, 5, 8])
def test_each_further_link_takes_93_and_81(n: int) -> None:
    """By hand: w 8, 5; wd 10, 7; Omega 6, 9; sdd 17, 13; Omega h and its sum 9, 9; moment 15, 15;
    h x sdd 6, 3; R phi 8, 4; s x phi 6, 3; R n 8, 4; three sums of vectors.
    """
    steps = [(8, 5), (10, 7), (6, 9), (17, 13), (9, 9), (15, 15), (6, 3), (8, 4), (6, 3), (8, 4), (0, 9)]
    more = count_augmented(n + 1) - count_augmented(n)
    assert (more.mul, more.add) == tuple(map(sum, zip(*steps, strict=True))) == (93, 81)
    here = count_augmented(n)
    assert (here.mul, here.add) == (93 * n - 111, 81 * n - 103)


def test_the_masses_of_gibbs_appell_are_saved() -> None:
    more = count(chain(6), "gibbs-appell") - count(chain(5), "gibbs-appell")
    fewer = count_augmented(6) - count_augmented(5)
    assert (more.mul - fewer.mul, more.add - fewer.add) == (3, 3)
