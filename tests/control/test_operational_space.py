"""Operational space control against its own law: the hand accelerates as asked whatever the posture does, and
its error is that of a critically damped mass.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from arms import random_arm
from control.hand_models import ReferenceHand, hand_acceleration, hand_sample

import forearm as fa
from forearm import Arm, control
from forearm.control.controller import Sample
from forearm.control.controllers.hand_formulas import hand_error

W = 12.0
DIFFERENCE = 1e-7  # relative: accelerations by differences of velocities over 1e-4 s
ARMS: dict[str, Callable[[], Arm]] = {
    "six joints, some slide": lambda: random_arm(35, 6, drives=False),
    "three joints, its place alone": lambda: random_arm(33, 3, drives=False),
    "seven joints": lambda: fa.load("panda"),
    "friction": lambda: fa.load("puma560"),
}


def errors(arm: Arm, sample: Sample) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """e, e' and the wanted acceleration of the hand, (6,) each."""
    model = ReferenceHand(arm)
    here, there = model.hand(sample.q, sample.qd), model.hand(*sample.wanted)
    return hand_error(there, here), there.velocity - here.velocity, there.acceleration


@pytest.mark.slow
@pytest.mark.parametrize("name", ARMS)
@pytest.mark.sweep(first=2)
def test_the_hand_accelerates_as_asked(name: str) -> None:
    arm = ARMS[name]()
    m = 6 if arm.n >= 6 else 3
    controller = control.OperationalSpace(arm, bandwidth=W)
    for seed in range(4):
        sample = hand_sample(arm, seed)
        sample.ahead[1][:] = sample.qd  # dry joints are taken to move as they do
        qdd = fa.dynamics.forward(arm, sample.q, sample.qd, controller.command(sample))
        e, rate, second = (x[:m] for x in errors(arm, sample))
        asked = second + 2.0 * W * rate + W * W * e
        found = hand_acceleration(arm, sample.q, sample.qd, qdd)[:m]
        assert np.abs(found - asked).max() <= DIFFERENCE * max(np.abs(asked).max(), np.abs(qdd).max())


@pytest.mark.slow
def test_the_error_of_the_hand_is_that_of_a_critically_damped_mass() -> None:
    arm, T = fa.load("puma560").rigid(), 5e-4
    goal = np.array([0.3, -0.7, 0.4, 0.2, 0.9, -0.4])
    start = goal + np.array([0.2, -0.15, 0.1, 0.2, -0.2, 0.15])
    run = control.run(
        arm, control.OperationalSpace(arm, bandwidth=W), control.hold(goal, 0.6), period=T, q0=start
    )
    model, rest = ReferenceHand(arm), np.zeros(6)
    there = model.hand(goal, rest)
    found = np.array([hand_error(there, model.hand(q, rest)) for q in run.q[::40]])
    t = run.t[::40, None]
    truth = (1.0 + W * t) * np.exp(-W * t) * found[0]
    # A torque that is held is half a period late.
    assert np.abs(found - truth).max() <= W * T * np.abs(found[0]).max()
    assert np.abs(found[-1]).max() < 0.01 * np.abs(found[0]).max()


def test_it_is_khatibs_law() -> None:
    """J^T (Lambda a + mu + p) + (1 - J^T Jbar^T) tau_0, each term by its own definition."""
    arm = fa.load("panda")
    sample = hand_sample(arm, 3)
    e, rate, second = errors(arm, sample)
    q, qd = sample.q, sample.qd
    M, J = fa.dynamics.inertia_matrix(arm, q), fa.kinematics.jacobian(arm, q)
    g, h = fa.dynamics.gravity(arm, q), fa.dynamics.bias(arm, q, qd)
    inverse = np.linalg.inv(M)
    Lambda = np.linalg.inv(J @ inverse @ J.T)
    Jbar = inverse @ J.T @ Lambda
    mu = Jbar.T @ (h - g) - Lambda @ fa.kinematics.jacobian_derivative(arm, q, qd) @ qd
    wanted = sample.wanted
    a = wanted[2] + 2.0 * W * (wanted[1] - qd) + W * W * (wanted[0] - q)
    tau = J.T @ (Lambda @ (second + 2.0 * W * rate + W * W * e) + mu + Jbar.T @ g)
    tau += (np.eye(arm.n) - J.T @ Jbar.T) @ (M @ a + h)
    found = control.OperationalSpace(arm, bandwidth=W).command(sample)
    assert np.abs(found - tau).max() <= 1e-10 * np.abs(tau).max()


