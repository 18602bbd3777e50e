"""Currents behind an inductance, against closed forms: a rotor that is locked, a block that is free,
limits, energy, L -> 0.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from arms import posture, random_arm, speed
from numpy.typing import NDArray
from one_joint import MASS, block
from simulation.making import books
from sweeps import long

import forearm as fa
from forearm.simulation import Accuracy, Schedule, Simulation, load_simulation, without_inductance

Floats = NDArray[np.float64]
METHODS = pytest.mark.parametrize("method", ["dp45", "radau"])
V, N, KT, R, L = 7.0, 9.0, 0.12, 1.5, 0.03
K, T = N * KT, L / R  # N m / A of the joint; s
LOCKED = fa.Friction(coulomb=(1e4, -1e4))  # more than any torque here
TIGHT: dict[str, Any] = {"accuracy": Accuracy(1e-9, 1e-12)}
# Errors of single steps, each within rtol, add up over some hundred of them.
ADDED_UP = 1e-7


def motor(inductance: float | None = L, **limits: float) -> fa.Motor:
    return fa.Motor(gear_ratio=N, torque_constant=KT, resistance=R, inductance=inductance, **limits)


def current(run: Simulation) -> Floats:
    """Of the only motor."""
    return run.tau[:, 0] / K


@METHODS
def test_a_free_block_is_a_linear_system(method: str) -> None:
    """m qd' = K i and L i' = V - R i - K qd, by the eigenvalues of its matrix."""
    run = fa.simulate(block(motor=motor()), [0.0], [0.4], 0.3, voltage=[V], method=method, **TIGHT)
    A = np.array([[0.0, K / MASS], [-K / L, -R / L]])
    rest = np.array([V / K, 0.0])
    values, vectors = np.linalg.eig(A)
    part = np.linalg.solve(vectors, np.array([0.4, 0.0]) - rest)
    truth = ((vectors * part) @ np.exp(np.outer(values, run.t))).real + rest[:, None]
    assert run.qd[:, 0] == pytest.approx(truth[0], abs=ADDED_UP * V / K)
    assert current(run) == pytest.approx(truth[1], abs=ADDED_UP * V / R)
    assert books(run) <= ADDED_UP


@pytest.mark.slow
def test_less_inductance_tends_to_none() -> None:
    """The distance falls with L: two more digits for a hundredth of it."""
    arm = without_inductance(block(motor=motor(), friction=fa.Friction(viscous=0.7)))
    assert arm.joints[0].motor == motor(None)
    assert without_inductance(arm) is arm
    at_once = fa.simulate(arm, [0.0], [0.0], 0.5, voltage=[V], method="dp87", **TIGHT)
    apart = []
    for inductance in (1e-3, 1e-4):
        arm = block(motor=motor(inductance), friction=fa.Friction(viscous=0.7))
        run = fa.simulate(arm, [0.0], [0.0], 0.5, voltage=[V], method="radau", **TIGHT)
        apart.append(abs(float(run.q[-1, 0] - at_once.q[-1, 0])))
    assert 0.95 <= math.log10(apart[0] / apart[1]) <= 1.05


@pytest.mark.slow
@METHODS
def test_a_current_is_held_at_its_limit_and_leaves_it(method: str) -> None:
    most, off = 3.0, 5 * T
    pulse = Schedule(times=np.array([0.0, off]), values=np.array([[V], [1.0]]))
    arm = block(motor=motor(max_current=most), friction=LOCKED)
    run = fa.simulate(arm, [0.0], [0.0], off + 2 * T, voltage=pulse, method=method, **TIGHT)
    reached = -T * math.log(1.0 - most * R / V)
    i = current(run)
    assert np.abs(i).max() == pytest.approx(most, rel=1e-14)
    rising, falling = run.t < reached - 1e-9, run.t > off + 1e-9
    assert i[rising] == pytest.approx(V / R * (1.0 - np.exp(-run.t[rising] / T)), abs=ADDED_UP * V / R)
    held = run.t[i >= most * (1.0 - 1e-14)]
    assert (held[0], held[-1]) == pytest.approx((reached, off), abs=1e-8)
    assert len(held) == np.count_nonzero(~(rising | falling))
    truth = 1.0 / R + (most - 1.0 / R) * np.exp(-(run.t[falling] - off) / T)
    assert i[falling] == pytest.approx(truth, abs=ADDED_UP * V / R)
    assert books(run) <= ADDED_UP


@pytest.mark.slow
@METHODS
def test_a_motor_that_runs_up_leaves_its_limit(method: str) -> None:
    """The voltage against it rises with the speed, so the current must come down from the limit by itself."""
    run = fa.simulate(
        block(motor=motor(max_current=2.0)), [0.0], [0.0], 9.0, voltage=[V], method=method, **TIGHT
    )
    i = current(run)
    assert np.abs(i).max() == pytest.approx(2.0, rel=1e-14)
    assert i[-1] < 1.0
    leaves = run.t[np.flatnonzero(i >= 2.0 - 1e-12)[-1]]
    reached = run.t[np.flatnonzero(i >= 2.0 - 1e-12)[0]]
    # Between, the speed rises evenly by K 2 A / m to where K qd = V - R 2 A.
    speed = float(run.qd[run.t == reached][0, 0])
    assert leaves - reached == pytest.approx(((V - 2.0 * R) / K - speed) * MASS / (2.0 * K), rel=1e-6)
    assert books(run) <= ADDED_UP


def test_the_limit_of_voltage_holds() -> None:
    arm = block(motor=motor(max_voltage=4.0), friction=LOCKED)
    run = fa.simulate(arm, [0.0], [0.0], 20 * T, voltage=[V], method="dp45", **TIGHT)
    assert current(run)[-1] == pytest.approx(4.0 / R, rel=1e-7)
    assert run.voltage is not None
    assert (run.voltage == V).all()


@METHODS
def test_a_block_breaks_loose_when_the_current_has_come(method: str) -> None:
    arm = block(motor=motor(), friction=fa.Friction(coulomb=(2.0, -3.0)))
    run = fa.simulate(arm, [0.0], [0.0], 4 * T, voltage=[V], method=method, **TIGHT)
    (event,) = run.events
    assert (event.kind, event.joint) == ("slip", "way")
    assert event.t == pytest.approx(-T * math.log(1.0 - 2.0 / K * R / V), abs=1e-8)
    assert run.qd[-1, 0] > 0.0


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, *long([6])])
@pytest.mark.sweep(first=1)
def test_arms_with_all_that_drives_have_keep_their_books(seed: int) -> None:
    arm = random_arm(seed, 2)
    joints = list(arm.tree)
    index = next(k for k, j in enumerate(joints) if j.motor is not None)
    plain = without_inductance(arm).tree[index]  # one motor without, so that both kinds are in one arm
    mixed = arm.replace(tree=(*joints[:index], plain, *joints[index + 1 :]))
    volts = np.random.default_rng(seed).uniform(-20.0, 20.0, 2)
    for some in (mixed,) if seed == 1 else (arm, mixed):
        run = fa.simulate(
            some,
            posture(some, seed),
            speed(some, seed),
            0.05,
            voltage=volts,
            method="dp45",
            accuracy=Accuracy(1e-8, 1e-10),
        )
        assert run.ok, run.message
        assert books(run) <= 1e-6
        assert run.lost["winding"][-1].sum() > 0.0


@pytest.mark.slow
def test_going_on_keeps_the_currents(tmp_path: Path) -> None:
    arm = block(motor=motor(max_current=3.0), friction=fa.Friction(viscous=0.7))
    whole = fa.simulate(arm, [0.0], [0.0], 4 * T, voltage=[V], method="dp45", **TIGHT)
    for part in (0.5 * T, 2 * T):  # before the limit and at it
        first = fa.simulate(arm, [0.0], [0.0], part, voltage=[V], method="dp45", **TIGHT)
        first.save(tmp_path / "first.npz")
        before = load_simulation(tmp_path / "first.npz")
        second = fa.simulate(
            arm, [9.0], [9.0], 4 * T - part, voltage=[V], method="dp45", continued=before, **TIGHT
        )
        assert second.tau[0, 0] == first.tau[-1, 0]
        assert second.q[-1] == pytest.approx(whole.q[-1], rel=1e-8)
        assert second.tau[-1] == pytest.approx(whole.tau[-1], rel=1e-7)


@pytest.mark.parametrize("method", ["rk3", "rk4", "gill"])
@pytest.mark.parametrize("steps", [50, 5, 0.2])
def test_fixed_steps_follow_a_current_whether_short_or_long(method: str, steps: float) -> None:
    """L / R is many steps, or a fraction of one: i = V / R (1 - exp(-t R / L)) of a rotor that is held."""
    arm, h = block(motor=motor(), friction=LOCKED), T / steps
    run = fa.simulate(arm, [0.0], [0.0], 20 * h, voltage=[V], method=method, step=h)
    wrong = np.abs(current(run) / (V / R) + np.expm1(-run.t / T))
    assert wrong.max() < {50: 1e-6, 5: 1e-3, 0.2: 0.025}[steps]
    assert wrong[-1] < (1e-12 if steps < 1 else 1e-4), "where it goes to"
    assert run.drives["current"][:, 0] == pytest.approx(current(run), rel=1e-12)


@pytest.mark.parametrize("method", ["rk3", "rk4"])
def test_fixed_steps_with_inductance_keep_their_order(method: str) -> None:
    arm, errors = block(motor=motor()), []
    fine = fa.simulate(arm, [0.0], [0.3], 4 * T, voltage=[V], method="dp87", **TIGHT)
    for parts in (40, 80):
        run = fa.simulate(arm, [0.0], [0.3], 4 * T, voltage=[V], method=method, step=4 * T / parts)
        errors.append(abs(run.qd[-1, 0] - fine.qd[-1, 0]))
    assert errors[0] / errors[1] > (7.0 if method == "rk3" else 13.0)


def test_a_current_of_fixed_steps_stays_within_its_limit_and_goes_on() -> None:
    arm, h = block(motor=motor(max_current=3.0), friction=LOCKED), T / 20
    first = fa.simulate(arm, [0.0], [0.0], 2 * T, voltage=[V], method="rk4", step=h)
    assert current(first)[-1] == 3.0
    second = fa.simulate(arm, [0.0], [0.0], T, voltage=[-1.0], method="rk4", step=h, continued=first)
    assert current(second)[-1] == pytest.approx(-1.0 / R + (3.0 + 1.0 / R) * math.exp(-1.0), rel=1e-5)
    other = fa.simulate(arm, [0.0], [0.0], T, voltage=[-1.0], method="dp45", continued=first, **TIGHT)
    assert current(other)[-1] == pytest.approx(current(second)[-1], rel=1e-5), "methods go on from each other"
    both = fa.simulate_many(arm, [[0.0], [0.1]], [[0.0], [0.0]], T, voltage=[V], step=h)
    assert np.isfinite(both).all()


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, *long([9, 25])])
def test_joints_that_stand_stand_exactly_under_an_implicit_method_too(seed: int) -> None:
    """Rounding in the equations of a step must not move them:
    friction that is felt in motion would be in the books.
    """
    arm = random_arm(seed, 3)
    u = np.random.default_rng(seed).uniform(-20.0, 20.0, 3)
    start = posture(arm, seed), speed(arm, seed), 0.3
    run, other = (
        fa.simulate(arm, *start, voltage=u, method=m, accuracy=Accuracy(1e-7, 1e-9))
        for m in ("radau", "dp45")
    )
    assert [(e.kind, e.joint) for e in run.events] == [(e.kind, e.joint) for e in other.events]
    assert "stick" in [e.kind for e in run.events]
    assert not ((run.qd != 0.0) & (np.abs(run.qd) < 1e-20)).any()
    assert books(run) <= 1e-4  # rtol 1e-7 a step, hundreds of steps, powers between them by Gauss's rule
