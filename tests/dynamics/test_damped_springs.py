"""Deflections of damped springs along a motion: closed solutions, fine steps, and limits of stiffness."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal, localcontext
from itertools import zip_longest
from typing import Any

import numpy as np
import pytest
from drives.making import loaded_arm
from dynamics.cases import Array, assert_agree
from dynamics.elastic_cases import Motion, spring, with_springs
from numpy.polynomial import Polynomial

from forearm import Arm, Elasticity, Frame, InputError, Joint, Link, Motor
from forearm.arm.elastic import elastic_freedoms
from forearm.drives.elasticity import spring_torque
from forearm.dynamics import elastic_forward, elastic_inverse, elastic_inverse_along
from forearm.dynamics.damped_springs import deflection_along, settled

COEFFICIENTS = (0.3, -2.0, 7.0, 5.0, -31.0, 22.0)
LOAD = Polynomial(COEFFICIENTS)  # N m over s
K = 800.0


def load_at(t: Any) -> tuple[Any, Any, Any]:
    return LOAD(t), LOAD.deriv()(t), LOAD.deriv(2)(t)


def closed(t: Array, D: float, start: float) -> Array:
    """e of D ed + K e = y(t): a polynomial, and what is left of the start. Its terms are large where the
    relaxation is slow, and take many digits.
    """
    with localcontext() as context:
        context.prec = 80
        lag = Decimal(D) / Decimal(K)
        term, particular = [Decimal(c) / Decimal(K) for c in COEFFICIENTS], [Decimal(0)] * len(COEFFICIENTS)
        while term:
            particular = [a + b for a, b in zip_longest(particular, term, fillvalue=Decimal(0))]
            term = [-lag * (k + 1) * c for k, c in enumerate(term[1:])]
        made = []
        for x in map(Decimal, t.tolist()):
            value = (-x / lag).exp() * (Decimal(start) - particular[0])
            made.append(float(value + sum(c * (x**k if k else 1) for k, c in enumerate(particular))))
        return np.array(made)


@pytest.mark.parametrize("D", [1e-3, 0.1, 3.0, 40.0, 1e3, 1e6, 1e9])
def test_linear_springs_follow_the_closed_solution(D: float) -> None:
    """From a relaxation of a microsecond to one of days, with steps of 5 ms."""
    t = np.linspace(0.0, 1.0, 201)
    for start in (0.0, 0.004):
        found = deflection_along(Elasticity(stiffness=K, damping=D), t, load_at(t), start)
        assert_agree(found, closed(t, D, start), 1e-8)


@pytest.mark.parametrize("D", [20.0, 3e3])
def test_the_error_falls_with_the_fourth_power_of_the_step(D: float) -> None:
    errors = []
    for count in (41, 81, 161):
        t = np.linspace(0.0, 1.0, count)
        found = deflection_along(Elasticity(stiffness=K, damping=D), t, load_at(t), 0.0)
        errors.append(np.abs(found - closed(t, D, 0.0)).max())
    assert errors[0] > 12.0 * errors[1] > 144.0 * errors[2] > 0.0


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "D"), [("lines", 60.0), ("spline", 8.0), ("spline", 60.0)])
def test_curves_follow_fine_steps(kind: str, D: float) -> None:
    """Against Runge and Kutta with 50 times as many steps; kinks of straight lines cost some digits."""
    elastic = spring(np.random.default_rng(5), kind, damping=D)
    t = np.linspace(0.0, 0.5, 51)

    def rate(time: float, e: float) -> float:
        return float((20.0 * LOAD(time) - spring_torque(elastic, e)) / D)

    e, h, truth = 0.002, 0.01 / 50, [0.002]
    for k in range(2500):
        time = k * h
        a = rate(time, e)
        b = rate(time + h / 2, e + h / 2 * a)
        c = rate(time + h / 2, e + h / 2 * b)
        d = rate(time + h, e + h * c)
        e += h / 6 * (a + 2 * b + 2 * c + d)
        if (k + 1) % 50 == 0:
            truth.append(e)
    load = tuple(20.0 * x for x in load_at(t))
    assert_agree(deflection_along(elastic, t, load, 0.002), truth, 2e-3 if kind == "lines" else 2e-4)


def test_the_settled_deflection_is_right_to_the_second_order() -> None:
    """Of a linear spring: all that is missing is the third power of D / K."""
    t = 0.4
    for D in (4.0, 1.0, 0.25):
        wrong = settled(Elasticity(stiffness=K, damping=D), load_at(t)) - closed(np.array([t]), D, 0.0)[0]
        assert wrong == pytest.approx(LOAD.deriv(3)(t) * (D / K) ** 3 / K, rel=0.3)


@pytest.mark.slow
def test_the_settled_deflection_of_a_curve_is_right_to_the_second_order() -> None:
    """Against a run that began long before."""
    t, wrong = np.linspace(0.0, 0.37, 2001), []
    load = tuple(20.0 * x for x in load_at(t))
    for D in (8.0, 4.0):
        some = spring(np.random.default_rng(7), "spline", damping=D)
        first, last = (float(settled(some, tuple(x[k] for x in load))) for k in (0, -1))
        wrong.append(abs(last - deflection_along(some, t, load, first)[-1]))
    assert 5.0 < wrong[0] / wrong[1] < 12.0


def sampled(paths: list[Any], t: Array) -> Motion:
    """q and four derivatives (T, n) of a polynomial for each joint."""
    a, b, c, d, e = (np.stack([p.deriv(k)(t) if k else p(t) for p in paths], axis=-1) for k in range(5))
    return a, b, c, d, e


def slider(D: float) -> Arm:
    """A mass on a slide, across gravity: the spring carries m qdd."""
    joint = Joint(
        name="slide",
        kind="prismatic",
        parent="base",
        child="cart",
        placement=Frame(axis=np.array([1.0, 0.0, 0.0])),
        motor=Motor(gear_ratio=30.0, rotor_inertia=0.002),
        elasticity=Elasticity(stiffness=K, damping=D),
    )
    return Arm(name="slider", links=(Link(name="base"), Link(name="cart", mass=3.7)), tree=(joint,))


@pytest.mark.parametrize("D", [1e-2, 6.0, 2e3])
def test_a_slider_by_its_closed_solution(D: float) -> None:
    """q is the load's polynomial integrated twice, over the mass; so theta and torques are known."""
    q, B = LOAD.integ(2) / 3.7, 30.0**2 * 0.002
    t = np.linspace(0.0, 1.0, 401)
    found = elastic_inverse_along(slider(D), t, *sampled([q], t), deflection=[1e-3])
    e = closed(t, D, 1e-3)
    ed = (LOAD(t) - K * e) / D
    edd = (LOAD.deriv()(t) - K * ed) / D
    thetadd = q.deriv(2)(t) + edd
    for name, truth, tolerance in (
        ("deflection", e, 1e-8),
        ("theta", q(t) + e, 1e-8),
        ("deflection_rate", ed, 1e-8),
        ("thetad", q.deriv()(t) + ed, 1e-8),
        ("thetadd", thetadd, 1e-7),
        ("tau", LOAD(t) + B * thetadd, 1e-7),
    ):
        assert_agree(getattr(found, name)[:, 0], truth, tolerance)
    assert found.voltage is None


