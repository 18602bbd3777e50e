"""Admittance: under a force the hand moves as the mass, damper and spring that it was told to be; and forces
on the hand in the loop.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from arms import random_arm
from control.hand_models import ReferenceHand, hand_sample

import forearm as fa
from forearm import control
from forearm.control.controllers.admittance import held_response
from forearm.control.controllers.hand_formulas import hand_error

Q = np.array([0.3, -0.7, 0.4, 0.2, 0.9, -0.4])
FORCE = np.array([12.0, -7.0, 9.0, 0.0, 0.0, 0.0])


def answer(M: float, D: float, K: float, t: np.ndarray) -> np.ndarray:
    """Of a unit force on M x'' + D x' + K x = 1 from rest, underdamped."""
    a = D / (2.0 * M)
    w = np.sqrt(K / M - a * a)
    return np.asarray((1.0 - np.exp(-a * t) * (np.cos(w * t) + a / w * np.sin(w * t))) / K)


@pytest.mark.slow
def test_the_hand_moves_as_the_mass_that_it_was_told_to_be() -> None:
    arm = control.without_friction(fa.load("puma560"))
    M, D, K = 4.0, 30.0, 200.0
    controller = control.Admittance(arm, [M] * 3 + [0.5] * 3, [D] * 3 + [6.0] * 3, [K] * 3 + [40.0] * 3)
    run = control.run(arm, controller, control.hold(Q, 1.2), hand_force=FORCE)
    way = fa.kinematics.forward(arm, run.q)[:, :3, 3] - fa.kinematics.forward(arm, Q)[:3, 3]
    truth = answer(M, D, K, run.t)[:, None] * FORCE[:3]
    assert np.abs(way - truth).max() <= 2e-3 * np.abs(truth).max()
    assert np.abs(controller.offset[:3] - truth[-1]).max() <= 1e-9, "exact for a force that is held"
    moment = np.array([0.0, 0.0, 0.0, 3.0, -4.0, 2.0])
    turned = control.run(arm, controller, control.hold(Q, 2.5), hand_force=moment)
    model, rest = ReferenceHand(arm), np.zeros(6)
    turn = hand_error(model.hand(turned.q[-1], rest), model.hand(Q, rest))
    assert np.abs(turn - moment / 40.0).max() <= 1e-4


@pytest.mark.slow
def test_without_a_force_it_is_operational_space() -> None:
    arm = fa.load("panda")
    sample = hand_sample(arm, 4)
    made = control.Admittance(arm), control.OperationalSpace(arm)
    tau = [c.command(sample) for c in made]
    assert np.abs(tau[0] - tau[1]).max() <= 1e-11 * np.abs(tau[1]).max()
    assert made[0].operations > made[1].operations


def test_it_forgets_its_offset_when_it_is_reset_and_keeps_to_its_period() -> None:
    arm = random_arm(33, 3, drives=False)
    controller, motion = control.Admittance(arm, 1.0, 8.0, 20.0), control.hold(np.zeros(3), 0.05)
    first, second = (control.run(arm, controller, motion, hand_force=FORCE) for _ in range(2))
    assert controller.offset.any()
    assert np.array_equal(first.q, second.q)
    with pytest.raises(fa.InputError, match=r"period: expected samples 0\.001 s apart, got 0\.002 s; set"):
        control.run(arm, controller, motion, period=2e-3)
    control.run(arm, control.Admittance(arm, 1.0, 8.0, 20.0, period=2e-3), motion, period=2e-3)


def test_what_a_period_does_is_what_two_halves_do() -> None:
    M, D, K = np.array([2.0, 1.0, 0.5]), np.array([4.0, 20.0, 0.0]), np.array([2.0, 0.0, 900.0])
    whole, half = (held_response(M, D, K, T).reshape(2, 3, 3) for T in (0.2, 0.1))
    for i in range(3):  # critically damped, no spring, no damper
        step, twice = (np.vstack([x[:, :, i], [0.0, 0.0, 1.0]]) for x in (whole, half))
        assert np.allclose(step, twice @ twice, rtol=1e-12, atol=1e-14)
    w = np.sqrt(900.0 / 0.5)
    assert np.allclose(
        whole[0, :, 2], [np.cos(0.2 * w), np.sin(0.2 * w) / w, (1.0 - np.cos(0.2 * w)) / 900.0]
    )
    a, t = 2.0 / 2.0, 0.2
    assert whole[0, 0, 0] == pytest.approx((1.0 + a * t) * np.exp(-a * t))
    assert whole[1, 1, 1] == pytest.approx(np.exp(-20.0 * t))


