"""What every method of integration shares: the counted system, tolerances, a trial step,
polynomials between steps.

A step's dense output is y(t + theta h) = y + sum_k theta^k D_k, the D_k stacked along the first axis.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from forearm.dynamics.adaptive_step import EmbeddedPair
from forearm.dynamics.step_control import MEMORY
from forearm.errors import InputError
from forearm.simulation.methods import Acceleration, Floats, Tableau, explicit_stages, weighted
from forearm.simulation.solution import powers_of
from forearm.values import as_floats

PARTS = ("q", "qd")


class System:
    """y' = F(t, y) = (qd, f(t, q, qd)), counted, and asked at no time from `before` on.

    A step that ends at a breakpoint then sees the input from before it at every stage,
    as a schedule that holds wants it.
    """

    def __init__(self, f: Acceleration, n: int) -> None:
        self._f, self._shape = f, (n,)
        self.before = inf
        self.evaluations = 0

    def __call__(self, t: float, y: Floats) -> Floats:
        """y' at a time and a state (2, n)."""
        if t >= self.before:
            t = float(np.nextafter(self.before, -inf))
        self.evaluations += 1
        dy = np.empty_like(y)
        dy[0] = y[1]
        qdd = np.asarray(self._f(t, y[0], y[1]), dtype=float)
        if qdd.shape != self._shape:
            raise InputError(
                f"f(t, q, qd) must give accelerations of shape {self._shape}; at t = "
                f"{t:.9g} it gave {qdd.shape}."
            )
        dy[1] = qdd
        return dy


@dataclass(frozen=True)
class Tolerance:
    """The error that one step may make in each component: atol + rtol |y|, atol (2, n)."""

    rtol: float
    atol: Floats

    def scale(self, y: Floats, other: Floats | None = None) -> Floats:
        """The allowed error (2, n) of a step from one state to another."""
        size = np.abs(y) if other is None else np.maximum(np.abs(y), np.abs(other))
        return self.atol + self.rtol * size


def tolerance(rtol: float, atol_q: ArrayLike, atol_qd: ArrayLike, n: int) -> Tolerance:
    """Tolerances checked: rtol at least 1e-14, atol above 0, one number or one per component."""
    if not 1e-14 <= rtol <= 0.1:
        raise InputError(
            f"rtol: must lie between 1e-14 and 0.1, got {rtol:g}; rounding alone makes errors of 1e-16."
        )
    atol = np.empty((2, n))
    for row, given, name in zip(atol, (atol_q, atol_qd), ("atol_q", "atol_qd"), strict=True):
        value = as_floats(given, name)
        if value.shape not in ((), (n,)) or not np.all(np.isfinite(value)) or not np.all(value > 0.0):
            raise InputError(
                f"{name}: expected a number above 0 or {n} of them, got "
                f"{np.array2string(value, threshold=6)}."
            )
        row[:] = value
    return Tolerance(rtol, atol)


@dataclass(frozen=True)
class Failure:
    """Why a step leads nowhere, as the middle of a sentence, and the component that is
    to blame where one is.
    """

    reason: str
    component: int | None = None
    diverged: bool = False


@dataclass(frozen=True)
class TrialStep:
    """A step that was tried: where it leads, its error (2, n) in units of the tolerance,
    or why it leads nowhere.
    """

    h: float
    y: Floats
    stages: list[Floats] | Floats
    error: Floats | None = None
    failure: Failure | None = None


class Stepper(Protocol):
    """A method at work on one system: it tries steps, and finishes those that are accepted."""

    exponent: float  # of the error in the next step's size: 1 / (order of the estimate + 1)
    memory: float  # the exponent of the error of the step before, 0 for a controller without memory
    deadband: float  # growth of the step below this factor is not worth having
    sections: list[float]  # where within a step events are looked for
    tolerance: Tolerance

    def attempt(self, t: float, y: Floats, rate: Floats, h: float) -> TrialStep:
        """A step of h from y, where y' is `rate`."""
        ...

    def finish(self, t: float, y: Floats, rate: Floats, trial: TrialStep) -> tuple[Floats, Floats]:
        """The rate at the end of a step that is accepted, and its dense output."""
        ...

    def restart(self) -> None:
        """Forget what earlier steps taught: the right-hand side changes here."""
        ...


