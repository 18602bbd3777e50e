"""What sensors tell a controller: steps of encoders and tachometers, differences, accelerations."""

from __future__ import annotations

import numpy as np
import pytest
from arms import random_arm
from control.spying import Spy, wave

import forearm as fa
from forearm import control


def test_encoders_and_tachometers_have_steps() -> None:
    arm = fa.load("stanford")
    spy = Spy(6)
    sensors = control.Sensors(control.Encoder(bits=10), control.Tachometer(bits=8, span=2.0))
    made = control.run(
        arm,
        spy,
        control.smooth(np.zeros(6), np.full(6, 0.3), 0.4),
        sensors=sensors,
        qd0=np.linspace(-0.5, 0.7, 6),
    )
    steps = np.where([j.kind == "revolute" for j in arm.joints], 2.0 * np.pi, 1.0) / 1024
    for s in spy.samples[::20]:
        for told, step, truth in (
            (s.q, steps, made.q[s.k]),
            (s.qd, np.full(6, 4.0 / 256), np.clip(made.qd[s.k], -2.0, 2.0)),
        ):
            assert np.allclose(told / step, np.round(told / step), atol=1e-9)
            assert np.all(np.abs(told - truth) <= 1.0001 * step)
    assert len({s.q[0] for s in spy.samples}) < len(spy.samples)


def test_velocities_from_differences_are_whole_steps_over_the_period() -> None:
    arm = fa.load("chain3")
    spy, step, T = Spy(3), 1e-4, 2e-3
    control.run(
        arm,
        spy,
        wave(arm),
        period=T,
        sensors=control.Sensors(control.Encoder(resolution=step), differences=True),
    )
    assert not spy.samples[0].qd.any()
    rates = np.array([s.qd for s in spy.samples]) * T / step
    assert np.allclose(rates, np.round(rates), atol=1e-6)
    q = np.array([s.q for s in spy.samples])
    assert np.allclose(np.diff(q, axis=0) / T, [s.qd for s in spy.samples[1:]])


@pytest.mark.slow
def test_accelerometers_tell_what_the_last_torque_does() -> None:
    arm = random_arm(6, n=3, drives=False)
    spy = Spy(3, 0.02)
    made = control.run(
        arm, spy, wave(arm), sensors=control.Sensors(accelerometers=lambda q, qd, qdd: 2.0 * qdd)
    )
    assert not spy.samples[0].qdd.any()  # type: ignore[union-attr]
    for k in (1, 77, 400):
        true = fa.dynamics.forward(arm, made.q[k], made.qd[k], made.tau[k - 1])
        told = spy.samples[k].qdd
        assert told is not None
        assert np.allclose(told, 2.0 * true, rtol=1e-10)
