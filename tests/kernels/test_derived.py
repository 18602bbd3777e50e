"""Kernels of g^T J and J v against the Jacobian by central differences, and against each other."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from arms import random_arm

import forearm as fa
from forearm.kernels.arrays import Array
from forearm.kernels.dispatch import Call, run

STEP, CLOSE = 1e-6, 2e-7  # of central differences, and what they leave of values near 1


def derived(
    kernel: fa.Kernel, name: str, way: tuple[str, ...], given: Sequence[Array], parameters: Any = None
) -> dict[str, Array]:
    """The results by name."""
    compiled = kernel.compiled(name, derived=way)
    made = run(compiled, tuple(given), Call(kernel.parameters, None, 1, parameters))
    return dict(zip((slot.name for slot in compiled.outputs), made, strict=True))


def slopes(function: Callable[..., Array], given: Sequence[Array], k: int, direction: Array) -> Array:
    """How results change along a direction of one argument."""
    ahead, back = (
        function(*(x + s * STEP * direction if i == k else x for i, x in enumerate(given)))
        for s in (1.0, -1.0)
    )
    change: Array = (ahead - back) / (2.0 * STEP)
    return change


@pytest.mark.slow
@pytest.mark.parametrize("name", ["inverse_dynamics", "forward_dynamics", "inertia_matrix", "jacobian"])
def test_both_ways_agree_with_differences(name: str) -> None:
    arm, rng = random_arm(4, 2), np.random.default_rng(2)
    kernel = fa.compile(arm)
    count = len(kernel.compiled(name).inputs)
    given = [rng.uniform(-1.0, 1.0, (5, arm.n)) for _ in range(count)]
    rates = [rng.uniform(-1.0, 1.0, (5, arm.n)) for _ in range(count)]
    function = getattr(kernel, name)
    expected = sum(slopes(function, given, k, rate) for k, rate in enumerate(rates))
    (moved,) = derived(kernel, name, ("forward",), (*given, *rates)).values()
    scale = np.abs(expected).max()
    np.testing.assert_allclose(moved / scale, expected / scale, atol=CLOSE)
    weight = rng.uniform(-1.0, 1.0, moved.shape).reshape(5, -1)
    pulled = derived(kernel, name, ("reverse",), (*given, weight)).values()
    there = (weight * moved.reshape(5, -1)).sum(axis=1)
    back = sum((x * rate).sum(axis=1) for x, rate in zip(pulled, rates, strict=True))
    np.testing.assert_allclose(back, there, rtol=1e-10)


@pytest.mark.slow
def test_open_parameters_have_a_gradient() -> None:
    arm, rng = random_arm(3, 3), np.random.default_rng(4)
    kernel = fa.compile(arm, parameters=[f"{arm.links[-1].name}.mass", "gravity"])
    given = [rng.uniform(-1.0, 1.0, (4, arm.n)) for _ in range(3)]
    values = np.array(list(kernel.parameters.values()))
    weight = rng.uniform(-1.0, 1.0, (4, arm.n))
    made = derived(kernel, "inverse_dynamics", ("reverse",), (*given, weight))["parameters_gradient"]
    for k in range(len(values)):
        up, down = (
            kernel.inverse_dynamics(
                given[0], given[1], given[2], parameters=values + s * STEP * np.eye(len(values))[k]
            )
            for s in (1.0, -1.0)
        )
        np.testing.assert_allclose(
            made[:, k], (weight * (up - down)).sum(axis=1) / (2.0 * STEP), rtol=1e-6, atol=1e-7
        )


@pytest.mark.slow
def test_what_is_derived_can_be_derived_again() -> None:
    """d (w . J^T g) / d q forwards and backwards: the same second derivatives."""
    arm, rng = random_arm(3, 2), np.random.default_rng(6)
    kernel = fa.compile(arm)
    q, qd, qdd, g, a, b = (rng.uniform(-1.0, 1.0, (3, arm.n)) for _ in range(6))
    nothing = np.zeros_like(q)
    # along a of the gradient with respect to q, weighted by b; and backwards, weighted by b, along a
    along = derived(
        kernel, "inverse_dynamics", ("reverse", "forward"), (q, qd, qdd, g, a, nothing, nothing, nothing)
    )["q_gradient_rate"]
    pulled = derived(
        kernel, "inverse_dynamics", ("reverse", "reverse"), (q, qd, qdd, g, b, nothing, nothing)
    )["q_gradient"]
    np.testing.assert_allclose((along * b).sum(axis=1), (pulled * a).sum(axis=1), rtol=1e-9)


@pytest.mark.slow
def test_forwards_again() -> None:
    """Rates of rates: those along b of the rates along a, against differences."""
    arm, rng = random_arm(3, 3), np.random.default_rng(6)
    kernel = fa.compile(arm)
    a, b = ([rng.uniform(-1.0, 1.0, (3, arm.n)) for _ in range(3)] for _ in range(2))
    given = [rng.uniform(-1.0, 1.0, (3, arm.n)) for _ in range(3)]
    still = [np.zeros_like(x) for x in a]
    twice = derived(kernel, "inverse_dynamics", ("forward", "forward"), (*given, *a, *b, *still))
    ahead, back = (
        derived(
            kernel,
            "inverse_dynamics",
            ("forward",),
            (*(x + s * STEP * y for x, y in zip(given, b, strict=True)), *a),
        )["tau_rate"]
        for s in (1.0, -1.0)
    )
    expected = (ahead - back) / (2.0 * STEP)
    scale = np.abs(expected).max()
    np.testing.assert_allclose(twice["tau_rate_rate"] / scale, expected / scale, atol=CLOSE)
