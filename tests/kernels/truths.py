"""What tests of kernels share: states of an arm, the reference by the names of methods, and what is close."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from arms import posture

import forearm as fa

DOUBLE = 1e-12  # relative to the largest entry; of accelerations times the condition number of M
SINGLE = 1e-4
REFERENCE: dict[str, Callable[..., Any]] = {
    "inverse_dynamics": fa.dynamics.inverse,
    "forward_dynamics": lambda arm, q, qd, tau: fa.dynamics.forward(arm, q, qd, tau, method="composite-body"),
    "inertia_matrix": fa.dynamics.inertia_matrix,
    "bias": fa.dynamics.bias,
    "gravity": fa.dynamics.gravity,
    "forward_kinematics": fa.kinematics.forward,
    "jacobian": fa.kinematics.jacobian,
}
# How many of q, qd and accelerations or torques each of them takes.
FUNCTIONS = dict(zip(REFERENCE, (3, 3, 1, 2, 1, 1, 1), strict=True))


def states(arm: fa.Arm, count: int, seed: int = 0) -> list[Any]:
    """Postures within the limits, rates, and accelerations or torques, (count, n) each."""
    rng, shape = np.random.default_rng(seed), (count, arm.n)
    return [posture(arm, seed, count), rng.uniform(-2.0, 2.0, shape), rng.uniform(-3.0, 3.0, shape)]


def assert_close(got: Any, want: Any, tolerance: float = DOUBLE) -> None:
    """Relative to the largest entry of all."""
    assert got.shape == want.shape
    assert np.abs(got - want).max() <= tolerance * np.abs(want).max()


def allowed(arm: fa.Arm, function: str, q: Any) -> float:
    """What a function may be wrong by in double precision."""
    if function != "forward_dynamics":
        return DOUBLE
    return DOUBLE * float(np.linalg.cond(fa.dynamics.inertia_matrix(arm, q)).max())


def same(one: Any, other: Any) -> bool:
    """Whether arrays in a sequence have the same bits; NaN is NaN."""
    return all(np.array_equal(a, b, equal_nan=True) for a, b in zip(one, other, strict=True))
