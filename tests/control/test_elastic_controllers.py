"""Controllers that know of motors behind springs: what holds still, what follows, where the poles are."""

from __future__ import annotations

import math
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from control.elastic_arms import LINES, POINTS, elastic_block, elastic_chain, elastic_panda, snap_motion
from one_joint import beam

import forearm as fa
from forearm import control
from forearm.control.controller import Sample
from forearm.control.controllers.elastic import motor_pd
from forearm.control.controllers.formulas import LawInputs
from forearm.control.elastic_gains import stable_state_gains
from forearm.control.linear_arm import linear_arm
from forearm.simulation.machine import simulator_of
from forearm.simulation.start import loaded

interpolate: Any = import_module("scipy.interpolate")
optimize: Any = import_module("scipy.optimize")
POSTURE = np.array([0.3, -0.5, 0.7])
WAY = np.array([0.9, -0.8, 1.1])
ON_MOTORS = control.Sensors(side="motor")
PULL = 1.7 * 9.81 * 0.3  # N m: the weight of `beam`, held out
MOTOR = fa.Motor(gear_ratio=40.0, rotor_inertia=2e-4)


@pytest.mark.slow
def test_pd_on_motors_leaves_no_error_under_gravity() -> None:
    arm = elastic_chain(1.0, LINES)
    ends = {}
    for controller in (control.MotorPD(arm, bandwidth=12.0), control.PD(arm, bandwidth=12.0)):
        made = control.run(
            arm,
            controller,
            control.hold(POSTURE, 4.0),
            q0=POSTURE + [0.2, -0.1, 0.15],
            period=2e-3,
            sensors=ON_MOTORS,
        )
        ends[controller.name] = np.abs(made.error[-1])
    assert ends["PD on motors"].max() < 1e-9
    assert ends["PD + gravity"].min() > 3e-3, "springs give, and gravity is that of another posture"


@pytest.mark.slow
def test_gains_must_hold_the_arm_up() -> None:
    """Tomei's condition for one joint: gain and spring in series are stiffer than gravity, K kp / (K + kp) >
    dg/dq. Near the edge the error grows, or dies, as the slow root of the linear loop.
    """
    stiffness = 6.0
    arm = beam(motor=MOTOR, elasticity=fa.Elasticity(stiffness=stiffness, damping=0.2))
    q = np.array([1.2])
    slope = PULL * math.sin(q[0])
    edge = stiffness * slope / (stiffness - slope)
    for share in (0.85, 1.15):
        w = math.sqrt(edge * share / float(control.joint_inertias(arm)[0]))
        controller = control.MotorPD(arm, bandwidth=w)
        stiff = np.array([[stiffness - slope, -stiffness], [-stiffness, stiffness + controller.gains.kp[0]]])
        assert (np.linalg.eigvalsh(stiff)[0] > 0.0) == (share > 1.0)
        made = control.run(arm, controller, control.hold(q, 3.0), q0=q + 1e-5, sensors=ON_MOTORS)
        model = linear_arm(arm, q)
        rate = math.log(
            model.radius(np.array([[0.0, controller.gains.kp[0], 0.0, controller.gains.kd[0]]]), 1e-3)
        )
        early, late = np.abs(made.error[[2000, -1], 0])
        assert (late > early) == (share < 1.0)
        assert math.log(late / early) == pytest.approx(rate * 1000, rel=0.03)


