"""Physically consistent parameters: the bodies closest to data and prior.

Ten parameters belong to a distribution of mass if and only if the pseudo-inertia P = [[S, h], [h^T, m]], with
S = trace(I) / 2 - I, is positive definite (Wensing, Kim and Slotine 2018). The problem is convex: least
squares under linear matrix inequalities, solved by `cone_program`.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from forearm.errors import InputError
from forearm.identification.cone_program import Cone, NearestPoint, nearest_point, packed
from forearm.identification.payload.physical import pseudo_inertia
from forearm.identification.prior import Prior
from forearm.spatial import Floats
from forearm.values import frozen

KNOWN = 1e-10  # of the largest singular value: smaller ones carry no information
WIDE = 100.0  # of a body's size: weak prior deviation that fixes undetermined parameters
FELT = 1e-9  # of the largest: a weaker regularisation would be lost in rounding
UNSEEN = 1e-6  # of a parameter's own size: threshold for its share in an undetermined direction
ROUNDING = 1e-18  # of |z|^2: accuracy of the objective
LENGTH = 0.1  # m: default body size
ON, NEAR = 1e-2, 1e-9  # of `least`, or of 1: eigenvalues this close to their bound count as active


@frozen
class Consistent:
    """Parameters of physically consistent bodies.

    Attributes:
        x: (P,): ten parameters per body, then the others.
        covariance: of x (P, P), prior included, to first order; along active bounds only. Infinite on the
            diagonal for parameters that neither data nor prior determine.
        objective: the minimum, 1/2 (|R x - z|^2 + sum ((x - mean) / std)^2).
        gap: relative upper bound on how far the objective, regularisation included, is above the optimum.
        iterations: number of solver steps; 0: no bound is active.
        at_bound: bodies whose pseudo-inertia is on its boundary.
        at_lower: indices in x of other unknowns on their lower bound.
    """

    x: Floats
    covariance: Floats
    objective: float
    gap: float
    iterations: int
    at_bound: tuple[int, ...]
    at_lower: tuple[int, ...]


def consistent(
    R: Floats,
    z: Floats,
    bodies: int,
    prior: Prior,
    lower: Floats,
    *,
    total_mass: tuple[float, float] | None = None,
    least: float = 1e-6,
) -> Consistent:
    """min 1/2 |R x - z|^2 + 1/2 sum ((x - mean) / std)^2 over physically consistent bodies.

    Every pseudo-inertia, scaled by the mass and the length of its body in the prior, has eigenvalues of at
    least `least`. Combinations that neither data nor prior determine stay near the mean.

    Args:
        R: rows of the fit (r, P), each divided by its noise, such as the factor of a QR decomposition: ten
            columns per body in the order of `dynamics.regressor.PARAMETERS`, then the other unknowns.
        z: right side, the target of R x (r,).
        bodies: number of bodies.
        prior: mean and standard deviations before any data.
        lower: lower bounds of the other unknowns (P - 10 bodies,); -inf: unbounded.
        total_mass: of all bodies, kg, and its standard deviation, 0 if exact; None: unknown.
        least: the least eigenvalue of a scaled pseudo-inertia.
    """
    problem = _problem(_rows(R, z, bodies, prior, lower, total_mass), bodies, least)
    found = nearest_point(problem.d, problem.cone, problem.start, problem.rest + problem.rounding)
    return _stated(problem, found, bodies, least)


@frozen
class _DistanceProblem:
    """The problem in coordinates y in which its objective is 1/2 |y - d|^2 + rest: x = origin + B y.

    Attributes:
        start: a point y at which every bound holds.
        rank: number of entries of y that data and prior determine; the rest stay near the mean.
        unseen: indices in x of parameters with a share in the rest.
        bounded: indices in x of the cone's scalars.
        rounding: accuracy of the objective.
    """

    d: Floats
    B: Floats
    origin: Floats
    start: Floats
    cone: Cone
    rest: float
    rank: int
    unseen: NDArray[np.intp]
    bounded: tuple[int, ...]
    rounding: float


@frozen
class _DataAndPrior:
    """Rows of data and prior, and the scale of every unknown."""

    A: Floats
    b: Floats
    mean: Floats
    lower: Floats
    units: Floats
    exact_mass: float | None


def _rows(
    R: Floats, z: Floats, bodies: int, prior: Prior, lower: Floats, total_mass: tuple[float, float] | None
) -> _DataAndPrior:
    P, count, mean, std = R.shape[1], 10 * bodies, prior.mean, prior.std
    mass, spread = total_mass or (0.0, 0.0)
    known = np.isfinite(std)
    A, b = np.vstack([R, np.diag(1.0 / std)[known]]), np.concatenate([z, (mean / std)[known]])
    if spread > 0.0:
        row = np.zeros(P)
        row[0:count:10] = 1.0 / spread
        A, b = np.vstack([A, row]), np.append(b, mass / spread)
    guess = mass / bodies if mass and bodies else 1.0
    units = np.ones(P)
    for k in range(0, count, 10):
        m, L = _size(mean[k : k + 10], std[k : k + 10], guess)
        units[k : k + 10] = m * np.array([1.0, L, L, L, *[L * L] * 6])
    lengths = np.linalg.norm(A[:, count:], axis=0)
    units[count:] = 1.0 / np.where(lengths > 0.0, lengths, 1.0)
    return _DataAndPrior(A, b, mean, lower, units, mass if total_mass and spread == 0.0 else None)


def _size(mean: Floats, std: Floats, guess: float) -> tuple[float, float]:
    """Mass and length of a body from its prior."""
    m, spread = float(mean[0]), float(std[0])
    mass = m if m > 0.0 else spread if math.isfinite(spread) else guess
    second = 0.5 * float(mean[4] + mean[6] + mean[9])
    lengths = [math.sqrt(second / m)] if m > 0.0 and second > 0.0 else []
    if math.isfinite(float(std[9])) and math.isfinite(spread):
        lengths.append(math.sqrt(float(std[9]) / spread))
    return mass, max(lengths, default=LENGTH)


def _problem(rows: _DataAndPrior, bodies: int, least: float) -> _DistanceProblem:
    """Scaled problem: unknowns w = x / units, then y, in which the objective is a distance."""
    P, count, units = len(rows.mean), 10 * bodies, rows.units
    A, b = rows.A * units, rows.b
    share, w_origin, N = 1.0, np.zeros(P), np.eye(P)
    if rows.exact_mass is not None:
        masses = np.where(np.arange(P) % 10 == 0, units, 0.0) * (np.arange(P) < count)
        share = rows.exact_mass / float(masses.sum())
        if share <= 2.0 * least:
            raise InputError(
                f"{rows.exact_mass:g} kg is {share:.1e} of the prior's total; every body "
                f"needs at least {least:g} of its prior mass. Check the unit, or give a "
                "matching prior.",
                "total_mass",
            )
        w_origin = masses * rows.exact_mass / float(masses @ masses)
        N = np.linalg.qr(masses[:, None], mode="complete")[0][:, 1:]
    low = rows.lower / units[count:]
    bounded = np.flatnonzero(np.isfinite(low))
    w = np.concatenate(
        [np.tile(share * _SPHERE, bodies), np.maximum(rows.mean[count:] / units[count:], low + 1.0)]
    )

    values, V, d, rest, rank = _decomposed(A @ N, b - A @ w_origin)
    weak = np.arange(len(values)) >= rank
    back = N.T @ (rows.mean / units - w_origin)
    d = np.where(weak, values * (V.T @ back), d)
    B = (N @ V) / values  # w = w_origin + B y
    F = np.zeros((count + len(bounded), P))
    for k in range(0, count, 10):
        F[k : k + 10, k : k + 10] = _PSEUDO
    F[count + np.arange(len(bounded)), count + bounded] = 1.0
    f = np.concatenate([np.tile(-least * packed(np.eye(4)), bodies), -low[bounded]])
    cone = Cone(bodies, F @ B, F @ w_origin + f)
    start = values * (V.T @ (N.T @ (w - w_origin)))
    places = tuple(int(k) for k in count + bounded)
    rounding = ROUNDING * float(b @ b) + 1e-300
    unseen = np.flatnonzero(np.abs(N @ V[:, rank:]).max(axis=1, initial=0.0) > UNSEEN)
    return _DistanceProblem(
        d, units[:, None] * B, units * w_origin, start, cone, rest, rank, unseen, places, rounding
    )


def _decomposed(A: Floats, b: Floats) -> tuple[Floats, Floats, Floats, float, int]:
    """A = U diag(values) V^T: values (p,), V (p, p), U^T b (p,), half the square of the part of b outside the
    range of A, and the rank. Singular values without information are replaced by a small one.
    """
    p = A.shape[1]
    both = np.column_stack([A, b])
    if len(both) > p + 1:
        both = np.asarray(np.linalg.qr(both, mode="r"))
    both = np.vstack([both, np.zeros((p + 1 - len(both), p + 1))])
    U, values, Vt = np.linalg.svd(both[:, :p])
    inside = U.T @ both[:, p]
    largest = float(values[0]) if p and values[0] > 0.0 else 1.0
    rank = int(np.count_nonzero(values > KNOWN * largest))
    values = values.copy()
    values[rank:] = max(1.0 / WIDE, FELT * largest)
    return values, Vt.T, inside[:p], 0.5 * float(inside[rank:] @ inside[rank:]), rank


def _stated(problem: _DistanceProblem, found: NearestPoint, bodies: int, least: float) -> Consistent:
    squares = 0.5 * (found.y - problem.d) ** 2
    objective = problem.rest + float(squares[: problem.rank].sum())
    whole = problem.rest + float(squares.sum())
    spread = (problem.B @ found.slope)[:, : problem.rank]
    covariance = spread @ spread.T
    covariance[problem.unseen, problem.unseen] = math.inf
    near = problem.cone.smallest(found.slack) < max(ON * least, NEAR)
    return Consistent(
        problem.origin + problem.B @ found.y,
        covariance,
        objective,
        found.gap / max(whole, problem.rounding),
        found.iterations,
        tuple(int(k) for k in np.flatnonzero(near[:bodies])),
        tuple(k for k, on in zip(problem.bounded, near[bodies:], strict=True) if on),
    )


# a body of mass 1 with unit second moments, and P for each of the ten parameters
_SPHERE = np.array([1.0, 0.0, 0.0, 0.0, 2.0, 0.0, 2.0, 0.0, 0.0, 2.0])
_PSEUDO = packed(np.array([pseudo_inertia(unit) for unit in np.eye(10)])).T
