"""Operational-space inertia of the hand, Lambda = (J M^-1 J^T)^-1, over any scalar, damped near singular
configurations. Khatib 1987.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from forearm.dynamics.symmetric import mirrored
from forearm.model import Array
from forearm.symbols.linear import factor_symmetric, solve_lower, solve_upper
from forearm.symbols.scalars import Scalar, maximum

AXES = ("x", "y", "z", "rx", "ry", "rz")


@dataclass(frozen=True)
class HandTask:
    """The rows of the hand's six velocities that a law controls, and the threshold of damping near
    singularities: where an entry of D in J M^-1 J^T = L D L^T falls below `near` times the mean of the
    diagonal.

    Earlier rows have priority: of linearly dependent directions the last one is given up.
    """

    rows: tuple[int, ...]
    near: float


@dataclass(frozen=True, eq=False)
class HandInertia:
    """M = L D L^T from the last joint to the first, W = L^-1 J^T, and mobility = J M^-1 J^T = Lambda^-1,
    factored likewise.
    """

    L: Array
    r: list[Scalar]
    W: Array
    mobility: Array
    least: Array
    L_hand: Array
    r_hand: list[Scalar]

    @staticmethod
    def of(M: Array, J: Array, task: HandTask) -> HandInertia:
        """From the inertia matrix (n, n) and the controlled rows of the Jacobian, (m, n)."""
        L, r = factor_symmetric(M[::-1, ::-1])
        W = solve_lower(L, np.array(J[:, ::-1].T))
        A = mirrored(W.T @ (W * np.array(r)[:, None]))
        least = _least(A, task)
        return HandInertia(L, r, W, A, least, *factor_symmetric(A, least))

    def force(self, acceleration: Array) -> Array:
        """Lambda a, (m,): the force that accelerates the hand by a."""
        right = np.array(acceleration, dtype=self.mobility.dtype)
        return solve_upper(self.L_hand, self.r_hand, solve_lower(self.L_hand, right))

    def accelerations(self, force: Array) -> Array:
        """M^-1 J^T f, (n,): joint accelerations due to a force on the hand."""
        return solve_upper(self.L, self.r, self.W @ force)[::-1]

    @property
    def directions(self) -> Array:
        """1 / mobility_jj, (m,): the apparent mass in each direction while the others are free."""
        return 1.0 / _maxima(np.diagonal(self.mobility), self.least)


def _least(A: Array, task: HandTask) -> Array:
    """Lower bounds of the entries of D, (m,): translations and rotations have separate means."""
    turns = [row >= 3 for row in task.rows]
    means = {kind: _mean(A, turns, kind) for kind in set(turns)}
    return np.array([task.near * means[turn] for turn in turns])


def _mean(A: Array, turns: list[bool], kind: bool) -> Scalar:
    found = [A[j, j] for j, turn in enumerate(turns) if turn is kind]
    return sum(found[1:], start=found[0]) * (1.0 / len(found))


def _maxima(a: Array, b: Array) -> Array:
    return np.array([maximum(x, y) for x, y in zip(a, b, strict=True)])
