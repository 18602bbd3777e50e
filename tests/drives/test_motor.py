"""Motors and what feeds them: voltages and torques both ways, limits, what is missing,
steps and bounds of the DAC.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from arms import random_arm

import forearm as fa
from forearm import Arm, InputError, ModelError, Motor
from forearm.drives import DAC, current_of, torque_of, voltage_of

EXACT = 1e-13


def motored(*motors: Motor | None) -> Arm:
    arm = random_arm(5, len(motors), drives=False, fixed=False)
    pairs = zip(arm.tree, motors, strict=True)
    return arm.replace(tree=tuple(dataclasses.replace(j, motor=m) for j, m in pairs))


GENERIC = motored(
    Motor(gear_ratio=-62.0, torque_constant=0.21, resistance=1.7),
    Motor(gear_ratio=0.8, torque_constant=0.05, resistance=0.4),
)


def test_voltages_and_torques_both_ways() -> None:
    rng = np.random.default_rng(0)
    tau, qd = rng.normal(size=(2, 30, 2)) * 5.0
    V = voltage_of(GENERIC, tau, qd)
    np.testing.assert_allclose(torque_of(GENERIC, V, qd), tau, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(voltage_of(GENERIC, torque_of(GENERIC, V, qd), qd), V, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(voltage_of(GENERIC, tau[3], qd[3]), V[3])


def test_by_the_motor_itself() -> None:
    """At the motor: speed N qd, torque tau / N = Kt i, V = R i + Kt N qd. Swartz (11), (12)."""
    tau, qd = np.array([3.0, -0.7]), np.array([0.4, 2.2])
    V, i = voltage_of(GENERIC, tau, qd), current_of(GENERIC, voltage_of(GENERIC, tau, qd), qd)
    for k, (N, Kt, R) in enumerate(((-62.0, 0.21, 1.7), (0.8, 0.05, 0.4))):
        assert i[k] == pytest.approx(tau[k] / N / Kt, rel=1e-12)
        assert V[k] == pytest.approx(R * i[k] + Kt * (N * qd[k]), rel=1e-12)


def test_power_in_is_power_out_and_heat() -> None:
    rng = np.random.default_rng(1)
    V, qd = rng.normal(size=(2, 50, 2)) * 10.0
    i, tau = current_of(GENERIC, V, qd), torque_of(GENERIC, V, qd)
    R = np.array([1.7, 0.4])
    np.testing.assert_allclose(V * i, tau * qd + R * i**2, rtol=1e-10, atol=1e-9)


def test_a_coasting_motor_brakes() -> None:
    """Without voltage its torque opposes the motion, whichever way the gear turns it."""
    qd = np.array([[1.0, 1.0], [-2.0, -3.0]])
    assert (torque_of(GENERIC, np.zeros((2, 2)), qd) * qd < 0.0).all()


def test_limits() -> None:
    arm = motored(
        Motor(gear_ratio=10.0, torque_constant=0.1, resistance=2.0, max_voltage=12.0),
        Motor(gear_ratio=10.0, torque_constant=0.1, resistance=2.0, max_current=3.0),
    )
    rest = np.zeros(2)
    np.testing.assert_allclose(current_of(arm, [50.0, 50.0], rest), [6.0, 3.0], rtol=EXACT)
    np.testing.assert_allclose(torque_of(arm, [-50.0, -50.0], rest), [-6.0, -3.0], rtol=EXACT)
    np.testing.assert_allclose(torque_of(arm, [5.0, 5.0], rest), [2.5, 2.5], rtol=EXACT)
    # Braking from speed asks for more than the limits of either.
    np.testing.assert_allclose(
        current_of(arm, [-50.0, -50.0], np.array([8.0, 8.0])), [-10.0, -3.0], rtol=EXACT
    )


def test_nan_stays_nan() -> None:
    assert np.isnan(torque_of(GENERIC, [np.nan, 1.0], [0.0, 0.0])).tolist() == [True, False]


def test_motors_that_are_not_known_are_named() -> None:
    arm = motored(Motor(torque_constant=0.1, resistance=1.0), Motor(torque_constant=0.1), None)
    said = (
        r"^arm 'random5': voltages need torque_constant and resistance of every motor; joint2, joint3 have "
        r"none\. Give them in the arm file, or compute with torques\.$"
    )
    for ask in (voltage_of, torque_of, current_of):
        with pytest.raises(ModelError, match=said):
            ask(arm, np.zeros(3), np.zeros(3))
    with pytest.raises(ModelError, match="joint1 has none"):
        voltage_of(motored(None), [0.0], [0.0])
    with pytest.raises(ModelError, match="joint1, joint2, joint3, joint4, joint5, joint6, joint7 have none"):
        voltage_of(fa.load("panda"), np.zeros(7), np.zeros(7))


def test_steps_of_the_dac() -> None:
    """Every voltage within half a step of what was asked for up to the last of 2^bits
    levels, one of which is 0.
    """
    dac = DAC(bits=5, span=10.0)
    asked = np.linspace(-10.0, 10.0, 5001)
    made, over = dac.out(asked)
    step = 20.0 / 32.0
    assert np.array_equal(over, asked > 10.0 - 0.5 * step)
    inside = asked <= 10.0 - step
    assert np.abs(made - asked)[inside].max() <= 0.5 * step * (1.0 + 1e-12)
    assert dac.out([0.0, 0.1, -0.1])[0].tolist() == [0.0, 0.0, 0.0]
    levels = np.unique(np.round(made, 9))
    assert len(levels) == 32
    np.testing.assert_allclose(np.diff(levels), step, rtol=1e-8)
    assert (made[0], made[-1]) == (-10.0, 10.0 - step)
    np.testing.assert_allclose(dac.out(made)[0], made, rtol=0, atol=1e-12)  # what is a step already stays


def test_saturation_is_reported() -> None:
    made, over = DAC(span=5.0).out([[4.9, 5.0, 5.1], [-4.9, -5.0, -70.0]])
    assert made.tolist() == [[4.9, 5.0, 5.0], [-4.9, -5.0, -5.0]]
    assert over.tolist() == [[False, False, True], [False, False, True]]
    made, over = DAC().out([1e9, -1e9])
    assert made.tolist() == [1e9, -1e9]
    assert not over.any()


@pytest.mark.parametrize("gain", [2.5, -4.0])
def test_the_amplifier_stands_behind_it(gain: float) -> None:
    """DACOut = voltage / gain, and its span is that of DACOut."""
    dac = DAC(span=5.0, gain=gain)
    made, over = dac.out([10.0, 30.0])
    assert made.tolist() == [10.0 / gain, np.copysign(min(30.0 / abs(gain), 5.0), gain)]
    assert over.tolist() == [False, abs(30.0 / gain) > 5.0]
    assert dac.voltage(made)[0] == pytest.approx(10.0, rel=EXACT)
    assert np.isnan(dac.out([np.nan])[0]).all()


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "no period": ({"period": 0.0}, "DAC, period: must be above 0, got 0"),
    "NaN": ({"period": float("nan")}, "DAC, period"),
    "complex": ({"gain": np.complex128(1.0 + 1.0j)}, "DAC, gain: expected a number, got"),
    "no gain": ({"gain": 0.0}, "DAC, gain: expected a nonzero number"),
    "bits without a span": ({"bits": 12}, "DAC, bits: 12 bits need a span to divide"),
    "too many bits": ({"bits": 60, "span": 1.0}, "DAC, bits"),
    "no span": ({"span": 0.0}, "DAC, span: must be above 0, got 0"),
    "endless": ({"span": float("inf"), "bits": 8}, "DAC, span"),
}


@pytest.mark.parametrize(("given", "words"), WRONG.values(), ids=WRONG.keys())
def test_a_dac_of_no_kind_is_refused(given: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        DAC(**given)


def test_the_uppermost_level_is_a_step_below_the_span_and_said_to_be_a_bound() -> None:
    out, over = DAC(bits=4, span=10.0).out([10.0, 9.9, 8.9, 8.0, -10.0, -10.1])
    assert out.tolist() == [8.75, 8.75, 8.75, 7.5, -10.0, -10.0]
    assert over.tolist() == [True, True, False, False, False, True]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"bits": 8.5, "span": 10.0}, "bits: expected a whole number from 1 to 52"),
        ({"bits": True, "span": 1.0}, "bits: expected a whole number"),
        ({"period": "a"}, "period: expected a number"),
        ({"period": np.nan}, "period"),
        ({"span": "a"}, "span: expected a number"),
        ({"gain": None}, "gain: expected a number, got None"),
        ({"gain": 0.0}, "gain"),
    ],
)
def test_converters_that_cannot_be(given: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=f"DAC, {said}"):
        DAC(**given)


def test_arrays_are_broadcast_as_numpy_does() -> None:
    arm, tau = fa.load("cmu-dd"), np.random.default_rng(2).uniform(-1.0, 1.0, (3, 6))
    assert np.array_equal(voltage_of(arm, tau, 0.5), voltage_of(arm, tau, np.full((3, 6), 0.5)))
    assert np.array_equal(torque_of(arm, tau[0], tau), torque_of(arm, np.tile(tau[0], (3, 1)), tau))


def test_arrays_that_do_not_go_together() -> None:
    arm = fa.load("cmu-dd")
    for value, qd, said in (
        ([1.0] * 6, [1.0] * 5, r"qd: expected shape \(6,\) or \(B, 6\), got \(5,\)"),
        (np.zeros((3, 6)), np.zeros((2, 6)), r"qd: expected a number, \(6,\) or \(3, 6\) beside tau"),
        ([1.0], [1.0], r"tau: expected shape \(6,\) or \(B, 6\), got \(1,\)"),
        (np.zeros((1, 1, 6)), np.zeros((1, 1, 6)), r"tau: expected shape .*, got \(1, 1, 6\)"),
    ):
        with pytest.raises(InputError, match=said):
            voltage_of(arm, value, qd)
    with pytest.raises(InputError, match="voltage: expected numbers"):
        torque_of(arm, "x", np.zeros(6))


@pytest.mark.slow
def test_a_voltage_beyond_all_measure_is_the_limit() -> None:
    """Also in machine code, where nothing may cancel."""
    arm = fa.load("cmu-dd")
    most = arm.joints[0].motor.max_voltage  # type: ignore[union-attr]
    assert most is not None
    rest = np.zeros(6)
    ends = [
        fa.simulate(arm, rest, rest, 0.01, voltage=[V, 0, 0, 0, 0, 0], method="rk4").qd[-1]
        for V in (most, 1e9, 1e20, 1e30)
    ]
    assert ends[0][0] > 0.0
    for end in ends[1:]:
        assert np.array_equal(end, ends[0])
