"""Steps that are too long for a drive are told, and told only then."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import forearm as fa
from forearm.control.loop import _step
from forearm.drives.coordinates import coordinates_of
from forearm.simulation import Accuracy
from forearm.simulation.machine import simulator_of
from forearm.simulation.stability import _fastest_anywhere, fastest_decay, longest_step


def braked(viscous: float) -> fa.Arm:
    """An arm whose last joint has hardly any inertia and so much friction."""
    friction = fa.Friction(side="joint", viscous=viscous, coulomb=(0.1, -0.1))
    return fa.load("puma560-akb").with_joint("joint6", friction=friction)


def test_the_rate_is_that_of_a_small_motion() -> None:
    arm, q = braked(0.3).replace(gravity=(0.0, 0.0, 0.0)), np.array([0.3, -0.4, 0.5, 0.6, 0.7, 0.8])
    rate, freedom = fastest_decay(coordinates_of(arm), False, q)
    B = np.diag([0.0] * 5 + [0.3])
    rates = np.linalg.eigvals(np.linalg.solve(fa.dynamics.inertia_matrix(arm, q), B))
    assert rate == pytest.approx(np.max(rates.real), rel=1e-9)
    assert freedom == 5


@pytest.mark.parametrize("by_voltage", [False, True])
def test_no_configuration_decays_faster_than_rotors_alone(by_voltage: bool) -> None:
    arm, random = fa.load("puma560"), np.random.default_rng(5)
    bound = _fastest_anywhere(coordinates_of(arm), by_voltage)
    rates = [fastest_decay(coordinates_of(arm), by_voltage, q)[0] for q in random.uniform(-3.0, 3.0, (50, 6))]
    assert 0.3 * bound < max(map(abs, rates)) <= bound
    assert _fastest_anywhere(coordinates_of(braked(0.3)), False) == np.inf  # without a rotor


def test_back_emf_brakes_where_voltages_drive() -> None:
    arm = fa.load("cmu-dd")
    q = np.full(6, 0.3)
    driven, undriven = (fastest_decay(coordinates_of(arm), by, q)[0] for by in (True, False))
    assert abs(driven) > abs(undriven)


@pytest.mark.parametrize(("method", "limit"), [("rk3", 2.5127), ("rk4", 2.7853), ("gill", 2.7853)])
def test_limits_are_those_of_the_methods(method: str, limit: float) -> None:
    assert longest_step(method, 1.0) == pytest.approx(limit, abs=1e-4)
    assert longest_step(method, 0.0) == np.inf


@pytest.mark.slow
def test_long_steps_are_told_and_short_ones_are_right() -> None:
    method = "rk3"
    arm, q = braked(0.3).replace(gravity=(0.0, 0.0, 0.0)), np.full(6, 0.3)
    torque = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.4])
    most = longest_step(method, fastest_decay(coordinates_of(arm), False, q)[0])
    with pytest.warns(fa.StepWarning, match=r"too long for joint6.*at most .* s, or method 'radau'"):
        fa.simulate(arm, q, np.zeros(6), 0.01, torque=torque, method=method, step=1.1 * most)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        steps = fa.simulate(arm, q, np.zeros(6), 0.2, torque=torque, method=method, step=0.5 * most)
        followed = fa.simulate(
            arm, q, np.zeros(6), 0.2, torque=torque, method="radau", accuracy=Accuracy(1e-9, 1e-12)
        )
    assert np.allclose(steps.q[-1], followed.q[-1], atol=1e-4)
    assert steps.qd[-1, 5] == pytest.approx(1.0, rel=0.01)  # (0.4 - 0.1) / 0.3


def boom() -> fa.Arm:
    """It turns about z against friction, and a mass of 1 kg slides along it: r m out, its inertia is r^2."""
    rows = [(0.0, np.pi / 2, 0.0, np.pi / 2), (0.0, 0.0, 0.0, 0.0)]
    arm = fa.from_dh(
        "boom", rows, convention="standard", joints="RP", mass=[0.0, 1.0], gravity=(0.0, 0.0, 0.0)
    )
    return arm.with_joint("joint1", friction=fa.Friction(viscous=1500.0))


def test_steps_that_become_too_long_on_the_way_are_told_at_the_end() -> None:
    arm, out, inwards = boom(), np.array([0.0, 1.0]), np.array([0.0, -5.0])
    assert fastest_decay(coordinates_of(arm), False, out)[0] == pytest.approx(1500.0)
    assert longest_step("rk4", 1500.0) > 1e-3 > longest_step("rk4", 4.0 * 1500.0)
    with pytest.warns(
        fa.StepWarning, match="too long for joint1, which its drive brakes within 0.00017 s"
    ) as told:
        fa.simulate(arm, out, inwards, 0.1, method="rk4")
    assert len(told) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fa.simulate(arm, out, np.zeros(2), 0.1, method="rk4")
        fa.simulate_many(arm, [out, out], np.zeros((2, 2)), 0.1)
    with pytest.warns(fa.StepWarning, match="too long for joint1") as told:
        fa.simulate_many(arm, [out, 0.5 * out, 0.4 * out], np.zeros((3, 2)), 0.01)
    assert len(told) == 1


@pytest.mark.parametrize(
    ("rate", "steps"),
    [(0.0, 4.0), (5.2e4, 52.0), (3e5, 200.0), (1e6, 1000.0 / (0.8 * 2.78529)), (1e8, 1000.0)],
)
def test_a_period_has_as_many_steps_as_its_drives_need(rate: float, steps: float) -> None:
    """Of 0.25 ms, of a decay time, 200, of what is stable, and never more than 1000:
    then they are too long, which is told.
    """
    arm = boom().with_joint("joint1", friction=fa.Friction(viscous=rate))
    assert 1e-3 / _step(simulator_of(arm, False, "rk4"), np.array([0.0, 1.0]), 1e-3) == pytest.approx(
        steps, rel=1e-5
    )


@pytest.mark.slow
def test_a_controlled_arm_is_moved_in_steps_that_its_drives_need() -> None:
    arm = braked(2.0)
    motion = fa.control.default_motion(arm, 0.5)
    law = fa.control.ComputedTorque(arm)
    alone = fa.control.run(arm, law, motion)
    fine = fa.control.run(arm, law, motion, step=1e-5)
    assert np.allclose(alone.q, fine.q, atol=2e-4)
    assert np.abs(fine.q[:, 5] - fine.q[0, 5]).max() > 0.1, "the joint moves at all"
    with pytest.warns(
        fa.StepWarning, match=r"run: steps of 0.00025 s are too long for joint6.* at most \S+ s\.$"
    ):
        coarse = fa.control.run(arm, law, motion, step=2.5e-4)
    assert not np.allclose(coarse.q, fine.q, atol=1e-2)
