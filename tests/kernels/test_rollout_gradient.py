"""Gradients of rollouts, against differences of rollouts and a linear system's own."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from arms import random_arm
from kernels.truths import same
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


def check(total: Any, given: list[Any], found: Any) -> None:
    """Gradients of a number against its slopes along some direction of each argument."""
    for place, (x, gradient) in enumerate(zip(given, found, strict=True)):
        assert gradient.shape == x.shape
        along = numbers(place + 1, *x.shape)[place] * np.abs(x)

        def moved(value: Floats, place: int = place) -> float:
            return float(total(*(value if k == place else y for k, y in enumerate(given))))

        expected = np.sum(gradient * along)
        assert abs(slope(moved, x, along) - expected) < DIFFERENCE * np.abs(gradient * along).sum()


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
    driven: dict[str, Any] = {drive: u, "parameters": own, "record": record, **told}
    made = k.simulate(q, qd, **driven)
    shape = made.q.shape if kept else q.shape
    weights = numbers(1, *shape)[0], numbers(2, *shape)[1]

    def total(q: Floats, qd: Floats, u: Floats, own: Floats) -> Any:
        changed = driven | {drive: u, "parameters": own, "record": record if kept else None}
        return sum(np.sum(w * x) for w, x in zip(weights, k.simulate(q, qd, **changed), strict=True))

    check(total, [q, qd, u, own], k.simulate_gradient(made, weights, **driven))


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

    def told(row: Floats) -> dict[str, Any]:
        return {"steps": STEPS, "step": H, "controller": fa.TracedController(law, row, period)}

    def total(q: Floats, qd: Floats, row: Floats) -> Any:
        return sum(np.sum(w * x) for w, x in zip(weights, k.simulate(q, qd, **told(row)), strict=True))

    kept = k.simulate(q, qd, record=record, **told(row))
    check(total, [q, qd, row], k.simulate_gradient(kept, weights, record=record, **told(row))[:3])


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
    k: Any = kernel()
    count = 19
    q, qd, u = (numbers(4, count, 3)[j] for j in range(3))
    told: dict[str, Any] = {"steps": STEPS, "step": H}
    weights = numbers(count, 3), numbers(2, count, 3)[0]
    kept, rare = (k.simulate(q, qd, torque=u, record=r, **told) for r in (1, 4))
    drive: dict[str, Any] = {"torque": u[:, None], **told}
    right = k.simulate_gradient(kept, weights, record=1, **drive)
    assert same(right[:3], k.simulate_gradient(rare, weights, record=4, threads=3, **drive)[:3])
    state, own = [x[5] for x in kept], [w[5] for w in weights]
    one = k.simulate_gradient(state, own, record=1, torque=u[5], **told)
    assert same((one.q0, one.drive), (right.q0[5], right.drive[5, 0]))
    single = fa.compile(k.arm, dtype="float32").simulate_gradient(kept, weights, record=1, **drive)
    assert single.q0.dtype == np.float32
    assert np.allclose(single.q0, right.q0, rtol=0.0, atol=1e-4)
    kept.q[3] = np.nan
    made = k.simulate_gradient(kept, weights, record=1, **drive)
    assert np.isnan(made.q0[3]).all()
    assert np.array_equal(np.delete(made.q0, 3, axis=0), np.delete(right.q0, 3, axis=0))


def test_no_steps_no_arms_and_records_beyond_the_end() -> None:
    k: Any = fa.compile(beam())
    start, weights = ([[0.1], [0.2]], [[0.3], [0.4]]), ([[1.0], [2.0]], [[3.0], [4.0]])
    made = k.simulate(*start, steps=0, step=H, record=1)
    found = k.simulate_gradient(made, weights, steps=0, step=H, record=1)
    assert [x.tolist() for x in found[:3]] == [*weights, [0.0]]
    none, torque = (np.zeros((0, 3, 1)),) * 2, np.zeros((0, 4, 1))
    empty = k.simulate_gradient(none, none, steps=4, step=H, record=2, torque=torque)
    assert [x.shape for x in empty[:3]] == [(0, 1), (0, 1), (0, 4, 1)]
    far = [
        k.simulate_gradient([np.array(x)[:, None] for x in start], weights, steps=4, step=H, record=r)[:3]
        for r in (5, 2**50)
    ]
    assert same(*far)


def test_kernels_may_share_a_controller() -> None:
    asked = fa.TracedController(lambda t, q, qd, row: -row * q, np.array([3.0]))
    told: dict[str, Any] = {"steps": 4, "step": H, "record": 2, "controller": asked}
    made = [fa.compile(block(), dtype) for dtype in ("float64", "float32")]
    states = made[0].simulate([0.2], [0.3], **told)
    double, single = (k.simulate_gradient(states, ([1.0], [0.0]), **told) for k in made)
    assert np.allclose(double.drive, single.drive, rtol=1e-5)


KEEPS = fa.TracedController(lambda t, q, qd, row, model, state: (-q, state), state=1)
SLOW = fa.TracedController(lambda t, q, qd: -q, period=4)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"states": ([0.0], [0.0])}, r"states: .*record=2, \(3, 1\) or \(B, 3, 1\), got \(1,\)"),
        ({"states": np.zeros((3, 1))}, r"gradient, states: expected a pair of arrays \(q, qd\)"),
        ({"weights": ([0.0], [[0.0]])}, r"expected a pair of arrays \(1,\) .* \(3, 1\) for all recorded"),
        ({"weights": ([0.0],)}, r"gradient, weights: expected a pair of arrays \(q, qd\), got"),
        ({"record": None}, "record: expected a whole number of at least 1, got None"),
        (
            {"arm": beam(friction=fa.Friction(coulomb=1.0))},
            "dry friction can hold way of 'one', and stick-slip",
        ),
        ({"controller": KEEPS}, "laws with a state are not differentiable"),
        ({"controller": SLOW}, "record: expected a multiple of the controller's period, 4, got 2"),
    ],
)
def test_errors_say_what_is_wrong(changed: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {"states": (np.zeros((3, 1)),) * 2, "weights": ([0.0], [0.0]), "record": 2}
    given |= {"arm": beam()} | changed
    with pytest.raises(fa.InputError, match=message):
        fa.compile(given.pop("arm")).simulate_gradient(steps=4, step=H, **given)
