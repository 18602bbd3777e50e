"""Luh's accounting of Newton-Euler: his printed formulas, the cost of each step by hand, and the torques."""

from __future__ import annotations

import numpy as np
import pytest

from forearm.counting.luh import count_luh, moments_of_luh, run_luh
from forearm.counting.mata import CountedChain
from forearm.counting.models import chain
from forearm.dynamics.reference import INVERSE
from forearm.model import steps
from forearm.symbols.counts import Counts

ROUNDING = 1e-12  # of torques of about 1 to 100
# R 9, 6; a x b 6, 3; w x (w x p) 12, 7; a + b 0, 3
BY_HAND = {
    "w": Counts(9, 6 + 3),
    "wd": Counts(9 + 6, 6 + 3 + 6),
    "v": Counts(6 + 9, 3 + 6 + 3),
    "vd": Counts(6 + 12 + 9, 3 + 7 + 6 + 6),
    "vd*": Counts(6 + 12, 3 + 7 + 6),
    "F": Counts(3, 0),
    "N": Counts(9 + 9 + 6, 6 + 6 + 3 + 3),
    "f": Counts(9, 6 + 3),
    "n": Counts(9 + 9 + 6 + 6, 6 + 6 + 3 + 3 + 3 + 9),
}


@pytest.mark.parametrize("n", [1, 2, 6, 11])
def test_the_printed_formulas_for_every_n(n: int) -> None:
    assert count_luh(n) == Counts(150 * n - 48, 131 * n - 48)


def test_each_step_of_an_interior_link() -> None:
    by = run_luh(5).by_quantity()
    assert {symbol: by[symbol, 2] for symbol in BY_HAND} == BY_HAND
    assert sum(BY_HAND.values(), Counts()) == Counts(150, 131)


@pytest.mark.parametrize("n", [1, 2, 6])
def test_what_is_counted_are_the_torques(n: int) -> None:
    model = chain(n, dh="standard").model()
    q, qd, qdd = np.random.default_rng(n).uniform(-2.0, 2.0, (3, n)).tolist()
    moments, _ = moments_of_luh(CountedChain(model, steps(model, q), qd, qdd, 9.81))
    tau = [body.z @ moment for body, moment in zip(model.bodies, moments, strict=True)]  # (10)
    wanted = np.array(INVERSE["newton-euler"](model, q, qd, qdd), dtype=float)
    np.testing.assert_allclose(np.array(tau, dtype=float), wanted, rtol=ROUNDING, atol=ROUNDING)