def test_the_law_is_that_of_the_formula() -> None:
    arm = elastic_chain(0.5)
    controller = control.MotorPD(arm, bandwidth=9.0)
    rng = np.random.default_rng(5)
    theta, thetad, q, qd, qdd = rng.uniform(-1.0, 1.0, (5, 3))
    told = Sample(0, 0.0, theta, thetad, None, (q, qd, qdd), (q, qd, qdd), motor=(theta, thetad))
    held = fa.dynamics.gravity(arm.rigid(), q)
    x, y = (np.array([*(-v for v in side[::-1]), 0.0, *side]) for side in zip(*POINTS, strict=True))
    spline = interpolate.CubicSpline(x, y, bc_type="natural")
    second = optimize.brentq(lambda e: spline(e) - held[1], x[0], x[-1])
    bent = np.array([held[0] / 950.0, second, held[2] / 58.0])
    own = control.joint_inertias(arm)
    tau = held + own * (81.0 * (q + bent - theta) + 18.0 * (qd - thetad))
    assert controller.command(told) == pytest.approx(tau, rel=1e-9)

    class Numbers:
        def gravity(self, q: np.ndarray) -> np.ndarray:
            return fa.dynamics.gravity(arm.rigid(), q)

    told_too = LawInputs(q=theta, qd=thetad, q_wanted=q, qd_wanted=qd, kp=81.0 * own, kd=18.0 * own)
    springs = tuple(joint.elasticity for joint in arm.joints)
    assert motor_pd(told_too, Numbers(), springs).astype(float) == pytest.approx(tau, rel=1e-9)  # type: ignore[arg-type]
    assert controller.operations > 5 * 3


@pytest.mark.slow
def test_elastic_feed_forward_follows_to_the_error_of_sampling() -> None:
    arm, motion = elastic_chain(2.0), snap_motion(POSTURE, POSTURE + WAY, 0.8)
    rigid = control.run(arm, control.FeedForward(arm), motion).largest
    off = []
    for T in (2e-3, 1e-3):
        controller = control.ElasticFeedForward(arm, motion, period=T, bandwidth=None)
        off.append(control.run(arm, controller, motion, period=T, sensors=control.Sensors()).largest)
    assert off[-1] < 1e-3 * rigid
    assert off[0] / off[1] == pytest.approx(4.0, rel=0.1)


@pytest.mark.slow
def test_a_delay_and_feedback_of_motors_leave_it_there() -> None:
    arm, motion = elastic_chain(), snap_motion(POSTURE, POSTURE + WAY, 0.8)
    actuators = control.Actuators(delay=1)
    controller = control.ElasticFeedForward(arm, motion, bandwidth=15.0, delay=1)
    on, off = (
        control.run(arm, controller, motion, q0=POSTURE + x, actuators=actuators, sensors=ON_MOTORS)
        for x in (0.0, 0.01)
    )
    assert on.largest < 3e-5
    assert np.abs(off.error[-1]).max() < 1e-3


def loop_of(arm: fa.Arm, controller: control.StateFeedback, T: float, delay: int) -> np.ndarray:
    """What a period does to small motions of links, motors and a waiting torque, by differences of the
    simulator.
    """
    simulator, n, rest = simulator_of(arm, False, "rk4"), arm.n, (np.zeros(arm.n),) * 3
    x, xd = loaded(simulator, np.zeros((1, n)), np.zeros((1, n)))
    held, m = controller.reference.tau[0], x.shape[1]

    def after(off: np.ndarray) -> np.ndarray:
        state = simulator.at_rest_or_moving(x + off[:m], xd + off[m : 2 * m])
        controller.reset()
        controller._waiting = off[2 * m :].copy() if delay else controller._waiting
        motor = state.q[0, simulator.motors], state.qd[0, simulator.motors]
        told = Sample(0, 0.0, state.q[0, :n].copy(), state.qd[0, :n].copy(), None, rest, rest, motor=motor)
        tau = controller.command(told)
        u = held + off[2 * m :] if delay else tau
        simulator.run(state, u, 40, T / 40, 40, False)
        return np.concatenate([state.q[0] - x[0], state.qd[0] - xd[0], *([tau - held] if delay else [])])

    size = 2 * m + delay * n
    return np.array([(after(1e-6 * e) - after(-1e-6 * e)) / 2e-6 for e in np.eye(size)]).T


