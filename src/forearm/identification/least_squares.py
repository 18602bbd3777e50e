"""Least squares on condensed data: joint weights, payloads, time shifts; linear dependence of unknowns;
covariances.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from forearm.identification.condensed import Condenser, Triangles
from forearm.identification.effort_model import EffortModel
from forearm.spatial import Floats
from forearm.values import frozen

DEPENDENT = 1e-7  # of a column's length: a smaller remainder beside earlier columns is rounding
ROUNDS = 4  # iterations of weights and fits
MOST_ROUNDS = 40  # iterations if gains multiply the other unknowns
SETTLED = 1e-10
USUAL_SHIFT = 0.01  # s: prior standard deviation of delays between sensors
FEWEST = 8.0  # degrees of freedom needed to estimate a joint's noise
QUIETEST = 1e-6  # of the noisiest joint: lower bound of a joint's noise in its weight


@frozen
class FitUnknowns:
    """The unknowns of a fit: x = fixed + E z over all unknowns of the model, payloads and shifts.

    Attributes:
        model: of efforts.
        loads: for each log (p, 10), maps a payload's parameters to changes of the base parameters; None: no
            unknown payload.
        known_loads: for each log the change of the base parameters by a known payload (p,).
        shifts: for each log whether its shift is unknown.
        names: of z.
        E: (size, len(names)).
        fixed: (size,).
        guess: values of z used if the data carry no information.
        gains: ratio of measured to true efforts (n,), about which rows are linearised.
        asks_gains: whether gains are unknown; they come last in x.
        shifted: current shifts of the logs, s: x holds their corrections.
    """

    model: EffortModel
    loads: tuple[Floats | None, ...]
    known_loads: tuple[Floats, ...]
    shifts: tuple[bool, ...]
    names: tuple[str, ...]
    E: Floats
    fixed: Floats
    guess: Floats
    gains: Floats
    asks_gains: bool
    shifted: tuple[float, ...]

    @property
    def count(self) -> int:
        """Number of model unknowns, which come first."""
        return len(self.model.names)

    def load_place(self, log: int) -> slice:
        """Slice of a log's payload in x."""
        first = self.count + 10 * sum(load is not None for load in self.loads[:log])
        return slice(first, first + (10 if self.loads[log] is not None else 0))

    def shift_place(self, log: int) -> int | None:
        """Index of a log's shift in x."""
        if not self.shifts[log]:
            return None
        loads = 10 * sum(load is not None for load in self.loads)
        return self.count + loads + sum(self.shifts[:log])

    def rows(self, log: int, joint: int, R: Floats, x: Floats) -> tuple[Floats, Floats]:
        """Condensed rows of a joint in a log over all unknowns, and their right side; linearised at x if
        gains are unknown.
        """
        p, place, gain = len(self.model.base), self.model.places[joint], float(self.gains[joint])
        G = np.zeros((len(R), self.E.shape[0]))
        G[:, :p] = R[:, :p]
        G[:, place] = R[:, p : p + place.stop - place.start]
        load = self.loads[log]
        if load is not None:
            G[:, self.load_place(log)] = R[:, :p] @ load
        known = R[:, :p] @ self.known_loads[log]
        y = R[:, -1] - gain * known
        if self.asks_gains:
            last = self.E.shape[0] - len(self.gains)
            efforts = G[:, :last] @ x[:last] + known  # shifts have no column yet: it is not an effort
            G *= gain
            G[:, last + joint] = efforts
            y = y + gain * efforts
        shift = self.shift_place(log)
        if shift is not None:
            G[:, shift] = R[:, self.model.width]
        return G, y

    def of_log(self, log: int, x: Floats) -> Floats:
        """The model unknowns including a log's payload."""
        made = x[: self.count].copy()
        p = len(self.model.base)
        made[:p] += self.known_loads[log]
        load = self.loads[log]
        if load is not None:
            made[:p] += load @ x[self.load_place(log)]
        return made


