"""Minimum duration under linear inequalities: a primal-dual interior point method with a banded matrix.

Mehrotra's predictor-corrector, from a start that may be infeasible. If no b satisfies all inequalities, each
may be violated at a price, and the remaining violation shows where the limits conflict.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from forearm.spatial import Floats
from forearm.trajectories.smooth_speed.band_solver import BandSolver
from forearm.trajectories.smooth_speed.speed_elements import SpeedElements, spread, values_at, windows
from forearm.values import frozen

MAX_STEPS = 60
HELD = 1e-6  # tolerance of a row, scaled to about 1
PRICE = 30.0  # durations per row violated by its whole scale: above any multiplier of a feasible problem
STUCK = 1e-3  # share of a step: repeated shorter ones mean that the iteration is stuck
PATIENCE = 6
NEAR = 24  # rows per interval that are kept if the solution is nearly known


@frozen
class InnerSolution:
    """Result of the method.

    Attributes:
        b: (N,).
        multipliers: of the rows, (R, N), s.
        gap: the duality gap over the duration.
        excess: violation of each row, (R, N), relative to its scale.
        steps: number of steps.
    """

    b: Floats
    multipliers: Floats
    gap: float
    excess: Floats
    steps: int

    @property
    def holds(self) -> bool:
        """Whether all rows are satisfied."""
        return bool(self.excess.max() <= HELD)


def shortest(
    elements: SpeedElements, rows: Floats, b: Floats, multipliers: Floats | None, tolerance: float
) -> InnerSolution:
    """The b of minimum duration with rows <= 0, or the one that violates them least.

    Args:
        elements: the durations as functions of b.
        rows: (4, R, N).
        b: initial value, (N,); x must be positive there, the rows need not be satisfied.
        multipliers: those of a similar problem whose solution is b; None: unknown. With them, rows that are
            far from being violated at b may be left out.
        tolerance: of the gap.
    """
    if multipliers is None or len(multipliers) <= NEAR:
        found = _search(elements, rows, b, multipliers, tolerance, np.inf)
    else:
        found = _search_near(elements, rows, b, multipliers, tolerance)
    return found if found.holds else _search(elements, rows, b, None, tolerance, PRICE)


def _search_near(
    elements: SpeedElements, rows: Floats, b: Floats, multipliers: Floats, tolerance: float
) -> InnerSolution:
    """The same with only those rows of each interval that are nearest to being violated at the start."""
    near = np.argpartition(-values_at(rows, b), NEAR, axis=0)[:NEAR]
    chosen = np.take_along_axis(rows, near[None], axis=1)
    found = _search(elements, chosen, b, np.take_along_axis(multipliers, near, axis=0), tolerance, np.inf)
    forces = np.zeros_like(multipliers)
    np.put_along_axis(forces, near, found.multipliers, axis=0)
    excess = np.zeros_like(multipliers)
    np.put_along_axis(excess, near, found.excess, axis=0)
    return replace(found, multipliers=forces, excess=excess)


class _Pair:
    """Two arrays whose product tends to 0 while both stay positive; `sign` of the multiplier in the
    second.
    """

    def __init__(self, value: Floats, force: Floats, sign: float) -> None:
        self.value, self.force, self.sign = value, force, sign

    def change(self, aim: Floats | float, d: Floats) -> tuple[Floats, Floats]:
        """Newton step of both that brings their product to the target when the multiplier changes by d."""
        force = self.sign * d
        return (aim - self.value * force) / self.force - self.value, force

    def pull(self, aim: Floats | float) -> Floats:
        """The part of the step of `value` that does not depend on the multiplier."""
        return self.sign * (aim / self.force - self.value)

    def reach(self, change: tuple[Floats, Floats]) -> float:
        """Maximum step length."""
        return min(_reach(self.value, change[0]), _reach(self.force, change[1]))

    def total(self, change: tuple[Floats, Floats], share: float) -> float:
        """The sum of products after a share of a step."""
        return float(np.vdot(self.value + share * change[0], self.force + share * change[1]))

    def move(self, change: tuple[Floats, Floats], share: float) -> None:
        """Take a share of a step."""
        self.value = self.value + share * change[0]
        self.force = self.force + share * change[1]


def _search(
    elements: SpeedElements,
    rows: Floats,
    b: Floats,
    multipliers: Floats | None,
    tolerance: float,
    price: float,
) -> InnerSolution:
    """The same with a price for violating a row, in durations; inf: no violation."""
    A, h = rows[:3], -rows[3]
    duration, gradient, curvature = _duration(elements, b)
    pairs = _start(h - _apply(A, b), duration, multipliers, price)
    count = h.size * len(pairs)
    stuck = 0
    for steps in range(MAX_STEPS + 1):
        primal = _apply(A, b) - h
        for pair in pairs:
            primal = primal + pair.sign * pair.value
        dual = _masked(
            elements,
            spread(np.einsum("kgn,gn->kn", elements.inner[:3], gradient)) + _transposed(A, pairs[0].force),
        )
        total = sum(float(np.vdot(pair.value, pair.force)) for pair in pairs)
        residual = float(np.abs(dual * b).sum())
        has_arrived = max(total, residual) < tolerance * duration and np.abs(primal).max() < HELD
        if has_arrived or steps == MAX_STEPS or stuck == PATIENCE:
            break
        ratio = np.asarray(1 / sum(pair.value / pair.force for pair in pairs))
        try:
            solver = _matrix(elements, A, ratio, curvature)
        except np.linalg.LinAlgError:  # no step is left that rounding does not spoil
            break

        aims: list[Floats | float] = [0.0] * len(pairs)
        for is_last in (False, True):
            known = primal + sum(pair.pull(aim) for pair, aim in zip(pairs, aims, strict=True))
            db = solver.solve(_masked(elements, -dual - _transposed(A, ratio * known)))
            d = ratio * (known + _apply(A, db))
            changes = [pair.change(aim, d) for pair, aim in zip(pairs, aims, strict=True)]
            share = min(pair.reach(change) for pair, change in zip(pairs, changes, strict=True))
            if not is_last:
                share = min(share, 1.0)
                after = sum(pair.total(change, share) for pair, change in zip(pairs, changes, strict=True))
                aim = total / count * max((after / total) ** 3, 1e-4)
                aims = [aim - change[0] * change[1] for change in changes]
        # x keeps a fifth: durations are infinite at 0.
        share = min(1.0, 0.995 * share, 0.8 * _reach(_inner(elements, b), _inner_change(elements, db)))
        b = b + share * db
        for pair, change in zip(pairs, changes, strict=True):
            pair.move(change, share)
        duration, gradient, curvature = _duration(elements, b)
        stuck = stuck + 1 if share < STUCK else 0
    return InnerSolution(b, pairs[0].force, total / duration, np.maximum(_apply(A, b) - h, 0.0), steps)


def _start(room: Floats, duration: float, multipliers: Floats | None, price: float) -> list[_Pair]:
    """Initial slacks and multipliers, and the violation of the rows with the remaining price."""
    nearness = 1.0 if multipliers is None else 1e-2
    slack = np.maximum(room, 0.1 * nearness)
    force = nearness * duration / room.size / slack
    if multipliers is not None:
        force = np.maximum(force, multipliers)
    if price == np.inf:
        return [_Pair(slack, force, 1.0)]
    force = np.minimum(force, 0.5 * price * duration)
    beyond = np.maximum(slack - room, 1e-3)
    return [_Pair(slack, force, 1.0), _Pair(beyond, price * duration - force, -1.0)]


def _inner(elements: SpeedElements, b: Floats) -> Floats:
    """x at the quadrature points."""
    inner: Floats = _inner_change(elements, b) + elements.inner[3]
    return inner


def _inner_change(elements: SpeedElements, db: Floats) -> Floats:
    """Change of x at the quadrature points with b."""
    change: Floats = np.einsum("kgn,kn->gn", elements.inner[:3], windows(db))
    return change


def _duration(elements: SpeedElements, b: Floats) -> tuple[float, Floats, Floats]:
    """The duration and its first and second derivatives by x at the quadrature points."""
    x = _inner(elements, b)
    parts = elements.weights / np.sqrt(x)
    return float(parts.sum()), -0.5 * parts / x, 0.75 * parts / x**2


def _masked(elements: SpeedElements, values: Floats) -> Floats:
    """Set entries to 0 where b is given."""
    return np.where(elements.fixed, 0.0, values)


def _apply(A: Floats, b: Floats) -> Floats:
    """The rows' linear part at b."""
    around = windows(b)
    value: Floats = A[0] * around[0] + A[1] * around[1] + A[2] * around[2]
    return value


def _transposed(A: Floats, values: Floats) -> Floats:
    """The transpose of `_apply`."""
    return spread(np.einsum("krn,rn->kn", A, values))


def _matrix(elements: SpeedElements, A: Floats, ratio: Floats, curvature: Floats) -> BandSolver:
    """Second derivatives of the duration and of the barrier by b."""
    C = elements.inner[:3]
    local = {}
    for k in range(3):
        weighted, bent = A[k] * ratio, C[k] * curvature
        for j in range(k, 3):
            local[k, j] = np.einsum("rn,rn->n", weighted, A[j]) + np.einsum("gn,gn->n", bent, C[j])
    main = spread(np.stack([local[k, k] for k in range(3)]))
    first = local[0, 1][1:] + local[1, 2][:-1]
    return BandSolver(np.where(elements.fixed, 1.0, main), first, local[0, 2][1:-1])


def _reach(values: Floats, change: Floats) -> float:
    """The largest multiple of a step that leaves all values at least 0; large if unlimited."""
    return 1.0 / max(float((-change / values).max()), 1e-3)