@pytest.mark.parametrize(
    ("spring", "elastic", "delay"),
    [
        (fa.Elasticity(stiffness=300.0, damping=0.8), None, 1),
        (fa.Elasticity(curve=((0.01, 2.0), (0.02, 6.0), (0.03, 11.0)), interpolation="spline"), 15.0, 0),
        (fa.Elasticity(stiffness=300.0, damping=0.8), 15.0, 1),
    ],
    ids=["linear", "spline", "linear, all poles"],
)
def test_poles_are_where_they_were_put(spring: fa.Elasticity, elastic: float | None, delay: int) -> None:
    """At q = 0, mid-range, where the load does not change with the angle. All four at -15: coincident roots
    are badly known, and their polynomial is not.
    """
    arm, T = beam(motor=MOTOR, elasticity=spring, friction=fa.Friction(viscous=0.7)), 4e-3
    controller = control.StateFeedback(
        arm,
        control.hold([0.0], 0.1),
        period=T,
        delay=delay,
        bandwidth=15.0,
        elastic_bandwidth=elastic,
        damping=0.7 if elastic is None else 1.0,
    )
    put = np.array(controller.gains.poles[0])
    assert np.allclose(put[:2], -15.0)
    assert controller.bandwidth == 15.0
    if elastic is None:
        assert np.allclose(-put[2:].real / np.abs(put[2:]), 0.7)
        assert np.abs(put[2:]).min() > 40.0
    else:
        assert np.allclose(put, -15.0)
    found = np.linalg.eigvals(loop_of(arm, controller, T, delay))
    wanted = np.concatenate([np.exp(put * T), np.zeros(delay)])
    have, want = (np.poly((z - 1.0) / T) for z in (found, wanted))  # near 1 all polynomials are alike
    assert have == pytest.approx(want, rel=1e-4)


def test_linear_arms_are_the_simulator_by_differences() -> None:
    """Where gravity bends springs and its own stiffness counts, with friction and a rigid joint."""
    arm, T = elastic_chain(1.0).with_drives(friction=fa.Friction(viscous=0.05)), 5e-3
    arm = arm.with_drives({"joint1": {"elasticity": None}})
    simulator = simulator_of(arm, False, "rk4")
    x, xd = loaded(simulator, POSTURE[None], np.zeros((1, 3)))
    held, m = fa.dynamics.gravity(arm.rigid(), POSTURE), x.shape[1]

    def after(off: np.ndarray) -> np.ndarray:
        state = simulator.at_rest_or_moving(x + off[:m], xd + off[m : 2 * m])
        simulator.run(state, held + off[2 * m :], 40, T / 40, 40, False)
        return np.concatenate([state.q[0] - x[0], state.qd[0] - xd[0]])

    found = np.array([(after(1e-6 * e) - after(-1e-6 * e)) / 2e-6 for e in np.eye(2 * m + 3)]).T
    F, G = linear_arm(arm, POSTURE).sampled(T)
    assert found[:, : 2 * m] - np.eye(2 * m) == pytest.approx(F, abs=1e-6 * np.abs(F).max())
    assert found[:, 2 * m :] == pytest.approx(G, abs=1e-6 * np.abs(G).max())


@pytest.mark.slow
def test_state_feedback_brings_the_arm_back_onto_the_motion() -> None:
    delay = 1
    arm, motion = elastic_chain(), snap_motion(POSTURE, POSTURE + WAY, 0.8)
    controller = control.StateFeedback(arm, motion, bandwidth=20.0, delay=delay)
    actuators = control.Actuators(delay=delay)
    on, off = (control.run(arm, controller, motion, q0=POSTURE + x, actuators=actuators) for x in (0.0, 0.01))
    assert on.largest < 1e-5
    assert np.abs(off.error[-1]).max() < 2e-4


