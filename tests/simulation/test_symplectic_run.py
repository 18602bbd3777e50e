"""Symplectic runs of whole arms: energy that stays bounded, order, the adaptive
solution, and what is refused.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from arms import posture, random_arm, speed
from numpy.typing import NDArray
from one_joint import block

import forearm as fa
from forearm.simulation import Accuracy, Ending, Sampling, Simulation, Status, load_simulation
from forearm.simulation.symplectic import Mechanics

Floats = NDArray[np.float64]
METHODS = pytest.mark.parametrize("method", ["midpoint", "gauss4"])
ROTORS = fa.Motor(gear_ratio=30.0, rotor_inertia=1e-4)
ORDER = {"midpoint": 2, "gauss4": 4}


def swinging(seed: int = 5, n: int = 3, **shape: Any) -> fa.Arm:
    """A generic arm without friction, whose first joint has a rotor behind a gear."""
    arm = random_arm(seed, n, prismatic=False, drives=False, **shape)
    first = arm.joints[0]
    fields = {f: getattr(first, f) for f in first.__dataclass_fields__} | {"motor": ROTORS}
    return arm.replace(tree=tuple(fa.Joint(**fields) if j is first else j for j in arm.tree))


ARM = swinging()
START = posture(ARM, 1), 0.3 * speed(ARM, 1)


def total(run: Simulation) -> Floats:
    return run.energy["kinetic"] + run.energy["potential"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "arm",
    [ARM, random_arm(2, 3, drives=False), swinging(7, tree=True, mimic=True)],
    ids=["arm", "slides", "tree"],
)
@pytest.mark.sweep(first=2)
def test_hamiltons_equations_are_the_arms(arm: fa.Arm) -> None:
    """p' = M qdd + M' qd with the reference's accelerations, and M' along the motion
    by central differences.
    """
    q, qd = posture(arm, 3), speed(arm, 3)
    mechanics = Mechanics(arm)
    M = fa.dynamics.inertia_matrix(arm, q)
    assert mechanics.momentum(q, qd) == pytest.approx(M @ qd, rel=1e-12)
    assert mechanics.velocity(q, M @ qd) == pytest.approx(qd, rel=1e-9)
    h = 1e-5
    change = (fa.dynamics.inertia_matrix(arm, q + h * qd) - fa.dynamics.inertia_matrix(arm, q - h * qd)) / (
        2.0 * h
    )
    truth = M @ fa.dynamics.forward(arm, q, qd, np.zeros(arm.n)) + change @ qd
    assert mechanics.force(q[None], qd[None])[0] == pytest.approx(
        truth, rel=1e-7, abs=1e-7 * np.abs(truth).max()
    )


@pytest.mark.slow
@METHODS
def test_order_against_the_adaptive_solution(method: str) -> None:
    truth = fa.simulate(ARM, *START, 0.5, method="dp87", accuracy=Accuracy(1e-13, 1e-13))
    errors = []
    for step in (0.02, 0.01):
        run = fa.simulate(ARM, *START, 0.5, method=method, step=step)
        assert (run.method, run.step, run.status, len(run.t)) == (
            method,
            step,
            Status.END,
            round(0.5 / step) + 1,
        )
        errors.append(float(np.abs(np.hstack([run.q[-1] - truth.q[-1], run.qd[-1] - truth.qd[-1]])).max()))
    assert math.log2(errors[0] / errors[1]) == pytest.approx(ORDER[method], abs=0.5)
    if method == "gauss4":
        assert errors[1] <= 1e-4


@pytest.mark.slow
def test_energy_stays_bounded_where_an_explicit_method_loses_it() -> None:
    """Twice as long is no worse; the explicit method of the same order goes on drifting.
    Steps as long as work.
    """
    how: dict[str, Any] = {"step": 0.02, "sampling": Sampling(record=5)}
    symplectic = total(fa.simulate(ARM, *START, 40.0, method="gauss4", **how))
    explicit = total(fa.simulate(ARM, *START, 40.0, method="rk4", **how))
    off, drift = (np.abs(e - e[0]) for e in (symplectic, explicit))
    half = len(off) // 2
    assert off[half:].max() <= 3.0 * off[:half].max(), "it goes back and forth"
    assert drift[half:].max() >= 1.3 * drift[:half].max(), "the comparison can fail"
    assert off.max() <= 0.1 * drift.max()


@METHODS
def test_nothing_is_supplied_and_nothing_lost(method: str) -> None:
    run = fa.simulate(ARM, *START, 0.055, method=method, step=0.01, sampling=Sampling(record=2))
    assert run.t == pytest.approx([0.0, 0.02, 0.04, 0.05, 0.055], abs=1e-15)
    assert not run.tau.any()
    assert not run.energy["supplied"].any()
    assert not run.energy["lost"].any()
    assert np.allclose(
        run.qdd, [fa.dynamics.forward(ARM, q, qd, np.zeros(3)) for q, qd in zip(run.q, run.qd, strict=True)]
    )


@METHODS
def test_going_on_gives_the_bits_of_one_run(method: str, tmp_path: Path) -> None:
    whole = fa.simulate(ARM, *START, 0.2, method=method, step=0.01)
    first = fa.simulate(ARM, *START, 0.07, method=method, step=0.01)
    first.save(tmp_path / "first.npz")
    second = fa.simulate(
        ARM, *START, 0.13, method=method, step=0.01, continued=load_simulation(tmp_path / "first.npz")
    )
    for name in ("t", "q", "qd"):
        assert np.array_equal(getattr(second, name), getattr(whole, name)[7:]), name


@METHODS
def test_it_ends_at_limits_and_conditions(method: str) -> None:
    run = fa.simulate(block(), [2.0], [0.5], 9.0, ending=Ending(stops=True), method=method, step=0.01)
    assert [(e.kind, e.joint) for e in run.events] == [("stop", "way")]
    assert (run.status, run.t[-1]) == (Status.EVENT, pytest.approx(2.0, abs=0.011))
    run = fa.simulate(
        block(),
        [0.0],
        [1.0],
        9.0,
        ending=Ending(until=lambda t, q, qd: float(q[0]) - 0.5),
        method=method,
        step=0.01,
    )
    assert [e.kind for e in run.events] == ["condition"]


@METHODS
def test_steps_too_long_to_solve_are_a_status(method: str) -> None:
    run = fa.simulate(ARM, START[0], 30.0 * START[1], 5.0, method=method, step=0.5)
    assert run.status is Status.STEP_TOO_LONG
    assert "too long for the stages to converge" in run.message
    with pytest.raises(fa.ForearmError, match="use a shorter step, or an adaptive method"):
        run.checked()
    with pytest.raises(fa.InputError, match="continued: that run failed"):
        fa.simulate(ARM, *START, 1.0, method=method, step=0.5, continued=run)


@pytest.mark.parametrize(
    "given", [{"torque": [0.0] * 3}, {"voltage": [1.0] * 3}, {"controller": lambda t, q, qd: q}]
)
def test_what_drives_is_refused(given: dict[str, Any]) -> None:
    (name,) = given
    with pytest.raises(fa.InputError, match=f"'gauss4' is for undriven arms, got {name}. Remove the input,"):
        fa.simulate(ARM if name != "voltage" else random_arm(1, 3), *START, 1.0, method="gauss4", **given)


@pytest.mark.parametrize(
    "drive",
    [
        {"friction": fa.Friction(viscous=0.1)},
        {"bearings": (fa.Bearing(kind="linear", mu=0.1, distance=0.2),)},
        {"transmission": fa.Transmission(efficiency=((0.0, 0.9),), rated_torque=1.0)},
    ],
)
def test_what_brakes_is_refused(drive: dict[str, Any]) -> None:
    with pytest.raises(
        fa.InputError,
        match=r"'midpoint' is for arms without friction, got friction of way\. Use arm\.rigid\(\)",
    ):
        fa.simulate(block(**drive), [0.0], [0.0], 1.0, method="midpoint")
    assert fa.simulate(block(**drive).rigid(), [0.0], [0.0], 0.01, method="midpoint").ok
