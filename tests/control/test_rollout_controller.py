"""Control laws inside rollouts, against the controllers in Python in their sampled loop."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from arms import random_arm

import forearm as fa

PERIOD, SAMPLES = 2e-3, 40
ARM = random_arm(5, 3, "modified", drives=False).with_drives(friction=fa.Friction(coulomb=0.5, viscous=0.1))
IN_PYTHON: dict[str, Any] = {
    "computed_torque": fa.control.ComputedTorque,
    "feedforward_pd": fa.control.FeedForwardPD,
    "pd_gravity": fa.control.PD,
    "pid_gravity": fa.control.PID,
}


@pytest.mark.slow
@pytest.mark.parametrize("steps", [1, 2])
@pytest.mark.parametrize("law", IN_PYTHON)
@pytest.mark.sweep
def test_a_law_moves_the_arm_as_its_controller_does(law: str, steps: int) -> None:
    t = PERIOD * np.arange(SAMPLES + 1)[:, None]
    low = np.array([0.2, -0.3, 0.1])
    motion = low + 0.2 * np.sin(3.0 * t), 0.6 * np.cos(3.0 * t), -1.8 * np.sin(3.0 * t)
    wanted = [np.broadcast_to(x, (SAMPLES + 1, 3)) for x in motion]
    q0, qd0 = low + 0.02, np.array([0.5, 0.4, 0.6])
    loop = fa.control.run(
        ARM, IN_PYTHON[law](ARM), tuple(wanted), period=PERIOD, step=PERIOD / steps, q0=q0, qd0=qd0
    )
    by_step = [np.repeat(x, steps, axis=0)[None, : SAMPLES * steps] for x in wanted]
    controller = fa.control.rollout_controller(ARM, law, *by_step, step=PERIOD / steps, period=steps)
    made = fa.compile(ARM).simulate(
        q0, qd0, steps=SAMPLES * steps, step=PERIOD / steps, controller=controller, record=steps
    )
    shown = loop.q[:: (len(loop.q) - 1) // SAMPLES]
    assert np.max(np.abs(shown - made.q[0])) < 1e-9
