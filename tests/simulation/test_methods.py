"""Tableaux by their order conditions in exact arithmetic, and by convergence to the
pendulum's closed form.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement
from math import log2, prod, sqrt
from typing import Any

import numpy as np
import pendulum
import pytest
from simulation.stepping_once import explicit_step

from forearm.errors import NameNotFound
from forearm.simulation.methods import DP45, DP87, GILL, METHODS, RK3, RK4, Tableau, tableau_of

# The coefficients of dp87 are fractions near the true ones, those of gill,
# radau and gauss4 are rounded to floats.
FRACTIONS_OF_DP87 = 2e-16
ROUNDED = 1e-14

Step = Callable[[float, Any, Any, float], tuple[Any, Any]]


@cache
def trees(order: int) -> tuple[Any, ...]:
    """All rooted trees of an order, each the sorted tuple of the trees on its root."""
    if order == 1:
        return ((),)
    return tuple(dict.fromkeys(tuple(sorted(forest)) for forest in forests(order - 1)))


def forests(total: int, largest: int | None = None) -> list[tuple[Any, ...]]:
    """All multisets of trees with that many nodes together, the larger trees first."""
    if total == 0:
        return [()]
    found = []
    for size in range(min(total, largest or total), 0, -1):
        for count in range(1, total // size + 1):
            for rest in forests(total - size * count, size - 1) if size > 1 or total == size * count else []:
                found += [(*same, *rest) for same in combinations_with_replacement(trees(size), count)]
    return found


def size(tree: Any) -> int:
    return 1 + sum(size(t) for t in tree)


@cache
def gamma(tree: Any) -> int:
    return size(tree) * prod(gamma(t) for t in tree)


@cache
def stage_weights(tableau: Tableau, tree: Any) -> list[Any]:
    """The elementary weight of a tree at each stage."""
    inner = [stage_weights(tableau, t) for t in tree]
    sums = [
        [sum((a * w for a, w in zip(row, ws, strict=False)), Fraction(0)) for row in tableau.a]
        for ws in inner
    ]
    return [prod((s[i] for s in sums), start=Fraction(1)) for i in range(len(tableau.c))]


def misfit(tableau: Tableau, b: Sequence[Any], order: int) -> float:
    """The largest violation of the conditions of one order: sum_i b_i Phi_i = 1 / gamma."""
    weights = [(tree, stage_weights(tableau, tree)) for tree in trees(order)]
    return max(
        abs(float(sum(x * w for x, w in zip(b, ws, strict=True)) - Fraction(1, gamma(tree))))
        for tree, ws in weights
    )


def test_the_trees_are_all_there() -> None:
    assert [len(trees(n)) for n in range(1, 9)] == [1, 1, 2, 4, 9, 20, 48, 115]


@pytest.mark.slow
@pytest.mark.parametrize("tableau", METHODS.values(), ids=lambda t: t.name)
def test_order_conditions(tableau: Tableau) -> None:
    allowed = {"rk3": 0.0, "rk4": 0.0, "midpoint": 0.0, "dp45": 0.0, "dp87": FRACTIONS_OF_DP87}.get(
        tableau.name, ROUNDED
    )
    assert [float(sum(row)) for row in tableau.a] == pytest.approx(tableau.floats[0], abs=allowed)
    for order in range(1, tableau.order + 1):
        assert misfit(tableau, tableau.b, order) <= allowed, order
    if tableau.order < 8:
        assert misfit(tableau, tableau.b, tableau.order + 1) > 1e-4
    if tableau.b_embedded is not None:
        for order in range(1, tableau.order_embedded + 1):
            assert misfit(tableau, tableau.b_embedded, order) <= allowed, order
        assert misfit(tableau, tableau.b_embedded, tableau.order_embedded + 1) > 1e-5


def test_dense_output_of_dp45_is_of_order_4_everywhere() -> None:
    """sum_i b_i(theta) Phi_i = theta^|tree| / gamma as polynomials in theta, exactly."""
    assert DP45.dense is not None
    for order in range(1, 5):
        for tree in trees(order):
            weights = stage_weights(DP45, tree)
            powers = [sum(row[k] * w for row, w in zip(DP45.dense, weights, strict=True)) for k in range(4)]
            assert powers == [Fraction(int(k + 1 == order), gamma(tree)) for k in range(4)]


def swartz(third: str) -> Step:
    """Swartz's three coefficients as he writes them, with the last term of c3 as printed or corrected."""

    def step(t: float, theta: Any, omega: Any, h: float) -> tuple[Any, Any]:
        c1 = omega
        k1 = pendulum.acceleration(t, theta, omega)
        c2 = omega + h / 2 * k1
        k2 = pendulum.acceleration(t + h / 2, theta + h / 2 * c1, c2)
        c3 = omega + 2 * h * k2 - h * {"printed": c1, "corrected": k1}[third]
        k3 = pendulum.acceleration(t + h, theta + 2 * h * c2 - h * c1, c3)
        return theta + h / 6 * (c1 + 4 * c2 + c3), omega + h / 6 * (k1 + 4 * k2 + k3)

    return step


