"""Impedance and gravity compensation: what they give way by, the energy that damping takes, an arm that stays
where it is left.
"""

from __future__ import annotations

import numpy as np
import pytest
from arms import random_arm
from control.hand_models import ReferenceHand, hand_acceleration, hand_sample

import forearm as fa
from forearm import control
from forearm.control.controller import Sample
from forearm.control.controllers.hand_formulas import hand_error

PUMA = np.array([0.3, -0.7, 0.4, 0.2, 0.9, -0.4])
PANDA = np.array([0.1, -0.5, 0.2, -2.0, 0.3, 1.6, 0.7])
FORCE = np.array([12.0, -7.0, 9.0, 0.8, -1.1, 0.6])


def matrix(seed: int) -> np.ndarray:
    """A stiffness (6, 6) that mixes all directions, N/m and N m/rad."""
    root = np.random.default_rng(seed).normal(size=(6, 6))
    size = np.sqrt(np.array([800.0, 800.0, 800.0, 60.0, 60.0, 60.0]))
    return np.asarray((np.eye(6) + 0.05 * root @ root.T) * np.outer(size, size))


@pytest.mark.slow
def test_it_gives_way_by_the_force_over_the_stiffness() -> None:
    """Redundant joints, whose posture acts in the null space alone, change nothing of it."""
    arm, q = fa.load("panda").rigid(), PANDA
    K = matrix(1)
    controller = control.Impedance(arm, K)
    run = control.run(arm, controller, control.hold(q, 2.5), hand_force=FORCE)
    model, rest = ReferenceHand(arm), np.zeros(arm.n)
    way = hand_error(model.hand(run.q[-1], rest), model.hand(q, rest))
    truth = np.linalg.solve(K, FORCE)
    assert np.abs(way - truth).max() <= 1e-3 * np.abs(truth).max()
    assert np.abs(truth).max() > 0.005
    assert np.array_equal(controller.stiffness, K)


@pytest.mark.slow
def test_a_pure_impedance_loses_energy_and_nothing_else() -> None:
    """d/dt (kinetic + spring) = -e' D e', at every state."""
    arm = random_arm(31, 6, prismatic=False, drives=False)
    K = matrix(2)
    K[:3, 3:] = K[3:, :3] = 0.0
    K[3:, 3:] = 50.0 * np.eye(3)  # a spring of turns that has an energy, k angle^2 / 2
    D = 0.05 * matrix(3)
    controller, model = control.Impedance(arm, K, D), ReferenceHand(arm)

    def energy(q: np.ndarray, qd: np.ndarray, goal: np.ndarray) -> float:
        e = hand_error(model.hand(goal, 0.0 * qd), model.hand(q, 0.0 * qd))
        return float(0.5 * e @ K @ e + 0.5 * qd @ fa.dynamics.inertia_matrix(arm, q) @ qd)

    for seed in range(4):
        s = hand_sample(arm, seed, off=0.3)
        rest = np.zeros(arm.n)
        goal = (s.wanted[0], rest, rest)
        tau = controller.command(Sample(0, 0.0, s.q, s.qd, None, goal, goal))
        qdd = fa.dynamics.forward(arm, s.q, s.qd, tau)
        h = 1e-4
        ends = [energy(s.q + t * s.qd + 0.5 * t * t * qdd, s.qd + t * qdd, goal[0]) for t in (-h, h)]
        rate = fa.kinematics.jacobian(arm, s.q) @ s.qd
        assert (ends[1] - ends[0]) / (2.0 * h) == pytest.approx(-rate @ D @ rate, rel=1e-4)


def test_damping_is_a_ratio_of_what_the_hand_weighs() -> None:
    """In one direction alone: Lambda e'' + 2 ratio sqrt(K Lambda) e' + K e = 0."""
    arm, K, ratio = random_arm(33, 4, drives=False), 700.0, 0.3
    controller = control.Impedance(arm, K, ratio=ratio, axes="y", feedforward=True, velocity_terms=True)
    for seed in range(4):
        s = hand_sample(arm, seed)
        qdd = fa.dynamics.forward(arm, s.q, s.qd, controller.command(s))
        model = ReferenceHand(arm)
        here, there = model.hand(s.q, s.qd), model.hand(*s.wanted)
        Lambda = control.hand_inertia(arm, s.q, "y").item()
        e, rate = hand_error(there, here)[1], (there.velocity - here.velocity)[1]
        second = there.acceleration[1] - hand_acceleration(arm, s.q, s.qd, qdd)[1]
        left = Lambda * second + 2.0 * ratio * np.sqrt(K * Lambda) * rate + K * e
        assert abs(left) <= 1e-6 * (abs(K * e) + Lambda * np.abs(qdd).max())


