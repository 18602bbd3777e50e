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
    np.testing.assert_array_equal(voltage_of(GENERIC, tau[3], qd[3]), V[3])
    np.testing.assert_array_equal(
        voltage_of(GENERIC, tau, 0.5), voltage_of(GENERIC, tau, np.full((30, 2), 0.5))
    )
    assert np.isnan(torque_of(GENERIC, [np.nan, 1.0], [0.0, 0.0])).tolist() == [True, False]


def test_by_the_motor_itself() -> None:
    """At the motor: speed N qd, torque tau / N = Kt i, V = R i + Kt N qd. Swartz (11), (12)."""
    tau, qd = np.array([3.0, -0.7]), np.array([0.4, 2.2])
    V, i = voltage_of(GENERIC, tau, qd), current_of(GENERIC, voltage_of(GENERIC, tau, qd), qd)
    for k, (N, Kt, R) in enumerate(((-62.0, 0.21, 1.7), (0.8, 0.05, 0.4))):
        assert i[k] == pytest.approx(tau[k] / N / Kt, rel=1e-12)
        assert V[k] == pytest.approx(R * i[k] + Kt * (N * qd[k]), rel=1e-12)


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


def test_motors_that_are_not_known_are_named() -> None:
    arm = motored(Motor(torque_constant=0.1, resistance=1.0), Motor(torque_constant=0.1), None)
    said = (
        "voltages need torque_constant and resistance of every motor; joint2, joint3 have none. Give them in"
    )
    for ask in (voltage_of, torque_of, current_of):
        with pytest.raises(ModelError, match=said):
            ask(arm, np.zeros(3), np.zeros(3))


def test_steps_of_the_dac() -> None:
    """Every voltage within half a step of what was asked for up to the last of 2^bits
    levels, one of which is 0; beyond, a bound, and said to be one.
    """
    dac, step = DAC(bits=5, span=10.0), 20.0 / 32.0
    asked = np.linspace(-12.0, 12.0, 6001)
    made, over = dac.out(asked)
    assert np.array_equal(over, (asked > 10.0 - 0.5 * step) | (asked < -10.0))
    inside = (asked <= 10.0 - step) & (asked >= -10.0)
    assert np.abs(made - asked)[inside].max() <= 0.5 * step * (1.0 + 1e-12)
    np.testing.assert_allclose(np.unique(np.round(made, 9)), np.arange(-10.0, 10.0, step), atol=1e-9)
    np.testing.assert_allclose(dac.out(made)[0], made, rtol=0, atol=1e-12)  # what is a step already stays
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


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"period": 0.0}, "period: must be above 0, got 0"),
    ({"period": np.nan}, "period"),
    ({"period": "a"}, "period: expected a number"),
    ({"gain": np.complex128(1.0 + 1.0j)}, "gain: expected a number, got"),
    ({"gain": 0.0}, "gain: must not be 0"),
    ({"bits": 12}, "bits: 12 bits need a span to divide"),
    ({"bits": 60, "span": 1.0}, "bits"),
    ({"bits": 8.5, "span": 10.0}, "bits: expected a whole number from 1 to 52"),
    ({"span": 0.0}, "span: must be above 0, got 0"),
    ({"span": float("inf"), "bits": 8}, "span"),
]


@pytest.mark.parametrize(("given", "words"), WRONG)
def test_a_dac_of_no_kind_is_refused(given: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=f"DAC, {words}"):
        DAC(**given)


def test_arrays_that_do_not_go_together() -> None:
    for value, qd, said in (
        ([1.0] * 2, [1.0], r"qd: expected shape \(2,\) or \(B, 2\), got \(1,\)"),
        (np.zeros((3, 2)), np.zeros((2, 2)), r"qd: expected a number, \(2,\) or \(3, 2\) beside tau"),
        (np.zeros((1, 1, 2)), np.zeros(2), r"tau: expected shape .*, got \(1, 1, 2\)"),
        ("x", np.zeros(2), "tau: expected numbers"),
    ):
        with pytest.raises(InputError, match=said):
            voltage_of(GENERIC, value, qd)


@pytest.mark.slow
def test_a_voltage_beyond_all_measure_is_the_limit() -> None:
    """Also in machine code, where nothing may cancel."""
    arm, rest = fa.load("cmu-dd"), np.zeros(6)
    limit: Any = arm.joints[0].motor.max_voltage  # type: ignore[union-attr]
    most, *beyond = (
        fa.simulate(arm, rest, rest, 0.005, voltage=[V, 0, 0, 0, 0, 0], method="rk4").qd[-1]
        for V in (limit, 1e9, 1e30)
    )
    assert most[0] > 0.0
    for end in beyond:
        assert np.array_equal(end, most)
