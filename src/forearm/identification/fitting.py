"""The estimation in stages: passes over the logs, each condensed and solved, until the unknowns converge."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from forearm.errors import InputError
from forearm.identification.condensed import Triangles, condense, whitened
from forearm.identification.drive_law import LOSS, STRIBECK_SPEED
from forearm.identification.effort_model import EffortModel, largest_loss
from forearm.identification.least_squares import FitSolution, FitUnknowns, solve
from forearm.identification.motor_fit import MotorFit
from forearm.identification.noise_model import Autocovariances
from forearm.identification.questions import FitRequest, unknowns_of
from forearm.identification.rows import Extras, Rows, RowSource
from forearm.identification.shift_search import ShiftSearch
from forearm.progress import Progress
from forearm.spatial import Floats
from forearm.values import frozen

FOLDS = 5  # cross-validation folds of a single log
MOST_KEPT = 100_000_000  # bytes of cached rows: beyond this, rows are recomputed in every pass
PASSES = 12  # per stage
STILL = 0.01  # of their standard deviations: a smaller change counts as converged
ENOUGH = 2.0  # least number of rows per unknown
HUBER = 1.345  # standard deviations beyond which a row is downweighted
ROBUST_ROUNDS = 6
LARGEST_STEP = 2.0  # largest factor by which the Stribeck speed changes in one pass
SPEEDS = (0.02, 0.06, 0.2)  # of a joint's largest speed: initial values of the search


@dataclass(eq=False)
class Fitting:
    """Logs, a model, and the weighting of rows.

    Attributes:
        model: of efforts.
        sources: sources of the logs' rows.
        asked: the request.
        weighting: "joint", "ordinary" or "robust".
        fastest: largest speeds of the joints (n,).
        motors: motor constants estimated from voltage and current logs.
        progress: called at every pass.
        fixed_losses: joints whose gear losses are known.
    """

    model: EffortModel
    sources: list[RowSource]
    asked: FitRequest
    weighting: str
    fastest: Floats
    motors: MotorFit | None = None
    progress: Progress | None = None
    fixed_losses: frozenset[int] = frozenset()
    passes: int = 0
    _kept: dict[int, list[Rows]] = field(default_factory=dict, init=False)
    _kept_at: dict[int, Floats] = field(default_factory=dict, init=False)

    @property
    def shifts(self) -> list[float]:
        """Shifts of the logs so far."""
        return [source.shift for source in self.sources]

    @property
    def folds(self) -> int:
        """Cross-validation folds per log: one, the whole log, if the other logs determine as much."""
        alone = (
            len(self.sources) == 1 or self.asked.gains or any(load is not None for load in self.asked.loads)
        )
        return FOLDS if alone else 1

    @property
    def held(self) -> list[int]:
        """Unknowns of the model that keep their value."""
        places = [self.model.place(i, LOSS) for i in self.fixed_losses]
        return [place for place in places if place is not None]

    def total(self, log: int) -> int:
        """Expected number of rows of a log."""
        source = self.sources[log]
        return source.log.signals.used // source.averaged

    def bounds(self, place: int) -> tuple[float, float]:
        """The range of a nonlinear unknown: speeds that the logs contain, and losses that a gear can have."""
        i, figure = self.model.figures[place - len(self.model.base)]
        law = self.model.laws[i]
        if figure == LOSS:
            assert law.transmission is not None
            return 0.0, largest_loss(law.transmission)
        across = float(self.model.ratios[i]) if law.side == "motor" else 1.0
        slowest = min(float(source.dead_zone[i]) for source in self.sources)
        return slowest * across, max(float(self.fastest[i]), slowest) * across

    def rows(self, log: int, x: Floats, needs_slopes: bool = True) -> Iterable[Rows]:
        """The rows of a log at x, cached if they are few and do not depend on x except for derivatives."""
        is_same = not self.asked.shifts[log] or not needs_slopes
        if log in self._kept and (is_same or np.array_equal(self._kept_at[log], x)):
            return self._kept[log]
        self.passes += 1
        if self.progress is not None:
            name = self.sources[log].log.signals.name
            self.progress(self.passes, self.passes + 1, f"pass {self.passes}, {name}")
        made = self.sources[log].rows(self.model, x)
        size = self.total(log) * self.model.arm.n * (self.model.width + 5) * 8
        if not self.model.is_linear or size > MOST_KEPT // len(self.sources):
            return made
        self._kept[log], self._kept_at[log] = list(made), x
        return self._kept[log]

    def condensed(
        self,
        x: Floats,
        coefficients: Floats | None = None,
        weights: Weights | None = None,
        extras: tuple[Extras, int] | None = None,
    ) -> list[list[Triangles]]:
        """All logs condensed at x, whitened, weighted, and with additional columns and their number, as
        requested.
        """
        made, further = [], extras[1] if extras else 0
        for log, source in enumerate(self.sources):
            rows = source.rows(self.model, x, extras[0]) if extras else self.rows(log, x)
            if coefficients is not None:
                rows = whitened(rows, coefficients)
            if weights is not None:
                rows = weights.applied(log, rows)
            width = self.model.width + 1 + further
            made.append(condense(rows, self.model.arm.n, width, self.folds, self.total(log)))
        return made

    def shift(self, solution: FitSolution, search: ShiftSearch) -> bool:
        """Update the shifts; return whether any changed."""
        places = [solution.unknowns.shift_place(log) for log in range(len(self.sources))]
        steps = np.array([0.0 if place is None else -float(solution.x[place]) for place in places])
        spreads = [0.0 if place is None else float(solution.x_std[place]) for place in places]
        now = np.array(self.shifts)
        wanted = search.after(now, steps, np.array(spreads), float(np.mean(np.log(solution.sigma))))
        for log in np.flatnonzero(wanted != now).tolist():
            self.sources[log] = replace(self.sources[log], shift=float(wanted[log]))
            self._kept.pop(log, None)
        return bool((wanted != now).any())


@frozen
class FittedStage:
    """Result of a stage.

    Attributes:
        solution: on whitened rows if the weighting requires it.
        x: unknowns of the model, loads, shifts and gains.
        raw: rows condensed without whitening.
        coefficients: of the rows' noise model (n, k).
        settled: whether the last pass changed nothing.
    """

    solution: FitSolution
    x: Floats
    raw: list[list[Triangles]]
    coefficients: Floats
    settled: bool


def fit_stage(fitting: Fitting, x: Floats) -> FittedStage:
    """Run one stage from the model unknowns x until it converges."""
    model, weighted = fitting.model, fitting.weighting != "ordinary"
    raw, solution, settled = _passes(fitting, x, None)
    x = solution.x[: len(model.names)]
    coefficients = np.zeros((model.arm.n, 0))
    if weighted:
        coefficients = _coefficients(fitting, solution)
        if coefficients.shape[1]:
            _, solution, settled = _passes(fitting, x, coefficients)
            x = solution.x[: len(model.names)]
            if not model.is_linear:
                raw = fitting.condensed(x)
    if fitting.weighting == "robust":
        solution = _robust(fitting, solution, coefficients)
    return FittedStage(solution, solution.x, raw, coefficients, settled)


def _passes(
    fitting: Fitting, x: Floats, coefficients: Floats | None
) -> tuple[list[list[Triangles]], FitSolution, bool]:
    """Gauss-Newton steps: condense and solve at x until x and the shifts converge."""
    model, weighted = fitting.model, fitting.weighting != "ordinary"
    changes = not model.is_linear
    search = ShiftSearch([source.log.signals.period for source in fitting.sources])
    for k in range(PASSES):
        data = fitting.condensed(x, coefficients)
        unknowns = unknowns_of(model, fitting.asked, x, fitting.shifts, fitting.held)
        _check_rows(fitting, data, len(unknowns.names))
        solution = solve(unknowns, data, weighted=weighted)
        found = _bounded(fitting, x, solution.x[: len(model.names)])
        moved = any(fitting.asked.shifts) and fitting.shift(solution, search)
        still = not changes or _is_still(solution, x, found)
        x = found
        # derivatives of the first pass belong to the arm as given, or to rows not yet whitened
        if still and not moved and (k or not any(fitting.asked.shifts)):
            return data, solution, True
    return data, solution, False


def _check_rows(fitting: Fitting, data: list[list[Triangles]], unknowns: int) -> None:
    """Refuse data with too few rows for the unknowns."""
    count = sum(float(part.counts.sum()) for parts in data for part in parts)
    if count < ENOUGH * unknowns:
        known = fitting.sources[0].log.signals
        averaged = fitting.sources[0].averaged
        raise InputError(
            f"{int(count)} rows for {unknowns} unknowns; expected at least {ENOUGH:g} times "
            f"as many rows as unknowns. A row averages {averaged} samples of a moving joint; "
            f"the filter window is {known.window:.3g} s of {known.duration:.3g} s. Record a "
            "longer log, give a higher cutoff, or identify fewer parameters.",
            known.name,
        )


def _is_still(solution: FitSolution, before: Floats, after: Floats) -> bool:
    spread = solution.x_std[: len(after)]
    return bool((np.abs(after - before) <= STILL * spread + 1e-9 * np.abs(after)).all())


def _bounded(fitting: Fitting, before: Floats, after: Floats) -> Floats:
    """Steps of nonlinear drive parameters, limited to a factor and to their range."""
    made, model = after.copy(), fitting.model
    for k in model.nonlinear:
        is_speed = model.figures[k - len(model.base)][1] == STRIBECK_SPEED
        low, high = (
            (before[k] / LARGEST_STEP, before[k] * LARGEST_STEP)
            if is_speed
            else (before[k] - 1.0, before[k] + 1.0)
        )
        made[k] = np.clip(np.clip(after[k], low, high), *fitting.bounds(k))
    return made


def residuals(model: EffortModel, rows: Rows, solution: FitSolution, log: int) -> Floats:
    """Residuals of rows (T, n)."""
    unknowns, x = solution.unknowns, solution.x
    made = model.times(rows.columns, unknowns.of_log(log, x))
    if unknowns.asks_gains:
        made = made * x[-model.arm.n :]
    place = unknowns.shift_place(log)
    if place is not None:
        made = made + x[place] * rows.columns[:, :, model.width]
    return rows.y - made


def _coefficients(fitting: Fitting, solution: FitSolution) -> Floats:
    """Autocorrelation of the rows' noise."""
    sums = Autocovariances(fitting.model.arm.n)
    x = solution.x[: len(fitting.model.names)]
    for log in range(len(fitting.sources)):
        for k, rows in enumerate(fitting.rows(log, x, needs_slopes=False)):
            left = residuals(fitting.model, rows, solution, log)
            sums.add(left, rows.usable, rows.starts or k == 0)
    return sums.autoregression()


