"""Shared by all integration methods: the system with its evaluation count, tolerances, a trial step, and
interpolating polynomials.

The dense output of a step is y(t + theta h) = y + sum_k theta^k D_k, with the D_k stacked along the first
axis.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import ArrayLike

from forearm.dynamics.adaptive_step import EmbeddedPair
from forearm.dynamics.step_control import MEMORY
from forearm.simulation.methods import Acceleration, Floats, Tableau, explicit_stages, weighted
from forearm.simulation.solution import powers_of

PARTS = ("q", "qd")


class System:
    """y' = F(t, y) = (qd, f(t, q, qd)), with its evaluations counted, never evaluated at `before` or later.

    All stages of a step that ends at a breakpoint then see the input from before it, as held schedules
    require.
    """

    def __init__(self, f: Acceleration) -> None:
        self._f, self.before = f, inf
        self.evaluations = 0

    def __call__(self, t: float, y: Floats) -> Floats:
        """y' at a time and a state (2, n)."""
        if t >= self.before:
            t = float(np.nextafter(self.before, -inf))
        self.evaluations += 1
        dy = np.empty_like(y)
        dy[0] = y[1]
        dy[1] = self._f(t, y[0], y[1])
        return dy


@dataclass(frozen=True)
class Tolerance:
    """Local error tolerance of each component: atol + rtol |y|, atol (2, n)."""

    rtol: float
    atol: Floats

    def scale(self, y: Floats, other: Floats | None = None) -> Floats:
        """Allowed error (2, n) of a step from one state to another."""
        size = np.abs(y) if other is None else np.maximum(np.abs(y), np.abs(other))
        return self.atol + self.rtol * size


def tolerance(rtol: float, atol_q: ArrayLike, atol_qd: ArrayLike, n: int) -> Tolerance:
    """The tolerance with atol above 0, one number or one per component."""
    return Tolerance(rtol, np.array([np.broadcast_to(atol, n) for atol in (atol_q, atol_qd)], dtype=float))


@dataclass(frozen=True)
class Failure:
    """Why a step failed, as the middle of a sentence, and the component responsible, if any."""

    reason: str
    component: int | None = None
    diverged: bool = False


@dataclass(frozen=True)
class TrialStep:
    """A trial step: its result and error (2, n) in units of the tolerance, or why it failed."""

    h: float
    y: Floats
    stages: list[Floats] | Floats
    error: Floats | None = None
    failure: Failure | None = None


class Explicit:
    """Steps of an explicit tableau with embedded weights: tries them, and completes those that are accepted.

    The step size follows the error to the power `exponent`, that of the step before to the power `memory`;
    growth factors below `deadband` are ignored, and events are checked at `sections` of a step.
    """

    memory = MEMORY
    deadband = 1.0

    def __init__(self, tableau: Tableau, system: System, tolerance: Tolerance) -> None:
        self.tableau, self.system, self.tolerance = tableau, system, tolerance
        self.exponent = 1.0 / (tableau.order_embedded + 1)
        self.sections = sections(tableau)

    def attempt(self, t: float, y: Floats, rate: Floats, h: float) -> TrialStep:
        """A step and its error, the difference of the tableau's two solutions."""
        K = explicit_stages(self.tableau, self.system, t, y, h, rate)
        y_new = y + weighted(self.tableau.floats[2], h, K)
        error = np.abs(weighted(self.tableau.error_weights, h, K)) / self.tolerance.scale(y, y_new)
        return TrialStep(h, y_new, K, error, unfinite(y_new, K, y))

    def finish(self, t: float, y: Floats, rate: Floats, trial: TrialStep) -> tuple[Floats, Floats]:
        """Rate at the end, and the tableau's own dense output, or a Hermite polynomial with an extra half
        step.
        """
        K, h, b = trial.stages, trial.h, self.tableau.floats[2]
        rate_end = K[-1] if self.tableau.first_same_as_last else self.system(t + h, trial.y)
        if self.tableau.dense_columns is not None:
            return rate_end, np.stack([weighted(column, h, K) for column in self.tableau.dense_columns])
        half = weighted(b, 0.5 * h, explicit_stages(self.tableau, self.system, t, y, 0.5 * h, rate))
        middle = (0.5, half, self.system(t + 0.5 * h, y + half))
        return rate_end, hermite(rate, [middle, (1.0, weighted(b, h, K), rate_end)], h)

    def restart(self) -> None:
        """Nothing to discard."""


def pair_of(tableau: Tableau) -> EmbeddedPair:
    """A tableau with embedded weights, for steps over any scalar."""
    c, a, b = tableau.floats
    return EmbeddedPair(
        tuple(c),
        tuple(map(tuple, a)),
        tuple(b),
        tuple(tableau.error_weights),
        tuple(map(tuple, tableau.dense_columns or ())),
        1.0 / (tableau.order_embedded + 1),
        tuple(sections(tableau)),
    )


def sections(tableau: Tableau) -> list[float]:
    """The stage points and the middle, inside the step, where events that come and go within it are
    detected.
    """
    return sorted({c for c in tableau.floats[0] if 0.0 < c < 1.0} | {0.5})


def unfinite(y: Floats, rates: Sequence[Floats], y_before: Floats) -> Failure | None:
    """The component of the rates, in order, or of a state that became non-finite; None if all are finite.

    If several overflow at once, as coupled joints do, the one that was fastest before is named.
    """
    if np.isfinite(y).all() and np.isfinite(rates[-1]).all():
        return None
    for name, values in [*(("qdd", rate[1]) for rate in rates), ("qd", y[1]), ("q", y[0])]:
        bad = ~np.isfinite(values)
        if bad.any():
            index = int(np.argmax(np.where(bad, np.nan_to_num(np.abs(y_before[1])), -1.0)))
            return Failure(f"{name}[{index}] became {values[index]}", index, diverged=True)
    return None


def hermite(rate: Floats, nodes: Sequence[tuple[float, Floats, Floats]], h: float) -> Floats:
    """The polynomial that interpolates q, qd and qdd at the start and at nodes (theta, increment of y, rate);
    its derivative for qd.

    With the end as the only node the errors are O(h^6) in q and O(h^5) in qd; with the middle as well, O(h^9)
    and O(h^8); for qd never above the order of the method. Increments rather than states keep it smooth down
    to the smallest steps.
    """
    powers = np.arange(1, 3 * len(nodes) + 3)
    D = np.zeros((len(powers), rate.shape[1]))
    D[0], D[1] = h * rate[0], h * h * rate[1] / 2
    high = powers[2:]
    matrix, right = [], []
    for theta, increment, rate_there in nodes:
        matrix += [theta**high, high * theta ** (high - 1), high * (high - 1) * theta ** (high - 2)]
        right += [
            increment[0] - D[0] * theta - D[1] * theta**2,
            h * increment[1] - 2 * D[1] * theta,
            h * h * (rate_there[1] - rate[1]),
        ]
    D[2:] = np.linalg.solve(np.array(matrix), np.array(right))
    dense = np.zeros((len(powers), 2, rate.shape[1]))
    dense[:, 0] = D
    dense[:-1, 1] = D[1:] * powers[1:, None] / h
    return dense


def along(y: Floats, dense: Floats, theta: float) -> Floats:
    """The state (2, n) at a fraction theta of a step."""
    return y + powers_of(dense, theta)