def test_a_spring_too_fast_for_the_period_is_rigid_to_the_loop() -> None:
    arm = elastic_block(0.4, stiffness=2e6, damping=30.0)  # 2500 rad/s
    fast, slow = (control.state_gains(arm, 20.0, T) for T in (2e-4, 2e-3))
    assert [len(g.poles[0]) for g in (fast, slow)] == [4, 2]
    assert slow.link == slow.link_rate == 0.0
    assert slow.motor == pytest.approx(20.0**2 * 2.1, rel=0.05)


@pytest.mark.slow
def test_bandwidths_are_held_back_until_the_whole_arm_is_stable() -> None:
    arm, T, asked = elastic_panda(0.0), 1e-3, 150.0
    postures = control.default_motion(arm).at(np.linspace(0.0, 2.0, 5))[0]
    gains, w = stable_state_gains(arm, postures, asked, T)
    assert 25.0 < w < asked
    models = [linear_arm(arm, q) for q in postures]
    for some, is_stable in ((gains, True), (control.state_gains(arm, asked, T), False)):
        assert all(x.radius(some.of(x, 0), T) < 1.0 for x in models) == is_stable
    with pytest.raises(
        fa.InputError, match=r"'panda' is unstable under separate joint gains .* 'PD on motors'"
    ):
        stable_state_gains(arm, postures, 30.0, T, elastic_bandwidth=30.0, damping=1.0)


def test_bandwidths_are_held_to_half_of_what_sampling_bears() -> None:
    arm = elastic_block()
    for delay in (0, 1):
        _, w = stable_state_gains(arm, np.zeros((1, 1)), 1e4, 2e-3, delay=delay)
        assert w == pytest.approx(0.5 * control.largest_bandwidth(2e-3, delay))


@pytest.mark.slow
def test_gains_on_a_light_rotor_are_held_back() -> None:
    """A rotor of 12 g behind a spring: what M_jj asks for shakes it, what is bearable does not."""
    arm, T, w = elastic_block(0.012, damping=1.0), 2e-3, 40.0
    own, less = control.joint_inertias(arm), control.stable_motor_inertias(arm, [[0.0]], w, T)
    assert less == pytest.approx(0.5 / (w * T) * 0.012)
    assert control.stable_inertias(arm, [[0.0]], w, T) == pytest.approx(own)
    motion = control.hold([0.0], 0.5)
    spans = []
    for d in (own, less):
        controller = control.MotorPD(arm, bandwidth=w, inertias=d)
        made = control.run(arm, controller, motion, q0=[1e-3], period=T, sensors=ON_MOTORS)
        spans.append(np.ptp(made.drives["motor_q"][-100:]))
        gains = np.array([[0.0, controller.gains.kp[0], 0.0, controller.gains.kd[0]]])
        assert (linear_arm(arm, np.zeros(1)).radius(gains, T) < 1.0) == (d is less)
    assert spans[1] < 1e-3 < spans[0]


@pytest.mark.slow
def test_rigid_joints_among_elastic_ones() -> None:
    arm = elastic_chain(0.5)
    mixed = arm.with_drives({arm.joints[1].name: {"elasticity": None}})
    motion = snap_motion(POSTURE, POSTURE + WAY, 0.5)
    gains = control.state_gains(mixed, 15.0, 1e-3)
    assert [len(poles) for poles in gains.poles] == [4, 2, 4]
    for controller in (
        control.ElasticFeedForward(mixed, motion, period=2e-3, bandwidth=10.0),
        control.StateFeedback(mixed, motion, period=2e-3, bandwidth=10.0),
    ):
        assert control.run(mixed, controller, motion, period=2e-3).largest < 2e-4


def test_pd_on_motors_is_code_too() -> None:
    arm = elastic_chain(0.5)
    controller = control.MotorPD(arm)
    source = control.controller_code(arm, controller)
    assert "motor angles over gear ratios" in source.header
    assert "voltage" in source.header
    assert source.counts.operations > controller.operations
