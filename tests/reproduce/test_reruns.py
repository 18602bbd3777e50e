"""Simulations of the documents run anew: D.4 of Dhanaraj, 5.2 of Mata, and what drives them."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from arms import Array as Floats

import forearm as fa
from forearm.reproduce.recompute import d4, puma_line
from forearm.reproduce.recompute.dhanaraj import d4_arm
from forearm.reproduce.recompute.fehlberg import StepControl, restarted

SAME = 1e-9  # rad: the same steps in another order of operations


def gill_as_listed(y: Floats, h: float, rate: Callable[[float, Floats], Floats]) -> Floats:
    """Subroutine RUNGE: q carries what rounding and the half steps leave, A is 0.5,
    0.29..., 1.70... in turn.
    """
    q, t = np.zeros_like(y), 0.0
    for k, A in enumerate((0.5, 1.0 - math.sqrt(0.5), 1.0 + math.sqrt(0.5))):
        F = rate(t, y)
        y = y + A * (F * h - q)
        q = 2.0 * A * h * F + (1.0 - 3.0 * A) * q
        t += 0.5 * h if k != 1 else 0.0
    return y + h * rate(t, y) / 6.0 - q / 3.0


@pytest.mark.slow
def test_gills_steps_are_those_of_the_listing() -> None:
    arm, run = d4_arm(16.04), d4.run("gill")
    y, tau = np.concatenate([run.q[0], run.qd[0]]), run.tau
    for k in range(len(run.t) - 1):

        def rate(t: float, y: Floats, k: int = k) -> Floats:
            u = tau[k] + t / d4.STEP * (tau[k + 1] - tau[k])
            return np.concatenate([y[3:], fa.dynamics.forward(arm, y[:3], y[3:], u)])

        y = gill_as_listed(y, d4.STEP, rate)
        assert np.abs(y[:3] - run.q[k + 1]).max() < SAME
    assert run.t[-1] == pytest.approx(d4.DURATION)


def test_the_start_is_the_tip_s_and_the_run_follows_the_line() -> None:
    g = d4.GEOMETRY
    q = d4.planned().q
    assert np.abs(fa.kinematics.forward(d4._hand(), q[[0, -1]])[:, :3, 3] - [d4.TIP, d4.END]).max() < 1e-12
    start = d4.start()
    assert np.abs(np.exp(1j * np.array(list(start.values()))) - np.exp(1j * q[0])).max() < 1e-12
    assert g.upper == g.fore


@pytest.mark.slow
def test_energy_of_the_run_is_that_of_the_torques() -> None:
    run = d4.run("dp45")
    stored = run.energy["kinetic"] + run.energy["potential"]
    assert (
        np.abs(run.energy["supplied"] - (stored - stored[0])).max()
        < 1e-6 * np.abs(run.energy["supplied"]).max()
    )
    assert np.abs(run.energy["lost"]).max() < 1e-9


@pytest.mark.slow
def test_the_order_is_four() -> None:
    assert d4.order() == pytest.approx(4.0, abs=0.1)


@pytest.mark.slow
def test_the_rerun_s_differences_are_small_beside_the_motion() -> None:
    differences = d4.rerun()
    assert all(0.0 < value < 1e-4 for value in differences.values())
    assert np.ptp(d4.planned().q, axis=0).max() > 0.1


@pytest.mark.slow
def test_mata_s_planned_motion_keeps_line_speed_and_attitude() -> None:
    made = puma_line.run()
    T = fa.kinematics.forward(made.arm, made.planned.q)
    u = made.planned.t / made.planned.t[-1]
    line = np.outer(1.0 - u, puma_line.START) + np.outer(u, puma_line.END)
    assert np.abs(T[:, :3, 3] - line).max() < 1e-12
    assert np.abs(T[:, :3, :3] - puma_line.R_BASE_HAND).max() < 1e-12
    v, w = fa.kinematics.velocity(made.arm, made.planned.q, made.planned.qd)
    assert np.abs(np.linalg.norm(v, axis=1) - puma_line.SPEED).max() < 1e-12
    assert np.abs(w).max() < 1e-12


def test_mata_s_attitude_is_z_y_z_of_0_90_180_degrees() -> None:
    assert np.abs(puma_line.R_BASE_HAND @ [0.0, 0.0, 1.0] - [1.0, 0.0, 0.0]).max() == 0.0
    assert np.linalg.det(puma_line.R_BASE_HAND) == pytest.approx(1.0)
    # after 90 degrees about y, x points down and z along x; 180 degrees about the new z turns x and y round
    assert np.abs(puma_line.R_BASE_HAND @ [1.0, 0.0, 0.0] - [0.0, 0.0, 1.0]).max() == 0.0


@pytest.mark.slow
def test_errors_of_mata_s_run_grow_as_the_linearised_arm_says() -> None:
    """The fastest rate of the arm's own small motions, mean over the line,
    against what the integration shows.
    """
    made = puma_line.run()
    kernel, rates = fa.compile(made.arm), []
    motion = made.planned
    for q, qd, qdd in zip(motion.q[10:31:5], motion.qd[10:31:5], motion.qdd[10:31:5], strict=True):
        tau = kernel.inverse_dynamics(q, qd, qdd)
        to_q, to_qd, _ = kernel.forward_dynamics_derivatives(q, qd, tau)
        A = np.block([[np.zeros((6, 6)), np.eye(6)], [to_q, to_qd]])
        rates.append(np.linalg.eigvals(A).real.max())
    assert math.log(puma_line.growth()) == pytest.approx(np.mean(rates), rel=0.1)


@pytest.mark.long
def test_mata_s_mean_differences_are_those_of_the_samples() -> None:
    made = puma_line.stepwise()
    figures = puma_line.table_6()
    assert figures["q3"] == pytest.approx(np.abs(made.q - made.planned.q)[:, 2].mean())
    assert figures["qd5"] == pytest.approx(np.abs(made.qd - made.planned.qd)[:, 4].mean())
    assert len(figures) == 18
    assert puma_line.ends()["distance from the end, 0.1 m/s"] < 0.01


@pytest.mark.long
def test_mata_s_run_begun_anew_starts_each_tenth_where_the_last_one_ended() -> None:
    """The first tenths against our simulation in one piece, which takes other steps:
    both within the tolerance.
    """
    made, whole = puma_line.stepwise(), puma_line.run(puma_line.DURATION).simulation
    q, qd = whole.at(made.planned.t[:11])
    assert np.abs(made.q[:11] - q).max() < 1e-5
    assert np.abs(made.qd[:11] - qd).max() < 1e-5
    assert len(made.q) == 51
    assert made.evaluations == pytest.approx(766, abs=20)  # as the reason of Table 7 says


def test_fehlberg_s_pair_has_its_orders_and_counts_what_it_asks() -> None:
    """An oscillator: the error of one step falls with the power of the order, and every rate is counted."""
    asked = 0

    def rate(_t: float, y: Floats) -> Floats:
        nonlocal asked
        asked += 1
        return np.stack([y[1], -y[0]])

    y = np.array([[1.0], [0.0]])
    for extrapolate, order in ((True, 5), (False, 4)):
        missed = []
        for h in (0.4, 0.2):
            one = restarted(rate, np.array([0.0, h]), y, 1.0, StepControl(extrapolate=extrapolate))
            assert (one.taken, one.rejected, one.evaluations) == (1, 0, 6)
            missed.append(np.abs(one.states[-1][:, 0] - [math.cos(h), -math.sin(h)]).max())
        assert math.log2(missed[0] / missed[1]) > order + 0.8
    for anew in (True, False):
        asked = 0
        made = restarted(rate, np.linspace(0.0, 10.0, 6), y, 1e-8, StepControl(anew=anew))
        assert made.rejected > 0
        assert made.evaluations == asked == 6 * made.taken + (6 if anew else 5) * made.rejected
        assert np.abs(made.states[-1][:, 0] - [math.cos(10.0), -math.sin(10.0)]).max() < 1e-6


@pytest.mark.long
def test_mata_s_evaluations_lie_within_those_of_fehlberg_s_pair() -> None:
    """As the reason of Table 7 says."""
    ways = product((True, False), (True, False), (True, False), (0.84, 0.9))
    taken = [puma_line.by_fehlberg(StepControl(*way)).evaluations for way in ways]
    assert min(taken) == pytest.approx(911, abs=20)
    assert max(taken) == pytest.approx(1176, abs=20)
    assert min(taken) < 1089 < 1122 < max(taken)
    by_default = puma_line.by_fehlberg()
    assert by_default.evaluations == 6 * (by_default.taken + by_default.rejected)
    # the first tenths are those of dp45, which takes other steps
    assert np.abs(by_default.states[:11, 0] - puma_line.stepwise().q[:11]).max() < 1e-5


@pytest.mark.slow
def test_mata_s_three_methods_agree_and_the_hand_does_as_asked() -> None:
    assert all(value < 1e-12 for value in puma_line.agreement().values())
    assert all(value < 1e-12 for value in puma_line.task().values())
