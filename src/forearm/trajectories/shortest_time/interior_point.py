"""The smallest duration under linear inequalities: a primal-dual interior point method with a banded matrix."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from forearm.trajectories.shortest_time.band_solver import BandSolver
from forearm.trajectories.shortest_time.speed_elements import SpeedElements, spread, windows

Array = NDArray[np.float64]
MAX_ITERATIONS = 60
FEASIBLE = 1e-8  # of the scale of a row


@dataclass(frozen=True, eq=False)
class InnerSolution:
    """Where the method stopped.

    Attributes:
        b: (N,).
        multipliers: of the rows, (R, N), s.
        gap: the duality gap over the duration.
        excess: the largest amount by which a row is exceeded.
        iterations: how many steps it took.
    """

    b: Array
    multipliers: Array
    gap: float
    excess: float
    iterations: int


def shortest(
    elements: SpeedElements, rows: Array, b: Array, multipliers: Array | None, tolerance: float
) -> InnerSolution:
    """The b of the shortest duration with rows <= 0.

    Args:
        elements: what durations come from.
        rows: (4, R, N).
        b: where it starts; it need not hold the rows.
        multipliers: those of a problem nearby; None: unknown.
        tolerance: of the gap.
    """
    A, h = rows[:3], -rows[3]
    free = ~elements.fixed
    C = elements.inner[:3]
    duration, gradient, curvature = _duration(elements, b)
    count = h.size
    slack = h - _apply(A, b)
    if multipliers is None:
        slack = np.maximum(slack, 0.1)
        force = duration / count / slack
    else:
        mu = 1e-2 * duration / count
        slack = np.maximum(slack, 1e-2)
        force = np.maximum(multipliers, mu / slack)
    iteration = 0
    while True:
        primal = _apply(A, b) + slack - h
        dual = np.where(free, spread(np.einsum("kgn,gn->kn", C, gradient)) + _transposed(A, force), 0.0)
        total = float((slack * force).sum())
        excess = float(primal.max())
        scaled = float(np.abs(dual * np.maximum(b, 0)).sum()) / duration
        if DEBUG:
            print(f"    {iteration:3d} f={duration:.7f} gap={total / duration:.2e} primal={np.abs(primal).max():.2e} dual={scaled:.2e}", end="")
        if (total < tolerance * duration and np.abs(primal).max() < FEASIBLE and scaled < tolerance) or (
            iteration >= MAX_ITERATIONS
        ):
            break
        iteration += 1
        ratio = force / slack
        solver = _matrix(A, ratio, C, curvature, free)

        def step(aim: Array | float, /) -> tuple[Array, Array, Array]:
            known = -force + aim / slack + ratio * primal
            db = solver.solve(np.where(free, -dual - _transposed(A, known), 0.0))
            moved = _apply(A, db)
            return db, -primal - moved, known + ratio * moved

        db, ds, df = step(0.0)
        reach = min(1.0, _reach(slack, ds), _reach(force, df))
        mu = total / count
        after = float(((slack + reach * ds) * (force + reach * df)).sum()) / count
        aim = mu * max((after / mu) ** 3, 1e-4)
        db, ds, df = step(aim - ds * df)
        alpha = 0.995 * min(_reach(slack, ds), _reach(force, df))
        x = _inner(elements, b)
        dx = np.einsum("kgn,kn->gn", C, windows(db))
        alpha = min(alpha, 1.0, 0.8 * _reach(x, dx))
        if DEBUG:
            print(f" alpha={alpha:.3f} aim={aim / mu:.1e}")
        b = b + alpha * db
        slack = slack + alpha * ds
        force = force + alpha * df
        duration, gradient, curvature = _duration(elements, b)
    if DEBUG:
        print()
    return InnerSolution(b, force, total / duration, excess, iteration)

DEBUG = False

def _inner(elements: SpeedElements, b: Array) -> Array:
    """x at the places of the quadrature."""
    inside: Array = np.einsum("kgn,kn->gn", elements.inner[:3], windows(b)) + elements.inner[3]
    return inside


def _duration(elements: SpeedElements, b: Array) -> tuple[float, Array, Array]:
    """The duration and its first and second derivatives by x at the places of the quadrature."""
    x = _inner(elements, b)
    parts = elements.weights / np.sqrt(x)
    return float(parts.sum()), -0.5 * parts / x, 0.75 * parts / x**2


def _apply(A: Array, b: Array) -> Array:
    """The rows' linear part."""
    around = windows(b)
    return A[0] * around[0] + A[1] * around[1] + A[2] * around[2]  # type: ignore[no-any-return]


def _transposed(A: Array, values: Array) -> Array:
    """What `_apply` is the transpose of."""
    return spread(np.einsum("krn,rn->kn", A, values))


def _matrix(A: Array, ratio: Array, C: Array, curvature: Array, free: NDArray[np.bool_]) -> BandSolver:
    """Second derivatives of duration and barrier."""
    local = {}
    for k in range(3):
        weighted, bent = A[k] * ratio, C[k] * curvature
        for j in range(k, 3):
            local[k, j] = np.einsum("rn,rn->n", weighted, A[j]) + np.einsum("rn,rn->n", bent, C[j])
    main = spread(np.stack([local[0, 0], local[1, 1], local[2, 2]]))
    first = local[0, 1][1:] + local[1, 2][:-1]
    return BandSolver(np.where(free, main, 1.0), first, local[0, 2][1:-1])


def _reach(values: Array, change: Array) -> float:
    """The largest multiple of a change that leaves all values at least 0."""
    return 1.0 / max(float((-change / values).max()), 1e-3)