@frozen
class FitSolution:
    """Result of a fit.

    Attributes:
        unknowns: the unknowns.
        z, covariance: of the unknowns (k,), (k, k); infinite on the diagonal if they stay at their guess.
        kept: entries of z that the data determine.
        combinations: for each other entry its linear dependence (k,) on the kept ones.
        sigma: standard deviation of a row (n,).
        squares: sum of squared residuals for each log and joint (L, n).
        counts: number of rows for each log and joint (L, n).
        R, rhs: triangular factor of all weighted rows over z, and its right side.
    """

    unknowns: FitUnknowns
    z: Floats
    covariance: Floats
    kept: tuple[int, ...]
    combinations: dict[int, Floats]
    sigma: Floats
    squares: Floats
    counts: Floats
    R: Floats
    rhs: Floats

    @property
    def x(self) -> Floats:
        """All unknowns x: of the model, payloads, shifts."""
        return self.unknowns.fixed + self.unknowns.E @ self.z

    @property
    def std(self) -> Floats:
        """Standard deviations of z, (k,)."""
        return np.sqrt(np.diag(self.covariance))

    @property
    def x_std(self) -> Floats:
        """Standard deviations of x; infinite if they depend on undetermined entries."""
        E, told = self.unknowns.E, np.isfinite(np.diag(self.covariance))
        C = np.where(np.outer(told, told), self.covariance, 0.0)
        made = np.asarray(np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", E, C, E), 0.0)), dtype=np.float64)
        made[(E[:, ~told] != 0.0).any(axis=1)] = np.inf
        return made


def solve(
    unknowns: FitUnknowns, data: Sequence[Sequence[Triangles]], sigma: Floats | None = None, *, weighted: bool
) -> FitSolution:
    """Solve from condensed data, given per log as folds; weighted by the joints' noise, which is estimated
    along the way unless given.
    """
    n = len(unknowns.model.laws)
    noise = np.ones(n) if sigma is None else sigma
    rounds = ROUNDS if weighted and sigma is None else 1
    if unknowns.asks_gains:
        rounds = MOST_ROUNDS
    x = unknowns.fixed + unknowns.E @ unknowns.guess
    data = [[_merged(parts)] if parts else [] for parts in data]
    for _ in range(rounds):
        solution = _solved(unknowns, data, noise, weighted, x)
        noise = solution.sigma if weighted and sigma is None else noise
        if unknowns.asks_gains:
            settled = np.allclose(solution.x, x, rtol=SETTLED, atol=0.0)
            x = solution.x
            unknowns = replace(unknowns, gains=x[-n:])
            if settled:
                break
    return solution


def _merged(parts: Sequence[Triangles]) -> Triangles:
    """Combine the folds of a log."""
    if len(parts) == 1:
        return parts[0]
    made = []
    for of_joint in zip(*(part.R for part in parts), strict=True):
        condenser = Condenser(of_joint[0].shape[1])
        for R in of_joint:
            condenser.add(R)
        made.append(condenser.triangle())
    return Triangles(tuple(made), np.sum([part.counts for part in parts], axis=0))


def _solved(
    unknowns: FitUnknowns, data: Sequence[Sequence[Triangles]], sigma: Floats, weighted: bool, x: Floats
) -> FitSolution:
    n = len(sigma)
    pieces: list[tuple[int, int, Floats, Floats]] = []  # log, joint, rows over z, right side
    for log, parts in enumerate(data):
        for triangles in parts:
            for i, R in enumerate(triangles.R):
                G, y = unknowns.rows(log, i, R, x)
                pieces.append((log, i, G @ unknowns.E, y - G @ unknowns.fixed))
    weighed = [np.column_stack([G, y]) / sigma[i] for _, i, G, y in pieces]
    # a prior on shifts of the size of delays
    for k, shift in enumerate(unknowns.shifted):
        if (place := unknowns.shift_place(k)) is not None:
            weighed.append(np.append(unknowns.E[place], shift)[None] / USUAL_SHIFT)
    whole = np.concatenate(weighed)
    R = np.asarray(np.linalg.qr(whole, mode="r"))
    A, rhs = R[:, :-1], R[:, -1]
    kept, combinations = independent(A)
    z = unknowns.guess.copy()
    others = [k for k in range(len(z)) if k not in kept]
    # left inverse of the independent columns, independent of their scale
    sizes = np.linalg.norm(A[:, kept], axis=0)
    Q, upper = np.linalg.qr(A[:, kept] / sizes)
    inverse = np.linalg.solve(upper, Q.T) / sizes[:, None]
    z[kept] = inverse @ (rhs - A[:, others] @ z[others])
    squares, counts, freedom = np.zeros((len(data), n)), np.zeros((len(data), n)), np.zeros(n)
    for log, i, G, y in pieces:
        squares[log, i] += float(np.sum((G @ z - y) ** 2))
        freedom[i] -= float(np.sum((G[:, kept] @ inverse) ** 2)) / sigma[i] ** 2
    for log, parts in enumerate(data):
        counts[log] = np.sum([triangles.counts for triangles in parts], axis=0)
    freedom = np.maximum(freedom + counts.sum(axis=0), 1.0)
    found = np.sqrt(squares.sum(axis=0) / freedom)
    told = freedom >= FEWEST  # too few rows to estimate their noise
    largest = float(found[told].max(initial=0.0)) or float(found.max(initial=0.0)) or 1.0
    found = np.where(told, np.maximum(found, QUIETEST * largest), np.maximum(found, largest))
    covariance = np.zeros((len(z), len(z)))
    if weighted:  # rows were divided by their noise
        covariance[np.ix_(kept, kept)] = inverse @ inverse.T
    else:
        # of an unweighted fit whose joints have different noise
        for _, i, G, _ in pieces:
            by_rows = inverse @ (inverse.T @ G[:, kept].T) * (float(found[i]) / float(sigma[i]) ** 2)
            covariance[np.ix_(kept, kept)] += by_rows @ by_rows.T
        found = np.full(n, np.sqrt(squares.sum() / freedom.sum()))
    for k in others:
        covariance[k, k] = np.inf
    return FitSolution(unknowns, z, covariance, tuple(kept), combinations, found, squares, counts, A, rhs)


def independent(A: Floats) -> tuple[list[int], dict[int, Floats]]:
    """The independent columns, and the dependence of the others on them."""
    sizes = np.linalg.norm(A, axis=0)
    largest = float(sizes.max(initial=0.0))
    kept: list[int] = []
    combinations: dict[int, Floats] = {}
    Q = np.zeros((A.shape[0], 0))
    for k in range(A.shape[1]):
        v = A[:, k]
        left = v - Q @ (Q.T @ v)
        left = left - Q @ (Q.T @ left)
        if np.linalg.norm(left) > DEPENDENT * sizes[k] and sizes[k] > 1e-14 * largest:
            kept.append(k)
            Q = np.column_stack([Q, left / np.linalg.norm(left)])
            continue
        factors = np.zeros(A.shape[1])
        if kept and sizes[k] > 1e-14 * largest:
            factors[kept] = np.linalg.lstsq(A[:, kept] / sizes[kept], v, rcond=None)[0] / sizes[kept]
        combinations[k] = factors
    return kept, combinations
