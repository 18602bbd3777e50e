"""Simulated measurements are what they say: derivatives, sides of the gear, sensors, joints that stick."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from arms import limits_of, random_arm
from identification.dense_fit import dense_columns, dense_fit, independent
from identification.measured import as_columns, closed_loop, excited_motion, measured, write_log
from identification.true_arms import (
    behind_gear,
    believed,
    panda_true,
    small_true,
    true_values,
    ur10_true,
    with_stribeck,
)

import forearm as fa
from forearm import Arm
from forearm.identification.measured_log import measured_log

ARMS = (panda_true(), ur10_true(), random_arm(3, 4, tree=True, mimic=True), random_arm(4, 3))


@pytest.mark.parametrize("arm", ARMS, ids=lambda arm: arm.name)
def test_motions_are_differentiated_and_within_limits(arm: Arm) -> None:
    motion = excited_motion(arm, 5.0, 1)
    t, h = np.linspace(0.0, 5.0, 700), 1e-4
    (before, _, _), (q, qd, qdd), (after, _, _) = (motion.at(t + s) for s in (-h, 0.0, h))
    np.testing.assert_allclose((after - before) / (2 * h), qd, atol=1e-6)  # h^2 / 6 of the third derivative
    np.testing.assert_allclose((after - 2 * q + before) / h**2, qdd, atol=1e-5)
    lower, upper = limits_of(arm)
    assert ((q > lower) & (q < upper)).all()
    assert (np.abs(qd) < np.array([j.max_speed for j in arm.joints])).all()


def test_sensors_do_what_they_are_told() -> None:
    arm = small_true(2)
    motion = excited_motion(arm, 4.0, 2)
    exact = measured(arm, motion, derivatives=True)
    reference = fa.dynamics.inverse(arm, exact["q"][::500], exact["qd"][::500], exact["qdd"][::500])
    np.testing.assert_allclose(exact["tau"][::500], reference, rtol=1e-10)
    loud = measured(arm, motion, effort_noise=[0.1, 0.3], q_step=1e-3, seed=1)
    np.testing.assert_allclose(np.std(loud["tau"] - exact["tau"], axis=0), [0.1, 0.3], rtol=0.05)
    np.testing.assert_allclose(loud["q"] / 1e-3, np.round(loud["q"] / 1e-3), atol=1e-9)
    assert np.abs(loud["q"] - exact["q"]).max() <= 0.5e-3 + 1e-12
    late = measured(arm, motion, delay=5e-3, gain=2.0, offset=[0.0, 1.0])
    np.testing.assert_allclose(late["tau"][5:], 2.0 * exact["tau"][:-5] + [0.0, 1.0], rtol=1e-9, atol=1e-9)
    assert np.abs(measured(arm, motion, clip=3.0)["tau"]).max() == 3.0


def test_efforts_and_sides_of_the_gear() -> None:
    arm = small_true(3, side="motor")
    motion = excited_motion(arm, 2.0, 3)
    before = measured(arm, motion, derivatives=True)
    behind = measured(arm, motion, side="link", derivatives=True)
    rigid = fa.dynamics.inverse(arm.rigid(), behind["q"][::99], behind["qd"][::99], behind["qdd"][::99])
    np.testing.assert_allclose(behind["tau"][::99], rigid, atol=1e-9)
    assert all(j.friction is None for j in behind_gear(arm).joints)
    current = measured(arm, motion, effort="current")["current"]
    voltage = measured(arm, motion, effort="voltage")["voltage"]
    for k, joint in enumerate(arm.joints):
        motor = joint.motor
        assert motor is not None
        assert motor.torque_constant is not None
        assert motor.resistance is not None
        K = motor.gear_ratio * motor.torque_constant
        np.testing.assert_allclose(K * current[:, k], before["tau"][:, k], rtol=1e-12)
        back = voltage[:, k] - motor.resistance * current[:, k]
        np.testing.assert_allclose(back, K * before["qd"][:, k], atol=1e-10)


@pytest.mark.slow
def test_the_dense_fit_finds_what_made_an_exact_log() -> None:
    for side, prismatic in (("motor", False), ("joint", True)):
        arm = small_true(2, prismatic=prismatic, side=side)
        log = {
            k: x[::19]
            for k, x in measured(arm, excited_motion(arm, 4.0, 4), rate=500.0, derivatives=True).items()
        }
        true = true_values(arm)
        unknown = [x for x in true if not x.endswith((".offset", ".gain", ".torque_constant", ".resistance"))]
        A = dense_columns(arm, log, unknown)
        np.testing.assert_allclose(A @ [true[x] for x in unknown], log["tau"], atol=1e-9)
        # the rotor of the first joint turns with its link: only their sum shows
        told = independent(A, unknown)
        assert "joint1.motor.rotor_inertia" not in told
        fit = dense_fit(arm, log, told)
        assert fit.rank == len(told)
        assert np.abs(fit.residual).max() < 1e-9
        # the weight of a first link that slides is a constant force: dry friction of that joint takes it up
        alone = [x for x in told if "friction" in x and not (prismatic and x.startswith("joint1"))]
        found = dict(zip(told, fit.values.tolist(), strict=True))
        np.testing.assert_allclose([found[x] for x in alone], [true[x] for x in alone], rtol=1e-6)
        assert fit.leverages.sum() == pytest.approx(len(told))


@pytest.mark.slow
def test_a_closed_loop_sticks_and_obeys_the_model_where_it_moves() -> None:
    arm = with_stribeck(small_true(2), more=0.8)
    log = closed_loop(arm, excited_motion(arm, 2.0, 5), controller_of=believed(arm))
    still = np.diff(log["q"], axis=0) == 0.0
    assert still.any(axis=0).all()
    assert still.mean() < 0.2
    q, tau = log["q"], log["tau"]
    # the torque of a row is held in the period behind it: acceleration of the middle of that period
    qd = np.diff(q, axis=0) / 1e-3
    qdd = (qd[1:] - qd[:-1]) / 1e-3
    moving = (np.abs(qd[1:]) > 0.2).all(axis=1)
    need = fa.compile(arm).inverse_dynamics(q[1:-1], 0.5 * (qd[1:] + qd[:-1]), qdd)
    held = 0.5 * (tau[:-2] + tau[1:-1])
    apart = np.abs(need - held)[moving]
    assert np.median(apart) < 0.02 * np.abs(tau).max()


@pytest.mark.slow
def test_files_read_back(tmp_path: Path) -> None:
    arm = ur10_true()
    log = measured(arm, excited_motion(arm, 1.0, 6), rate=100.0, q_noise=1e-4, effort_noise=0.1)
    for spelling, ending in (("ours", "csv"), ("ros", "parquet"), ("brackets", "csv")):
        assert len(as_columns(arm, log, spelling)) == 13
        back = measured_log(arm, write_log(tmp_path / f"{spelling}.{ending}", arm, log, spelling))
        np.testing.assert_array_equal(back.q, log["q"])
        np.testing.assert_array_equal(back.tau, log["tau"])
