"""Drives with any parts in any joint: fixed steps that locate what switches agree with steps that follow the
error, and energies add up.
"""

from __future__ import annotations

import numpy as np
import pytest
from simulation.making import books
from simulation.random_drives import random_drives
from sweeps import long

import forearm as fa
from forearm.drives.coordinates import coordinates_of
from forearm.simulation import Accuracy
from forearm.simulation.machine import simulator_of

FEW, MANY = (0, 2, 6), 150  # the few have every part of `random_drives`
# Errors of single steps, each within rtol = 1e-9, add up over some thousand of them.
ADDED_UP, OF_FIXED_STEPS = 1e-6, 1e-4


@pytest.mark.slow
@pytest.mark.parametrize("seed", [*FEW, *long(seed for seed in range(MANY) if seed not in FEW)])
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
    assert books(fine) < ADDED_UP
    assert books(fixed) < OF_FIXED_STEPS


def is_elastic_alone(seed: int) -> bool:
    """Whether the reference knows all of it: elastic joints, and of bristles steady motion only."""
    found = coordinates_of(random_drives(seed)[0])
    return bool(found.rotors) and not found.bristles


@pytest.mark.parametrize("seed", list(filter(is_elastic_alone, range(24)))[:6])
def test_accelerations_are_those_of_the_reference(seed: int) -> None:
    """At a state in motion, where friction acts against the velocities of links and motors."""
    arm, rng = random_drives(seed)
    simulator = simulator_of(arm, False, "rk4")
    c = simulator.coordinates
    q, qd, torque = rng.uniform(-1.0, 1.0, (3, arm.n))
    theta, thetad = q + rng.uniform(-0.02, 0.02, arm.n), qd + rng.uniform(-0.5, 0.5, arm.n)
    x, xd = (np.concatenate([a, b[[r.freedom for r in c.rotors]]]) for a, b in ((q, theta), (qd, thetad)))
    contact = np.array(c.contacts(x.tolist(), xd.tolist()), dtype=np.float64)
    found = simulator.accelerations(x, xd, torque, np.sign(xd), np.ones(len(x)), contact)
    qdd, thetadd = fa.dynamics.elastic_forward(arm, q, qd, theta, thetad, torque)
    truth = np.concatenate([qdd, thetadd[[r.freedom for r in c.rotors]]])
    assert found == pytest.approx(truth, rel=1e-9, abs=1e-9 * np.abs(truth).max())
