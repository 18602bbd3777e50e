"""Implicit Runge-Kutta steps for stiff systems q'' = f(t, q, qd): Radau IIA of order 5 with step control.

Newton's equations for the stages are reduced to positions: the velocities follow from them,
which leaves 3n unknowns of 6n.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from forearm.simulation.methods import RADAU, Floats, Tableau
from forearm.simulation.stepping import Failure, System, Tolerance, TrialStep, sections, unfinite

NEWTON_STEPS = 7
# Share of the tolerance that Newton's iteration may leave.
NEWTON_PART = 0.03
# The Jacobian is reused while Newton's corrections contract at least this fast.
FAST_NEWTON = 1e-3


class StageEquations:
    """(B x I - I x J) x = r solved for stages x (s, 2, n), with J = [[0, I], [fq, fqd]] and B
    (s, s) = inverse(a) / h.

    By x_qd = B x_q - r_q it becomes (B^2 x I - B x fqd - I x fq) x_q = r_qd + (B x I - I x fqd) r_q.
    """

    def __init__(self, B: Floats, fq: Floats, fqd: Floats) -> None:
        self.B, self.fqd = B, fqd
        one = np.eye(len(fq))
        matrix = kronecker(B @ B, one) - kronecker(B, fqd) - kronecker(np.eye(len(B)), fq)
        self.inverse = np.linalg.inv(matrix)

    def solve(self, r: Floats) -> Floats:
        """x (s, 2, n) for r (s, 2, n)."""
        x = np.empty_like(r)
        right = r[:, 1] + self.B @ r[:, 0] - r[:, 0] @ self.fqd.T
        x[:, 0] = (self.inverse @ right.ravel()).reshape(right.shape)
        x[:, 1] = self.B @ x[:, 0] - r[:, 0]
        return x


def kronecker(A: Floats, C: Floats) -> Floats:
    """A x C of two matrices; np.kron, which takes any shapes, takes ten times as long for small ones."""
    return np.asarray((A[:, None, :, None] * C[:, None, :]).reshape(np.multiply(A.shape, C.shape)))


def combined(weights: Floats, stages: Floats) -> Floats:
    """Sums of the stages (s, 2, n), one for each row of weights (r, s): (r, 2, n)."""
    sums = np.dot(weights, stages.reshape(len(stages), -1))
    return np.asarray(sums.reshape(-1, *stages.shape[1:]))


def differences(system: System, t: float, y: Floats, rate: Floats) -> tuple[Floats, Floats]:
    """df/dq and df/dqd (n, n) by forward differences, 2n evaluations."""
    n = y.shape[1]
    columns = np.empty((2, n, n))
    for part in range(2):
        for k in range(n):
            moved = y.copy()
            moved[part, k] += sqrt(np.finfo(float).eps * max(1e-5, abs(float(y[part, k]))))
            columns[part, :, k] = (system(t, moved)[1] - rate[1]) / (moved[part, k] - y[part, k])
    return columns[0], columns[1]


def correction(
    system: System, tableau: Tableau, equations: StageEquations, t: float, y: Floats, h: float, Z: Floats
) -> Floats:
    """Newton's step for the stages, from the residual F(t + c h, y + Z) - B Z."""
    F = np.stack([system(t + c * h, y + Z_i) for c, Z_i in zip(tableau.floats[0], Z, strict=True)])
    return equations.solve(F - combined(equations.B, Z))


