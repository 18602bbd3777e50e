"""Each controller against its formula on the reference dynamics, and what it
computes against exact counts.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from arms import random_arm
from one_joint import beam
from sweeps import long

import forearm as fa
from forearm import control
from forearm.control.controller import Sample
from forearm.control.controllers.forces import Directions, forces_of
from forearm.control.controllers.traced_model import DROPPED
from forearm.control.model_error import without_gravity
from forearm.drives.joint import held_freedoms
from forearm.dynamics.dropping import DROPPED as DROPPED_BY
from forearm.kinematics.limits import middle
from forearm.model import model_of

Floats = np.ndarray
AGREE = 1e-12  # relative: two formulations in float64
W = 9.0


def generic(seed: int = 11) -> tuple[fa.Arm, Sample]:
    arm = random_arm(seed, n=4, fixed=False, mimic=False)
    rng = np.random.default_rng(seed)
    rows = rng.uniform(-0.8, 0.8, (8, arm.n))
    return arm, Sample(3, 0.03, rows[0], rows[1], None, tuple(rows[2:5]), tuple(rows[5:8]))


def rigid(seed: int = 12) -> tuple[fa.Arm, Sample]:
    arm, sample = generic(seed)
    return arm.rigid(), sample


def close(a: Floats, b: Floats) -> bool:
    return bool(np.abs(a - b).max() <= AGREE * np.abs(b).max())


def test_feed_forward_is_the_inverse_arm_of_what_is_wanted() -> None:
    arm, sample = rigid()
    assert close(control.FeedForward(arm).command(sample), fa.dynamics.inverse(arm, *sample.wanted))


def test_computed_torque_is_the_inverse_arm_at_a_corrected_acceleration() -> None:
    arm, sample = rigid()
    q, qd, qdd = sample.wanted
    a = qdd + 2.0 * W * (qd - sample.qd) + W * W * (q - sample.q)
    made = control.ComputedTorque(arm, bandwidth=W).command(sample)
    assert close(made, fa.dynamics.inverse(arm, sample.q, sample.qd, a))
    M, bias = fa.dynamics.inertia_matrix(arm, sample.q), fa.dynamics.bias(arm, sample.q, sample.qd)
    assert close(made, M @ a + bias)


def test_pd_pid_and_feed_forward_with_pd() -> None:
    arm, sample = rigid()
    q, qd, _ = sample.wanted
    own = np.diag(fa.dynamics.inertia_matrix(arm, middle(arm)))
    e, ed = q - sample.q, qd - sample.qd
    spring = own * (W * W * e + 2.0 * W * ed)
    g = fa.dynamics.gravity(arm, sample.q)
    assert close(control.PD(arm, bandwidth=W, gravity=False).command(sample), spring)
    assert close(control.PD(arm, bandwidth=W).command(sample), spring + g)
    assert close(
        control.FeedForwardPD(arm, bandwidth=W).command(sample),
        spring + fa.dynamics.inverse(arm, *sample.wanted),
    )
    pid = control.PID(arm, bandwidth=W)
    first, second = pid.command(sample), pid.command(dataclasses.replace(sample, t=sample.t + 0.01))
    assert close(first, own * (3.0 * W**2 * e + 3.0 * W * ed) + g)
    assert close(second - first, own * W**3 * 0.01 * e)
    pid.reset()
    assert np.array_equal(pid.command(sample), first)


def test_inertias_may_be_given_and_less_of_them_asks_for_less_integral() -> None:
    arm, _ = rigid()
    own = control.joint_inertias(arm)
    gains = control.PID(arm, bandwidth=W, inertias=0.5 * own).gains
    assert np.allclose(gains.kp, 1.5 * W**2 * own)
    assert np.allclose(gains.ki, 0.25 * W**3 * own)
    assert np.all(gains.kp * gains.kd > gains.ki * own), "Routh: it does not swing up"


@pytest.mark.parametrize("dropped", DROPPED)
def test_dropped_terms_are_those_of_the_reference(dropped: str) -> None:
    arm = random_arm(21, n=4, fixed=False, drives=False)
    q, qd, qdd = np.random.default_rng(21).uniform(-1.0, 1.0, (3, 4))
    truth = np.array(DROPPED_BY[dropped](model_of(arm), q.tolist(), qd.tolist(), qdd.tolist()), dtype=float)
    assert close(forces_of(arm, dropped)(q, qd, qdd, qd), truth)
    whole = fa.dynamics.inverse(arm, q, qd, qdd)
    assert not close(truth, whole)


@pytest.mark.parametrize("dropped", ["no-velocity-terms", "own-link-only"])
def test_friction_and_rotors_stay_when_terms_are_dropped(dropped: str) -> None:
    arm = fa.load("puma560")
    q, qd, qdd = np.random.default_rng(5).uniform(-1.0, 1.0, (3, 6))
    drives = fa.dynamics.inverse(arm, q, qd, qdd) - fa.dynamics.inverse(arm.rigid(), q, qd, qdd)
    assert np.abs(drives).min() > 0.0
    assert close(
        forces_of(arm, dropped)(q, qd, qdd, qd), forces_of(arm.rigid(), dropped)(q, qd, qdd, qd) + drives
    )


def test_friction_that_depends_on_the_load_goes_with_what_is_dropped() -> None:
    arm = random_arm(24, n=3, fixed=False)  # bearings and transmissions
    bare = control.without_friction(arm)
    q, qd, qdd = np.random.default_rng(5).uniform(-1.0, 1.0, (3, 3))
    one, other = (forces_of(some, "no-velocity-terms") for some in (arm, bare))
    assert np.array_equal(one(q, qd, qdd, qd), other(q, qd, qdd, qd))
    assert one.counts == other.counts
    rotors = fa.dynamics.inertia_matrix(arm, q) - fa.dynamics.inertia_matrix(arm.rigid(), q)
    rigid = fa.dynamics.inverse(arm.rigid(), q, np.zeros(3), qdd)
    assert close(one(q, qd, qdd, qd), rigid + rotors @ qdd)


def test_what_is_left_out_is_in_the_name() -> None:
    short = control.FeedForwardPD(fa.load("chain3"), friction=False, dropped="no-velocity-terms")
    assert short.name == "feed-forward + PD, no velocity terms, no friction"


OPERATIONS = {
    "feed-forward": (control.FeedForward, 0),
    "computed torque": (control.ComputedTorque, 6),
    "feed-forward + PD": (control.FeedForwardPD, 6),
}


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("arm_name", ["puma560", "panda"])
@pytest.mark.sweep
def test_operations_are_those_of_the_generated_code_and_of_the_errors(name: str, arm_name: str) -> None:
    arm, (kind, a_joint) = fa.load(arm_name), OPERATIONS[name]
    counts = fa.generate(arm, "inverse_dynamics", language="c").counts
    # directions of dry friction: a sum and a product of signs, two choices
    directions = 4 * sum(held_freedoms(arm))
    assert kind(arm).operations == counts.operations + a_joint * arm.n + directions
    counts = fa.generate(control.without_friction(arm), "inverse_dynamics", language="c").counts
    assert kind(arm, friction=False).operations == counts.operations + a_joint * arm.n
    assert kind(arm).name == name


def test_operations_of_pd_and_pid() -> None:
    arm = fa.load("puma560")
    g = fa.generate(arm, "gravity", language="c").counts.operations
    assert control.PD(arm, gravity=False).operations == 5 * 6
    # one less than apart: refined as a whole, two joints share a sum
    assert control.PD(arm).operations == 6 * 6 + g - 1
    assert control.PID(arm).operations == 9 * 6 + g - 1


@pytest.mark.slow
@pytest.mark.parametrize("name", ["stanford", *long(["puma560-dhanaraj6"])])
def test_leaving_out_saves(name: str) -> None:
    arm = fa.load(name).rigid()
    whole = forces_of(arm).counts.operations
    found = {dropped: forces_of(arm, dropped).counts.operations for dropped in DROPPED}
    assert found["no-velocity-terms"] < 0.7 * whole, "Waters: 46 %"
    assert 0.9 * whole < found["no-gravity"] < whole, "Waters: 6 %"
    assert found["own-link-only"] < whole


def test_friction_that_is_about_to_begin_is_overcome() -> None:
    arm = fa.load("puma560")
    directions = Directions.of(arm)
    assert directions is not None
    measured, ahead = np.array([0.0, 0.3, -0.2, 0.0, 0.1, -0.1]), np.array([0.1, 0.2, 0.2, 0.0, 0.2, -0.3])
    assert np.array_equal(directions.moving(measured, ahead), [0.1, 0.3, 0.2, 0.0, 0.1, -0.1])
    assert Directions.of(arm.rigid()) is None
    zero, small = np.zeros(6), np.full(6, 1e-6)
    start = Sample(0, 0.0, zero, zero, None, (zero, zero, zero), (zero, small, zero))
    friction = control.ComputedTorque(arm).command(start) - fa.dynamics.gravity(arm, zero)
    coulomb = np.array(
        [abs(j.motor.gear_ratio) * j.friction.coulomb[0] for j in arm.joints if j.motor and j.friction]
    )
    assert np.allclose(friction, coulomb, rtol=1e-3)


def test_without_friction_rotors_stay() -> None:
    arm = fa.load("puma560")
    bare = control.without_friction(arm)
    q = np.linspace(-0.5, 0.5, 6)
    assert np.array_equal(fa.dynamics.inertia_matrix(arm, q), fa.dynamics.inertia_matrix(bare, q))
    assert np.allclose(fa.dynamics.bias(bare, q, q), fa.dynamics.bias(arm.rigid(), q, q), rtol=1e-13)
    assert not fa.dynamics.gravity(without_gravity(arm), q).any()


def test_mistakes_of_the_model_are_seeded_and_bounded() -> None:
    arm = fa.load("puma560-akb")
    same, again, other = (control.perturbed(arm, 0.1, seed) for seed in (4, 4, 5))
    assert same == again
    assert same != other
    assert control.perturbed(arm, 0.0) == arm
    for before, after in zip(arm.links, same.links, strict=True):
        assert abs(after.mass - before.mass) <= 0.1 * before.mass
        assert np.all(np.abs(after.com - before.com) <= 0.1 * np.abs(before.com) + 1e-15)
        assert np.all(np.abs(after.inertia - before.inertia) <= 0.1 * np.abs(before.inertia) + 1e-15)


def test_drives_are_mistaken_too() -> None:
    """Motor constants, friction of bearings and losses of gears are off by no more than the
    share; none stays exact.
    """
    motor = fa.Motor(gear_ratio=40.0, rotor_inertia=2e-4, torque_constant=0.1, resistance=1.5)
    bearings = (
        fa.Bearing(kind="journal", mu=0.02, radius=0.01, distance=0.05),
        fa.Bearing(kind="thrust", mu=0.03, radius=0.02),
    )
    gear = fa.Transmission(efficiency=((0.0, 0.6), (1.0, 0.9)), rated_torque=30.0, breakaway=0.2)
    arm = beam(motor=motor, bearings=bearings, transmission=gear)

    def figures(arm: fa.Arm) -> Floats:
        motor, gear = arm.joints[0].motor, arm.joints[0].transmission
        assert motor is not None
        assert gear is not None
        losses = [1.0 - eta for _, eta in gear.efficiency]
        frictions = [one.mu for one in arm.joints[0].bearings]
        return np.array(
            [
                motor.torque_constant,
                motor.resistance,
                motor.rotor_inertia,
                gear.breakaway,
                *losses,
                *frictions,
            ]
        )

    assert control.perturbed(arm, 0.0).joints == arm.joints
    off = np.abs(figures(control.perturbed(arm, 0.1, 3)) / figures(arm) - 1.0)
    assert ((off > 0.0) & (off <= 0.1 + 1e-12)).all()
    lossy = fa.Transmission(efficiency=((0.0, 0.3),), rated_torque=30.0)
    worst = control.perturbed(beam(transmission=lossy), 0.9, 1)
    assert worst.joints[0].transmission is not None


def test_locking_and_counterbalancing() -> None:
    arm = fa.load("puma560-akb")
    still = np.arange(6) >= 3
    q = np.array([0.2, -0.4, 0.3, 0.5, -0.6, 0.1])
    held = control.locked_arm(arm, still, q)
    assert held.n == 3
    v = np.array([0.3, 0.2, -0.4])
    moving = np.concatenate([v, np.zeros(3)])
    whole = fa.dynamics.inverse(arm, q, moving, moving)
    assert close(fa.dynamics.inverse(held, q[:3], v, v), whole[:3])
    balanced = control.counterbalanced(arm)
    scale = np.abs(fa.dynamics.gravity(arm, q)).max()
    assert np.abs(fa.dynamics.gravity(balanced, q)).max() < 1e-12 * scale


@pytest.mark.long
def test_savings_of_the_documents() -> None:
    """Waters IV: 46 % without velocity terms, 6 % without gravity, 57 % with three of six joints locked."""
    found = {s.name: s for s in control.savings(fa.load("stanford"))}
    whole = found["nothing left out"].operations
    assert all(s.saved == pytest.approx(1.0 - s.operations / whole) for s in found.values())
    assert 0.35 < found["no velocity terms"].saved < 0.5
    assert 0.0 < found["no gravity"].saved < 0.07
    assert 0.5 < found["3 joints locked"].saved < 0.65
    assert 0.05 < found["no velocity terms"].torque_error < 0.5
    assert found["counterbalanced"].torque_error > 0.5, "a prismatic joint carries its load directly"
    assert "joint3" in found["counterbalanced"].cost
    puma = {s.name: s for s in control.savings(fa.load("puma560-akb"), locked=2)}
    assert puma["counterbalanced"].torque_error < 1e-12
    assert puma["counterbalanced"].torque < 0.6
    assert puma["2 joints locked"].operations < puma["nothing left out"].operations
    with pytest.raises(fa.InputError, match="0 to 5"):
        control.savings(fa.load("puma560-akb"), locked=6)