def test_a_force_on_the_hand_is_that_of_forward_dynamics() -> None:
    arm = random_arm(34, 4, drives=False)
    sample, F = hand_sample(arm, 1), np.array([5.0, -3.0, 4.0, 0.7, 0.9, -0.5])
    T = 1e-5
    run = control.run(
        arm,
        control.GravityCompensation(arm),
        control.hold(sample.q, 2 * T),
        period=T,
        q0=sample.q,
        qd0=sample.qd,
        hand_force=F,
    )
    R = fa.kinematics.forward(arm, sample.q)[:3, :3]
    g = fa.dynamics.gravity(arm, sample.q)
    truth = fa.dynamics.forward(arm, sample.q, sample.qd, g, hand_force=R.T @ F[:3], hand_moment=R.T @ F[3:])
    assert np.abs((run.qd[1] - run.qd[0]) / T - truth).max() <= 1e-3 * np.abs(truth).max()
    assert not run.saturated.any()
    assert np.allclose(run.tau[0], run.asked[0] + fa.kinematics.jacobian(arm, sample.q).T @ F)


@pytest.mark.slow
def test_a_force_may_depend_on_where_the_hand_is_and_the_controller_is_told() -> None:
    """A wall at the start: the hand comes to rest where spring and wall agree."""
    arm = fa.load("panda")
    q = np.array([0.1, -0.5, 0.2, -2.0, 0.3, 1.6, 0.7])
    start = fa.kinematics.forward(arm, q)[0, 3]
    told: list[np.ndarray | None] = []

    class Listening(control.Impedance):
        def command(self, sample: control.Sample) -> np.ndarray:
            told.append(sample.force)
            return super().command(sample)

    def wall(t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        inside = fa.kinematics.forward(arm, q)[0, 3] - start
        return np.array([-3000.0 * max(inside, 0.0), 0.0, 0.0, 0.0, 0.0, 0.0])

    goal = fa.kinematics.inverse_numeric(
        arm, fa.spatial.pose(np.eye(3), [0.05, 0.0, 0.0]) @ fa.kinematics.forward(arm, q), start=q
    )
    controller = Listening(arm, [1000.0] * 3 + [80.0] * 3)
    run = control.run(arm, controller, control.hold(goal.q, 1.2), q0=q, hand_force=wall)
    x = fa.kinematics.forward(arm, run.q[-1])[0, 3] - start
    assert 3000.0 * x == pytest.approx(1000.0 * (0.05 - x), rel=0.01)
    assert told[0] is not None
    assert told[-1] is not None
    assert told[-1][0] == pytest.approx(-3000.0 * x, rel=0.01)


def test_forces_that_cannot_be_are_refused() -> None:
    by_voltage = {"actuators": control.Actuators(voltage=True)}
    cases: list[tuple[fa.Arm, Any, dict[str, Any], str]] = [
        (fa.load("puma560"), FORCE, by_voltage, "expected a torque-driven plant"),
        (fa.load("puma560"), FORCE[:3], {}, r"expected shape \(6,\), got \(3,\)"),
        (fa.load("puma560"), lambda t, q, qd: [np.nan] * 6, {}, "expected 6 finite numbers at 0 s, got"),
        (random_arm(3, 3), FORCE, {}, "friction of 'random3' depends on the load"),
    ]
    for arm, force, how, said in cases:
        with pytest.raises(fa.InputError, match=f"run, hand_force: {said}"):
            control.run(arm, control.PD(arm), control.hold(np.zeros(arm.n), 0.01), hand_force=force, **how)
