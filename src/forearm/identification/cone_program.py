"""The point nearest to another whose matrices are positive semidefinite: a primal-dual interior-point method.

min 1/2 |y - d|^2 with S_b = F_b y + f_b >= 0 (4, 4) for every block b, and F y + f >= 0 for numbers.
For any multipliers Z >= 0 the optimum is at least 1/2 |y - d|^2 - <S, Z> - 1/2 |y - d - F^T Z|^2, which
certifies a solution. Scaling by Nesterov and Todd, Mehrotra's predictor and corrector; the last steps
centre, so that the answer is a point of the central path and not of the way to it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from forearm.spatial import Floats

STEPS = 100
SHORT_OF = 0.99  # of the way to the boundary
END = 1e-11  # of the objective: the gap at which steps centre
CENTRED = 1e-2  # how far products of eigenvalues may differ from their mean there, relative
CENTRING = 8
REFINED = 2  # times a solution of the ill-conditioned equations is improved by what it leaves of them
SIZE = 4


@dataclass(frozen=True, eq=False)
class Cone:
    """Where affine functions of y are positive: symmetric matrices first, numbers behind them.

    Attributes:
        blocks: how many matrices.
        rows: F (16 blocks + numbers, p), matrices row by row.
        start: f (16 blocks + numbers,).
    """

    blocks: int
    rows: Floats
    start: Floats

    @property
    def degree(self) -> int:
        """Of the barrier: how many eigenvalues and numbers are to be positive."""
        return SIZE * self.blocks + len(self.start) - SIZE * SIZE * self.blocks

    def parts(self, flat: Floats) -> tuple[Floats, Floats]:
        """Matrices (blocks, 4, 4) and numbers of what is stacked."""
        cut = SIZE * SIZE * self.blocks
        return flat[:cut].reshape(self.blocks, SIZE, SIZE), flat[cut:]

    def smallest(self, flat: Floats) -> Floats:
        """The least eigenvalue of each matrix, and the numbers."""
        matrices, numbers = self.parts(flat)
        return np.concatenate([np.linalg.eigvalsh(matrices)[:, 0], numbers])


@dataclass(frozen=True, eq=False)
class NearestPoint:
    """The solution.

    Attributes:
        y: (p,).
        gap: how far 1/2 |y - d|^2 is above the optimum at most.
        iterations: how many steps were taken.
        slack: F y + f, as `Cone` stacks it.
        slope: d y / d d (p, p), symmetric: 1 where nothing binds, 0 across what does.
    """

    y: Floats
    gap: float
    iterations: int
    slack: Floats
    slope: Floats


@dataclass(frozen=True, eq=False)
class _Scaled:
    """Both sides in the coordinates in which they are equal and diagonal: `D` = G^-1 S G^-T = G^T Z G."""

    cone: Cone
    D: Floats  # (blocks, 4)
    number: Floats  # (numbers,)
    G: Floats
    back: Floats  # G^-1
    root: Floats  # (numbers,): sqrt(s / z)
    rows: Floats

    @staticmethod
    def of(cone: Cone, slack: Floats, dual: Floats) -> _Scaled:
        (S, s), (Z, z) = cone.parts(slack), cone.parts(dual)
        L, R = np.linalg.cholesky(S), np.linalg.cholesky(Z)
        U, D, Vt = np.linalg.svd(R.transpose(0, 2, 1) @ L)
        half = 1.0 / np.sqrt(D)
        G = (L @ Vt.transpose(0, 2, 1)) * half[:, None, :]
        back = half[:, :, None] * (U.transpose(0, 2, 1) @ R.transpose(0, 2, 1))
        if not (s > 0.0).all() or not (z > 0.0).all():
            raise np.linalg.LinAlgError
        root = np.sqrt(s / z)
        made = _Scaled(cone, D, np.sqrt(s * z), G, back, root, np.empty(0))
        return _Scaled(cone, D, made.number, G, back, root, made.slack(cone.rows))

    def slack(self, flat: Floats) -> Floats:
        """A change of the slack in these coordinates: G^-1 X G^-T."""
        return self._turned(flat, self.back, 1.0 / self.root)

    def slack_back(self, flat: Floats) -> Floats:
        return self._turned(flat, self.G, self.root)

    def dual_back(self, flat: Floats) -> Floats:
        return self._turned(flat, self.back.transpose(0, 2, 1), 1.0 / self.root)

    def _turned(self, flat: Floats, A: Floats, factor: Floats) -> Floats:
        """A X A^T of every matrix, each number times its factor; (rows,) or (rows, p)."""
        blocks, square, width = self.cone.blocks, SIZE * SIZE, flat[0].size
        both = np.einsum("bij,bkl->bikjl", A, A).reshape(blocks, square, square)
        matrices = both @ flat[: square * blocks].reshape(blocks, square, width)
        numbers = factor[:, None] * flat[square * blocks :].reshape(len(factor), width)
        return np.concatenate([matrices.reshape(square * blocks, width), numbers]).reshape(flat.shape)

    def diagonal(self) -> Floats:
        """D as `Cone` stacks it."""
        return np.concatenate([(self.D[:, :, None] * np.eye(SIZE)).ravel(), self.number])

    def complement(self, mu: float, correction: Floats | None) -> Floats:
        """What both changes add up to, to first order, where products become mu."""
        wanted = mu - self.D**2
        M = wanted[:, :, None] * np.eye(SIZE)
        numbers = mu - self.number**2
        if correction is not None:
            matrix, more = self.cone.parts(correction)
            M, numbers = M - matrix, numbers - more
        sums = 0.5 * (self.D[:, :, None] + self.D[:, None, :])
        return np.concatenate([(M / sums).ravel(), numbers / self.number])

    def longest(self, change: Floats) -> float:
        """How far a scaled change leads to the boundary."""
        X, x = self.cone.parts(change)
        half = 1.0 / np.sqrt(self.D)
        least = np.linalg.eigvalsh(half[:, :, None] * X * half[:, None, :])[:, :1].ravel()
        worst = float(np.concatenate([least, x / self.number, [-1e-300]]).min())
        return -1.0 / worst

    def product(self, a: Floats, b: Floats) -> Floats:
        """(A B + B A) / 2 of every pair of matrices, and products of numbers."""
        (A, x), (B, y) = self.cone.parts(a), self.cone.parts(b)
        AB = A @ B
        return np.concatenate([(0.5 * (AB + AB.transpose(0, 2, 1))).ravel(), x * y])

    def slope(self) -> Floats:
        """(1 + F~^T F~)^-1 (p, p)."""
        _, values, Vt = np.linalg.svd(self.rows, full_matrices=True)
        gains = np.ones(Vt.shape[0])
        gains[: len(values)] = 1.0 / (1.0 + values**2)
        return np.asarray((Vt.T * gains) @ Vt)


def nearest_point(
    d: Floats, cone: Cone, y: Floats, scale: float, told: Callable[[int, float], object] | None = None
) -> NearestPoint:
    """The point of the cone nearest to d.

    Args:
        d: (p,).
        cone: what must be positive.
        y: a point with all of it positive (p,).
        scale: what is added to 1/2 |y - d|^2 to make the objective that the gap is small against.
        told: called with the number of each step and the gap.
    """
    slack = cone.rows @ d + cone.start
    if (cone.smallest(slack) > 0.0).all():
        return NearestPoint(d, 0.0, 0, slack, np.eye(len(d)))
    slack = cone.rows @ y + cone.start
    mu = max(0.5 * float((y - d) @ (y - d)), scale) / cone.degree
    dual = mu * _inverse(cone, slack)
    best, count, centring = None, 0, 0
    while count < STEPS:
        try:
            at = _Scaled.of(cone, slack, dual)
        except np.linalg.LinAlgError:
            break
        left = y - d - cone.rows.T @ dual
        mu = float(slack @ dual) / cone.degree
        gap = mu * cone.degree + 0.5 * float(left @ left)
        if best is None or gap <= best[0] or centring:
            best = gap, y, slack, at
        if told is not None:
            told(count, gap)
        end = END * (0.5 * float((y - d) @ (y - d)) + scale) / cone.degree
        near = mu <= 2.0 * end
        if (near and _spread(at, mu) <= CENTRED) or centring >= CENTRING:
            break
        centring += near
        change, step = _step(at, left, end if near else None, mu)
        y = y + step * change[0]
        slack = cone.rows @ y + cone.start
        dual = dual + step * at.dual_back(change[1])
        matrices, _ = cone.parts(dual)
        matrices[...] = 0.5 * (matrices + matrices.transpose(0, 2, 1))
        count += 1
    assert best is not None
    gap, y, slack, at = best
    return NearestPoint(y, gap, count, slack, at.slope())


def _step(at: _Scaled, left: Floats, target: float | None, mu: float) -> tuple[tuple[Floats, Floats], float]:
    """Changes of y and of the scaled multipliers, and how much of them: towards products that are `target`,
    or as much smaller as the predictor says.
    """
    rows = at.rows
    inverse = np.linalg.inv(np.eye(len(left)) + rows.T @ rows)

    def towards(mu: float, correction: Floats | None) -> tuple[Floats, Floats, Floats]:
        complement = at.complement(mu, correction)
        right = rows.T @ complement - left
        dy = inverse @ right
        for _ in range(REFINED):
            dy = dy + inverse @ (right - dy - rows.T @ (rows @ dy))
        slack = rows @ dy
        return dy, slack, complement - slack

    if target is not None:
        dy, slack, dual = towards(target, None)
    else:
        dy, slack, dual = towards(0.0, None)
        step = min(1.0, at.longest(slack), at.longest(dual))
        diagonal = at.diagonal()
        ahead = float((diagonal + step * slack) @ (diagonal + step * dual)) / at.cone.degree
        dy, slack, dual = towards(mu * min(1.0, (ahead / mu) ** 3), at.product(slack, dual))
    return (dy, dual), min(1.0, SHORT_OF * min(at.longest(slack), at.longest(dual)))


def _spread(at: _Scaled, mu: float) -> float:
    """How far products of eigenvalues differ from their mean, relative."""
    return float(np.abs(np.concatenate([at.D.ravel(), at.number]) ** 2 / mu - 1.0).max())


def _inverse(cone: Cone, slack: Floats) -> Floats:
    matrices, numbers = cone.parts(slack)
    return np.concatenate([np.linalg.inv(matrices).ravel(), 1.0 / numbers])