def test_along_a_motion_links_move_as_they_should() -> None:
    """Damped and undamped springs in one arm, with every drive."""
    arm = with_springs(loaded_arm("chain", 95, 3), 3, damping=20.0)
    spring2 = arm.joints[1].elasticity
    assert spring2 is not None
    bare = replace(spring2, damping=0.0)
    arm = arm.with_drives({arm.joints[1].name: {"elasticity": bare}})
    t = np.linspace(0.0, 0.5, 26)
    rng = np.random.default_rng(8)
    paths = [Polynomial(rng.uniform(0.3, 1.2, 7) * rng.choice([-1.0, 1.0], 7)) for _ in range(3)]
    states = sampled(paths, t)
    made = elastic_inverse_along(arm, t, *states)
    qdd, thetadd = elastic_forward(arm, states[0], states[1], made.theta, made.thetad, made.tau)
    assert_agree(qdd, states[2], 1e-7)
    assert_agree(thetadd, made.thetadd, 1e-7)
    again = elastic_inverse(arm, *states, deflection=made.deflection)
    assert_agree(again.tau, made.tau, 1e-14)
    assert elastic_freedoms(arm) == (0, 1, 2)


BAD: list[tuple[Any, str]] = [
    ([0.0, 0.2, 0.1], "t: expected increasing times"),
    ([0.0, np.nan, 0.1], "t: expected increasing times"),
    ([[0.0, 0.1, 0.2]], "t: expected increasing times"),
    ([0.0, 0.1], r"q: for 2 times the expected shape is \(2, 1\), got \(3, 1\)"),
]


def test_times_are_looked_at() -> None:
    for t, text in BAD:
        with pytest.raises(InputError, match=text):
            elastic_inverse_along(slider(1.0), t, *np.zeros((5, 3, 1)))
    still: Motion = (np.zeros((1, 1)),) * 5
    one = elastic_inverse_along(slider(1.0), [0.3], *still, deflection=[0.02])
    assert one.deflection.tolist() == [[0.02]]
