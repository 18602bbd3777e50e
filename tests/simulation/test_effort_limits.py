"""Motors that give no more than max_effort, under torques and voltages, behind windings and springs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from one_joint import MASS, MOTOR_MASS, block, two_masses
from simulation.making import FIXED, PATHS, books

import forearm as fa
from forearm.simulation import Accuracy, Schedule

TIGHT = Accuracy(1e-10, 1e-12)
MOST = 4.0  # N
N, KT, R, L = 9.0, 0.12, 1.5, 0.03
K = N * KT


def motor(inductance: float | None = None, **limits: float) -> fa.Motor:
    return fa.Motor(gear_ratio=N, torque_constant=KT, resistance=R, inductance=inductance, **limits)


@pytest.mark.parametrize("method", PATHS)
def test_a_torque_is_cut(method: str) -> None:
    """A block under a ramp of which the upper part is not given."""
    ramp = Schedule(times=np.array([0.0, 1.0]), values=np.array([[0.0], [8.0]]), how="linear")
    arm = block(max_effort=MOST)
    given: dict[str, Any] = {"torque": ramp, "method": method, "accuracy": TIGHT}
    cut, whole = (
        fa.simulate(arm, [0.0], [0.0], 1.0, effort_limits=limited, **given) for limited in (True, False)
    )
    assert whole.qd[-1, 0] == pytest.approx(4.0 / MASS, rel=1e-6)
    # the corner of what is given lies within a step
    off = 1e-5 if method in FIXED else 1e-7
    assert cut.qd[-1, 0] == pytest.approx((1.0 + 2.0) / MASS, rel=off)
    assert cut.tau[:, 0] == pytest.approx(np.minimum(8.0 * cut.t, MOST), abs=1e-12)
    assert books(cut) <= 1e-6


@pytest.mark.parametrize("method", ["rk4", "dp45", "radau"])
@pytest.mark.parametrize("way", [1.0, -1.0])
def test_the_current_of_a_voltage_is_cut(method: str, way: float) -> None:
    """tau = max_effort until back-EMF leaves less: then v tends to V / K with the time m R / K^2."""
    V = way * 12.0
    free = K * abs(V) / R
    assert free > MOST
    arm = block(motor=motor(), max_effort=MOST)
    run = fa.simulate(arm, [0.0], [0.0], 6.0, voltage=[V], effort_limits=True, method=method, accuracy=TIGHT)
    slow = (abs(V) - R * MOST / K) / K  # the speed at which the limit is no more one
    until = slow * MASS / MOST
    tau = np.where(run.t < until, MOST, MOST * np.exp(-np.maximum(run.t - until, 0.0) * K**2 / (MASS * R)))
    assert way * run.tau[:, 0] == pytest.approx(tau, abs=1e-4 if method in FIXED else 1e-6)
    assert np.abs(run.tau).max() <= MOST * (1.0 + 1e-12)
    lost = np.sum(0.5 * np.diff(run.t) * R / K**2 * (tau[1:] ** 2 + tau[:-1] ** 2))
    assert run.lost["winding"][-1, 0] == pytest.approx(lost, rel=2e-3)
    assert books(run) <= 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("method", ["rk4", "dp45"])
def test_a_current_behind_an_inductance_is_cut(method: str) -> None:
    """The smaller of max_current and that of max_effort, at which the amplifier holds it."""
    locked = fa.Friction(coulomb=(1e4, -1e4))
    for most_current, most in ((2.0, 2.0), (5.0, MOST / K)):
        arm = block(motor=motor(L, max_current=most_current), friction=locked, max_effort=MOST)
        run = fa.simulate(
            arm,
            [0.0],
            [0.0],
            0.1,
            voltage=[12.0],
            effort_limits=True,
            method=method,
            step=1e-4,
            accuracy=TIGHT,
        )
        current = run.tau[:, 0] / K
        free = 12.0 / R * -np.expm1(-run.t * R / L)
        assert current == pytest.approx(np.minimum(free, most), rel=1e-4)
        # fixed steps do not keep the instant within a step at which the limit is reached
        assert books(run) <= (1e-3 if method in FIXED else 1e-8)


@pytest.mark.parametrize("method", ["rk4", "dp87"])
def test_behind_a_spring_it_is_the_motor_that_gives_no_more(method: str) -> None:
    """The spring carries what it does: more than the motor gives, as it swings."""
    arm = two_masses(stiffness=250.0, drive={"max_effort": MOST})
    run = fa.simulate(
        arm, [0.0], [0.0], 0.4, torque=[-20.0], effort_limits=True, method=method, accuracy=TIGHT
    )
    free = fa.simulate(arm, [0.0], [0.0], 0.4, torque=[-MOST], method=method, accuracy=TIGHT)
    assert run.q[-1] == pytest.approx(free.q[-1], rel=1e-9)
    assert np.array_equal(run.tau, np.full_like(run.q, -MOST))
    w = math.sqrt(250.0 * (1.0 / MASS + 1.0 / MOTOR_MASS))
    carried = -MOST * MASS / (MASS + MOTOR_MASS) * (1.0 - np.cos(w * run.t))
    assert run.drives["spring"][:, 0] == pytest.approx(carried, abs=1e-6)
    assert np.abs(carried).max() > MOST
    assert books(run) <= 1e-7


def test_it_must_be_said_with_a_truth_value() -> None:
    wrong: Any = 1
    with pytest.raises(fa.InputError, match="simulate, effort_limits"):
        fa.simulate(block(max_effort=MOST), [0.0], [0.0], 0.1, effort_limits=wrong)
