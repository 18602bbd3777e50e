"""Gains against the poles that they should give, sampling rules against closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest
from arms import random_arm
from one_joint import MASS, beam, block

import forearm as fa
from forearm import control
from forearm.control.gains import sampled_radius
from forearm.kinematics.limits import middle

W_5HZ = 2.0 * math.pi * 5.0


def test_poles_are_where_the_bandwidth_says() -> None:
    g = control.critically_damped(2, 7.0)
    assert np.allclose(np.roots([1.0, g.kd[0], g.kp[0]]), -7.0, atol=1e-5)
    g = control.critically_damped(2, 7.0, integral=True)
    # a triple root is found to eps^(1/3)
    assert np.allclose(np.roots([1.0, g.kd[1], g.kp[1], g.ki[1]]), -7.0, atol=1e-3)


def test_joint_inertias_are_the_diagonal_with_rotors() -> None:
    arm = random_arm(3, n=4)
    q = np.linspace(-0.3, 0.4, 4)
    assert np.allclose(
        control.joint_inertias(arm, q), np.diag(fa.dynamics.inertia_matrix(arm, q)), rtol=1e-12
    )
    assert np.allclose(
        control.joint_inertias(arm), np.diag(fa.dynamics.inertia_matrix(arm, middle(arm))), rtol=1e-12
    )


def test_sampled_poles_of_a_unit_mass() -> None:
    kp, kd, T = 80.0, 14.0, 0.01
    expected = np.abs(np.roots([1.0, 0.5 * kp * T * T + kd * T - 2.0, 1.0 + 0.5 * kp * T * T - kd * T])).max()
    assert sampled_radius(kp, kd, T) == pytest.approx(expected, rel=1e-12)
    delayed = np.abs(np.roots([1.0, -2.0, 1.0 + 0.5 * kp * T * T + kd * T, 0.5 * kp * T * T - kd * T])).max()
    assert sampled_radius(kp, kd, T, delay=1) == pytest.approx(delayed, rel=1e-9)
    assert sampled_radius(kp, kd, T, ki=1e-9) == pytest.approx(1.0, abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["panda", "puma560-akb"])
def test_bearable_inertias_keep_joints_from_shaking_each_other(name: str) -> None:
    arm = fa.load(name)
    w, T = 2.0 * math.pi * 5.0, 1e-3
    q = control.default_motion(arm).at(np.linspace(0.0, 2.0, 7))[0]
    d = control.stable_inertias(arm, q, w, T)
    own = control.joint_inertias(arm)
    assert np.all(d <= own)
    for row in q:
        most = np.linalg.eigvals(np.linalg.solve(fa.dynamics.inertia_matrix(arm, row), np.diag(d))).real.max()
        assert w * T * most <= 0.5 + 1e-9, "half of what is stable"
    if name == "panda":  # parallel axes: M_jj itself would shake
        most = np.linalg.eigvals(
            np.linalg.solve(fa.dynamics.inertia_matrix(arm, q[3]), np.diag(own))
        ).real.max()
        assert w * T * most > 1.0
        reached = [
            np.linalg.eigvals(np.linalg.solve(fa.dynamics.inertia_matrix(arm, row), np.diag(d))).real.max()
            for row in q
        ]
        assert w * T * max(reached) == pytest.approx(0.5, rel=1e-9), "and not less than need be"
        assert np.array_equal(d < own, [True, False, True, False, False, False, False]), (
            "joints that shake nobody keep theirs"
        )


@pytest.mark.slow
def test_an_arm_whose_joints_cannot_bear_gains_of_their_own_is_told_of() -> None:
    """Ascher's two links of 1 and 10^4: one joint by itself moves 27000 times what is left
    when the other gives way.
    """
    arm = fa.load("ascher2")
    q = control.default_motion(arm).at(np.linspace(0.0, 2.0, 5))[0]
    d, own = control.stable_inertias(arm, q, W_5HZ, 1e-3), control.joint_inertias(arm)
    assert (d / own).max() < 1e-3
    found = control.compare(arm, None, ["PD", "computed torque", "feed-forward"], period=2e-3, payload=0.0)
    assert found["PD"].stiffness == min(found.shares) < 1e-3
    assert found["computed torque"].stiffness == 1.0
    assert math.isnan(found["feed-forward"].stiffness)


def test_sampling_rule_of_the_document() -> None:
    """Dhanaraj 1.1: 5 to 10 Hz are sampled at 100 to 200 Hz, not at the 1 to 2 kHz that
    the text makes of them.
    """
    assert control.sampling_period(2.0 * math.pi * 10.0) == pytest.approx(1.0 / 200.0)
    assert control.sampling_period(2.0 * math.pi * 5.0) == pytest.approx(1.0 / 100.0)


def test_natural_frequencies_of_one_joint() -> None:
    assert control.natural_frequencies(block(), [0.3], [50.0])[0] == pytest.approx(
        math.sqrt(50.0 / MASS), rel=1e-12
    )
    inertia = 0.013 + MASS * 0.09
    hanging = control.natural_frequencies(beam(), [-0.5 * math.pi])[0]
    assert hanging == pytest.approx(math.sqrt(MASS * 9.81 * 0.3 / inertia), rel=1e-9), "a pendulum"
    assert np.isnan(control.natural_frequencies(beam(), [0.5 * math.pi])[0]), "upright it falls"
    stiff = control.natural_frequencies(beam(), [0.5 * math.pi], [20.0])[0]
    assert stiff == pytest.approx(math.sqrt((20.0 - MASS * 9.81 * 0.3) / inertia), rel=1e-9)


@pytest.mark.slow
def test_natural_frequencies_are_what_a_simulation_swings_with() -> None:
    arm, K = random_arm(8, n=3, drives=False, prismatic=False), 400.0
    q0 = np.array([0.2, -0.3, 0.4])
    w = control.natural_frequencies(arm, q0, np.full(3, K))
    M = fa.dynamics.inertia_matrix(arm, q0)
    slope = fa.compile(arm).inverse_dynamics_derivatives(q0, np.zeros(3), np.zeros(3))[0]
    shape = np.linalg.eig(np.linalg.solve(M, slope + K * np.eye(3)))
    k = int(np.argmax(shape[0].real))
    assert shape[0].real[k] == pytest.approx(w[-1] ** 2, rel=1e-9)
    g, off = fa.dynamics.gravity(arm, q0), 1e-5 * shape[1][:, k].real
    run = fa.simulate(
        arm,
        q0 + off,
        np.zeros(3),
        2.0 * math.pi / w[-1],
        controller=lambda t, q, qd: g - K * (q - q0),
        method="rk4",
        step=1e-4,
    )
    assert np.allclose(run.q[-1] - q0, off, atol=0.02 * np.abs(off).max()), "after a period it is back"


@pytest.mark.slow
def test_period_for_the_fastest_posture() -> None:
    arm = fa.load("puma560-akb")
    q = control.default_motion(arm).at(np.linspace(0.0, 2.0, 5))[0]
    K = np.full(6, 5000.0)
    fastest = max(float(np.nanmax(control.natural_frequencies(arm, row, K))) for row in q)
    assert control.period_for(arm, K, q) == pytest.approx(2.0 * math.pi / (20.0 * fastest))
