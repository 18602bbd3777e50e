"""A minimum within limits from a point within them: an interior-point method that never leaves them.

A barrier that grows near limits is added, and made weaker step by step. Steps are Newton's: of the barrier
the matrix is known, that of the criterion is gathered from gradients (damped BFGS).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from forearm.identification.excitation.problem import ExcitationProblem
from forearm.spatial import Floats

ENOUGH = 0.01  # of what a step promises: below a weight is done with
ARMIJO = 1e-4  # of the promised decrease: what a step must give
SHORTEST = 1e-8  # of a step
DAMPED = 0.2  # Powell's, of the curvature that is known
Told = Callable[[float], object]
Weights = Sequence[tuple[float, int]]


def descend(problem: ExcitationProblem, x: Floats, weights: Weights, told: Told) -> tuple[Floats, float]:
    """The best coefficients found from x, which is within all limits, and what they are worth.

    Args:
        problem: what is sought.
        x: where to begin.
        weights: of the barrier, one after the other, and how many steps are made with each at most.
        told: called with the share that is done.
    """
    B = np.zeros((x.size, x.size))
    value, gradient = problem.worth(x)
    done, total = 0, sum(most for _, most in weights)
    for weight, most in weights:
        for k in range(most):
            told((done + k) / total)
            found = _step(problem, x, value, gradient, B, weight)
            if found is None and B.any():  # what was gathered may mislead
                B = np.zeros_like(B)
                found = _step(problem, x, value, gradient, B, weight)
            if found is None:
                break
            x, value, gradient, B, promised = found
            if promised < ENOUGH * weight:
                break
        done += most
    return x, value


def _step(
    problem: ExcitationProblem, x: Floats, value: float, gradient: Floats, B: Floats, weight: float
) -> tuple[Floats, float, Floats, Floats, float] | None:
    """A step, what it leads to, B after it, and how much it promised; None where none is better."""
    slope, matrix = problem.barrier_slopes(x)
    whole = gradient + weight * slope
    H = weight * matrix
    H = H + (B if B.any() else np.eye(len(H)) * max(np.abs(H).max(), 1e-12))
    direction = -_solved(H, whole.ravel()).reshape(x.shape)
    promised = -float((whole * direction).sum())
    here = value + weight * problem.barrier(x)
    for length in _lengths():
        if length < SHORTEST:
            return None
        there = x + length * direction
        barrier = problem.barrier(there)
        if not np.isfinite(barrier):
            continue
        then, new = problem.worth(there)
        if then + weight * barrier <= here - ARMIJO * length * promised:
            return there, then, new, _updated(B, (there - x).ravel(), (new - gradient).ravel()), promised
    return None


def _lengths() -> Iterator[float]:
    length = 1.0
    while True:
        yield length
        length *= 0.5


def _solved(H: Floats, right: Floats) -> Floats:
    """H^-1 right, H made definite if rounding took that."""
    size = np.abs(np.diag(H)).max()
    for extra in (0.0, 1e-12, 1e-8, 1e-4, 1.0):
        try:
            L = np.linalg.cholesky(H + extra * size * np.eye(len(H)))
        except np.linalg.LinAlgError:
            continue
        return np.asarray(np.linalg.solve(L.T, np.linalg.solve(L, right)))
    return np.asarray(right / size)


def _updated(B: Floats, s: Floats, y: Floats) -> Floats:
    """BFGS with Powell's damping: B stays positive definite."""
    if not B.any():
        curvature = float(y @ y) / max(float(abs(s @ y)), 1e-300)
        B = np.eye(len(s)) * curvature
    Bs = B @ s
    sBs, sy = float(s @ Bs), float(s @ y)
    if sBs <= 0.0:
        return B
    share = 1.0 if sy >= DAMPED * sBs else (1.0 - DAMPED) * sBs / (sBs - sy)
    r = share * y + (1.0 - share) * Bs
    return np.asarray(B - np.outer(Bs, Bs) / sBs + np.outer(r, r) / float(s @ r))