def of(tableau: Tableau) -> Step:
    return lambda t, q, qd, h: explicit_step(tableau, pendulum.acceleration, t, q, qd, h)


def observed_order(step: Step, start: float = 2.3, until: float = 2.0, steps: int = 40) -> float:
    """From halving the step: log2 of the ratio of errors to the closed form."""

    def error(count: int) -> float:
        q, qd, h = np.array([start]), np.array([0.0]), until / count
        for k in range(count):
            q, qd = step(k * h, q, qd, h)
        truth = pendulum.swing(start, until)
        return float(np.hypot(q[0] - truth[0], qd[0] - truth[1]))

    return log2(error(steps) / error(2 * steps))


@pytest.mark.parametrize("tableau", [RK3, RK4, GILL, DP45, DP87], ids=lambda t: t.name)
def test_convergence_where_time_and_velocity_matter(tableau: Tableau) -> None:
    """q = sin(t^2) as the solution of an equation made for it."""

    def f(t: float, q: Any, qd: Any) -> Any:
        s, c = np.sin(t * t), np.cos(t * t)
        return 2 * c - 4 * t * t * s + np.sin(q) - np.sin(s) + 0.3 * (2 * t * c - qd) * np.cos(q)

    def error(count: int) -> float:
        q, qd, h = np.array([0.0]), np.array([0.0]), 1.7 / count
        for k in range(count):
            q, qd = explicit_step(tableau, f, k * h, q, qd, h)
        return float(abs(q[0] - np.sin(1.7**2)) + abs(qd[0] - 3.4 * np.cos(1.7**2)))

    count = 16 if tableau is DP87 else 100
    assert log2(error(count) / error(2 * count)) > tableau.order - 0.4


def test_swartz_as_printed_is_of_order_1_and_corrected_is_rk3() -> None:
    assert observed_order(swartz("printed"), steps=400) == pytest.approx(1, abs=0.05)
    assert observed_order(swartz("corrected"), steps=200) == pytest.approx(3, abs=0.1)
    q, qd = np.array([0.7, -1.9]), np.array([0.4, 1.3])
    for mine, his in zip(of(RK3)(0.0, q, qd, 0.05), swartz("corrected")(0.0, q, qd, 0.05), strict=True):
        np.testing.assert_allclose(mine, his, rtol=1e-15)


def gill_of_d4(a: float, a_last: float) -> Step:
    """The subroutine RUNGE of Dhanaraj D.4, statement by statement, in y and its running Q."""

    def step(t: float, theta: Any, omega: Any, h: float) -> tuple[Any, Any]:
        y = np.stack([theta, omega])
        Q = np.zeros_like(y)
        for A, advance in ((0.5, 0.5), (a, 0.0), (a_last, 0.5)):
            F = np.stack([y[1], pendulum.acceleration(t, y[0], y[1])])
            t = t + advance * h
            y = y + A * (F * h - Q)
            Q = 2 * A * h * F + (1 - 3 * A) * Q
        F = np.stack([y[1], pendulum.acceleration(t, y[0], y[1])])
        y = y + h * F / 6 - Q / 3
        return y[0], y[1]

    return step


def test_gill_is_the_subroutine_of_d4() -> None:
    q, qd = np.array([0.7, -1.9]), np.array([0.4, 1.3])
    exact = gill_of_d4(1 - sqrt(0.5), 1 + sqrt(0.5))(0.0, q, qd, 0.3)
    printed = gill_of_d4(0.2928932, 1.707107)(0.0, q, qd, 0.3)
    mine = of(GILL)(0.0, q, qd, 0.3)
    for k in range(2):
        np.testing.assert_allclose(mine[k], exact[k], rtol=1e-15)
        np.testing.assert_allclose(mine[k], printed[k], rtol=1e-7)  # its constants have seven digits
    assert not np.allclose(mine[0], of(RK4)(0.0, q, qd, 0.3)[0], rtol=1e-9, atol=0)


@pytest.mark.parametrize("tableau", [RK3, RK4, GILL, DP45, DP87], ids=lambda t: t.name)
def test_a_batch_gets_the_bits_of_its_states(tableau: Tableau) -> None:
    generator = np.random.default_rng(5)
    q, qd = generator.normal(size=(2, 33, 7))

    def f(t: float, q: Any, qd: Any) -> Any:
        return np.cos(q) * t - qd * np.abs(q[..., ::-1])

    together = explicit_step(tableau, f, 0.4, q, qd, 0.03)
    alone = [explicit_step(tableau, f, 0.4, q[k], qd[k], 0.03) for k in range(33)]
    assert np.array_equal(together[0], [a[0] for a in alone])
    assert np.array_equal(together[1], [a[1] for a in alone])
    assert together[0].shape == (33, 7)


def test_what_cannot_be_used_is_refused_with_a_reason() -> None:
    with pytest.raises(
        NameNotFound, match=r"integration method: expected one of .*, got 'rk45'; did you mean 'rk4'"
    ):
        tableau_of("rk45")
    assert tableau_of("gill") is GILL
