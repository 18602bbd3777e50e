"""Implicit methods: their orders, their stability, and stiff systems with known solutions in few steps."""

from __future__ import annotations

from math import log2
from typing import Any

import numpy as np
import pendulum
import pytest
from simulation.stepping_once import implicit_step

from forearm.simulation import adaptive, implicit
from forearm.simulation.adaptive import integrate
from forearm.simulation.implicit import differences
from forearm.simulation.methods import GAUSS4, MIDPOINT, RADAU, Tableau
from forearm.simulation.solution import Status
from forearm.simulation.stepping import System

START = 2.3


@pytest.mark.parametrize(
    ("tableau", "steps"), [(RADAU, 20), (GAUSS4, 20), (MIDPOINT, 100)], ids=lambda v: getattr(v, "name", "")
)
def test_convergence_to_the_pendulum(tableau: Tableau, steps: int) -> None:
    def error(count: int) -> float:
        q, qd, h = np.array([START]), np.array([0.0]), 2.0 / count
        for k in range(count):
            q, qd = implicit_step(tableau, pendulum.acceleration, k * h, q, qd, h)
        return float(np.hypot(*(np.array([q[0], qd[0]]) - pendulum.swing(START, 2.0))))

    assert log2(error(steps) / error(2 * steps)) == pytest.approx(tableau.order, abs=0.25)


def growth(tableau: Tableau, z: complex) -> complex:
    """R(z) = 1 + z b' (1 - z a)^-1 1: what a step makes of y' = (z / h) y."""
    _, a, b = tableau.floats
    ones = np.ones(len(b))
    return complex(1 + z * np.array(b) @ np.linalg.solve(np.eye(len(b)) - z * np.array(a), ones))


@pytest.mark.parametrize("tableau", [RADAU, GAUSS4, MIDPOINT], ids=lambda t: t.name)
def test_a_stability(tableau: Tableau) -> None:
    """|R| <= 1 on the imaginary axis, and no poles on the left: so it is on the whole left half-plane."""
    for y in np.geomspace(1e-3, 1e6, 200):
        assert abs(growth(tableau, 1j * y)) <= 1 + 1e-12
        assert abs(growth(tableau, -y + 1j * y)) <= 1 + 1e-12
    assert np.linalg.eigvals(np.array(tableau.floats[1])).real.min() > 0
    assert abs(growth(tableau, 0.01) - np.exp(0.01)) < 1e-6


def test_radau_forgets_what_is_infinitely_stiff() -> None:
    assert abs(growth(RADAU, -1e9)) < 1e-8
    assert abs(growth(GAUSS4, -1e9)) == pytest.approx(1.0)
    assert RADAU.a[-1] == RADAU.b  # stiffly accurate


STIFF = 1e6


def chase(t: float, q: Any, qd: Any) -> Any:
    """y' = -1e6 (y - cos t) for the velocity y."""
    return -STIFF * (qd - np.cos(t))


def chased(t: Any, start: float) -> Any:
    """Its solution from y(0) = start."""
    steady = (STIFF**2 * np.cos(t) + STIFF * np.sin(t)) / (STIFF**2 + 1)
    return steady + (start - STIFF**2 / (STIFF**2 + 1)) * np.exp(-STIFF * np.asarray(t))


@pytest.mark.parametrize("start", [0.0, 1.0, -30.0])
def test_a_stiff_chase_in_few_steps(start: float) -> None:
    rtol = 1e-7
    solution = integrate(
        chase, 0.0, 1.0, [0.0], [start], method="radau", rtol=rtol, atol_q=rtol, atol_qd=rtol
    )
    assert solution.status is Status.END
    assert len(solution.t) + solution.rejected < 300
    np.testing.assert_allclose(solution.qd[:, 0], chased(solution.t, start), atol=30 * rtol)
    times = np.linspace(0.0, 1.0, 333)
    np.testing.assert_allclose(solution(times)[1][:, 0], chased(times, start), atol=100 * rtol)


@pytest.mark.slow
def test_an_explicit_method_needs_a_hundred_times_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adaptive, "MOST_STEPS", 1_000)
    stuck = integrate(chase, 0.0, 1.0, [0.0], [1.0])
    assert stuck.status is Status.TOO_MANY_STEPS
    assert stuck.t[-1] < 0.02
    assert "'radau'" in stuck.status.value