@pytest.mark.slow
def test_what_the_posture_asks_for_does_not_move_the_hand() -> None:
    arm, sample = fa.load("panda"), hand_sample(fa.load("panda"), 5)
    made = [
        control.OperationalSpace(arm, bandwidth=W),
        control.OperationalSpace(arm, bandwidth=W, posture=sample.q + 0.4),
        control.OperationalSpace(arm, bandwidth=W, avoid_limits=500.0, posture=sample.q),
    ]
    sample.q[3] = fa.load("panda").joints[3].limits.upper - 0.01  # where it is pushed back
    joints = [fa.dynamics.forward(arm, sample.q, sample.qd, c.command(sample)) for c in made]
    hands = [hand_acceleration(arm, sample.q, sample.qd, qdd) for qdd in joints]
    assert np.abs(joints[1] - joints[0]).max() > 5.0
    assert np.abs(joints[2] - joints[1]).max() > 5.0
    for hand in hands[1:]:
        assert np.abs(hand - hands[0]).max() <= DIFFERENCE * np.abs(joints).max()
    assert joints[2][3] < joints[1][3], "back from the limit"


def test_redundant_joints_go_to_their_posture_while_the_hand_stays() -> None:
    arm = fa.load("panda")
    q = np.array([0.1, -0.5, 0.2, -2.0, 0.3, 1.6, 0.7])
    near = q + np.array([0.5, 0.0, -0.5, 0.0, 0.0, 0.0, 0.0])
    runs = {
        name: control.run(arm, control.OperationalSpace(arm, posture=posture), control.hold(q, 1.0))
        for name, posture in (("stay", q), ("go", near))
    }
    assert max(run.hand_largest for run in runs.values()) < 1e-4
    apart = {name: np.abs(run.q[-1] - near).max() for name, run in runs.items()}
    assert apart["go"] < 0.7 * apart["stay"]
    assert np.abs(runs["go"].qd[-1]).max() < 1e-3, "and rest there"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "q"),
    [
        ("puma560", [0.2, -0.8, 0.4, 0.3, 0.0, 0.5]),  # the wrist's axes 4 and 6 are one line
        ("ascher2", [0.4, 0.0]),
    ],
)
def test_singular_postures_are_passed_with_bounded_torques(name: str, q: list[float]) -> None:
    arm = fa.load(name)
    way = 0.4 * np.linspace(1.0, -0.7, arm.n)
    motion = control.smooth(np.array(q) - way, np.array(q) + way, 1.0)
    run, other = (
        control.run(arm, made, motion)
        for made in (control.OperationalSpace(arm), control.ComputedTorque(arm))
    )
    assert run.ok
    assert run.hand_largest < 1e-3
    assert np.abs(run.tau).max() < 2.0 * np.abs(other.tau).max()
    at = hand_sample(arm, 1)
    assert np.isfinite(control.OperationalSpace(arm).command(replace(at, q=np.array(q)))).all()


def test_operations_are_those_of_the_text() -> None:
    arm = random_arm(33, 3, drives=False)
    made = control.OperationalSpace(arm)
    assert made.operations == made.law.compiled.counts.operations
    assert made.operations > control.ComputedTorque(arm).operations
    with_limits = control.OperationalSpace(arm, avoid_limits=10.0)
    assert with_limits.operations == made.operations + 5 * arm.n, (
        "two choices, two sums and a product a joint"
    )
