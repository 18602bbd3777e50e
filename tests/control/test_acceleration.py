"""Accelerometers on the links, and forces raised until accelerations are right."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from arms import OFFSETS, STEP, every_kind, posture
from control.samples import moving_arm, samples
from numpy.typing import NDArray
from one_joint import block

import forearm as fa
from forearm.control.acceleration import (
    AccelerationServo,
    largest_gain,
    settling_inertias,
    settling_matrix,
    settling_pole,
    slowest_share,
)
from forearm.control.accelerometers import accelerometers
from forearm.control.actuators import Actuators
from forearm.control.comparison import compare
from forearm.control.controller import Sample
from forearm.control.controllers.feedforward import FeedForwardPD
from forearm.control.controllers.pd import PD
from forearm.control.loop import run
from forearm.control.reference import Held, default_motion
from forearm.control.sensors import Sensors, exact_accelerations
from forearm.kernels import compile
from forearm.kinematics.poses import body_poses

Array = NDArray[np.float64]
ROUNDING = 1e-12  # relative: some hundred operations, levers of 0.07 m in the denominator
SECOND = 1e-8  # second differences over seven points: truncation h^6/560, rounding 1e-16 / h^2 with h = 2e-3
SECOND_POINTS = np.array([2.0, -27.0, 270.0, -490.0, 270.0, -27.0, 2.0]) / (180.0 * STEP**2)


def state(arm: fa.Arm, seed: int, count: int = 12) -> tuple[Array, Array, Array]:
    qd, qdd = 3.0 * np.random.default_rng(seed).standard_normal((2, count, arm.n))
    return posture(arm, seed, count), qd, qdd


@pytest.mark.parametrize("arm", every_kind(3), ids=lambda a: a.name)
def test_accelerations_are_recovered(arm: fa.Arm) -> None:
    """Chains, trees and mimicking joints, turning and sliding, whatever q, qd and the free fall are."""
    sets = accelerometers(arm, lever=0.07)
    q, qd, qdd = state(arm, 4)
    readings = sets.read(q, qd, qdd)
    scale = np.abs(readings).max() / 0.07
    assert np.abs(sets.accelerations(readings, q) - qdd).max() < ROUNDING * scale
    alone = sets.read(q[2], qd[2], qdd[2])
    assert np.abs(alone - readings[2]).max() < ROUNDING * np.abs(readings).max()


@pytest.mark.parametrize("arm", every_kind(5), ids=lambda a: a.name)
def test_readings_are_second_differences_of_places(arm: fa.Arm) -> None:
    """Where an accelerometer is at seven times, differentiated twice, less free fall,
    along its direction then.
    """
    sets = accelerometers(arm, lever=0.07)
    q, qd, qdd = (x[0] for x in state(arm, 6))
    path = q + OFFSETS[:, None] * qd + 0.5 * OFFSETS[:, None] ** 2 * qdd
    poses = [*body_poses(arm, path), np.broadcast_to(np.eye(4), (7, 4, 4))]
    readings = sets.read(q, qd, qdd)
    for one, reading in zip(sets.each, readings, strict=True):
        T = poses[one.body]
        acceleration = SECOND_POINTS @ (T[:, :3, :3] @ one.place + T[:, :3, 3]) - arm.gravity
        assert reading == pytest.approx(T[3, :3, :3].T @ acceleration @ one.along, abs=SECOND * 100.0)


def test_turning_joints_need_no_coordinates() -> None:
    arm = next(a for a in every_kind(3) if all(j.kind == "revolute" for j in a.joints))
    sets = accelerometers(arm)
    q, qd, qdd = state(arm, 9)
    readings = sets.read(q, qd, qdd)
    assert np.array_equal(sets.accelerations(readings, q), sets.accelerations(readings, q + 1.0))


@pytest.mark.parametrize("arm", every_kind(7)[:2], ids=lambda a: a.name)
def test_rounded_readings_keep_their_bound(arm: fa.Arm) -> None:
    sets = accelerometers(arm, lever=0.1, step=1e-3)
    q, qd, qdd = state(arm, 3, 300)
    errors = np.array([np.abs(sets.seen(*x) - x[2]) for x in zip(q, qd, qdd, strict=True)])
    bounds = np.array([sets.worst_error(x) for x in q])
    assert (errors <= bounds + ROUNDING * 1000.0).all()
    assert (errors / bounds).max() > 0.4  # half steps seldom all fall together
    turning = [j for j, joint in enumerate(arm.joints) if joint.kind == "revolute"]
    assert np.allclose(bounds[:, turning], 2.0 * 1e-3 / 0.1)  # eight halves of a step over two levers


def test_conversion_costs() -> None:
    arm = fa.load("stanford")
    assert accelerometers(arm).operations == 5 * 8 + 5
    assert len(accelerometers(arm).each) == 5 * 8 + 3


@pytest.mark.sweep(first=3)
@pytest.mark.parametrize("arm", [a.rigid() for a in every_kind(2)], ids=lambda a: a.name)
def test_inertias_let_accelerations_settle(arm: fa.Arm) -> None:
    M = compile(arm).inertia_matrix(posture(arm, 2, 20))
    for K in (np.diag(settling_inertias(M)), settling_matrix(M)):
        shares = np.array([np.linalg.eigvals(np.linalg.solve(one, K)).real for one in M])
        assert shares.max() <= 1.0 + 1e-9
        assert shares.min() == pytest.approx(slowest_share(M, K))
        assert shares.min() > 0.0


@pytest.mark.parametrize("coupled", [False, True])
def test_errors_of_acceleration_shrink_as_the_gain_says(coupled: bool) -> None:
    """An arm that stays where it is answers M^-1 (tau - b):
    e' = (1 - gain M^-1 K) e, from sample to sample.
    """
    arm, motion = moving_arm()
    servo = AccelerationServo(arm, motion, gain=0.7, bandwidth=None, coupled=coupled)
    kernel, first = compile(arm), samples(motion, 1e-3)[0]
    q, qd, wanted = first.wanted
    M, bias = kernel.inertia_matrix(q), kernel.bias(q, qd)
    shrink = np.eye(arm.n) - 0.7 * np.linalg.solve(M, servo.K)
    seen = np.zeros(arm.n)
    tau = servo.command(replace(first, qdd=seen))
    error = wanted - np.linalg.solve(M, tau - bias)
    for _ in range(30):
        tau = servo.command(replace(first, qdd=wanted - error))
        after = wanted - np.linalg.solve(M, tau - bias)
        assert np.abs(after - shrink @ error).max() < 1e-9
        error = after
    servo.reset()
    assert np.array_equal(servo.command(replace(first, qdd=seen)), servo_start(servo, wanted))


def servo_start(servo: AccelerationServo, wanted: Array) -> Array:
    return np.asarray(servo._holding + 0.7 * (servo.K @ wanted))


def servo_run(
    seen_by: str, plant: fa.Arm | None = None, sensors: Sensors | None = None, gain: float = 1.0
) -> float:
    arm, motion = moving_arm()
    if sensors is None and seen_by == "accelerometers":
        sensors = Sensors(accelerometers=accelerometers(arm).seen)
    return run(
        arm, AccelerationServo(arm, motion, seen_by=seen_by, gain=gain), motion, sensors=sensors, plant=plant
    ).rms


@pytest.mark.slow
@pytest.mark.parametrize("seen_by", ["accelerometers", "tachometers", "encoders"])
@pytest.mark.parametrize("gain", [0.5, 1.5])
@pytest.mark.sweep
def test_the_arm_is_servoed_along_its_motion(seen_by: str, gain: float) -> None:
    arm, motion = moving_arm()
    alone = run(arm, PD(arm), motion).rms
    assert servo_run(seen_by, gain=gain) < 0.3 * alone


@pytest.mark.slow
def test_it_knows_loads_that_no_model_told_it_of() -> None:
    """Waters: inherently better than the equations, which describe an idealised arm."""
    arm, motion = moving_arm()
    loaded = arm.with_payload(mass=2.0, com=(0.05, -0.02, 0.1))
    computed = run(arm, FeedForwardPD(arm), motion, plant=loaded).rms
    assert run(arm, FeedForwardPD(arm), motion).rms < 0.01 * computed
    assert servo_run("accelerometers", loaded) < 0.2 * computed


def test_operations_are_counted() -> None:
    arm = fa.load("stanford").rigid()
    motion = fa.trajectories.bang_bang(
        np.zeros(6), np.zeros(6), np.full(6, 0.1), np.zeros(6), fa.trajectories.MotionLimits(np.ones(6))
    )
    n = arm.n
    assert (
        AccelerationServo(arm, motion, bandwidth=None, seen_by="tachometers", coupled=False).operations
        == 3 * n + 2 * n
    )
    coupled = AccelerationServo(arm, motion, coupled=True).operations
    assert coupled == 2 * n * n - n + 8 * n + accelerometers(arm).operations


def test_joints_that_share_their_inertia_are_servoed_together() -> None:
    """Axes 1 and 3 of the Panda are nearly parallel: by themselves they would settle too
    slowly for any feedback.
    """
    arm = fa.load("panda")
    servo = AccelerationServo(arm, default_motion(arm, 0.5), bandwidth=None)
    assert servo.coupled
    M = compile(arm).inertia_matrix(default_motion(arm).at(np.linspace(0.0, 2.0, 9))[0])
    assert slowest_share(M, settling_matrix(M)) > 5.0 * slowest_share(M, np.diag(settling_inertias(M)))
    chain = fa.load("chain3")
    assert not AccelerationServo(chain, default_motion(chain)).coupled


@pytest.mark.parametrize("seen_by", ["accelerometers", "tachometers", "encoders"])
@pytest.mark.parametrize("delay", [0, 1])
def test_gains_end_where_a_loop_of_one_joint_stops_settling(seen_by: str, delay: int) -> None:
    """Feedback left out, one joint of constant inertia: the torque's changes shrink below the
    largest gain, grow above it.
    """
    arm = block()
    most = largest_gain(seen_by, delay)
    assert settling_pole(0.97 * most, seen_by, delay) < 1.0 < settling_pole(1.03 * most, seen_by, delay)
    motion = Held(np.array([0.1]), 0.1)
    sensors = Sensors(accelerometers=exact_accelerations)

    def changes(gain: float) -> Array:
        servo = AccelerationServo(arm, motion, seen_by=seen_by, bandwidth=None, delay=delay)
        servo.gain = gain
        return np.abs(
            np.diff(
                run(arm, Pushed(servo), motion, sensors=sensors, actuators=Actuators(delay=delay)).asked[:, 0]
            )
        )

    for gain in (0.9 * most, 1.1 * most):
        found = changes(gain)
        measured = (found[45:65].max() / found[5:25].max()) ** (1.0 / 40.0)
        # windows meet waves in other phases
        assert measured == pytest.approx(settling_pole(gain, seen_by, delay), rel=5e-3)
        assert (measured < 1.0) == (gain < most)


class Pushed:
    """A servo that is asked for an acceleration in the second sample only,
    so that it has something to settle.
    """

    name, operations = "pushed", 0.0

    def __init__(self, servo: AccelerationServo) -> None:
        self.servo = servo

    def reset(self) -> None:
        self.servo.reset()

    def command(self, sample: Sample) -> Array:
        q, qd, _ = sample.wanted
        return self.servo.command(replace(sample, wanted=(q, qd, np.array([1.0 if sample.k == 1 else 0.0]))))


@pytest.mark.slow
def test_a_delay_does_not_shake_it() -> None:
    """With a gain of 1 a period of delay puts the poles on the unit circle:
    torques were nine times those needed.
    """
    arm = fa.load("chain3")
    names = ["computed torque", "acceleration servo, seen by encoders"]
    computed, *servos = compare(arm, default_motion(arm, 1.0), names, actuators=Actuators(delay=1)).rows
    for servo in servos:
        assert servo.torque_rms < 1.05 * computed.torque_rms
        assert servo.loaded_hand_rms < 0.2 * computed.loaded_hand_rms


@pytest.mark.parametrize(("gain", "period"), [(0.3, 1e-3), (1.0, 1e-2), (1.9, 1e-2)])
def test_feedback_keeps_to_a_quarter_of_the_rate_of_settling(gain: float, period: float) -> None:
    arm, motion = moving_arm()
    servo = AccelerationServo(arm, motion, gain=gain, period=period, bandwidth=1e6)
    M = compile(arm).inertia_matrix(np.ascontiguousarray(motion.at(np.linspace(0.0, motion.duration, 17))[0]))
    shares = np.array([np.linalg.eigvals(np.linalg.solve(one, servo.K)).real for one in M])
    slowest = max(abs(1.0 - gain * shares.min()), abs(1.0 - gain))
    assert servo.bandwidth == pytest.approx(0.25 * (1.0 - slowest) / period, rel=1e-9)
    made = run(arm, servo, motion, period=period, sensors=Sensors(accelerometers=exact_accelerations))
    assert made.ok
    assert made.rms < 0.1


@pytest.mark.slow
def test_a_comparison_tells_it_period_and_delay() -> None:
    arm = fa.load("stanford")
    names = ["acceleration servo"]
    fast, slow, late = (
        compare(arm, None, names, payload=0.0, **how).rows[0]
        for how in ({}, {"period": 5e-3}, {"actuators": Actuators(delay=1)})
    )
    assert slow.stiffness < late.stiffness <= fast.stiffness == 1.0