@dataclass(eq=False)
class Weights:
    """Rows with Huber weights from the residuals: outliers count less."""

    model: EffortModel
    solution: FitSolution
    sums: Floats  # (4, n): rows, weights, psi^2, inliers

    def applied(self, log: int, rows: Iterable[Rows]) -> Iterator[Rows]:
        """The rows times the square roots of their weights."""
        for block in rows:
            left = np.abs(residuals(self.model, block, self.solution, log)) / self.solution.sigma
            w = np.minimum(1.0, HUBER / np.maximum(left, 1e-300))
            parts = (np.ones_like(w), w, (w * left) ** 2, (left <= HUBER) * 1.0)
            self.sums += np.array([np.where(block.usable, part, 0.0).sum(axis=0) for part in parts])
            root = np.sqrt(w)
            yield replace(block, columns=block.columns * root[:, :, None], y=block.y * root)

    def sigma(self) -> Floats:
        """Noise standard deviation for weighted rows that yields the covariance of Huber's estimate."""
        count, weights, psi, within = np.maximum(self.sums, 1e-300)
        return np.asarray(self.solution.sigma * np.sqrt(psi / count * (weights / count)) / (within / count))


def _robust(fitting: Fitting, solution: FitSolution, coefficients: Floats) -> FitSolution:
    model = fitting.model
    sigma = solution.sigma
    for _ in range(ROBUST_ROUNDS):
        sigma = _spread(fitting, solution, coefficients)
        weights = Weights(model, replace(solution, sigma=sigma), np.zeros((4, model.arm.n)))
        x = solution.x[: len(model.names)]
        data = fitting.condensed(x, coefficients, weights)
        unknowns = unknowns_of(model, fitting.asked, x, fitting.shifts, fitting.held)
        before = solution
        solution = solve(unknowns, data, weights.sigma(), weighted=True)
        solution = replace(solution, sigma=sigma)
        if _is_still(solution, before.x, solution.x):
            break
    return solution


