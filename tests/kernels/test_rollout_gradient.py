"""Gradients of rollouts, against differences of rollouts and a linear system's own."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from arms import random_arm
from numpy.typing import NDArray
from one_joint import MASS, beam, block

import forearm as fa
from forearm.dynamics.explicit_methods import TABLEAUS
from forearm.kernels.kernel import Kernel

Floats = NDArray[np.float64]
B, STEPS, H = 3, 7, 5e-3
DIFFERENCE = 1e-6  # of a gradient, by differences over 2e-6 of numbers near 1
MOTOR = fa.Motor(gear_ratio=30.0, rotor_inertia=2e-3, torque_constant=0.2, resistance=1.5, max_voltage=12.0)


@cache
def kernel() -> Kernel:
    arm = random_arm(5, 3, "modified", drives=False)
    driven = arm.with_drives(motor=MOTOR, friction=fa.Friction(viscous=0.3))
    return fa.compile(driven, parameters=["part2", "joint2.friction.viscous", "joint1.motor"])


@cache
def numbers(*shape: int) -> Floats:
    return np.random.default_rng(shape).uniform(-1.0, 1.0, shape)


def slope(f: Any, x: Floats, along: Floats) -> float:
    """df along a direction, by four points."""
    e = 1e-3
    one, two = (f(x + k * e * along) - f(x - k * e * along) for k in (1, 2))
    return float((8.0 * one - two) / (12.0 * e))


@pytest.mark.slow
@pytest.mark.parametrize("method", list(TABLEAUS))
@pytest.mark.parametrize("drive", ["torque", "voltage"])
@pytest.mark.parametrize("shape", [(3,), (B, 3), (1, STEPS, 3), (B, STEPS, 3)])
@pytest.mark.parametrize("record", [1, 3, STEPS])
@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.sweep
def test_gradients_are_those_of_differences(
    method: str, drive: str, shape: tuple[int, ...], record: int, kept: bool
) -> None:
    k = kernel()
    q, qd, u = numbers(B, 3), numbers(2, B, 3)[1], 5.0 * numbers(*shape)
    own = np.array(list(k.parameters.values()))
    own = own * (1.0 + 0.1 * numbers(B, len(own))) if len(shape) == 3 else own
    told: dict[str, Any] = {"steps": STEPS, "step": H, "method": method}
    driven: dict[str, Any] = {drive: u, "parameters": own, **told}
    made = k.simulate(q, qd, record=record, **driven)
    shape = made.q.shape if kept else q.shape
    weights = numbers(1, *shape)[0], numbers(2, *shape)[1]
    found = k.simulate_gradient(made, weights, record=record, **driven)

    def total(q: Floats, qd: Floats, u: Floats, own: Floats) -> float:
        driven: dict[str, Any] = {drive: u, "parameters": own, **told}
        left = k.simulate(q, qd, record=record if kept else None, **driven)
        return float(sum(np.sum(w * x) for w, x in zip(weights, left, strict=True)))

    given = [q, qd, u, own]
    for place, (x, gradient) in enumerate(zip(given, found, strict=True)):
        assert gradient is not None
        assert gradient.shape == x.shape
        along = numbers(place + 1, *x.shape)[place] * np.abs(x)

        def moved(value: Floats, place: int = place) -> float:
            return total(*(value if k == place else y for k, y in enumerate(given)))

        assert (
            abs(slope(moved, x, along) - np.sum(gradient * along))
            < DIFFERENCE * np.abs(gradient * along).sum()
        )


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(6,), (B, 6), (1, STEPS, 6), (B, STEPS, 6)])
@pytest.mark.parametrize(("period", "record"), [(1, 1), (1, 3), (2, 4)])
@pytest.mark.sweep
def test_gradients_go_through_a_controller(shape: tuple[int, ...], period: int, record: int) -> None:
    k = kernel()

    def law(t: Any, q: Any, qd: Any, row: Any, model: Any) -> Any:
        return row[:3] * np.sin(q + 9.0 * t) - row[3:] * qd + model.gravity(q)

    q, qd, row = numbers(B, 3), numbers(2, B, 3)[1], 5.0 * numbers(*shape)
    weights = numbers(1, B, 3)[0], numbers(2, B, 3)[1]
    told: dict[str, Any] = {"steps": STEPS, "step": H}

    def total(q: Floats, qd: Floats, row: Floats) -> float:
        left = k.simulate(q, qd, controller=fa.TracedController(law, row, period), **told)
        return float(sum(np.sum(w * x) for w, x in zip(weights, left, strict=True)))

    controller = fa.TracedController(law, row, period)
    kept = k.simulate(q, qd, controller=controller, record=record, **told)
    found = k.simulate_gradient(kept, weights, controller=controller, record=record, **told)
    given = [q, qd, row]
    for place, (x, gradient) in enumerate(zip(given, found[:3], strict=True)):
        assert gradient.shape == x.shape
        along = numbers(place + 1, *x.shape)[place] * np.abs(x)

        def moved(value: Floats, place: int = place) -> float:
            return total(*(value if k == place else y for k, y in enumerate(given)))

        right = slope(moved, x, along)
        assert abs(right - np.sum(gradient * along)) < DIFFERENCE * np.abs(gradient * along).sum()


def test_a_block_has_the_gradient_of_its_closed_form() -> None:
    k = fa.compile(block())  # q'' = u / m
    told: dict[str, Any] = {"steps": 4, "step": 0.1, "torque": np.zeros((4, 1))}
    made = k.simulate([0.2], [0.3], record=2, **told)
    found = k.simulate_gradient(made, ([1.0], [0.0]), record=2, **told)
    assert np.allclose(found.q0, 1.0)
    assert np.allclose(found.qd0, 0.4)
    assert np.allclose(found.drive[:, 0], 0.1 / MASS * np.array([0.35, 0.25, 0.15, 0.05]))
    assert found.parameters is None
    speed = k.simulate_gradient(made, (np.zeros((3, 1)), np.ones((3, 1))), record=2, **told)
    assert np.allclose(speed.drive[:, 0], 0.1 / MASS * np.array([2.0, 2.0, 1.0, 1.0]))


@pytest.mark.slow
def test_neither_lanes_nor_threads_nor_records_change_gradients() -> None:
    k, count = kernel(), 19
    q, qd, u = (numbers(4, count, 3)[j] for j in range(3))
    told: dict[str, Any] = {"steps": STEPS, "step": H, "torque": u[:, None]}
    weights = numbers(count, 3), numbers(2, count, 3)[0]
    kept = [k.simulate(q, qd, record=r, **told) for r in (1, 4)]
    right = k.simulate_gradient(kept[0], weights, record=1, **told)
    other = k.simulate_gradient(kept[1], weights, record=4, threads=3, **told)
    assert all(np.array_equal(x, y) for x, y in zip(right[:3], other[:3], strict=True))
    state = kept[0].q[5], kept[0].qd[5]
    one = k.simulate_gradient(
        state, (weights[0][5], weights[1][5]), record=1, steps=STEPS, step=H, torque=u[5]
    )
    assert np.array_equal(one.q0, right.q0[5])
    assert np.array_equal(one.drive, right.drive[5, 0])
    single = fa.compile(k.arm, dtype="float32").simulate_gradient(kept[0], weights, record=1, **told)
    assert single.q0.dtype == np.float32
    assert np.allclose(single.q0, right.q0, rtol=0.0, atol=1e-4)
    spoilt = kept[0].q.copy()
    spoilt[3] = np.nan
    made = k.simulate_gradient((spoilt, kept[0].qd), weights, record=1, **told)
    assert np.isnan(made.q0[3]).all()
    assert np.array_equal(np.delete(made.q0, 3, axis=0), np.delete(right.q0, 3, axis=0))


def test_no_steps_give_the_weights_themselves() -> None:
    k = fa.compile(beam())
    made = k.simulate([[0.1], [0.2]], [[0.3], [0.4]], steps=0, step=H, record=1)
    found = k.simulate_gradient(made, ([[1.0], [2.0]], [[3.0], [4.0]]), steps=0, step=H, record=1)
    assert found.q0.tolist() == [[1.0], [2.0]]
    assert found.qd0.tolist() == [[3.0], [4.0]]
    assert found.drive.tolist() == [0.0]


def test_kernels_may_share_a_controller() -> None:
    asked = fa.TracedController(lambda t, q, qd, row: -row * q, np.array([3.0]))
    told: dict[str, Any] = {"steps": 4, "step": H, "record": 2, "controller": asked}
    made = [fa.compile(block(), dtype) for dtype in ("float64", "float32")]
    states = made[0].simulate([0.2], [0.3], **told)
    double, single = (k.simulate_gradient(states, ([1.0], [0.0]), **told) for k in made)
    assert np.allclose(double.drive, single.drive, rtol=1e-5)


def test_controllers_that_are_not_differentiated_are_refused() -> None:
    k, states = fa.compile(beam()), (np.zeros((3, 1)),) * 2
    keeps = fa.TracedController(lambda t, q, qd, row, model, state: (-q, state), state=1)
    with pytest.raises(fa.InputError, match="laws with a state are not differentiable"):
        k.simulate_gradient(states, ([0.0], [0.0]), steps=4, step=H, record=2, controller=keeps)
    slow = fa.TracedController(lambda t, q, qd: -q, period=4)
    with pytest.raises(
        fa.InputError, match="record: expected a multiple of the controller's period, 4, got 2"
    ):
        k.simulate_gradient(states, ([0.0], [0.0]), steps=4, step=H, record=2, controller=slow)


@pytest.mark.parametrize(
    ("arm", "changed", "message"),
    [
        (beam(), {"states": ([0.0], [0.0])}, r"states: .*record=2, \(3, 1\) or \(B, 3, 1\), got \(1,\)"),
        (
            beam(),
            {"weights": ([0.0], [[0.0]])},
            r"expected a pair of arrays \(1,\) .* \(3, 1\) for all recorded",
        ),
        (
            beam(friction=fa.Friction(coulomb=1.0)),
            {},
            "dry friction can hold way of 'one', and stick-slip motion",
        ),
        (beam(), {"states": np.zeros((3, 1))}, r"gradient, states: expected a pair of arrays \(q, qd\)"),
        (beam(), {"weights": ([0.0],)}, r"gradient, weights: expected a pair of arrays \(q, qd\), got"),
        (beam(), {"record": None}, "record: expected a whole number of at least 1, got None"),
    ],
)
def test_errors_say_what_is_wrong(arm: fa.Arm, changed: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {"states": (np.zeros((3, 1)),) * 2, "weights": ([0.0], [0.0]), "record": 2}
    given |= changed
    with pytest.raises(fa.InputError, match=message):
        fa.compile(arm).simulate_gradient(steps=4, step=H, **given)


def test_no_arm_has_no_gradient_but_its_shape() -> None:
    none: Any = (np.zeros((0, 3, 1)),) * 2
    torque = np.zeros((0, 4, 1))
    made = fa.compile(beam()).simulate_gradient(none, none, steps=4, step=H, record=2, torque=torque)
    assert [made.q0.shape, made.qd0.shape, made.drive.shape] == [(0, 1), (0, 1), (0, 4, 1)]


def test_records_may_be_farther_apart_than_the_run_is_long() -> None:
    k = fa.compile(beam())
    told: dict[str, Any] = {"steps": 4, "step": H}
    start, weights = (np.array([[0.2]]), np.array([[0.3]])), ([1.0], [0.5])
    wanted = k.simulate_gradient(start, weights, record=5, **told)
    found = k.simulate_gradient(start, weights, record=2**50, **told)
    assert all(np.array_equal(x, y) for x, y in zip(found[:3], wanted[:3], strict=True))
