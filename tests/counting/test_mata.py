"""Mata's own ways: what they count, against his formulas at other n, and what they compute."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any, get_args

import numpy as np
import pytest

from forearm.counting.counts import Convention, count
from forearm.counting.mata import (
    HIS,
    Accounting,
    CountedChain,
    OmegaProduct,
    Z,
    _lifted,
    count_41,
    count_42,
    count_psi,
    inertia_42,
    inverse_41,
    recorded,
    turned_by_squares,
)
from forearm.counting.models import chain
from forearm.dynamics.modified_newton_euler import acceleration_matrix
from forearm.dynamics.reference import INERTIA, INVERSE
from forearm.model import cross, steps, turn_z
from forearm.symbols.counts import Counts

ROUNDING = 1e-12  # of torques and inertias of about 1


@pytest.mark.parametrize("n", [3, 4, 6, 9])
def test_his_formulas_for_every_n(n: int) -> None:
    inverse, bias, matrix = count_41(n), count_41(n, accelerating=False), count_42(n)
    assert (inverse.mul, inverse.add) == (96 * n - 101, 84 * n - 100)
    assert (bias.mul, bias.add) == (96 * n - 108, 83 * n - 105)
    assert (2 * matrix.mul, 2 * matrix.add) == (23 * n * n + 39 * n - 98, 17 * n * n + 63 * n - 138)


@pytest.mark.parametrize(
    "by", [HIS, Accounting("four", "nine, and g", False, False, True, False, False, False, True)]
)
def test_what_is_counted_are_the_torques_and_the_inertia_matrix(by: Accounting) -> None:
    model = chain(5, aligned=True).model()
    q, qd, qdd = np.random.default_rng(4).uniform(-2.0, 2.0, (3, 5)).tolist()
    at_rest = [0.0] * 5
    for accelerations in (qdd, at_rest):
        tau, _ = inverse_41(CountedChain(model, steps(model, q), qd, accelerations, 9.81), by)
        wanted = np.array(INVERSE["newton-euler"](model, q, qd, accelerations))
        np.testing.assert_allclose(np.array(tau, dtype=float), wanted, rtol=0.0, atol=ROUNDING)
    D, _ = inertia_42(CountedChain(model, steps(model, q), qd, qdd, 9.81))
    np.testing.assert_allclose(D, INERTIA["composite-body"](model, q), rtol=0.0, atol=ROUNDING)


def test_the_steps_of_psi_are_as_printed() -> None:
    whole, entry = count_psi()
    assert (whole.mul, whole.add) == (31, 40)
    assert (entry.mul, entry.add) == (13, 11)


def test_the_first_two_links_as_the_page_lists_them() -> None:
    """docs/counts.md; with three links like any other, but for phi_5, and the last they make the total."""
    on = recorded(6)
    assert on.graph is not None
    w, wd, step = Z * on.qd[0], Z * on.qdd[0], on.at[1]
    Omega = acceleration_matrix(w, wd)[0]
    made = [Omega, _lifted(on, Z * on.gravity, Omega, on.model.bodies[0].r, HIS.to_centre_1)]
    w_in = step.down(w)
    made += [w_in + Z * on.qd[1], step.down(wd) + Z * on.qdd[1] + cross(w_in, Z * on.qd[1])]
    made.append(step.down(_lifted(on, Z * on.gravity, Omega, step.l, HIS.to_joint_2)))
    whole = [on.graph.counts(value) for value in made]
    turned = on.graph.counts(w_in[:2])
    # of the later ones without what they are made of
    parts = [whole[0], whole[1] - whole[0], whole[2], whole[3] - turned, whole[4] - whole[0]]
    assert [(c.mul, c.add) for c in parts] == [(1, 0), (4, 3), (4, 1), (6, 3), (17, 11)]
    first = [(1, 0), (4, 3), (3, 0), (1, 0), (8, 7), (8, 7)]
    second = [(4, 1), (6, 3), (6, 9), (17, 11), (9, 9), (3, 0), (15, 15), (8, 7), (20, 19)]
    last = [(8, 5), (10, 7), (6, 9), (17, 13), (9, 9), (3, 0), (15, 15), (6, 6)]
    listed = [*first, *second, *last, (3 * 96, 3 * 84 - 3)]
    assert tuple(map(sum, zip(*listed, strict=True))) == (475, 404)


def test_a_turn_by_squares() -> None:
    S = np.random.default_rng(6).standard_normal((3, 3))
    S, R = S + S.T, turn_z(0.7)
    np.testing.assert_allclose(turned_by_squares(R, 2, S), R @ S @ R.T, rtol=0.0, atol=ROUNDING)


def test_everything_left_out_is_the_recursion_of_the_package() -> None:
    """With nothing in full, what remains is `gibbs_appell` but for t_1, as one product, and for g,
    which is a parameter there and folds with the twist.
    """
    folded = Accounting("four", "four", False, False, False, True, False, True, True)
    for accelerating in (True, False):
        bare = count(
            chain(6, aligned=True), "gibbs-appell", convention=Convention(no_acceleration=not accelerating)
        )
        extra = count_41(6, accelerating, folded) - bare
        assert extra == Counts(mul=2 - accelerating, add=-accelerating)


@pytest.mark.slow
def test_how_many_accountings_give_all_four_figures() -> None:
    """Of 3,200, four: either product by Omega_1 in full, each in two ways. Choices add up, as they concern
    different operations; those that fit are counted as a whole.
    """
    choices: dict[str, tuple[Any, ...]] = {
        "to_joint_2": get_args(OmegaProduct),
        "to_centre_1": get_args(OmegaProduct),
    }
    flags = ("whole_f", "whole_phi", "last_phi", "known_sum", "no_moment", "flat_Omega", "flat_turn")
    choices |= dict.fromkeys(flags, (True, False))

    def figures(by: Accounting) -> np.ndarray[Any, Any]:
        return np.array([(c.mul, c.add) for c in (count_41(3, True, by), count_41(3, False, by))]).ravel()

    his = figures(HIS)
    apart = {
        (name, choice): figures(replace(HIS, **{name: choice})) - his
        for name, row in choices.items()
        for choice in row
    }
    tried = list(product(*choices.values()))
    fitting = [c for c in tried if not sum(apart[pair] for pair in zip(choices, c, strict=True)).any()]
    assert (len(tried), len(fitting)) == (3200, 4)
    for fit in fitting:
        assert (figures(Accounting(*fit)) == his).all()
        by = dict(zip(choices, fit, strict=True))
        assert sorted((by["to_joint_2"], by["to_centre_1"])) in (
            ["four, and g", "nine, and g"],
            ["nine, and g", "six"],
        )
        assert [by[name] for name in ("whole_f", "last_phi", "known_sum", "no_moment", "flat_Omega")] == [
            True, False, True, True, True,
        ]  # fmt: skip