def _spread(fitting: Fitting, solution: FitSolution, coefficients: Floats) -> Floats:
    """Noise of rows from the median residual, which outliers do not affect (n,)."""
    model, x = fitting.model, solution.x[: len(fitting.model.names)]
    left: list[Floats] = []
    for log in range(len(fitting.sources)):
        for rows in whitened(fitting.rows(log, x, needs_slopes=False), coefficients):
            made = residuals(model, rows, solution, log)
            every = 1 + len(made) // 2000
            left.append(np.where(rows.usable, np.abs(made), np.nan)[::every])
    return np.nanmedian(np.concatenate(left), axis=0) / 0.6745


def with_first_speeds(fitting: Fitting, x: Floats) -> Floats:
    """The unknowns with the initial Stribeck speeds that leave the smallest residual."""
    model, asked = fitting.model, fitting.asked
    speeds = [place for i in range(model.arm.n) if (place := model.place(i, STRIBECK_SPEED)) is not None]
    tried = []
    for share in SPEEDS:
        begun = x.copy()
        for place in speeds:
            low, high = fitting.bounds(place)
            begun[place] = max(low, share * high)
        unknowns = unknowns_of(model, asked, begun, fitting.shifts, [*speeds, *fitting.held])
        solution = solve(unknowns, fitting.condensed(begun), weighted=True)
        tried.append((solution.squares.sum(axis=0), solution.x[: len(x)]))
    made = tried[int(np.argmin([squares.sum() for squares, _ in tried]))][1]
    for i in range(model.arm.n):  # each joint starts from its best value
        place = model.place(i, STRIBECK_SPEED)
        if place is not None:
            made[place] = tried[int(np.argmin([squares[i] for squares, _ in tried]))][1][place]
    return made


def without(data: list[list[Triangles]], log: int, fold: int) -> list[list[Triangles]]:
    """The data without a fold."""
    return [
        [part for j, part in enumerate(parts) if (other, j) != (log, fold)]
        for other, parts in enumerate(data)
    ]


def squared(unknowns: FitUnknowns, log: int, part: Triangles, x: Floats) -> Floats:
    """Sums of squared residuals (n,) of unknowns on a fold."""
    model, own = unknowns.model, unknowns.of_log(log, x)
    p, shift, sums = len(model.base), unknowns.shift_place(log), []
    for joint, (R, place) in enumerate(zip(part.R, model.places, strict=True)):
        made = R[:, :p] @ own[:p] + R[:, p : p + place.stop - place.start] @ own[place]
        if unknowns.asks_gains:
            made = made * x[-model.arm.n + joint]
        if shift is not None:
            made = made + R[:, model.width] * x[shift]
        sums.append(float(np.sum((made - R[:, -1]) ** 2)))
    return np.array(sums)
