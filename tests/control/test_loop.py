"""The sampled loop against closed forms of one joint, the work done, `fa.simulate`,
and what sensors and drives may do.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
from arms import random_arm
from control.spying import Spy, wave
from one_joint import MASS, beam, block

import forearm as fa
from forearm import control
from forearm.control.controller import Sample
from forearm.control.gains import sampled_radius
from forearm.simulation import Sampling

EXACT = 1e-12  # rounding of some hundred steps whose closed form is a polynomial
W = 12.0  # rad/s


def motor_arm(**motor: float) -> fa.Arm:
    return beam(
        motor=fa.Motor(gear_ratio=40.0, rotor_inertia=2e-4, torque_constant=0.1, resistance=1.5, **motor)
    )


def test_pd_step_of_a_block_is_the_sampled_double_integrator() -> None:
    T, steps = 2e-3, 400
    pd = control.PD(block(), bandwidth=W, gravity=False)
    made = control.run(block(), pd, control.hold([0.5], T * steps), period=T, q0=[0.0], qd0=[0.0])
    x, v = 0.0, 0.0
    for k in range(steps):
        assert made.q[k, 0] == pytest.approx(x, abs=EXACT)
        assert made.qd[k, 0] == pytest.approx(v, abs=EXACT * W)
        u = W * W * (0.5 - x) - 2.0 * W * v
        x, v = x + T * v + 0.5 * T * T * u, v + T * u
    assert made.tau[0, 0] == pytest.approx(MASS * W * W * 0.5, rel=1e-14)


@pytest.mark.parametrize(("kind", "gravity"), [(control.PD, False), (control.PD, True), (control.PID, False)])
def test_gravity_leaves_g_over_kp_that_an_integral_works_off(kind: Any, gravity: bool) -> None:
    arm, wanted = beam(), 0.4
    controller = kind(arm, bandwidth=W, gravity=gravity)
    made = control.run(arm, controller, control.hold([wanted], 6.0), period=4e-3)
    end, pull = float(made.q[-1, 0]), MASS * 9.81 * 0.3
    sags = kind is control.PD and not gravity
    error = pull * math.cos(end) / float(controller.gains.kp[0]) if sags else 0.0
    assert wanted - end == pytest.approx(error, abs=1e-9)
    assert not sags or error > 0.02
    assert made.tau[-1, 0] == pytest.approx(pull * math.cos(end), rel=1e-8)


@pytest.mark.parametrize("delay", [0, 1])
@pytest.mark.parametrize("share", [0.97, 1.03])
def test_sampling_bounds_the_bandwidth(delay: int, share: float) -> None:
    T, arm = 1e-2, block()
    w = share * control.largest_bandwidth(T, delay)
    made = control.run(
        arm,
        control.PD(arm, bandwidth=w, gravity=False),
        control.hold([0.0], 12.0),
        period=T,
        actuators=control.Actuators(delay=delay),
        q0=[0.1],
        qd0=[0.0],
    )
    grows = not made.ok or np.abs(made.q[-200:, 0]).max() > np.abs(made.q[300:500, 0]).max()
    assert grows == (share > 1.0)
    assert (sampled_radius(w * w, 2.0 * w, T, delay=delay) > 1.0) == (share > 1.0)


def test_same_bits_as_simulate_with_the_same_controller() -> None:
    arm = fa.load("stanford")
    q0, T = np.array([0.1, -0.4, 0.3, 0.2, 0.5, -0.3]), 2e-3
    gains = control.joint_inertias(arm)

    class Spring:
        name, operations = "spring", 0.0

        def reset(self) -> None: ...

        def command(self, sample: Sample) -> np.ndarray:
            return np.asarray(gains * (90.0 * (0.2 - sample.q) - 15.0 * sample.qd))

    made = control.run(arm, Spring(), control.hold(q0, 0.3), period=T, step=5e-4)
    same = fa.simulate(
        arm,
        q0,
        np.zeros(6),
        0.3,
        controller=lambda t, q, qd: gains * (90.0 * (0.2 - q) - 15.0 * qd),
        sampling=Sampling(dac=fa.DAC(period=T)),
        method="rk4",
        step=5e-4,
    )
    assert np.array_equal(made.q, same.q[::4])
    assert np.array_equal(made.qd, same.qd[::4])


def test_computed_torque_makes_errors_free_of_each_other() -> None:
    arm = random_arm(3, drives=False)
    e0, errors = np.linspace(0.05, -0.08, arm.n), []
    motion = wave(arm)
    start = motion.at(0.0)[0] - e0
    for T in (1e-3, 5e-4):
        made = control.run(
            arm, control.ComputedTorque(arm, bandwidth=W), motion, period=T, q0=start, qd0=np.zeros(arm.n)
        )
        decay = e0 * ((1.0 + W * made.t) * np.exp(-W * made.t))[:, None]
        errors.append(float(np.abs(made.error - decay).max()))
    ratios = np.array(errors[:-1]) / np.array(errors[1:])
    assert np.all((ratios > 1.8) & (ratios < 2.3)), "what is left is of first order in the period"
    assert errors[-1] < 1e-3


@pytest.mark.parametrize("delay", [0, 1])
def test_a_controller_may_use_its_array_again(delay: int) -> None:
    arm, shared = fa.load("chain3"), np.zeros(3)

    class Shared(Spy):
        def command(self, sample: Sample) -> np.ndarray:
            shared[:] = super().command(sample)
            return shared

    how = {"period": 0.01, "actuators": control.Actuators(delay=delay)}
    own, same = (control.run(arm, spy, wave(arm), **how) for spy in (Spy(3, 0.1), Shared(3, 0.1)))
    assert np.array_equal(own.q, same.q)
    assert np.array_equal(own.tau, same.tau)
    assert np.array_equal(own.asked, same.asked)

    def ramp(t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        shared[:] = 1.0 + 10.0 * t
        return shared

    run = fa.simulate(arm, np.zeros(3), np.zeros(3), 0.02, controller=ramp)
    assert run.tau[:-1, 0] == pytest.approx(1.0 + 10.0 * run.t[:-1])


def test_a_delayed_command_acts_a_period_later() -> None:
    arm = fa.load("chain3")
    now, late = (
        control.run(arm, Spy(3, 0.1), wave(arm), period=0.01, actuators=control.Actuators(delay=d))
        for d in (0, 1)
    )
    assert np.array_equal(now.tau[:-1, 0], 0.1 * (np.arange(50) + 1.0))
    assert np.array_equal(now.tau[-1], now.tau[-2]), "held at the last sample, which has no command"
    assert np.array_equal(late.tau[1:-1], now.tau[:-2])
    assert np.array_equal(late.tau[0], now.tau[0]), "the first is known before the start"
    assert np.array_equal(late.asked, now.asked)


def test_voltages_make_the_torques_asked_for() -> None:
    arm = motor_arm()
    motion = control.smooth([0.0], [0.8], 0.5)
    by_torque, by_voltage = (
        control.run(arm, control.ComputedTorque(arm), motion, actuators=control.Actuators(voltage=v))
        for v in (False, True)
    )
    assert by_torque.voltage is not None, "what the motors would need"
    assert by_voltage.voltage is not None
    atol = 1e-9 * np.abs(by_voltage.asked).max()
    assert np.allclose(by_voltage.tau[:-1], by_voltage.asked[:-1], atol=atol)
    K, volts = 40.0 * 0.1, by_voltage.voltage[100]
    assert volts == pytest.approx(1.5 * by_voltage.asked[100] / K + K * by_voltage.qd[100], rel=1e-12)
    # Held voltages lose torque as the joint speeds up within a period: near, but not the same.
    assert 0.0 < by_voltage.rms < 20.0 * by_torque.rms + 1e-4


def test_a_converter_has_steps_bounds_and_its_own_period() -> None:
    arm = motor_arm()
    motion = control.smooth([0.0], [0.8], 0.5)
    fine, coarse, short = (
        control.run(arm, control.ComputedTorque(arm), motion, actuators=control.Actuators(dac=dac))
        for dac in (fa.DAC(2e-3, 14, 24.0), fa.DAC(2e-3, 5, 24.0), fa.DAC(2e-3, 14, 2.0))
    )
    assert fine.period == 2e-3
    assert fine.voltage is not None
    assert coarse.voltage is not None
    assert np.allclose(coarse.voltage / 1.5, np.round(coarse.voltage / 1.5)), "48 V in 32 steps"
    assert not fine.saturated.any()
    assert fine.rms < coarse.rms
    assert short.saturated.any()
    assert short.rms > 10.0 * fine.rms


@pytest.mark.parametrize(("limit", "value"), [("max_voltage", 2.5), ("max_current", 1.6)])
def test_limits_of_the_motors_are_told(limit: str, value: float) -> None:
    arm = motor_arm(**{limit: value})
    made = control.run(
        arm,
        control.ComputedTorque(arm),
        control.smooth([0.0], [1.5], 0.5),
        actuators=control.Actuators(voltage=True),
    )
    assert made.saturated.any()
    assert not made.saturated.all()
    assert made.voltage is not None
    most = value if limit == "max_voltage" else np.inf
    assert np.abs(made.voltage).max() <= most
    assert limit != "max_current" or np.abs(made.tau).max() <= value * 4.0 * (1.0 + 1e-12)


def test_torques_end_there_under_voltages_too() -> None:
    """As in generated code: the torque is held to max_effort before a voltage is made of it."""
    arm, K = motor_arm().with_joint("way", max_effort=5.5), 4.0
    made = control.run(
        arm,
        control.ComputedTorque(arm),
        control.smooth([0.3], [1.9], 0.5),
        actuators=control.Actuators(voltage=True, delay=1),
    )
    asked = np.concatenate([made.asked[:1], made.asked[:-2]])
    assert (np.abs(asked) > 5.5).any()
    assert np.array_equal(made.saturated[:-1], np.abs(asked) > 5.5)
    assert made.voltage is not None
    seen = np.concatenate([made.qd[:1], made.qd[:-2]])
    assert np.allclose(made.voltage[:-1], 1.5 / K * np.clip(asked, -5.5, 5.5) + K * seen, rtol=1e-12)


class Later:
    """Zeros, and from 20 ms on something else."""

    name, operations = "later", 0.0

    def __init__(self, answer: object) -> None:
        self.answer = answer

    def reset(self) -> None: ...

    def command(self, sample: Sample) -> np.ndarray:
        return np.zeros(3) if sample.t < 0.02 else self.answer  # type: ignore[return-value]


@pytest.mark.parametrize(
    "answer",
    [
        0.5,
        np.float64(0.5),
        np.zeros(1),
        np.zeros((3, 1)),
        [0.0, 0.0, 0.0],
        None,
        np.zeros(3, complex),
        np.zeros(3, bool),
        np.array([None] * 3),
    ],
)
def test_every_command_has_a_torque_a_joint(answer: object) -> None:
    with pytest.raises(fa.InputError, match="3 finite torques"):
        control.run(fa.load("chain3"), Later(answer), control.hold([0.1] * 3, 0.1))


@pytest.mark.parametrize(("value", "delay"), [(np.nan, 0), (np.inf, 0), (-np.inf, 1)])
def test_a_controller_that_loses_its_numbers_is_named(value: float, delay: int) -> None:
    made = control.run(
        fa.load("chain3"),
        Later(np.array([0.0, value, 0.0])),
        control.hold([0.1] * 3, 0.1),
        actuators=control.Actuators(delay=delay),
    )
    assert not made.ok
    assert "the controller commanded a non-finite torque at 0.02 s" in made.message
    assert "bandwidth" not in made.message
    assert np.isfinite(made.q).all()
    assert len(made.t) == len(made.asked) == 21, "it ends with the last state that there was"


def test_a_torque_beyond_measure_is_still_a_number() -> None:
    made = control.run(fa.load("chain3"), Later(np.array([0.0, 1e200, 0.0])), control.hold([0.1] * 3, 0.1))
    assert made.message.startswith("diverged at t = 0.02 s")


def test_samples_instead_of_a_motion() -> None:
    arm = fa.load("chain3")
    motion = wave(arm)
    rows = motion.at(np.arange(251) * 2e-3)
    one, other = (control.run(arm, control.PD(arm), m, period=2e-3) for m in (motion, rows))
    assert np.allclose(one.q, other.q, atol=1e-12)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"sensors": "exact"}, "run, sensors: expected Sensors, got 'exact'"),
        ({"actuators": fa.DAC()}, "run, actuators: expected Actuators, got DAC"),
        ({"plant": "chain3"}, "run, plant: expected an Arm, .* got 'chain3'"),
        (
            {"controller": "PD"},
            r"expected a controller, with name, operations, reset\(\) and command\(sample\), got 'PD'",
        ),
        ({"period": 0.0}, "above 0"),
        ({"period": 2e-3, "actuators": control.Actuators(fa.DAC())}, "give one of them"),
        ({"motion": "there"}, r"\.duration and \.at"),
        ({"motion": control.hold([0.0, 0.1], 1.0)}, "3 joints"),
        ({"motion": control.hold([0.0] * 3, 1e9)}, "samples"),
        ({"motion": control.hold([0.0] * 3, 1e-4)}, "at least two"),
        ({"plant": fa.load("chain4")}, "4 joints"),
        ({"q0": [0.0, np.nan, 0.0]}, "finite"),
        ({"controller": Spy(2)}, "3 finite torques"),
        ({"actuators": control.Actuators(voltage=True)}, "torque_constant"),
        ({"actuators": {"delay": 2}}, "delay, in periods: expected a whole number from 0 to 1, got 2"),
        ({"actuators": {"delay": True}}, "delay, in periods: expected a whole number from 0 to 1, got True"),
        ({"actuators": {"dac": 1e-3}}, "Actuators, dac: expected DAC, got 0.001"),
    ],
)
def test_mistakes_are_said(change: dict[str, object], text: str) -> None:
    def attempted(**given: Any) -> None:
        made: dict[str, Any] = {}
        made |= {name: control.Actuators(**x) if isinstance(x, dict) else x for name, x in given.items()}
        control.run(fa.load("chain3"), made.pop("controller"), made.pop("motion"), **made)

    with pytest.raises(fa.ForearmError, match=text):
        attempted(**({"controller": Spy(3), "motion": control.hold([0.0] * 3, 0.1)} | change))


def test_fields_of_actuators_may_be_given_one_by_one() -> None:
    arm = fa.load("chain3")
    new = control.run(arm, Spy(3, 0.1), wave(arm), period=0.01, actuators=control.Actuators(delay=1))
    flat = control.run(arm, Spy(3, 0.1), wave(arm), period=0.01, delay=1)
    assert np.array_equal(flat.q, new.q)
    assert len(control.compare(arm, wave(arm), [Spy(3)], period=0.01, payload=0.0, delay=1).rows) == 1


def test_currents_behind_an_inductance_follow_the_linear_equations() -> None:
    motor = fa.Motor(
        gear_ratio=20.0, rotor_inertia=1e-3, torque_constant=0.2, resistance=0.9, inductance=8e-3
    )
    arm, T = block(motor=motor), 5e-3
    made = control.run(
        arm,
        control.PD(arm, bandwidth=W, gravity=False),
        control.smooth([0.0], [0.4], 0.4),
        period=T,
        actuators=control.Actuators(voltage=True),
    )
    K, R, L, m = 4.0, 0.9, 8e-3, MASS + 0.4
    assert made.voltage is not None
    current = made.drives["current"][:, 0]
    # m q'' = K i, L i' = V - R i - K q', V held: (q', i) by eigenvectors.
    A = np.array([[0.0, K / m], [-K / L, -R / L]])
    values, vectors = np.linalg.eig(A)
    after = (vectors * np.exp(values * T)) @ np.linalg.inv(vectors)
    x = np.zeros(2)
    for k in range(len(made.t) - 1):
        settled = np.linalg.solve(A, [0.0, -made.voltage[k, 0] / L])
        assert made.qd[k, 0] == pytest.approx(x[0], abs=1e-7)
        assert current[k] == pytest.approx(x[1], abs=1e-7)
        x = (settled + after @ (x - settled)).real
    assert np.allclose(made.tau[:, 0], K * current, rtol=1e-12)
    assert np.abs(current).max() > 1.0


def test_a_current_at_its_limit_is_told() -> None:
    arm = motor_arm(inductance=2e-3, max_current=1.6)
    made = control.run(
        arm,
        control.ComputedTorque(arm),
        control.smooth([0.0], [1.5], 0.5),
        actuators=control.Actuators(voltage=True),
    )
    current = np.abs(made.drives["current"])
    assert current.max() == 1.6
    assert np.array_equal(made.saturated[:-1], current[:-1] >= 1.6)


def test_a_joint_that_friction_holds_begins_when_it_should() -> None:
    arm = block(friction=fa.Friction(coulomb=(2.0, -2.0), viscous=0.5))
    made = control.run(arm, control.FeedForward(arm), control.smooth([0.0], [0.6], 0.5))
    blind = control.run(arm, control.FeedForward(arm, friction=False), control.smooth([0.0], [0.6], 0.5))
    assert made.largest < 2e-3
    assert blind.largest > 0.05
    assert dataclasses.is_dataclass(made)
