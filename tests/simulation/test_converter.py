"""The gain of amplifiers: kept in the arm file, used by every converter, and never given twice."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from one_joint import beam

import forearm as fa
from forearm.simulation import Sampling, Schedule
from forearm.simulation.inputs import converter_of

GAINS = (2.5, None, -4.0)


def motor(gain: float | None) -> fa.Motor:
    return fa.Motor(
        gear_ratio=9.0, rotor_inertia=1e-4, torque_constant=0.12, resistance=1.5, amplifier_gain=gain
    )


def amplified(gains: tuple[float | None, ...] = GAINS) -> fa.Arm:
    arm = fa.load("chain3")
    tree = []
    for joint, gain in zip(arm.tree, gains, strict=True):
        tree.append(
            fa.Joint(**{f: getattr(joint, f) for f in joint.__dataclass_fields__} | {"motor": motor(gain)})
        )
    return arm.replace(tree=tuple(tree))


def test_the_arm_file_keeps_it(tmp_path: Path) -> None:
    amplified().save(tmp_path / "arm.toml")
    again = fa.load(tmp_path / "arm.toml")
    assert again == amplified()
    assert [j.motor.amplifier_gain for j in again.joints if j.motor] == list(GAINS)
    text = (tmp_path / "arm.toml").read_text(encoding="utf-8")
    assert text.count("amplifier_gain") == 2
    (tmp_path / "zero.toml").write_text(
        text.replace("amplifier_gain = 2.5", "amplifier_gain = 0"), encoding="utf-8"
    )
    with pytest.raises(fa.ModelError, match=r"zero\.toml.*amplifier_gain: must not be 0"):
        fa.load(tmp_path / "zero.toml")


def test_out_and_voltage_are_inverse_up_to_steps_and_bounds() -> None:
    converter = converter_of(amplified(), fa.DAC(bits=6, span=4.0))
    volts = np.array([[5.0, -3.0, 7.0], [11.0, 3.9, -15.0]])
    out, over = converter.out(volts)
    gains = np.array([2.5, 1.0, -4.0])
    assert np.array_equal(over, np.abs(volts / gains) > 4.0)
    step = 8.0 / 64
    assert np.array_equal(out, np.clip(np.round(volts / gains / step), -32, 31) * step)
    assert np.array_equal(converter.voltage(out), out * gains)
    assert np.array_equal(converter.limited(volts), out * gains)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["rk4", "dp45"])
def test_a_simulation_uses_it_as_it_uses_the_converters_own(method: str) -> None:
    pulse = Schedule(times=np.array([0.0, 0.01]), values=np.array([[9.0], [-4.0]]))
    how: dict[str, Any] = {"voltage": pulse, "method": method}
    own = fa.simulate(
        beam(motor=motor(None)),
        [0.3],
        [0.0],
        0.02,
        sampling=Sampling(dac=fa.DAC(bits=5, span=2.0, gain=3.0)),
        **how,
    )
    arms = fa.simulate(
        beam(motor=motor(3.0)), [0.3], [0.0], 0.02, sampling=Sampling(dac=fa.DAC(bits=5, span=2.0)), **how
    )
    assert np.array_equal(own.q, arms.q)
    assert arms.voltage is not None
    # in steps of 4 V / 32 x 3, below 2 V x 3
    assert np.unique(arms.voltage) == pytest.approx([-4.125, 5.625])
    free = fa.simulate(beam(motor=motor(3.0)), [0.3], [0.0], 0.02, **how)
    assert free.voltage is not None
    assert np.unique(free.voltage) == pytest.approx([-4.0, 9.0]), (
        "without a converter voltages are the motors'"
    )


def test_two_gains_are_refused() -> None:
    with pytest.raises(
        fa.InputError, match="DAC, gain: got 3, but motors of 'one' have their own amplifier_gain"
    ):
        fa.simulate(
            beam(motor=motor(2.0)), [0.0], [0.0], 0.01, voltage=[1.0], sampling=Sampling(dac=fa.DAC(gain=3.0))
        )
