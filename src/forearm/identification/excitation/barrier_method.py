"""Constrained minimisation from a feasible point: an interior-point method whose iterates stay feasible.

A barrier that grows near limits is added and weakened step by step. Steps are quasi-Newton: the Hessian of
the barrier is known, that of the criterion is built from gradients (damped BFGS).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from forearm.identification.excitation.problem import ExcitationProblem
from forearm.spatial import Floats
from forearm.values import frozen

ENOUGH = 0.01  # of the barrier's weight: a step that gains less is slow
PATIENCE = 5  # consecutive slow steps that end a weight
ARMIJO = 1e-4  # of the predicted decrease: required of a step
SHORTEST = 1e-8  # of a full step: shortest step of the line search
FIRST = 0.5  # length of the first step, relative to the distance from limits
LEAST = 1e-12  # of a curvature
DAMPED = 0.2  # Powell's damping factor
Told = Callable[[float], object]
Weights = Sequence[tuple[float, int]]


@frozen
class Descent:
    """State of the descent.

    Attributes:
        x: coefficients (n, f).
        value: of the criterion.
        gradient: of the criterion (n, f).
        sizes: second derivatives of the barrier at the start (n f,), which scale lengths.
        B: BFGS approximation of the criterion's Hessian (n f, n f).
    """

    x: Floats
    value: float
    gradient: Floats
    sizes: Floats
    B: Floats

    @staticmethod
    def begin(problem: ExcitationProblem, x: Floats) -> Descent:
        """Start at coefficients within all limits."""
        value, gradient = problem.worth(x)
        slope, matrix = problem.barrier_slopes(x)
        sizes = np.diag(matrix) + LEAST
        return Descent(x, value, gradient, sizes, _first(sizes, gradient + slope))


def descend(problem: ExcitationProblem, at: Descent, weights: Weights, told: Told) -> Descent:
    """Minimise from a start point.

    Args:
        problem: the optimisation problem.
        at: the start.
        weights: barrier weights in order, with the largest number of steps for each.
        told: callback, called with the fraction done.
    """
    done, total = 0, sum(most for _, most in weights)
    for weight, most in weights:
        slow = 0
        for k in range(most):
            told((done + k) / total)
            found = _step(problem, at, weight)
            if found is None:
                break
            at, gained = found
            slow = 0 if gained > ENOUGH * weight else slow + 1
            if slow == PATIENCE:
                break
        done += most
    told(1.0)
    return at


def _step(problem: ExcitationProblem, at: Descent, weight: float) -> tuple[Descent, float] | None:
    """Take a step and return its gain; None if no step improves, even with the Hessian reset."""
    slope, matrix = problem.barrier_slopes(at.x)
    whole = at.gradient + weight * slope
    here = at.value + weight * problem.barrier(at.x)
    for B in (at.B, _first(at.sizes, whole)):
        direction = -_solved(weight * matrix + B, whole.ravel()).reshape(whole.shape)
        promised = -float((whole * direction).sum())
        length = 1.0
        while length > SHORTEST:
            x = at.x + length * direction
            barrier = problem.barrier(x)
            if np.isfinite(barrier):
                value, gradient = problem.worth(x)
                gained = here - value - weight * barrier
                if gained >= ARMIJO * length * promised:
                    B = _updated(B, (x - at.x).ravel(), (gradient - at.gradient).ravel())
                    return Descent(x, value, gradient, at.sizes, B), gained
            length *= 0.5
    return None


def _first(sizes: Floats, gradient: Floats) -> Floats:
    """Second derivatives that make the first step of length FIRST."""
    return np.diag(sizes * np.linalg.norm(gradient.ravel() / np.sqrt(sizes)) / FIRST)


def _solved(H: Floats, right: Floats) -> Floats:
    """H^-1 right, with H made positive definite if rounding destroyed that."""
    size = np.abs(np.diag(H)).max()
    for extra in (0.0, 1e-12, 1e-8, 1e-4):
        try:
            L = np.linalg.cholesky(H + extra * size * np.eye(len(H)))
        except np.linalg.LinAlgError:
            continue
        return np.asarray(np.linalg.solve(L.T, np.linalg.solve(L, right)))
    return np.asarray(right / size)


def _updated(B: Floats, s: Floats, y: Floats) -> Floats:
    """BFGS with Powell's damping: B stays positive definite."""
    Bs = B @ s
    sBs, sy = float(s @ Bs), float(s @ y)
    if sBs <= 0.0:
        return B
    share = 1.0 if sy >= DAMPED * sBs else (1.0 - DAMPED) * sBs / (sBs - sy)
    r = share * y + (1.0 - share) * Bs
    return B - np.outer(Bs, Bs) / sBs + np.outer(r, r) / float(s @ r)
