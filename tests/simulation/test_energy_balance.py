"""Energies of a run: what is supplied is stored or lost, to the order of the method."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from arms import posture, random_arm, speed
from simulation.making import RIGID, books

import forearm as fa
from forearm.simulation import Accuracy, Sampling, Schedule, without_inductance


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["torque", "voltage"])
def test_energy_is_accounted_for(kind: str) -> None:
    arm = without_inductance(random_arm(1, 3))
    start = posture(arm, 1), speed(arm, 1), 0.2
    given: dict[str, Any] = {kind: np.random.default_rng(1).uniform(-20.0, 20.0, 3)}
    run = fa.simulate(arm, *start, method="dp45", accuracy=Accuracy(1e-9, 1e-11), **given)
    assert books(run) <= 1e-6
    assert set(run.lost) == {"bearing", "gear", "friction", "winding"}
    assert all((np.diff(v, axis=0) >= 0.0).all() for v in run.lost.values())
    assert all(v[-1].sum() > 0.0 for name, v in run.lost.items() if name != "winding")
    assert (run.lost["winding"][-1].sum() > 0.0) == (kind == "voltage")
    fixed = fa.simulate(arm, *start, method="rk4", step=1e-4, sampling=Sampling(record=100), **given)
    # A step in which a joint comes to stand, or which leaps over Stribeck's friction, is of first order.
    assert np.abs(fixed.q[-1] - run.q[-1]).max() <= 5e-4
    assert np.isfinite(fixed.qdd).all()


def test_without_friction_energy_is_kept_to_the_order_of_the_method() -> None:
    def drift(**how: Any) -> float:
        run = fa.simulate(RIGID, posture(RIGID, 1), speed(RIGID, 1), 1.0, **how)
        total = run.energy["kinetic"] + run.energy["potential"]
        return float(np.abs(total - total[0]).max())

    coarse, fine = drift(method="rk4", step=0.02), drift(method="rk4", step=0.01)
    assert 3.6 <= math.log2(coarse / fine) <= 5.6
    assert drift(method="dp45", accuracy=Accuracy(1e-12, 1e-13)) <= 1e-10


@pytest.mark.parametrize("method", ["rk4", "dp45"])
@pytest.mark.parametrize("kind", ["held", "straight", "function", "controller"])
def test_what_torques_supply_is_what_a_rigid_arm_has(method: str, kind: str) -> None:
    u = np.array([3.0, -2.0, 4.0])
    ways: dict[str, dict[str, Any]] = {
        "held": {"torque": u},
        "function": {"torque": lambda t: u * math.sin(9.0 * t)},
        "straight": {"torque": Schedule(times=np.array([0.0, 0.2]), values=np.array([u, -u]), how="linear")},
        "controller": {"controller": lambda t, q, qd: u - q},
    }
    run = fa.simulate(
        RIGID,
        posture(RIGID, 1),
        speed(RIGID, 1),
        0.3,
        method=method,
        accuracy=Accuracy(1e-10, 1e-12),
        **ways[kind],
    )
    stored = run.energy["kinetic"] + run.energy["potential"]
    assert np.abs(run.energy["supplied"]).max() > 0.05
    assert run.energy["supplied"] == pytest.approx(stored - stored[0], abs=1e-7)
