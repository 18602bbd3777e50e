"""Joints that dry friction holds: when they stand, when they begin to move, and what jams."""

from __future__ import annotations

import numpy as np
import pytest
from arms import posture, random_arm, speed
from one_joint import MASS, beam, block
from simulation.making import FIXED, PATHS, RUBBING, kinds

import forearm as fa
from forearm.simulation import Accuracy, Sampling, Schedule, without_inductance

TIGHT = Accuracy(1e-10, 1e-13)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "speed0", "rub"), [("rk4", -1.3, 3.0), ("dp45", 1.3, 2.0), ("radau", 1.3, 2.0)]
)
def test_a_block_slows_down_evenly_and_stands_for_good(method: str, speed0: float, rub: float) -> None:
    end = abs(speed0) * MASS / rub
    run = fa.simulate(block(friction=RUBBING), [0.2], [speed0], 2.0, method=method, accuracy=TIGHT)
    (event,) = run.events
    assert (event.kind, event.joint) == ("stick", "way")
    assert event.t == pytest.approx(end, abs=1e-3 if method in FIXED else 1e-9)
    assert not run.qd[run.t >= event.t].any()
    assert np.unique(run.q[run.t >= event.t]).size == 1
    assert run.q[-1, 0] == pytest.approx(0.2 + speed0 * end / 2.0, abs=1e-9)
    assert run.energy["lost"][-1] == pytest.approx(
        0.5 * MASS * speed0**2, rel=1e-3 if method in FIXED else 1e-8
    )


def reel() -> fa.Arm:
    """A light reel, on the axis of a heavy turntable, whose friction stops it within some
    hundredths of a millisecond.
    """
    tensors = [np.diag([0.1, 0.1, TABLE]), np.diag([1e-4, 1e-4, REEL])]
    arm = fa.from_dh(
        "reel",
        np.zeros((2, 4)),
        convention="standard",
        mass=[1.0, 0.1],
        inertia=tensors,
        gravity=(0.0, 0.0, 0.0),
    )
    return arm.with_joint("joint2", friction=fa.Friction(coulomb=(2.0, -2.0)))


TABLE, REEL = 0.13, 1.7e-4  # kg m^2


