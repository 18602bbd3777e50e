"""Drives with any parts in any joint: fixed steps that locate what switches agree with steps that follow the
error, and energies add up.
"""

from __future__ import annotations

import numpy as np
import pytest
from simulation.random_drives import random_drives

import forearm as fa
from forearm.simulation import Accuracy, Simulation

FEW, MANY = 14, 150
# Errors of single steps, each within rtol = 1e-9, add up over some thousand of them.
ADDED_UP, OF_FIXED_STEPS = 1e-6, 1e-4


def left_over(run: Simulation) -> float:
    """What the books do not explain, as a part of what was exchanged."""
    held = np.sum([run.energy[name] for name in run.energy if name != "supplied"], axis=0)
    missing = held - held[0] - run.energy["supplied"]
    moved = [
        np.abs(run.energy["supplied"]).max(),
        run.energy["kinetic"].max(),
        np.ptp(run.energy["potential"]),
    ]
    return float(np.abs(missing).max() / max(moved))


@pytest.mark.parametrize(
    "seed", [*range(FEW), *(pytest.param(seed, marks=pytest.mark.long) for seed in range(FEW, MANY))]
)
def test_two_ways_to_integrate_agree(seed: int) -> None:
    arm, rng = random_drives(seed)
    q, qd = rng.uniform(-1.0, 1.0, arm.n), rng.uniform(-1.0, 1.0, arm.n) * (rng.random(arm.n) < 0.7)
    torque = rng.uniform(-15.0, 15.0, arm.n)
    fine = fa.simulate(arm, q, qd, 0.1, torque=torque, method="dp45", accuracy=Accuracy(1e-9, 1e-11))
    fixed = fa.simulate(arm, q, qd, 0.1, torque=torque, method="rk4", step=2e-5)
    for run in (fine, fixed):
        run.checked()
    assert fixed.q[-1] == pytest.approx(fine.q[-1], abs=1e-7)
    assert fixed.qd[-1] == pytest.approx(fine.qd[-1], abs=1e-5)
    assert left_over(fine) < ADDED_UP
    assert left_over(fixed) < OF_FIXED_STEPS
