"""Mata's formulas, sums of steps and rows of others, by other ways than those that the catalogue takes."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import forearm as fa
from forearm.counting import count
from forearm.counting.counts import Convention
from forearm.counting.models import chain
from forearm.reproduce.recompute import mata, mata_counts


@pytest.mark.parametrize(
    ("text", "coefficients"),
    [
        ("12n^2 + 56n - 27 (741)", {2: 12, 1: 56, 0: -27}),
        ("n^3 + 17n^2 - 21n + 8 (710)", {3: 1, 2: 17, 1: -21, 0: 8}),
        ("11.5 n^2 + 19.5 n - 49", {2: Fraction(23, 2), 1: Fraction(39, 2), 0: -49}),
        ("1/6n^3 + 13n^2 + 695/6n - 157", {3: Fraction(1, 6), 2: 13, 1: Fraction(695, 6), 0: -157}),
        ("n^2 - n", {2: 1, 1: -1}),
    ],
)
def test_formulas_are_read_as_printed(text: str, coefficients: dict[int, Fraction]) -> None:
    assert mata_counts.polynomial(text) == coefficients


def test_table_3_adds_up() -> None:
    at_6 = mata_counts.formulas()
    for word in mata_counts.WORDS:
        parts = [at_6[f"Table 3, {name}, {word}"] for name in ("D", "bias", "Cholesky", "solving")]
        assert sum(parts) == at_6[f"Table 3, total, {word}"]


def test_steps_of_the_inverse_dynamics_add_up_to_a_link() -> None:
    """With the steps of Table 1's other lines, 10 + 6 + 17 + 9 + 3 + 15 products,
    the single ones make the 96 of a link.
    """
    found = mata_counts.steps_41()
    single = sum(found[f"{step}, products"] for step in ("w turned", "w added", "phi", "chi", "tau"))
    assert single + 10 + 6 + 17 + 9 + 3 + 15 == 96
    assert count(chain(9), "gibbs-appell").mul - count(chain(8), "gibbs-appell").mul == 96


def test_what_the_reason_says_of_dense_composite_bodies() -> None:
    dense = count(chain(6), "composite-body", "inertia_matrix", Convention(dense=True, full_cross=True))
    assert (dense.mul, dense.add) == (771, 600)


@pytest.mark.slow
def test_articulated_bodies_become_cheaper_where_the_counts_say() -> None:
    def operations(name: str, n: int) -> tuple[int, int]:
        found = count(chain(n), name, "forward")
        return found.mul, found.mul + found.add

    for column, first in enumerate((9, 10)):
        cheaper = [
            operations("articulated-body", n)[column] < operations("composite-body", n)[column]
            for n in range(7, 12)
        ]
        assert cheaper == [n >= first for n in range(7, 12)]
    assert (operations("articulated-body", 9)[1], operations("composite-body", 9)[1]) == (4129, 4092)
    assert mata_counts.crossing() == {"by products": 9.0, "by products and sums": 10.0}


def test_equations_hold_and_a_wrong_one_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    assert all(value < 1e-12 for value in mata.equations().values())
    monkeypatch.setattr(
        mata, "gibbs", lambda arm, q, qd, qdd: fa.dynamics.gibbs(arm, q, qd, np.zeros_like(qdd))
    )
    assert mata.equations()["(5), gradient of G against Newton-Euler"] > 1e-3


@pytest.mark.slow
def test_the_turn_is_a_whole_one() -> None:
    assert mata.turn() == {"turn, degrees": pytest.approx(360.0)}
    assert mata.bars()["width, m"] == pytest.approx(0.02)


@pytest.mark.slow
def test_the_bars_in_modified_frames_are_the_built_in_ones() -> None:
    """Double precision by another description and another method;
    and the elimination on doubles against LAPACK.
    """
    _, study = mata.sweep()
    bars = fa.load("ascher2")
    rest = np.zeros((len(study.q), 2))
    wanted = fa.dynamics.forward(bars, study.q, rest, rest, method="composite-body")
    assert np.abs(study.double - wanted).max() < 1e-8 * np.abs(wanted).max()
    M, right = np.random.default_rng(5).standard_normal((4, 4)), [1.0, -2.0, 0.5, 3.0]
    assert mata.gauss_jordan(M, right) == pytest.approx(np.linalg.solve(M, right))


@pytest.mark.slow
def test_single_precision_by_numpy_s_own_floats() -> None:
    """Composite bodies at one posture, the matrix written out by hand, every operation on numpy's float32."""
    f = np.float32
    l1, c1, c2, m1, m2, g = (f(x) for x in (0.02, 0.01, 1.0, 0.1, 10.0, 9.81))
    I1, I2 = (f(fa.load("ascher2").link(name).inertia[2, 2]) for name in ("link1", "link2"))
    q2 = f(np.radians(80.0))
    h = m2 * l1 * c2 * f(np.cos(q2))
    d22 = I2 + m2 * c2 * c2
    d12, d11 = d22 + h, I1 + m1 * c1 * c1 + m2 * l1 * l1 + d22 + f(2.0) * h
    g2 = m2 * g * c2 * f(np.cos(q2))
    g1 = m1 * g * c1 + m2 * g * l1 + g2
    by_hand = -(d11 * g2 - d12 * g1) / (d11 * d22 - d12 * d12)
    _, study = mata.sweep()
    off = abs(float(by_hand) - study.double[40, 1])
    # so large are errors of the matrix methods, and those of articulated bodies are not
    assert 1e-3 < off < 10.0
    assert study.difference("composite-body", 1)[0] > 1e-3
    assert study.difference("articulated-body", 1)[0] < 1e-3
