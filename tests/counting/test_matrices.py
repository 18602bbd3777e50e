"""Waters' counts in 4x4 matrices, by the functions that compute with arrays."""

from __future__ import annotations

import numpy as np
import pytest

import forearm as fa
from forearm.counting import waters
from forearm.counting.cost import general_matrices
from forearm.counting.counts import WATERS
from forearm.counting.matrices import (
    MatrixCounts,
    claimed,
    count_matrices,
    counting_matrices,
    run_matrices,
    state,
)
from forearm.counting.models import chain
from forearm.dynamics.lagrange import multiplied_out
from forearm.dynamics.reference import INVERSE
from forearm.symbols.counts import Counts


@pytest.mark.parametrize("name", WATERS)
def test_counting_matrices_give_the_forces_of_arrays(name: str) -> None:
    q, qd, qdd = ([f + s * j for j in range(4)] for f, s in ((0.4, 0.37), (0.31, 0.23), (0.57, 0.23)))
    expected = np.array(INVERSE["newton-euler"](chain(4).model(), q, qd, qdd), dtype=float)
    forces = [force.value for force in run_matrices(chain(4), name).forces]
    np.testing.assert_allclose(forces, expected, rtol=0.0, atol=1e-12 * np.abs(expected).max())


@pytest.mark.parametrize(
    ("name", "m", "a"),
    [
        # As written: for each pair i <= j, U_ji twice with j - 1 products and once times J_j, P_j with j and
        # L_j with j^2 products of j - 1 factors: sum of j (j^3 + j - 1). Order 16: 2j^2 + 2j + 1 a pair.
        ("lagrange-naive", 2345, 1085),
        # U_jj, U_jjj, P, L twice for links 2..n, W and V for 2..n-1, J (P + L)^T for all,
        # A D for all but the last: 9n - 10.
        ("lagrange-waters", 44, 69),
        # and all U_ij: n(n - 1)/2 more
        ("lagrange-recursive-d", 59, 79),
        ("lagrange-recursive", 54, 89),
        ("lagrange-stored", 135, 190),
        ("lagrange-uicker", 900, 553),
        ("lagrange-hollerbach-4x4", 39, 64),
    ],
)
def test_counts_for_six_links(name: str, m: int, a: int) -> None:
    assert count_matrices(chain(6), name) == MatrixCounts(m, a)
    assert count_matrices(fa.load("puma560-akb"), name) == MatrixCounts(m, a), (
        "an arm's numbers do not matter here"
    )


@pytest.mark.slow
def test_polynomials_of_the_naive_evaluation() -> None:
    m, a = general_matrices("lagrange-naive")
    assert m.degree == 5
    assert [m(n) for n in (2, 7)] == [sum(j * (j**3 + j - 1) for j in range(1, n + 1)) for n in (2, 7)]
    assert [a(n) for n in (2, 7)] == [
        sum(j * (2 * j * j + 2 * j + 1) for j in range(1, n + 1)) for n in (2, 7)
    ]


def test_his_figures_by_his_ways() -> None:
    assert waters.naive_shared(6).m == 2254 == sum(j * (j - 1) * (j * j + j + 1) for j in range(1, 7))
    assert waters.recorded(6) == MatrixCounts(441, 275)
    assert waters.recursive(6) == MatrixCounts(70, 106)
    assert waters.recursive_d(6) == MatrixCounts(60, 81)
    assert waters.final(6) == MatrixCounts(45, 77)
    assert waters.final(3) == MatrixCounts(18, 35)


def test_what_the_reasons_say_of_his_other_figures() -> None:
    """973a: scalings alone, per pair (i, j). 486m: three more products of A_1 to A_j for each link.
    19m+34a: as many together as ours.
    """
    c = counting_matrices(chain(6).model(), *state(6))
    scaling = Counts(16)
    scalings = chains = 0
    for j in range(6):
        U = multiplied_out(c, j, 0)
        by_two = [(U * c.qd[k]) * c.qd[m] for k in range(j + 1) for m in range(j + 1)]
        terms = [U * c.qdd[k] for k in range(j + 1)] + by_two
        nodes = claimed([term.node for term in terms], set())
        scalings += (j + 1) * sum(node.scalars == scaling for node in nodes)
        chains += sum(node.counts.m for node in claimed([multiplied_out(c, j).node], set()))
    assert scalings == 973
    assert waters.recorded(6).m + 3 * chains == 486 == sum(j**3 + 3 * j - 3 for j in range(1, 7))
    locked = waters.final(3)
    assert locked.m + locked.a == 19 + 34


def test_shares_add_up_and_give_his_percentages() -> None:
    whole = waters.final(6)
    gravity, velocity = whole - waters.without_gravity(6), whole - waters.without_velocity(6)
    inertial = whole - gravity - velocity
    assert (gravity, velocity, inertial) == (MatrixCounts(0, 17), MatrixCounts(20, 38), MatrixCounts(25, 22))
    # He prints 6, 46 and 48 %; a matrix product weighs 64, the others 16, and 6.6 % is cut to 6.
    shares = [100.0 * part.weight / whole.weight for part in (gravity, velocity, inertial)]
    np.testing.assert_allclose(shares, [6.6, 45.9, 47.5], atol=0.05)


def test_by_quantity_splits_the_whole() -> None:
    result = run_matrices(chain(6), "lagrange-waters")
    table = result.by_quantity()
    assert sum(table.values(), MatrixCounts()) == result.counts()
    assert table["P", 3] == MatrixCounts(1, 2)