def test_a_motor_with_tiny_inductance() -> None:
    """Charge and angle, i = dQ/dt: L i' = V - R i - k w, J w' = k i - B w, by the matrix exponential."""
    L, R, k, J, B, V = 1.3e-6, 1.7, 0.09, 2.1e-4, 3e-4, 12.0

    def f(t: float, q: Any, qd: Any) -> Any:
        i, w = qd
        return np.array([(V - R * i - k * w) / L, (k * i - B * w) / J])

    A = np.array([[-R / L, -k / L], [k / J, -B / J]])
    values, vectors = np.linalg.eig(A)
    steady = -np.linalg.solve(A, [V / L, 0.0])
    assert abs(values).max() > 1e6

    def truth(t: float) -> Any:
        return steady + vectors @ (np.exp(values * t) * np.linalg.solve(vectors, -steady))

    found = integrate(f, 0.0, 1.0, [0.0, 0.0], [0.0, 0.0], method="radau", rtol=1e-7)
    assert found.status is Status.END
    assert len(found.t) < 300
    for t, qd in zip(found.t[::7], found.qd[::7], strict=True):
        np.testing.assert_allclose(qd, truth(t), rtol=1e-5, atol=1e-7)


def test_newton_starts_from_the_curve_of_the_last_step() -> None:
    solution = integrate(pendulum.acceleration, 0.0, 5.0, [START], [0.0], method="radau", rtol=1e-8)
    # two of Newton's steps, three stages each, with Jacobians and ends
    assert solution.evaluations < 9 * len(solution.t)


@pytest.mark.slow
def test_van_der_pol_through_its_jumps() -> None:
    """The printed reference solution of the oscillator with parameter 1e-6 at t = 2 (F. Mazzia, C. Magherini,
    Test Set for IVP Solvers, 2008, problem VDPOL)."""

    def f(t: float, q: Any, qd: Any) -> Any:
        return ((1 - q**2) * qd - q) / 1e-6

    solution = integrate(f, 0.0, 2.0, [2.0], [0.0], method="radau", rtol=1e-6, atol_q=1e-6, atol_qd=1e-6)
    assert solution.q[-1, 0] == pytest.approx(1.706167732170483, abs=1e-4)
    assert solution.qd[-1, 0] == pytest.approx(-0.8928097010247975, abs=1e-4)
    assert len(solution.t) < 4000


def test_differences_give_the_jacobian() -> None:
    def f(t: float, q: Any, qd: Any) -> Any:
        return np.array([np.sin(q[0]) * qd[1], q[1] ** 2 - t * qd[0] + 3.0 * q[0]])

    y = np.array([[0.4, -1.1], [0.7, 0.0]])
    system = System(f)
    fq, fqd = differences(system, 2.0, y, system(2.0, y))
    np.testing.assert_allclose(fq, [[np.cos(0.4) * 0.0, 0.0], [3.0, -2.2]], atol=1e-6)
    np.testing.assert_allclose(fqd, [[0.0, np.sin(0.4)], [-2.0, 0.0]], atol=1e-6)
    assert system.evaluations == 5


def test_singular_equations_shorten_the_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Jacobian that makes the first matrix singular, far from the truth, must not end the integration."""

    def wrong(*_: Any) -> Any:
        return np.zeros((1, 1)), np.array([[3.0 + 3.0 ** (2 / 3) - 3.0 ** (1 / 3)]]) / 0.25

    monkeypatch.setattr(implicit, "differences", wrong)
    solution = integrate(
        lambda t, q, qd: -q, 0.0, 1.0, [1.0], [0.0], method="radau", first_step=0.25, rtol=1e-8
    )
    assert solution.status is Status.END
    assert solution.q[-1, 0] == pytest.approx(np.cos(1.0), abs=1e-6)


@pytest.mark.parametrize("atol_q", [1e-9, 1.0, 1e300])
def test_a_body_that_moves_evenly_is_no_hard_case(atol_q: float) -> None:
    """Newton's corrections are rounding from the first on, and do not shrink."""
    found = integrate(
        lambda t, q, qd: np.zeros(2),
        0.02,
        0.1,
        [0.0, 0.0],
        [0.0, 3.0],
        method="radau",
        rtol=1e-9,
        atol_q=atol_q,
        atol_qd=1e-12,
    )
    assert found.status is Status.END
    np.testing.assert_allclose(found.q[-1], [0.0, 0.24], rtol=1e-12)
    np.testing.assert_allclose(found.qd[-1], [0.0, 3.0], rtol=1e-12)
