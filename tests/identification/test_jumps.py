"""Accelerations that jump where joints reverse are told from others, and rows around left out."""

from __future__ import annotations

import numpy as np
import pytest
from identification.measured import closed_loop, excited_motion, measured
from identification.true_arms import believed, small_true, true_values

import forearm as fa
from forearm.identification.signals.jumps import jumping_joints
from forearm.identification.signals.prepare import prepare_log


def test_a_jump_at_reversals_is_told_from_none() -> None:
    """Two joints whose speeds are sines, the first with a larger one backwards; with the same noise."""
    t = np.arange(0.0, 20.0, 2e-3)
    speed = 0.8 * np.sin(np.pi * t)
    q = np.cumsum(np.column_stack([np.where(speed < 0.0, 2.0 * speed, speed), speed]), axis=0) * 2e-3
    for noise, half in ((1e-6, 20), (1e-5, 60), (2e-5, 150)):
        loud = q + noise * np.random.default_rng(1).normal(size=q.shape)
        assert jumping_joints([(t, loud)], half, np.full(2, 1e-3)).tolist() == [True, False], noise
    assert jumping_joints([(t[:50], q[:50])], 30, np.zeros(2)).tolist() == [False, False]  # too short


@pytest.mark.slow
def test_a_controller_makes_accelerations_jump_and_a_followed_motion_does_not() -> None:
    arm = small_true(2)
    nominal, motion = believed(arm), excited_motion(arm, 8.0, 2, harmonics=7)
    loop = closed_loop(arm, motion, rate=500.0, controller_of=nominal, q_noise=2e-5, effort_noise=0.02)
    stiff = measured(arm, motion, rate=500.0, q_noise=2e-5, effort_noise=0.02)
    jumps = [prepare_log(nominal, log).signals.jumps for log in (loop, stiff)]
    assert [x.tolist() for x in jumps if x is not None] == [[True, True], [False, False]]
    found = fa.identify(nominal, loop, torque_side="motor")
    true = true_values(arm)
    # Coulomb friction is what rows near reversals get wrong
    for name in (x for x in found.parameters if "coulomb" in x):
        assert abs(found.parameters[name] - true[name]) < 4.0 * found.std[name]
        assert found.std[name] < 0.05
    # torques of a row act half a period later on average
    used = found.logs[0]
    assert abs(used.shift + 1e-3) < 4.0 * used.shift_std
    assert used.shift_std < 1e-3
