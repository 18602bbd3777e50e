"""Projection of a point onto a cone of positive semidefinite matrices: a primal-dual interior-point method.

min 1/2 |y - d|^2 with S_b = F_b y + f_b >= 0 (4, 4) for every block b, and F y + f >= 0 for scalars. For any
multipliers Z >= 0 the optimum is at least 1/2 |y - d|^2 - <S, Z> - 1/2 |y - d - F^T Z|^2, which certifies a
solution. Nesterov-Todd scaling, Mehrotra's predictor-corrector; the last steps centre, so that the solution
lies on the central path.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from forearm.errors import ModelError
from forearm.spatial import Floats
from forearm.values import frozen

STEPS = 100
SHORT_OF = 0.99  # of the step to the boundary
END = 1e-11  # of the objective: the gap at which steps start centring
CENTRED = 1e-2  # tolerated relative spread of products of eigenvalues at the end
CENTRING = 8
RISEN = 1e3  # times the least gap: further progress is not expected
SIZE, ENTRIES = 4, 10
TOO_FAR_APART = (
    "data and prior differ by so many orders of magnitude that rounding decides; check the unit "
    "of the efforts, and the prior."
)

_PLACES = [(i, j) for i in range(SIZE) for j in range(i, SIZE)]
# orthonormal basis of the symmetric matrices, (16, 10)
_BASIS = np.array(
    [
        [((k, m) == (i, j)) or ((m, k) == (i, j)) for i, j in _PLACES]
        for k in range(SIZE)
        for m in range(SIZE)
    ],
    dtype=np.float64,
) * np.array([1.0 if i == j else 0.5**0.5 for i, j in _PLACES])


def packed(matrices: Floats) -> Floats:
    """Pack symmetric matrices (..., 4, 4) as ten entries each; inner products are preserved."""
    return np.asarray(matrices.reshape(*matrices.shape[:-2], SIZE * SIZE) @ _BASIS)


@frozen
class Cone:
    """Affine functions of y that must be positive: symmetric matrices first, `packed`, then scalars.

    Attributes:
        blocks: number of matrices.
        rows: F (10 blocks + scalars, p).
        start: f (10 blocks + scalars,).
    """

    blocks: int
    rows: Floats
    start: Floats

    @property
    def degree(self) -> int:
        """Barrier degree: number of eigenvalues and scalars that must be positive."""
        return len(self.start) - (ENTRIES - SIZE) * self.blocks

    def parts(self, flat: Floats) -> tuple[Floats, Floats]:
        """Matrices (blocks, 4, 4) and scalars of a stacked vector."""
        cut = ENTRIES * self.blocks
        return (flat[:cut].reshape(self.blocks, ENTRIES) @ _BASIS.T).reshape(-1, SIZE, SIZE), flat[cut:]

    def smallest(self, flat: Floats) -> Floats:
        """The least eigenvalue of each matrix, and the scalars."""
        matrices, numbers = self.parts(flat)
        return np.concatenate([np.linalg.eigvalsh(matrices)[:, 0], numbers])


@frozen
class NearestPoint:
    """The solution.

    Attributes:
        y: (p,).
        gap: upper bound on how far 1/2 |y - d|^2 is above the optimum.
        iterations: number of steps.
        slack: F y + f, as `Cone` stacks it.
        slope: d y / d d (p, p), symmetric: the identity if no constraint is active.
    """

    y: Floats
    gap: float
    iterations: int
    slack: Floats
    slope: Floats


def nearest_point(d: Floats, cone: Cone, y: Floats, beside: float = 0.0) -> NearestPoint:
    """Project d onto the cone.

    Args:
        d: (p,).
        cone: the constraints.
        y: a strictly feasible point (p,).
        beside: constant added to 1/2 |y - d|^2; the gap is relative to the sum.
    """
    slack = cone.rows @ d + cone.start
    if (cone.smallest(slack) > 0.0).all():
        return NearestPoint(d, 0.0, 0, slack, np.eye(len(d)))
    slack = cone.rows @ y + cone.start
    dual = max(_half_square(y - d), beside) / cone.degree * _inverse(cone, slack)
    best: tuple[float, Floats, Floats, _ScalingPoint] | None = None
    count = centring = 0
    while count < STEPS and centring < CENTRING:
        try:
            at = _ScalingPoint.of(cone, slack, dual)
        except np.linalg.LinAlgError:
            break
        left = y - d - cone.rows.T @ dual
        mu, end = float(slack @ dual) / cone.degree, END * (_half_square(y - d) + beside) / cone.degree
        gap = mu * cone.degree + _half_square(left)
        if best is None or gap <= best[0] or (centring and gap <= 2.0 * max(best[0], end * cone.degree)):
            best = gap, y, slack, at
        elif gap > RISEN * best[0] and _half_square(left) > 0.5 * gap:
            break  # limited by rounding
        near = mu <= 2.0 * end
        if near and at.spread(mu) <= CENTRED:
            break
        centring += near
        try:
            dy, change = _step(at, left, mu, end, near)
        except np.linalg.LinAlgError:
            break
        y = y + dy
        slack, dual = cone.rows @ y + cone.start, dual + change
        count += 1
    if best is None:
        raise ModelError(TOO_FAR_APART)
    gap, y, slack, at = best
    try:
        return NearestPoint(y, gap, count, slack, _StepEquations(at.rows, gap).slope())
    except np.linalg.LinAlgError:
        raise ModelError(TOO_FAR_APART) from None


def _half_square(v: Floats) -> float:
    return 0.5 * float(v @ v)


def _inverse(cone: Cone, slack: Floats) -> Floats:
    matrices, numbers = cone.parts(slack)
    inverse = np.asarray(np.linalg.inv(matrices), dtype=np.float64)
    return np.concatenate([packed(inverse).ravel(), 1.0 / numbers])


def _step(at: _ScalingPoint, left: Floats, mu: float, end: float, near: bool) -> tuple[Floats, Floats]:
    """Changes of y and of the multipliers: towards products `end`, or, farther away, as much smaller as the
    predictor allows.
    """
    solve = _StepEquations(at.rows, max(1e-2 * end * at.cone.degree, 1e-6 * _half_square(left)))
    if near:
        dy, slack, dual = solve(at.complement(end, None), left)
    else:
        _, slack, dual = solve(at.complement(0.0, None), left)
        step, D = min(1.0, at.longest(slack), at.longest(dual)), at.diagonal()
        ahead = float((D + step * slack) @ (D + step * dual)) / at.cone.degree
        target = mu * min(1.0, (ahead / mu) ** 3)
        dy, slack, dual = solve(at.complement(target, at.product(slack, dual)), left)
    step = min(1.0, SHORT_OF * at.longest(slack), SHORT_OF * at.longest(dual))
    return step * dy, step * at.dual_back(dual)


class _StepEquations:
    """Solve dy - F^T dZ = -left with dZ = complement - F dy by normal equations, or by orthogonal factors if
    rounding leaves more than `allowed` of the first.
    """

    def __init__(self, rows: Floats, allowed: float) -> None:
        self.rows, self.allowed = rows, allowed
        self.even = 1.0 / np.sqrt(1.0 + np.sum(rows * rows, axis=0))
        scaled = rows * self.even
        normal = np.diag(self.even**2) + scaled.T @ scaled
        self.inverse = np.linalg.inv(normal) * np.outer(self.even, self.even)
        self.factors: tuple[Floats, Floats, NDArray[np.intp]] | None = None

    def __call__(self, complement: Floats, left: Floats) -> tuple[Floats, Floats, Floats]:
        """dy, F dy and dZ."""
        rows = self.rows
        dy = np.zeros(len(left))
        for _ in range(2 if self.factors is None else 0):
            dy = dy - self.inverse @ (dy + left - rows.T @ (complement - rows @ dy))
        if (
            self.factors is not None
            or _half_square(dy + left - rows.T @ (complement - rows @ dy)) > self.allowed
        ):
            Q, R, order = self.factors = self.factors or self._factors()
            dy = self.even * np.linalg.solve(R, Q.T @ np.concatenate([complement, -left])[order])
        slack = rows @ dy
        return dy, slack, complement - slack

    def _factors(self) -> tuple[Floats, Floats, NDArray[np.intp]]:
        """QR of F and 1, with equilibrated columns and rows of large weight first."""
        stack = np.vstack([self.rows, np.eye(len(self.even))]) * self.even
        order = np.argsort(-np.abs(stack).max(axis=1), kind="stable")
        Q, R = np.linalg.qr(stack[order])
        return Q, R, order

    def slope(self) -> Floats:
        """(1 + F^T F)^-1 (p, p): the derivative of the solution by d."""
        _, R, _ = self._factors()
        half = self.even[:, None] * np.linalg.inv(R)
        return np.asarray(half @ half.T)


@frozen
class _ScalingPoint:
    """Nesterov-Todd scaling: slack S and multipliers Z in coordinates in which both are diagonal, D: G^-1 S
    G^-T and G^T Z G.

    Attributes:
        D: (blocks, 4).
        numbers: the same for scalars, sqrt(s z).
        back: G^-1 (blocks, 4, 4).
        root: for scalars, sqrt(s / z).
        rows: F in these coordinates.
    """

    cone: Cone
    D: Floats
    numbers: Floats
    back: Floats
    root: Floats
    rows: Floats

    @staticmethod
    def of(cone: Cone, slack: Floats, dual: Floats) -> _ScalingPoint:
        """Scaling of a slack and multipliers; LinAlgError if they are not positive."""
        (S, s), (Z, z) = cone.parts(slack), cone.parts(dual)
        if not ((s > 0.0).all() and (z > 0.0).all()):
            raise np.linalg.LinAlgError("values are not positive")
        L, R = np.linalg.cholesky(S), np.linalg.cholesky(Z).transpose(0, 2, 1)
        U, D, _ = np.linalg.svd(R @ L)
        back = (U.transpose(0, 2, 1) @ R) / np.sqrt(D)[:, :, None]
        root = np.sqrt(s / z)
        return _ScalingPoint(cone, D, np.sqrt(s * z), back, root, _turned(cone, cone.rows, back, 1.0 / root))

    def dual_back(self, flat: Floats) -> Floats:
        """Transform a change of the multipliers back from these coordinates: G^-T X G^-1."""
        return _turned(self.cone, flat[:, None], self.back.transpose(0, 2, 1), 1.0 / self.root)[:, 0]

    def diagonal(self) -> Floats:
        """D, stacked."""
        return np.concatenate([packed(self.D[:, :, None] * np.eye(SIZE)).ravel(), self.numbers])

    def spread(self, mu: float) -> float:
        """Relative spread of the products of eigenvalues about their mean."""
        return float(np.abs(np.concatenate([self.D.ravel(), self.numbers]) ** 2 / mu - 1.0).max())

    def complement(self, mu: float, correction: Floats | None) -> Floats:
        """Right side for which products become mu, less the second-order correction."""
        M, numbers = (mu - self.D**2)[:, :, None] * np.eye(SIZE), mu - self.numbers**2
        if correction is not None:
            matrices, more = self.cone.parts(correction)
            M, numbers = M - matrices, numbers - more
        means = 0.5 * (self.D[:, :, None] + self.D[:, None, :])
        return np.concatenate([packed(M / means).ravel(), numbers / self.numbers])

    def longest(self, change: Floats) -> float:
        """Step length to the boundary along a change."""
        X, x = self.cone.parts(change)
        half = 1.0 / np.sqrt(self.D)
        least = np.linalg.eigvalsh(half[:, :, None] * X * half[:, None, :])[:, :1].ravel()
        return -1.0 / float(np.concatenate([least, x / self.numbers, [-1e-300]]).min())

    def product(self, a: Floats, b: Floats) -> Floats:
        """(A B + B A) / 2 of matrices, and products of scalars."""
        (A, x), (B, y) = self.cone.parts(a), self.cone.parts(b)
        AB = A @ B
        return np.concatenate([packed(0.5 * (AB + AB.transpose(0, 2, 1))).ravel(), x * y])


def _turned(cone: Cone, rows: Floats, A: Floats, factor: Floats) -> Floats:
    """A X A^T of every matrix, and each scalar times its factor, for every column of rows."""
    cut, width = ENTRIES * cone.blocks, rows.shape[1]
    both = np.einsum("bij,bkl->bikjl", A, A).reshape(-1, SIZE * SIZE, SIZE * SIZE)
    matrices = (_BASIS.T @ both @ _BASIS) @ rows[:cut].reshape(-1, ENTRIES, width)
    return np.concatenate([matrices.reshape(cut, width), factor[:, None] * rows[cut:]])