@pytest.mark.parametrize("method", PATHS)
def test_a_joint_that_stops_within_a_step_pushes_others_no_longer_than_it_takes(method: str) -> None:
    """No moment acts on both about their axis, so that they keep their momentum;
    and the reel stops in v^2 / 2a.
    """
    momentum = TABLE * 0.2 + REEL * (0.2 + 0.9)
    run = fa.simulate(reel(), [0.1, 0.3], [0.2, 0.9], 0.01, method=method, accuracy=TIGHT)
    assert kinds(run) == [("stick", "joint2")]
    assert run.qd[-1] == pytest.approx([momentum / (TABLE + REEL), 0.0], rel=1e-12)
    assert run.q[-1, 1] == pytest.approx(0.3 + 0.9**2 / (2.0 * 2.0 * (1.0 / TABLE + 1.0 / REEL)), abs=1e-12)
    assert run.q[-1, 0] == pytest.approx(0.1 + 0.01 * run.qd[-1, 0], abs=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("method", PATHS)
def test_it_takes_more_than_friction_to_begin(method: str) -> None:
    arm = block(friction=fa.Friction(coulomb=(2.0, -3.0), static=(2.5, -4.0), stribeck_speed=0.05))
    for torque, moves in ((2.499, 0.0), (2.501, 1.0), (-3.999, 0.0), (-4.001, -1.0)):
        run = fa.simulate(arm, [0.1], [0.0], 1.0, torque=[torque], method=method)
        assert np.array_equal(np.unique(np.sign(run.qd[1:])), [moves]), torque
        assert kinds(run) == ([("slip", "way")] if moves else [])
        if not moves:
            assert np.unique(run.q).size == 1
            assert not any(v.any() for v in run.lost.values())
    fast = fa.simulate(arm, [0.1], [0.0], 1.0, torque=[3.0], method=method)
    assert fast.qdd[-1, 0] == pytest.approx(1.0 / MASS, rel=1e-9), "Coulomb's is left at speed"


@pytest.mark.parametrize("method", PATHS)
def test_a_rising_push_sets_it_going_when_it_is_enough(method: str) -> None:
    ramp = Schedule(times=np.array([0.0, 2.0]), values=np.array([[0.0], [5.0]]), how="linear")
    run = fa.simulate(block(friction=RUBBING), [0.0], [0.0], 2.0, torque=ramp, method=method, accuracy=TIGHT)
    (event,) = run.events
    assert event.kind == "slip"
    assert event.t == pytest.approx(0.8, abs=1.1e-3 if method in FIXED else 1e-9)
    assert not run.qd[run.t <= event.t].any()
    assert run.qd[-1, 0] == pytest.approx(2.5 * 1.2**2 / 2.0 / MASS, rel=3e-3 if method in FIXED else 1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["rk4", "dp45"])
def test_a_gear_holds_against_gravity(method: str) -> None:
    pull = MASS * 9.81 * 0.3
    gear = fa.Transmission(efficiency=((0.0, 0.5), (1.0, 0.5)), rated_torque=10.0, breakaway=0.6 * pull)
    run = fa.simulate(beam(transmission=gear), [0.0], [0.0], 0.5, method=method)
    assert np.array_equal(run.q, np.zeros_like(run.q)), (
        "half of the pull is left behind the gear, less than breaks it away"
    )
    loose = fa.Transmission(efficiency=((0.0, 0.5), (1.0, 0.5)), rated_torque=10.0, breakaway=0.4 * pull)
    down = fa.simulate(beam(transmission=loose), [0.0], [0.0], 0.1, method=method)
    assert kinds(down) == [("slip", "way")]
    assert down.q[-1, 0] < 0.0


@pytest.mark.slow
def test_a_standing_joint_is_set_going_by_another() -> None:
    arm = without_inductance(random_arm(1, 3))
    start = posture(arm, 1), speed(arm, 1), 0.1
    torque = np.random.default_rng(1).uniform(-20.0, 20.0, 3)
    fine = fa.simulate(arm, *start, torque=torque, method="dp45", accuracy=TIGHT)
    assert ("slip", "joint3") in kinds(fine)
    fixed = fa.simulate(arm, *start, torque=torque, method="rk4", step=1e-5)
    assert sorted(kinds(fixed)) == sorted(kinds(fine)), "one that moves at the sample before it stands"
    assert [e.t for e in fixed.events] == pytest.approx([e.t for e in fine.events], abs=2e-5)


@pytest.mark.slow
@pytest.mark.parametrize("method", PATHS)
def test_a_joint_that_begins_to_move_has_the_acceleration_that_it_begins_with(method: str) -> None:
    """By Newton's law of a block, against differences of the velocities, and where it only turns round."""
    arm = block(friction=fa.Friction(coulomb=(2.0, -3.0), static=(2.5, -4.0), stribeck_speed=50.0))
    for torque, rub in ((6.0, 2.5), (-6.0, -4.0)):
        run = fa.simulate(arm, [0.1], [0.0], 0.002, torque=[torque], method=method, accuracy=TIGHT)
        assert run.qdd[0, 0] == pytest.approx((torque - rub) / MASS, rel=1e-12)
        assert run.qdd[0, 0] == pytest.approx(run.qd[1, 0] / run.t[1], rel=1e-3)
    held = fa.simulate(arm, [0.1], [0.0], 0.002, torque=[2.4], method=method)
    assert not held.qdd.any()
    turning = fa.simulate(
        block(friction=RUBBING), [0.0], [0.01], 0.01, torque=[-8.0], method=method, accuracy=TIGHT
    )
    assert kinds(turning) == [], "turning round is not standing"
    k = int(np.argmax(turning.qd[:, 0] <= 0.0))  # fixed steps have turned round within the one before
    assert turning.qdd[k, 0] == pytest.approx(-5.0 / MASS, rel=1e-12)


def test_a_joint_that_breaks_loose_between_two_samples_is_still_held_at_the_first() -> None:
    ramp = Schedule(times=np.array([0.0, 2.0]), values=np.array([[0.0], [5.0]]), how="linear")
    run = fa.simulate(
        block(friction=RUBBING), [0.0], [0.0], 2.0, torque=ramp, sampling=Sampling(record=500), method="rk4"
    )
    assert (run.qd[:, 0] == 0.0).tolist() == [True, True, False, False, False], "it breaks loose at 0.8 s"
    assert run.qdd[:2, 0].tolist() == [0.0, 0.0]
    assert run.qdd[2:, 0] == pytest.approx((2.5 * run.t[2:] - 2.0) / MASS, rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [2])
def test_joints_that_break_loose_together_accelerate_as_just_after(seed: int) -> None:
    """The limit of forward dynamics of velocities that vanish, on an arm whose joints pull at each other."""
    arm = fa.load("puma560")
    q = posture(arm, seed)
    push = np.where(np.arange(6) % 2, -60.0, 45.0) * (np.arange(6) < 3)
    tau = fa.dynamics.inverse(arm.rigid(), q, np.zeros(6), np.zeros(6)) + push
    run = fa.simulate(arm, q, np.zeros(6), 0.01, torque=tau, method="dp45")
    moving = run.qd[1] != 0.0
    assert moving[:3].all()
    locked = arm.lock(
        {joint.name: float(x) for joint, x, goes in zip(arm.joints, q, moving, strict=True) if not goes}
    )
    limit = fa.dynamics.forward(locked, q[moving], 1e-12 * np.sign(run.qd[1, moving]), tau[moving])
    assert run.qdd[0, moving] == pytest.approx(limit, rel=1e-8)
    assert not run.qdd[0, ~moving].any()
