"""The sampled loop on arms whose motors are behind springs: what is told of links and motors, what drives
them, and what comes of rigid controllers.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from control.elastic_arms import RATIOS, elastic_block, elastic_chain, snap_motion
from control.spying import Spy
from one_joint import MASS, block

import forearm as fa
from forearm import control
from forearm.drives.coordinates import coordinates_of
from forearm.simulation import load_simulation
from forearm.simulation.stability import fastest_decay

POSTURE = np.array([0.3, -0.5, 0.7])


def moved(**how: object) -> tuple[control.Run, Spy]:
    """Links and motors thrown about by torques that hold nothing."""
    spy = Spy(3, 0.01)
    made = control.run(
        elastic_chain(), spy, control.hold(POSTURE, 0.1), period=2e-3, qd0=[0.4, -0.7, 0.9], **how
    )
    return made, spy


def test_springs_carry_gravity_at_the_start() -> None:
    made, spy = moved()
    arm, first = elastic_chain(), spy.samples[0]
    assert first.motor is not None
    held = fa.dynamics.gravity(arm.rigid(), POSTURE)
    assert made.drives["spring"][0] == pytest.approx(held, rel=1e-12)
    assert np.array_equal(first.q, POSTURE)
    assert np.abs(first.motor[0] - first.q).min() > 1e-3
    assert np.array_equal(first.motor[1], first.qd)


@pytest.mark.parametrize("side", ["link", "motor", "both"])
def test_each_side_is_told_as_it_is(side: str) -> None:
    made, spy = moved(sensors=control.Sensors(side=side))  # type: ignore[arg-type]
    theta, thetad = made.drives["motor_q"], made.drives["motor_qd"]
    told = (theta, thetad) if side == "motor" else (made.q, made.qd)
    assert np.abs(theta - made.q).max() > 5e-3
    for s in spy.samples[::7]:
        assert np.array_equal(s.q, told[0][s.k])
        assert np.array_equal(s.qd, told[1][s.k])
        assert s.sees_links == (side != "motor")
        assert (s.motor is None) == (side == "link")
        if s.motor is not None:
            assert np.array_equal(s.motor[0], theta[s.k])
            assert np.array_equal(s.motor[1], thetad[s.k])
    assert all(map(np.array_equal, made.measured, told))
    if side == "link":
        assert made.measured_motor is None
    else:
        assert made.measured_motor is not None
        assert all(map(np.array_equal, made.measured_motor, (theta, thetad)))


@pytest.mark.parametrize("side", ["link", "motor", "both"])
def test_an_encoder_on_the_motor_has_steps_of_the_motor(side: str) -> None:
    sensors = control.Sensors(control.Encoder(bits=9), differences=True, side=side)  # type: ignore[arg-type]
    made, _ = moved(sensors=sensors)
    coarse = np.full(3, 2.0 * math.pi / 2**9)
    fine = coarse / np.abs(RATIOS)
    checked = [(made.measured, made.q, coarse)] if side != "motor" else []
    if side != "link":
        assert made.measured_motor is not None
        checked.append((made.measured_motor, made.drives["motor_q"], fine))
    if side == "motor":
        assert made.measured_motor is not None
        assert np.array_equal(made.measured[0], made.measured_motor[0])
    for (q, qd), truth, step in checked:
        assert np.allclose(q / step, np.round(q / step), atol=1e-6)
        assert np.all(np.abs(q - truth) <= 0.5001 * step)
        assert (np.abs(q - truth) > 0.2 * step).any(axis=0).all()
        assert np.allclose(qd[1:], np.diff(q, axis=0) / 2e-3)


def test_motors_that_slide_a_joint_turn() -> None:
    arm = elastic_block()
    sensors = control.Sensors(control.Encoder(bits=6), control.Tachometer(7, 0.5), side="motor")
    made = control.run(arm, Spy(1, 0.05), control.hold([0.1], 0.2), sensors=sensors)
    assert made.measured_motor is not None
    step, speed = 2.0 * math.pi / 64 / 20.0, 1.0 / 128
    q, qd = made.measured_motor
    assert np.array_equal(q, np.round(made.drives["motor_q"] / step) * step)
    assert np.allclose(qd, np.round(made.drives["motor_qd"] / speed) * speed)
    assert np.ptp(qd) > 10.0 * speed


def test_a_rigid_arm_may_have_encoders_on_its_motors() -> None:
    arm = block(motor=fa.Motor(gear_ratio=-30.0, rotor_inertia=1e-3))
    spy = Spy(1, 0.05)
    made = control.run(
        arm,
        spy,
        control.hold([0.1], 0.2),
        sensors=control.Sensors(control.Encoder(resolution=0.3), side="both"),
    )
    assert np.array_equal(made.measured[0], np.round(made.q / 0.3) * 0.3)
    assert made.measured_motor is not None
    assert np.allclose(made.measured_motor[0], np.round(made.q / 0.01) * 0.01, atol=1e-12)


def test_accelerometers_are_on_the_links() -> None:
    spy = Spy(3, 0.05)
    sensors = control.Sensors(accelerometers=lambda q, qd, qdd: qdd + 0.5, side="both")
    arm = elastic_chain(0.4)
    made = control.run(arm, spy, control.hold(POSTURE, 0.05), sensors=sensors)
    assert spy.samples[0].qdd == pytest.approx(np.full(3, 0.5))
    for k in (1, 17, 40):
        state = (made.q[k], made.qd[k], made.drives["motor_q"][k], made.drives["motor_qd"][k])
        true, _ = fa.dynamics.elastic_forward(arm, *state, made.tau[k - 1])
        assert spy.samples[k].qdd == pytest.approx(true + 0.5, rel=1e-9)


def test_accelerometers_feel_the_flank_that_touches() -> None:
    arm = elastic_block(half_gap=3e-3)
    spy = Spy(1, 0.4)
    made = control.run(
        arm,
        spy,
        control.hold([0.0], 0.08),
        qd0=[0.2],
        sensors=control.Sensors(accelerometers=lambda q, qd, qdd: qdd),
    )
    told = np.array([s.qdd for s in spy.samples])[1:, 0]
    spring = made.drives["spring"][1:-1, 0]
    assert told == pytest.approx(spring / MASS, abs=1e-9)
    assert (spring == 0.0).any()
    assert (spring != 0.0).any()


@pytest.mark.parametrize("side", ["link", "motor", "both"])
def test_voltages_take_the_speed_of_the_motor_where_it_is_told(side: str) -> None:
    arm, R, K = elastic_chain(0.4), 1.3, 0.05 * np.array(RATIOS)
    made = control.run(
        arm,
        Spy(3, 0.01),
        control.hold(POSTURE, 0.05),
        qd0=[0.4, -0.7, 0.9],
        sensors=control.Sensors(side=side),  # type: ignore[arg-type]
        actuators=control.Actuators(voltage=True),
    )
    speed = (made.qd if side == "link" else made.drives["motor_qd"])[:-1]
    assert made.voltage is not None
    assert np.abs(made.drives["motor_qd"] - made.qd).max() > 0.05
    assert np.allclose(made.voltage[:-1], R * made.asked[:-1] / K + K * speed, rtol=1e-12)
    is_given = np.allclose(made.tau[:-1], made.asked[:-1], rtol=1e-9)
    assert is_given == (side != "link")


def test_steps_follow_the_fastest_spring() -> None:
    soft, stiff = elastic_chain(), elastic_chain().with_drives(elasticity={"stiffness": 4e5, "curve": ()})
    made = [control.run(arm, Spy(3), control.hold(POSTURE, 5e-3)) for arm in (soft, stiff)]
    assert made[0].step == pytest.approx(2.5e-4)
    # rotor and link of the last joint against each other, the others being still
    swing = math.sqrt(4e5 * (1.0 / (2500.0 * 5.1e-6) + 1.0 / 0.0201))
    assert made[1].step is not None
    assert 0.1 < swing * made[1].step < 0.5
    rate, _ = fastest_decay(coordinates_of(stiff), False, POSTURE)
    assert abs(rate) > swing


def test_a_stiff_arm_moves_as_the_rigid_one() -> None:
    off = []
    for stiffness in (4e4, 1.6e5):
        arm = elastic_block(0.4, stiffness=stiffness, damping=80.0)
        rigid = arm.with_drives(elasticity=None)
        motion = snap_motion([0.0], [0.3], 0.4)
        runs = [control.run(some, control.PD(rigid, bandwidth=15.0), motion) for some in (arm, rigid)]
        off.append(np.abs(runs[0].q - runs[1].q).max())
    assert off[1] < 1e-4
    assert off[0] / off[1] == pytest.approx(4.0, rel=0.1)


@pytest.mark.slow
def test_feedback_of_links_needs_damping_in_the_spring() -> None:
    """Of two masses under PD on the link the spring's mode decays by Routh's criterion where D (M + B)^2 >
    kd M B, about; on the motor always.
    """
    B, w, K, T = 0.4, 25.0, 2e4, 2.5e-4
    kp, kd = w * w * (MASS + B), 2.0 * w * (MASS + B)
    edge = kd * MASS * B / (MASS + B) ** 2
    cases: list[tuple[float, list[Any]]] = [(0.9, ["link", "motor"]), (1.15, ["link"])]
    for share, sides in cases:
        D = share * edge
        arm = elastic_block(B, stiffness=K, damping=D)
        rates = {}
        for side in sides:
            made = control.run(
                arm,
                control.PD(arm, bandwidth=w, gravity=False),
                control.hold([0.0], 1.2),
                q0=[1e-3],
                period=T,
                sensors=control.Sensors(side=side),
            )
            early, late = (np.abs(made.q[k : k + 800]).max() for k in (2000, 4000))
            rates[side] = math.log(late / early) / 0.5
        quartic = [MASS * B, D * (MASS + B), (MASS + B) * K + kd * D, kd * K + kp * D, kp * K]
        assert rates["link"] == pytest.approx(np.roots(quartic).real.max(), abs=0.5)
        assert (rates["link"] > 1.0) == (share < 1.0)
        assert rates.get("motor", -math.inf) < -10.0


@pytest.mark.slow
def test_an_integral_behind_backlash_hunts() -> None:
    """The dead zone scales: twice the gap, twice the cycle. Without a gap or an integral it dies out."""
    arm, spans = elastic_block(0.4, damping=40.0), {}
    for kind, gap in ((control.PID, 0.0), (control.PID, 1e-3), (control.PID, 2e-3), (control.PD, 1e-3)):
        made = control.run(
            arm,
            kind(arm, bandwidth=8.0, gravity=False),
            control.hold([0.0], 8.0),
            plant=elastic_block(0.4, damping=40.0, half_gap=gap),
            q0=[0.03],
            period=4e-3,
            sensors=control.Sensors(side="link"),
        )
        n = len(made.t) // 4
        spans[kind, gap] = [float(np.ptp(made.q[k * n : (k + 1) * n])) for k in (2, 3)]
    before, after = spans[control.PID, 1e-3]
    assert after == pytest.approx(before, rel=1e-3), "a cycle, which neither grows nor dies"
    assert 0.2e-3 < after < 2e-3, "as wide as the gap, about"
    assert spans[control.PID, 2e-3][1] == pytest.approx(2.0 * after, rel=1e-3)
    assert spans[control.PID, 0.0][1] < 1e-15
    assert spans[control.PD, 1e-3][1] < 1e-9


@pytest.mark.slow
def test_files_hold_what_was_told_of_motors(tmp_path: Path) -> None:
    made, _ = moved(sensors=control.Sensors(control.Encoder(bits=12), side="both"))
    made.save(tmp_path / "run.npz")
    loaded = load_simulation(tmp_path / "run.npz")
    assert isinstance(loaded, control.Run)
    assert made.measured_motor is not None
    assert loaded.measured_motor is not None
    assert all(map(np.array_equal, made.measured_motor, loaded.measured_motor))
    assert all(map(np.array_equal, made.measured, loaded.measured))
    assert all(np.array_equal(made.drives[name], loaded.drives[name]) for name in made.drives)
    assert loaded.arm == made.arm
    assert np.array_equal(made.columns()["measured_motor_qd2"], made.measured_motor[1][:, 1])
    assert made.log.measured_q is not None
    without, _ = moved(sensors=control.Sensors(side="link"))
    assert "measured_motor_q1" not in without.columns()


@pytest.mark.slow
def test_a_run_goes_on_and_balances() -> None:
    arm = elastic_chain(0.4)
    made = control.run(arm, control.PD(arm), snap_motion(POSTURE, POSTURE + 0.3, 0.3))
    stored = np.sum([made.energy[name] for name in ("kinetic", "potential", "spring")], axis=0)
    off = made.energy["supplied"] - (stored - stored[0]) - made.energy["lost"]
    assert np.abs(off).max() < 1e-4 * np.ptp(stored)
    after = fa.simulate(arm, POSTURE, np.zeros(3), 0.01, torque=made.tau[-1], method="rk4", continued=made)
    assert np.array_equal(after.drives["motor_q"][0], made.drives["motor_q"][-1])


@pytest.mark.parametrize(
    ("how", "text"),
    [
        (
            {"hand_force": np.ones(6)},
            r"hand_force: elastic joints of 'chain3': joint1, joint2, joint3\. .* arm\.with_drives\(elast",
        ),
        ({"sensors": "motor"}, "run, sensors: expected Sensors, got 'motor'"),
        (
            {"plant": fa.load("chain3"), "sensors": control.Sensors(control.Encoder(bits=9), side="motor")},
            r"gear_ratio; joints of 'chain3' without a motor: joint1, joint2, joint3\. Use",
        ),
    ],
)
def test_what_is_not_simulated_is_said(how: dict[str, object], text: str) -> None:
    with pytest.raises(fa.ForearmError, match=text):
        moved(**how)
    with pytest.raises(fa.InputError, match="side: expected one of link, motor, both, got 'motors'"):
        control.Sensors(side="motors")  # type: ignore[arg-type]