@pytest.mark.slow
def test_with_all_terms_the_hand_is_a_mass_of_its_own_on_the_spring() -> None:
    """Lambda e'' + D e' + K e = 0, whatever the joints do, redundant ones too."""
    arm = fa.load("panda")
    K, D = matrix(4), 0.05 * matrix(5)
    controller, model = (
        control.Impedance(arm, K, D, feedforward=True, velocity_terms=True),
        ReferenceHand(arm),
    )
    s = hand_sample(arm, 2)
    qdd = fa.dynamics.forward(arm, s.q, s.qd, controller.command(s))
    here, there = model.hand(s.q, s.qd), model.hand(*s.wanted)
    second = there.acceleration - hand_acceleration(arm, s.q, s.qd, qdd)
    forces = D @ (there.velocity - here.velocity) + K @ hand_error(there, here)
    assert np.abs(control.hand_inertia(arm, s.q) @ second + forces).max() <= 1e-6 * np.abs(forces).max()


@pytest.mark.slow
def test_a_posture_keeps_joints_together_in_singular_postures() -> None:
    """Six joints for six directions: away from singular postures it changes nothing."""
    arm = control.without_friction(fa.load("puma560"))
    free, held = control.Impedance(arm, 500.0, 40.0), control.Impedance(arm, 500.0, 40.0, posture=PUMA)
    sample = hand_sample(arm, 3)
    assert np.allclose(free.command(sample), held.command(sample), rtol=1e-9)
    turned = np.array([0.0, 0.0, 0.0, 0.4, 0.0, -0.4])  # of axes that are one line: the hand stays
    goal = np.array([0.2, -0.8, 0.4, 0.3, 0.0, 0.5])
    runs = [
        control.run(
            arm, control.Impedance(arm, 500.0, 40.0, posture=p), control.hold(goal, 1.0), q0=goal + turned
        )
        for p in (None, goal)
    ]
    assert np.abs(runs[0].error[-1]).max() > 0.3
    assert np.abs(runs[1].error[-1]).max() < 0.01


@pytest.mark.slow
def test_numbers_that_are_given_cost_less_than_an_inertia_at_each_sample() -> None:
    arm = random_arm(33, 3, drives=False)
    given, found = control.Impedance(arm, 500.0, 40.0), control.Impedance(arm, 500.0)
    assert given.operations < 0.75 * found.operations
    whole = control.Impedance(arm, matrix(1)[:3, :3], matrix(2)[:3, :3])
    assert whole.operations == given.operations + 2 * (9 + 6 - 3), "9 products and 6 sums for 3 products"


def test_gravity_compensation_stays_where_it_is_left() -> None:
    arm, q = control.without_friction(fa.load("puma560")), PUMA
    still = control.run(arm, control.GravityCompensation(arm), control.hold(0.0 * q, 0.5), q0=q)
    assert np.abs(still.q - q).max() < 1e-9, "whatever is wanted"
    qd = np.linspace(-0.4, 0.5, arm.n)
    free, slowed = (
        control.run(arm, control.GravityCompensation(arm, damping=d), control.hold(q, 0.5), q0=q, qd0=qd)
        for d in (None, 10.0 * control.joint_inertias(arm))
    )
    energies = [
        0.5 * run.qd[k] @ fa.dynamics.inertia_matrix(arm, run.q[k]) @ run.qd[k]
        for run in (free, slowed)
        for k in (0, -1)
    ]
    assert energies[1] == pytest.approx(energies[0], rel=0.01), "nothing brakes it"
    assert energies[3] < 0.1 * energies[2]
    plain, damped = control.GravityCompensation(arm), control.GravityCompensation(arm, damping=4.0)
    assert damped.operations == plain.operations + 2 * arm.n - 1, "g of its joint 1 is 0"