@dataclass(frozen=True)
class TakenSteps:
    """Steps that were taken at once: the times and states (k,) and (k, 2, n) they lead to, their lengths (k,)
    and dense output (k, p, 2, n); how many were rejected; and the rate, the step and the error that the next
    starts from. Where `is_over` that one must be taken, or refused, by others; `crossing` is its length and
    dense output if its error is small enough, but something happens within it.
    """

    t: Floats
    y: Floats
    widths: Floats
    dense: Floats
    rejected: int
    evaluations: int
    rate: Floats
    h: float
    error_before: float
    is_over: bool
    crossing: tuple[float, Floats] | None


class StepsAtOnce(Protocol):
    """Something that integrates the same system by the same pair, but never through an event."""

    def enter(self, start: float, end: float, y: Floats, shortest: float, tolerance: Tolerance) -> None:
        """Begin a stretch between two breakpoints, in which steps are not to be shorter than that."""
        ...

    def take(self, t: float, y: Floats, rate: Floats, h: float, error_before: float, most: int) -> TakenSteps:
        """So many steps at most, those that are rejected counted."""
        ...


class Explicit:
    """An explicit tableau with embedded weights at work."""

    memory = MEMORY
    deadband = 1.0

    def __init__(self, tableau: Tableau, system: System, tolerance: Tolerance) -> None:
        self.tableau, self.system, self.tolerance = tableau, system, tolerance
        self.exponent = 1.0 / (tableau.order_embedded + 1)
        self.sections = sections(tableau)

    def attempt(self, t: float, y: Floats, rate: Floats, h: float) -> TrialStep:
        """A step and its error, the difference of the two solutions of the tableau."""
        K = explicit_stages(self.tableau, self.system, t, y, h, rate)
        y_new = y + weighted(self.tableau.floats[2], h, K)
        error = np.abs(weighted(self.tableau.error_weights, h, K)) / self.tolerance.scale(y, y_new)
        return TrialStep(h, y_new, K, error, unfinite(y_new, K, y))

    def finish(self, t: float, y: Floats, rate: Floats, trial: TrialStep) -> tuple[Floats, Floats]:
        """The rate at the end, and the tableau's own dense output, or Hermite's with a step to the middle."""
        K, h, b = trial.stages, trial.h, self.tableau.floats[2]
        rate_end = K[-1] if self.tableau.first_same_as_last else self.system(t + h, trial.y)
        if self.tableau.dense_columns is not None:
            return rate_end, np.stack([weighted(column, h, K) for column in self.tableau.dense_columns])
        half = weighted(b, 0.5 * h, explicit_stages(self.tableau, self.system, t, y, 0.5 * h, rate))
        middle = (0.5, half, self.system(t + 0.5 * h, y + half))
        return rate_end, hermite(rate, [middle, (1.0, weighted(b, h, K), rate_end)], h)

    def restart(self) -> None:
        """Nothing is kept."""


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
    """The stage points and the middle, inside the step: where an event that comes and goes
    within a step is noticed.
    """
    return sorted({c for c in tableau.floats[0] if 0.0 < c < 1.0} | {0.5})


def unfinite(y: Floats, rates: Sequence[Floats], y_before: Floats) -> Failure | None:
    """Which component of the rates, in their order, or of a state is no finite number any
    more; None where all are.

    Where several went at once, as the joints of an arm do, the one that was fastest before is named.
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
    """The polynomial that meets q, qd and qdd at the start and at nodes (theta, increment of y, rate);
    its derivative for qd.

    With the end as the only node its errors are of order h^6 in q and h^5 in qd; with the middle as well,
    h^9 and h^8; for qd never above the order of the method. Increments, not states, keep it smooth down
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
    """The state (2, n) a part of a step on."""
    return y + powers_of(dense, theta)