class Radau:
    """Radau IIA, 3 stages, order 5, stiffly accurate, for one system (Hairer and Wanner, section IV.8)."""

    exponent = 0.25
    memory = 0.0
    deadband = 1.2
    sections = sections(RADAU)

    _inverse = np.linalg.inv(np.array(RADAU.floats[1]))
    # Real eigenvalue of the inverse of a, and the weights of the stages in the error estimate.
    _eigenvalue = 3.0 + 3.0 ** (2 / 3) - 3.0 ** (1 / 3)
    _error = np.array([[-13.0 - 7.0 * sqrt(6.0), -13.0 + 7.0 * sqrt(6.0), -1.0]]) / 3.0
    # From the stages to the coefficients of their cubic interpolant.
    _cubic = np.linalg.inv(np.array([[c, c**2, c**3] for c in RADAU.floats[0]]))

    def __init__(self, system: System, tolerance: Tolerance) -> None:
        self.system, self.tolerance = system, tolerance
        eps = float(np.finfo(float).eps)
        # Corrections of this size are rounding; their ratio is meaningless.
        self.noise = 10.0 * eps / tolerance.rtol
        self.left = max(self.noise, min(NEWTON_PART, sqrt(tolerance.rtol)))
        self.restart()

    def restart(self) -> None:
        """Discard the Jacobian, its inverses and the last step."""
        self._blocks: tuple[Floats, Floats] | None = None
        self._fresh = False
        self._solved: tuple[float, StageEquations, StageEquations] | None = None
        self._last: tuple[Floats, float] | None = None
        self._rejected = True

    def attempt(self, t: float, y: Floats, rate: Floats, h: float) -> TrialStep:
        """Try a step, with a new Jacobian if Newton's iteration fails to converge with the old one."""
        scale = self.tolerance.scale(y)
        while True:
            try:
                stages, single = self._equations(t, y, rate, h)
            except np.linalg.LinAlgError:
                return TrialStep(h, y, [], None, Failure("the stage equations are singular"))
            solved = self._newton(stages, t, y, h, scale)
            if solved is not None:
                break
            if self._fresh:
                self._rejected = True
                bad = unfinite(y, [self.system(t + h, y)], y)
                return TrialStep(
                    h, y, [], None, bad or Failure("Newton's iteration for the stages did not converge")
                )
            self._blocks = None
        Z, newton_rate, steps = solved
        y_new = y + Z[2]
        pull = combined(self._error, Z)[0] / h
        error = single.solve((rate + pull)[None])[0]
        scale = self.tolerance.scale(y, y_new)
        if self._rejected and np.max(np.abs(error) / scale) > 1.0:
            error = single.solve((self.system(t, y + error) + pull)[None])[0]
        self._slow = steps > 2 and newton_rate > FAST_NEWTON
        self._rejected = not np.max(np.abs(error) / scale) <= 1.0
        return TrialStep(h, y_new, Z, np.abs(error) / scale, unfinite(y_new, [rate], y))

    def finish(self, t: float, y: Floats, rate: Floats, trial: TrialStep) -> tuple[Floats, Floats]:
        """Rate at the end, and the cubic through the start and the stages."""
        dense = combined(self._cubic, np.asarray(trial.stages))
        self._last = dense, trial.h
        self._fresh = False
        if self._slow:
            self._blocks = None
        return self.system(t + trial.h, trial.y), dense

    def _newton(
        self, equations: StageEquations, t: float, y: Floats, h: float, scale: Floats
    ) -> tuple[Floats, float, int] | None:
        """Stages Z_i = Y_i - y to `left` times `scale`, the contraction rate and the number of iterations;
        None if the iteration did not converge.
        """
        Z, rate, size_before = self._guess(h), 0.0, 0.0
        for k in range(NEWTON_STEPS):
            step = correction(self.system, RADAU, equations, t, y, h, Z)
            size = float(np.max(np.abs(step) / scale))
            if not np.isfinite(size):
                return None
            if k and size <= self.noise:
                return Z + step, 0.0, k + 1
            rate = size / size_before if k else 0.0
            if k and (rate >= 1.0 or rate ** (NEWTON_STEPS - 1 - k) / (1.0 - rate) * size > self.left):
                return None
            Z = Z + step
            if size == 0.0 or (k and rate / (1.0 - rate) * size < self.left):
                return Z, rate, k + 1
            size_before = size
        return None

    def _equations(
        self, t: float, y: Floats, rate: Floats, h: float
    ) -> tuple[StageEquations, StageEquations]:
        """Newton matrices of the stages and of the error estimate, recomputed when the Jacobian or the step
        size changed.
        """
        if self._blocks is None:
            self._blocks = differences(self.system, t, y, rate)
            self._fresh, self._solved = True, None
        if self._solved is None or self._solved[0] != h:
            stages = StageEquations(self._inverse / h, *self._blocks)
            single = StageEquations(np.array([[self._eigenvalue / h]]), *self._blocks)
            self._solved = h, stages, single
        return self._solved[1], self._solved[2]

    def _guess(self, h: float) -> Floats:
        """Initial guess of the stages: the cubic of the last step extrapolated, less its end."""
        n = self.tolerance.atol.shape[1]
        Z = np.zeros((3, 2, n))
        if self._last is not None:
            dense, width = self._last
            end = dense.sum(axis=0)
            for i, c in enumerate(RADAU.floats[0]):
                theta = 1.0 + c * h / width
                Z[i] = ((dense[2] * theta + dense[1]) * theta + dense[0]) * theta - end
        return Z
